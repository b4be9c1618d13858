#include "config/include.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A disk of texts. A pattern matches by what stands before its '*'.
struct FakeDisk {
    std::map<std::string, std::string> files;

    ConfigDisk disk() {
        ConfigDisk made;
        made.read = [this](const std::string& path) -> Result<std::string> {
            const auto found = files.find(path);
            if (found == files.end()) {
                return make_error(ErrorCode::kSystem, "cannot be opened: No such file");
            }
            return found->second;
        };
        made.matching = [this](const std::string& pattern) {
            std::vector<std::string> found;
            for (const auto& [path, text] : files) {
                if (path.starts_with(pattern.substr(0, pattern.find('*')))) {
                    found.push_back(path);
                }
            }
            return found;
        };
        made.canonical = [](const std::string& path) { return path; };
        return made;
    }

    ParseOutcome parse(std::string_view text) {
        const ConfigDisk made = disk();
        return parse_config(text, "c/main.conf", {}, &made);
    }

    std::string errors(std::string_view text) { return to_string(parse(text).errors); }
};

TEST(IncludeTest, PutsFilesWhereItStandsInAnyBlock) {
    FakeDisk disk{{{"c/top.conf", "max_connections 5;"},
                   {"c/v/a.conf", "vhost a { include ../play.conf; }"},
                   {"c/v/b.conf", "vhost b { enabled off; }"},
                   {"c/play.conf", "play { queue_length 7s; }"}}};
    ParseOutcome outcome = disk.parse("include top.conf; include v/*.conf; include no/*.conf;");
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    EXPECT_EQ(outcome.config->max_connections, 5u);
    EXPECT_EQ(outcome.config->find_vhost("a")->play.queue_length, Seconds(7));
    EXPECT_EQ(outcome.config->find_vhost("b"), nullptr);
    EXPECT_THAT(outcome.watched,
                ElementsAre("c/main.conf", "c/top.conf", "c/v/*.conf", "c/v/a.conf", "c/play.conf",
                            "c/v/b.conf", "c/no/*.conf"));
}

TEST(IncludeTest, MistakesNameTheIncludedFile) {
    FakeDisk disk{
        {{"c/a.conf", "\nmax_connections x;\nlisten 9;"}, {"c/b.conf", "chunk_size 1000;"}}};
    EXPECT_THAT(disk.errors("include a.conf;\nbogus 1;"),
                HasSubstr("c/main.conf:2:1: found the unknown directive 'bogus'"));
    EXPECT_THAT(disk.errors("include a.conf;"), HasSubstr("c/a.conf:2:17: found 'x'"));
    EXPECT_THAT(disk.errors("chunk_size 2000;\ninclude b.conf;"),
                HasSubstr("c/b.conf:1:1: found a second chunk_size, the first one is on line 1 of "
                          "c/main.conf"));
    FakeDisk clash{{{"c/a.conf", "http_api { listen 9; }"}}};
    EXPECT_THAT(
        clash.errors("listen 9;\ninclude a.conf;"),
        HasSubstr("c/a.conf:1:19: found [::]:9, which listen in c/main.conf:1 already takes"));
}

TEST(IncludeTest, ErrorsOfSeveralFilesComeFileByFile) {
    FakeDisk disk{{{"c/a.conf", "x1;\nx2;"}}};
    const ParseOutcome outcome = disk.parse("y1;\ninclude a.conf;\ny3;");
    std::vector<std::string> places;
    for (const Diagnostic& error : outcome.errors) {
        places.push_back(error.file + ":" + std::to_string(error.line));
    }
    EXPECT_THAT(places, ElementsAre("c/main.conf:1", "c/main.conf:3", "c/a.conf:1", "c/a.conf:2"));
}

TEST(IncludeTest, CyclesAndDepthAreReported) {
    FakeDisk disk{{{"c/a.conf", "include b.conf;"}, {"c/b.conf", "include a.conf;"}}};
    EXPECT_EQ(disk.errors("include a.conf;"),
              "c/b.conf:1:9: found c/a.conf, which includes itself: c/a.conf -> c/b.conf -> "
              "c/a.conf\n");
    FakeDisk self;
    EXPECT_THAT(self.errors("include main.conf;"), HasSubstr("includes itself"));
    FakeDisk deep;
    for (int i = 0; i < 20; i++) {
        deep.files["c/" + std::to_string(i)] = "include " + std::to_string(i + 1) + ";";
    }
    EXPECT_THAT(deep.errors("include 0;"), HasSubstr("deeper than 8"));
}

TEST(IncludeTest, TheSameFileTwiceIsNoCycle) {
    FakeDisk disk{{{"c/p.conf", "play { queue_length 7s; }"}}};
    EXPECT_TRUE(disk.parse("vhost a { include p.conf; } vhost b { include p.conf; }").ok());
}

TEST(IncludeTest, CountsAndSizesAreBounded) {
    FakeDisk many;
    for (int i = 0; i < 300; i++) {
        many.files["c/m/" + std::to_string(1000 + i)] = "";
    }
    EXPECT_EQ(many.errors("include m/*;"),
              "c/main.conf:1:9: found more than 256 files; the rest is not read\n");
    FakeDisk large;
    for (int i = 0; i < 12; i++) {
        large.files["c/m/" + std::to_string(10 + i)] = std::string(1 << 20, ' ');
    }
    EXPECT_THAT(large.errors("include m/*;"), HasSubstr("bytes in all included files"));
    FakeDisk statements;
    for (int i = 0; i < 3; i++) {
        std::string text;
        for (int at = 0; at < 4000; at++) {
            text += "vhost a" + std::to_string(i * 4000 + at) + ".b { }\n";
        }
        statements.files["c/m/" + std::to_string(i)] = text;
    }
    EXPECT_THAT(statements.errors("include m/*;"),
                HasSubstr("more than 10000 directives in all files together"));
}

TEST(IncludeTest, MissingFilesAndWrongValuesAreErrors) {
    FakeDisk disk;
    EXPECT_EQ(disk.errors("include nowhere.conf;"),
              "c/main.conf:1:9: c/nowhere.conf: cannot be opened: No such file; correct the path, "
              "or take the "
              "include out\n");
    EXPECT_THAT(disk.errors("include;"), HasSubstr("found no value for include"));
    EXPECT_THAT(disk.errors("include a b;"), HasSubstr("found several values for include"));
    EXPECT_THAT(disk.errors("include \"\";"), HasSubstr("expected the path of a file"));
    EXPECT_THAT(disk.errors("include a { }"), HasSubstr("include takes no block"));
    EXPECT_THAT(to_string(parse_config("include a;", "t").errors), HasSubstr("include"))
        << "a text without a disk";
}

TEST(IncludeTest, AFileMustBeWhole) {
    FakeDisk disk{{{"c/open.conf", "vhost a {"}, {"c/close.conf", "}"}}};
    const std::string errors = disk.errors("include open.conf; include close.conf;");
    EXPECT_THAT(errors, HasSubstr("c/open.conf:1:1: found no '}' for the block 'vhost'"));
    EXPECT_THAT(errors, HasSubstr("c/close.conf:1:1: found '}', but no block is open here"));
}

TEST(IncludeTest, RelativePathsOfAFileStartAtItsFolder) {
    FakeDisk disk{{{"c/d/a.conf", "http_server { dir www; }"}}};
    ParseOutcome outcome = disk.parse("include d/a.conf; pid p;");
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.config->http_server.dir, "c/d/www");
    EXPECT_EQ(outcome.config->pid, "c/p");
}

}  // namespace
}  // namespace weir::config
