#include "proto/http/access_token.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

Request request(std::string_view authorization, std::string_view key = "") {
    Request made;
    if (!authorization.empty()) {
        made.headers.add("Authorization", std::string(authorization));
    }
    if (!key.empty()) {
        made.query.add("key", std::string(key));
    }
    return made;
}

TEST(AccessTokenTest, BearerAndKeyMeanTheSame) {
    EXPECT_EQ(access_token(request("Bearer abc.DEF-1~+/==")), "abc.DEF-1~+/==");
    EXPECT_EQ(access_token(request("bEARER   abc  ")), "abc");
    EXPECT_EQ(access_token(request("", "abc")), "abc");
    EXPECT_EQ(access_token(request("Bearer one", "two")), "one");
}

TEST(AccessTokenTest, TokenIsAnotherNameForKey) {
    Request made;
    made.query.add("token", "abc");
    EXPECT_EQ(access_token(made), "abc");
    EXPECT_EQ(bearer_token(made), "") << "only the header field";
    made.query.add("key", "def");
    EXPECT_EQ(access_token(made), "def");
}

TEST(AccessTokenTest, WhoShowsNothingHasNone) {
    EXPECT_EQ(access_token(request("")), "");
    EXPECT_EQ(access_token(request("Basic dXNlcjpwYXNz")), "");
    EXPECT_EQ(access_token(request("Basic dXNlcjpwYXNz", "two")), "two");
    EXPECT_EQ(access_token(request("Bearerabc")), "") << "another scheme";
}

TEST(AccessTokenTest, WhatIsNoTokenIsAMistake) {
    EXPECT_EQ(access_token(request("Bearer")), std::nullopt);
    EXPECT_EQ(access_token(request("Bearer a b")), std::nullopt);
    EXPECT_EQ(access_token(request("Bearer a\x80")), std::nullopt);
    EXPECT_EQ(access_token(request("Bearer " + std::string(kMaxAccessToken + 1, 'a'))),
              std::nullopt);
    EXPECT_EQ(access_token(request("", std::string(kMaxAccessToken + 1, 'a'))), std::nullopt);
}

}  // namespace
}  // namespace weir::http
