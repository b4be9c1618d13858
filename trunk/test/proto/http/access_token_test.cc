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

TEST(CarriedQueryTest, IsThePlaylistsOwnWithItsSession) {
    EXPECT_EQ(carried_query("token=a%20b&hdnts=exp=1~hmac=2&session=old", "new"),
              "session=new&token=a%20b&hdnts=exp=1~hmac=2");
    EXPECT_EQ(carried_query("session=old"), "") << "it is not this function's to go on with";
    EXPECT_EQ(carried_query("sessions=1&&keyed"), "sessions=1&keyed");
    EXPECT_EQ(carried_query("from=1&to=2&fromage=3&key=k", {}, {"from", "to"}), "fromage=3&key=k");
}

TEST(CarriedQueryTest, LeavesOutWhatIsOfOneRequest) {
    EXPECT_EQ(carried_query("_HLS_msn=7&_HLS_part=1&key=k&_=1795861638&_t=5"), "key=k");
    EXPECT_EQ(carried_query("__token__=exp~hmac&_team=1"), "__token__=exp~hmac&_team=1");
}

TEST(CarriedQueryTest, IsBoundedWhereItDoesNotLetIn) {
    const std::string key = "key=" + std::string(3'000, 'k');
    const std::string most = "a=" + std::string(kMaxCarried - 2, 'a');
    EXPECT_EQ(carried_query(key + "&" + most + "&b=1"), key + "&" + most);
}

TEST(CarriedQueryTest, CannotBreakOutOfALine) {
    EXPECT_EQ(carried_query("a=\"\r\n#EXT-X-KEY"), "a=#EXT-X-KEY");
}

}  // namespace
}  // namespace weir::http
