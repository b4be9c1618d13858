#include "proto/http/fields.h"

#include <string_view>

#include <gtest/gtest.h>

#include "proto/http/request.h"

namespace weir::http {
namespace {

TEST(HttpFieldsTest, FindsNamesInAnyLetterCase) {
    Fields fields{{"Content-Type", "text/plain"}, {"X", "1"}, {"x", "2"}};
    EXPECT_EQ(fields.get("content-TYPE"), "text/plain");
    EXPECT_EQ(fields.get("X"), "1") << "the first one";
    EXPECT_EQ(fields.count("x"), 2U);
    EXPECT_FALSE(fields.has("Y"));
}

TEST(HttpFieldsTest, ReplacesAllOfAName) {
    Fields fields{{"X", "1"}, {"Y", "2"}, {"x", "3"}};
    fields.set("X", "4");
    EXPECT_EQ(fields.count("x"), 1U);
    EXPECT_EQ(fields.get("x"), "4");
    EXPECT_EQ(fields.size(), 2U);
}

TEST(HttpFieldsTest, FindsTokensInLists) {
    Fields fields{{"Connection", "keep-alive,  Upgrade"}, {"connection", "x"}, {"Empty", ""}};
    EXPECT_TRUE(fields.has_token("Connection", "upgrade"));
    EXPECT_TRUE(fields.has_token("Connection", "Keep-Alive"));
    EXPECT_TRUE(fields.has_token("Connection", "X"));
    EXPECT_FALSE(fields.has_token("Connection", "up"));
    EXPECT_FALSE(fields.has_token("Empty", "x"));
    EXPECT_FALSE(fields.has_token("Missing", "x"));
}

TEST(HttpFieldsTest, TrimsBlanks) {
    EXPECT_EQ(trimmed(" \ta b\t "), "a b");
    EXPECT_EQ(trimmed(" \t "), "");
    EXPECT_EQ(trimmed(""), "");
}

TEST(HttpMethodTest, ReadsBackItsNames) {
    for (auto method : {Method::kGet, Method::kHead, Method::kPost, Method::kPut, Method::kPatch,
                        Method::kDelete, Method::kOptions}) {
        EXPECT_EQ(parse_method(to_string(method)), method);
    }
    EXPECT_EQ(parse_method("get"), std::nullopt);
    EXPECT_EQ(parse_method(""), std::nullopt);
}

TEST(TokenCharacterTest, KnowsTheCharactersOfNames) {
    for (const char c : std::string_view("azAZ09!#$%&'*+-.^_`|~")) {
        EXPECT_TRUE(is_token_character(c)) << c;
    }
    for (const char c : std::string_view("\0 \t\r\n\x7f\x80:;,/\"()<>@[]{}=?\\", 24)) {
        EXPECT_FALSE(is_token_character(c)) << static_cast<int>(c);
    }
}

}  // namespace
}  // namespace weir::http
