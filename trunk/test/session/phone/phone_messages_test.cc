#include "session/phone/phone_messages.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::session {
namespace {

using Kind = PhoneWish::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(PhoneMessagesTest, EachWishIsRead) {
    auto wish = read_phone_wish(
        R"({"do":"open","user":"alice","password":"pä ss","domain":"d","display":"Alice"})");
    ASSERT_TRUE(wish.ok()) << wish.error().message();
    EXPECT_EQ(wish->kind, Kind::kOpen);
    EXPECT_EQ(wish->user, "alice");
    EXPECT_EQ(wish->password, "pä ss");
    EXPECT_EQ(wish->domain, "d");
    EXPECT_EQ(wish->display, "Alice");
    wish = read_phone_wish(R"({"do":"invite","to":"bob","codecs":["opus","pcmu"]})");
    ASSERT_TRUE(wish.ok());
    EXPECT_EQ(wish->kind, Kind::kInvite);
    EXPECT_THAT(wish->codecs, ElementsAre("opus", "pcmu"));
    wish = read_phone_wish(R"({"do":"reject","status":486})");
    ASSERT_TRUE(wish.ok());
    EXPECT_EQ(wish->status, 486);
    wish = read_phone_wish(R"({"do":"hold","on":false})");
    ASSERT_TRUE(wish.ok());
    EXPECT_FALSE(wish->on);
    wish = read_phone_wish(R"({"do":"digits","digits":"12#"})");
    ASSERT_TRUE(wish.ok());
    EXPECT_EQ(wish->digits, "12#");
    for (const char* name : {"accept", "bye", "list"}) {
        wish = read_phone_wish(std::string(R"({"do":")") + name + "\"}");
        ASSERT_TRUE(wish.ok()) << name;
        EXPECT_EQ(to_string(wish->kind), name);
    }
}

TEST(PhoneMessagesTest, MembersThatNobodyKnowsArePassedOver) {
    EXPECT_TRUE(read_phone_wish(R"({"do":"list","later":{"a":1}})").ok());
}

TEST(PhoneMessagesTest, WhatIsNoWishIsRefusedAndNotRepeated) {
    const std::string long_text(kMaxPhoneText + 1, 'x');
    const std::string wishes[] = {
        "",
        "open",
        "[]",
        "null",
        "{}",
        "{\"do\":",
        R"({"do":1})",
        R"({"do":"secret-word"})",
        R"({"do":"open","user":1})",
        R"({"do":"open","password":["secret-word"]})",
        R"({"do":"open","user":"secret-word\n"})",
        R"({"do":"open","user":"secret-word\u0000"})",
        R"({"do":"open","user":")" + long_text + "\"}",
        R"({"do":"hold","on":1})",
        R"({"do":"reject","status":200})",
        R"({"do":"reject","status":700})",
        R"({"do":"reject","status":486.5})",
        R"({"do":"reject","status":99999999999999999999})",
        R"({"do":"invite","to":"bob","codecs":"opus"})",
        R"({"do":"invite","to":"bob","codecs":[1]})",
        R"({"do":"invite","to":"bob","codecs":[["a"]]})",
        R"({"do":"invite","codecs":["","","","","","","","","","","","","","","","",""]})",
        R"({"do":"list","deep":[[[[1]]]]})",
        "{\"do\":\"list\",\"a\":\"" + std::string(kMaxPhoneMessage, 'x') + "\"}",
        "{\"do\":\"list\"}" + std::string(1, '\0'),
        "{\"do\":\"open\",\"user\":\"\xff\"}",
    };
    for (const std::string& text : wishes) {
        const auto wish = read_phone_wish(text);
        ASSERT_FALSE(wish.ok()) << text;
        EXPECT_EQ(wish.error().code(), ErrorCode::kMalformed);
        EXPECT_THAT(std::string(wish.error().message()), Not(HasSubstr("secret-word")));
    }
}

}  // namespace
}  // namespace weir::session
