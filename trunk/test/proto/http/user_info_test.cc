#include "proto/http/user_info.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(UserInfoTest, DecodesUserAndPassword) {
    EXPECT_EQ(UserInfo::parse("user:pass"), (UserInfo{"user", "pass"}));
    EXPECT_EQ(UserInfo::parse("user"), (UserInfo{"user", ""}));
    EXPECT_EQ(UserInfo::parse(":pass"), (UserInfo{"", "pass"}));
    EXPECT_EQ(UserInfo::parse("a%3Ab:c:d%40%25"), (UserInfo{"a:b", "c:d@%"}));
    EXPECT_EQ(UserInfo::parse("%c3%a4:+"), (UserInfo{"\xc3\xa4", "+"}));
    EXPECT_TRUE(UserInfo::parse("")->empty());
}

TEST(UserInfoTest, LeavesAPercentThatIsNoEscape) {
    EXPECT_EQ(UserInfo::parse("u:100%"), (UserInfo{"u", "100%"}));
    EXPECT_EQ(UserInfo::parse("u:%zz%4"), (UserInfo{"u", "%zz%4"}));
}

TEST(UserInfoTest, RefusesControlCharactersAndLongParts) {
    EXPECT_EQ(UserInfo::parse("u%0d%0aX:p"), std::nullopt);
    EXPECT_EQ(UserInfo::parse("u:%00"), std::nullopt);
    EXPECT_EQ(UserInfo::parse("u:%7f"), std::nullopt);
    const std::string longest(kMaxUserInfoPart, 'x');
    EXPECT_TRUE(UserInfo::parse(longest + ":" + longest));
    EXPECT_EQ(UserInfo::parse(longest + "x:"), std::nullopt);
    EXPECT_EQ(UserInfo::parse("u:x" + longest), std::nullopt);
}

}  // namespace
}  // namespace weir::http
