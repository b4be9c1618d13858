#include "app/run/drain_command.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::app {
namespace {

Result<DrainRequest> parsed(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    return parse_drain(pointers, "default.conf");
}

TEST(DrainCommandTest, TakesProcessFileAndTime) {
    const auto plain = parsed({});
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->config_file, "default.conf");
    EXPECT_EQ(plain->pid, 0);
    EXPECT_LT(plain->timeout, Seconds(0)) << "by the configuration";
    const auto full = parsed({"4711", "--timeout", "0", "-c", "own.conf"});
    ASSERT_TRUE(full.ok());
    EXPECT_EQ(full->config_file, "own.conf");
    EXPECT_EQ(full->pid, 4711);
    EXPECT_EQ(full->timeout, Seconds(0));
}

TEST(DrainCommandTest, RefusesWhatItCannotMean) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"0"},
                                                  {"-1"},
                                                  {"1", "2"},
                                                  {"4194305"},
                                                  {"weir"},
                                                  {"-c"},
                                                  {"--timeout"},
                                                  {"--timeout", "-1"},
                                                  {"--timeout", "86401"},
                                                  {"--timeout", "soon"},
                                                  {"-t"}}) {
        EXPECT_FALSE(parsed(words).ok()) << words.front();
    }
}

TEST(DrainCommandTest, ReadsANameWithBracketsAndSpaces) {
    const std::string rest = " S 1 2 3 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 4 0 987654 1000 20";
    const auto process = parse_process("4711 (we) (ir)" + rest + " 1 2\n");
    ASSERT_TRUE(process.ok());
    EXPECT_EQ(process->name, "we) (ir");
    EXPECT_EQ(process->state, 'S');
    EXPECT_EQ(process->start_ticks, 987654U);
}

TEST(DrainCommandTest, RefusesTextThatIsNoProcess) {
    for (const char* text : {"", "1 (a", "1 a) S", ")(", "1 (a) S 1 2", "1 (a)"}) {
        EXPECT_FALSE(parse_process(text).ok()) << text;
    }
}

}  // namespace
}  // namespace weir::app
