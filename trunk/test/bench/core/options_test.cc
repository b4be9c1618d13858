#include "bench/load/core/options.h"

#include <array>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

class OptionTableTest : public testing::Test {
  protected:
    OptionTableTest() {
        table_.text("--url", "URL", "what to play", url_);
        table_.count("--clients", "players", clients_, 1, 1000);
        table_.duration("--duration", "how long", duration_);
        table_.bit_rate("--publish", "rate", rate_);
        table_.flag("--no-verify", "any stream", verify_, false);
    }

    Error parse(std::vector<const char*> arguments) { return table_.parse(arguments); }

    std::string message_of(std::vector<const char*> arguments) {
        Error error = parse(std::move(arguments));
        return std::string(error.message());
    }

    OptionTable table_{"rtmp-play [OPTIONS]", "Plays."};
    std::string url_ = "rtmp://h/a/b";
    uint32_t clients_ = 100;
    Millis duration_{30'000};
    uint64_t rate_ = 0;
    bool verify_ = true;
};

TEST_F(OptionTableTest, NothingGivenKeepsTheDefaults) {
    EXPECT_FALSE(parse({}));
    EXPECT_EQ(clients_, 100U);
    EXPECT_TRUE(verify_);
}

TEST_F(OptionTableTest, ValuesComeBehindASpaceOrAnEqualsSign) {
    EXPECT_FALSE(parse(
        {"--clients", "5", "--duration=2m", "--publish", "500k", "--url=x=y", "--no-verify"}));
    EXPECT_EQ(clients_, 5U);
    EXPECT_EQ(duration_, Millis(120'000));
    EXPECT_EQ(rate_, 500'000U);
    EXPECT_EQ(url_, "x=y");
    EXPECT_FALSE(verify_);
}

TEST_F(OptionTableTest, AnUnknownOptionNamesTheNearest) {
    EXPECT_EQ(message_of({"--client", "5"}), "unknown option '--client'; did you mean --clients?");
    EXPECT_EQ(message_of({"--somethingelse"}),
              "unknown option '--somethingelse'; --help lists all");
}

TEST_F(OptionTableTest, AMissingValueIsNamed) {
    EXPECT_EQ(message_of({"--clients"}), "--clients needs a value: --clients N");
}

TEST_F(OptionTableTest, AWrongValueNamesTheOptionAndTheRange) {
    EXPECT_EQ(message_of({"--clients", "many"}),
              "--clients: 'many': expected a number from 1 to 1000");
    EXPECT_EQ(message_of({"--clients", "0"}), "--clients: 0: expected 1 to 1000");
    EXPECT_NE(message_of({"--duration", "soon"}).find("--duration: 'soon': expected a duration"),
              std::string::npos);
}

TEST_F(OptionTableTest, ASwitchTakesNoValue) {
    EXPECT_EQ(message_of({"--no-verify=1"}), "--no-verify takes no value, found '1'");
}

TEST_F(OptionTableTest, AStrayArgumentIsRefused) {
    EXPECT_NE(message_of({"5"}).find("'5': expected an option"), std::string::npos);
}

TEST_F(OptionTableTest, HelpListsEveryOptionWithItsDefault) {
    EXPECT_FALSE(parse({"--clients", "5", "--help", "--nonsense"}));
    EXPECT_TRUE(table_.help_wanted());
    std::string help = table_.help();
    for (const char* part : {"usage: weir-bench rtmp-play", "--url URL", "[rtmp://h/a/b]",
                             "--clients N", "[100]", "[30s]", "--publish RATE", "--no-verify"}) {
        EXPECT_NE(help.find(part), std::string::npos) << part;
    }
}

TEST(OptionTableListTest, AnOptionThatMayBeRepeatedKeepsEach) {
    std::vector<std::string> found = {};
    OptionTable table("x", "y");
    table.list("--expect", "CONDITION", "what must hold", found);
    std::array<const char*, 3> arguments = {"--expect", "loss==0", "--expect=stalls==0"};
    EXPECT_FALSE(bool(table.parse(arguments)));
    EXPECT_EQ(found, (std::vector<std::string>{"loss==0", "stalls==0"}));
}

}  // namespace
}  // namespace weir::load
