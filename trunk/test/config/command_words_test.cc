#include "config/command_words.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

using Words = std::vector<std::string>;

TEST(CommandWordsTest, VariablesAreThoseOfTheStream) {
    const stream::StreamKey key{"a.example", "live/room", "cam"};
    EXPECT_EQ(
        command_of({"ffmpeg", "-i", "rtmp://h/$app/$name", "${name}_low", "$vhost", "5%"}, key),
        (Words{"ffmpeg", "-i", "rtmp://h/live/room/cam", "cam_low", "a.example", "5%"}));
}

TEST(CommandWordsTest, OtherVariablesAreUnknown) {
    EXPECT_EQ(variables_problem("$app/${name}/$vhost"), "");
    for (const char* const bad : {"$args", "$names", "${name", "$", "a$ name", "$$name"}) {
        EXPECT_NE(variables_problem(bad), "") << bad;
    }
}

TEST(CommandWordsTest, ASlipInAVariableIsNamedAndNothingElse) {
    EXPECT_EQ(variables_problem("rtmp://h/$app/$nme"),
              "the unknown variable $nme (did you mean $name?)");
    EXPECT_EQ(variables_problem("${vhst}"), "the unknown variable $vhst (did you mean $vhost?)");
    EXPECT_EQ(variables_problem("pa$$w0rd"), "a '$' that begins no variable");
}

TEST(CommandWordsTest, NamesThatCouldBeMoreThanNamesAreLeftOut) {
    for (const char* const bad :
         {"-i", "a b", "a?b", "a&b", "a/b", "a\nb", "a%20", "a\"", "a$app", "a;b", "a'b", "a|b",
          "a`b", "a\\b", "a=b", "a:b", "a,b", ".", ".."}) {
        EXPECT_FALSE(command_of({"x"}, {"v", "live", bad})) << bad;
    }
    for (const char* const bad : {"-live", "live/..", "live/../../etc", "./live", "..", "a/./b"}) {
        EXPECT_FALSE(command_of({"x"}, {"v", bad, "cam"})) << bad;
    }
    EXPECT_TRUE(command_of({"x"}, {"v", "live", "Kamera-1_ä.b~+@"}));
}

}  // namespace
}  // namespace weir::config
