#include "proto/redis/command.h"

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

TEST(CommandTest, HasTheLengthOfEachWordInFrontOfIt) {
    std::string out = "before";
    write_command({"SET", "key", std::string("a\r\n\0b", 5)}, out);
    EXPECT_EQ(out,
              "before*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\n" + std::string("a\r\n\0b", 5) + "\r\n");
}

TEST(CommandTest, MayHaveEmptyWords) {
    std::string out;
    write_command({"ECHO", ""}, out);
    EXPECT_EQ(out, "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n");
}

}  // namespace
}  // namespace weir::redis
