#include "config/config_doc.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "config/directives.h"

#include "test/support/source_file.h"

namespace weir::config {
namespace {

// A file of the repository.
std::string read_file(const std::string& name) {
    std::ifstream in(test::source_file("../" + name));
    EXPECT_TRUE(in.is_open()) << name;
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ConfigDocTest, TheFilesOfTheRepositoryAreThoseThatTheTableGives) {
    EXPECT_EQ(read_file("doc/configuration.md"), config_markdown())
        << "run scripts/gen-config-docs";
    EXPECT_EQ(read_file("conf/full.conf"), annotated_config()) << "run scripts/gen-config-docs";
    EXPECT_EQ(read_file("doc/man/weir.conf.5"), config_man_page()) << "run scripts/gen-config-docs";
    EXPECT_FALSE(holds(config_man_page(), "](")) << "links are Markdown's";
    EXPECT_TRUE(holds(config_man_page(), "See sources.md."));
}

TEST(ConfigDocTest, EveryDirectiveStandsInBothWithItsDefault) {
    std::string page = read_file("doc/configuration.md");
    std::string full = read_file("conf/full.conf");
    for (const Directive& directive : directives()) {
        std::string name(directive.name);
        std::string given(directive.default_text);
        EXPECT_TRUE(holds(page, "| `" + name + "` |")) << name;
        if (given.empty()) {
            EXPECT_TRUE(holds(full, name + " ")) << name;
        } else {
            EXPECT_TRUE(holds(page, "| `" + given + "` |")) << name;
            std::string line = name + " " + given + ";\n";
            EXPECT_TRUE(holds(full, "\n" + line) || holds(full, " " + line)) << name;
        }
    }
}

TEST(ConfigDocTest, TheFullFileMeansTheSameAsAnEmptyOne) {
    ParseOutcome full = parse_config(annotated_config(), "conf/x.conf");
    ASSERT_TRUE(full.ok()) << to_string(full.errors);
    EXPECT_EQ(*full.config, *parse_config("", "conf/x.conf").config);
}

TEST(ConfigDocTest, NoLineOfTheFullFileIsTooWide) {
    std::string full = annotated_config();
    for (size_t at = 0; at < full.size();) {
        size_t end = full.find('\n', at);
        EXPECT_LE(end - at, 100u) << full.substr(at, end - at);
        at = end + 1;
    }
}

TEST(ReadyFilesTest, AllPassTheCheck) {
    for (const char* name : {"console.conf", "docker.conf", "weir.conf", "full.conf"}) {
        ParseOutcome outcome = load_config(test::source_file(std::string("../conf/") + name));
        EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    }
}

// WebRTC is off where nobody asks for it: it opens ports to everybody.
TEST(ReadyFilesTest, TheDefaultFileSaysNothingButDefaultsAndTurnsWebRtcAndRtspOn) {
    std::string path = test::source_file("../conf/weir.conf");
    ParseOutcome outcome = load_config(path);
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    EXPECT_EQ(*outcome.config,
              *parse_config("rtc_server { enabled on; } rtsp_server { }", path).config);
}

}  // namespace
}  // namespace weir::config
