#include "net/source/source_url.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

TEST(SourceUrlTest, TakesAnAddressApart) {
    const auto url = SourceUrl::parse("rtmp://Origin.Example:1936/live/room//cam/?token=x&a=b");
    ASSERT_TRUE(url.ok()) << url.error().to_string();
    EXPECT_EQ(url->scheme, "rtmp");
    EXPECT_EQ(url->host, "origin.example");
    EXPECT_EQ(url->port, 1936);
    EXPECT_EQ(url->path, "live/room/cam");
    EXPECT_EQ(url->last(), "cam");
    EXPECT_EQ(url->before_last(), "live/room");
    EXPECT_EQ(url->query, "token=x&a=b");
    EXPECT_FALSE(url->tls());
    EXPECT_FALSE(url->is_http());
    EXPECT_EQ(url->full(), "rtmp://origin.example:1936/live/room/cam?token=x&a=b");
}

TEST(SourceUrlTest, KnowsThePortOfEachScheme) {
    EXPECT_EQ(SourceUrl::parse("rtmp://h/a/b").value().port, 1935);
    EXPECT_EQ(SourceUrl::parse("rtmps://h/a/b").value().port, 443);
    EXPECT_EQ(SourceUrl::parse("http://h/a/b.flv").value().port, 80);
    EXPECT_EQ(SourceUrl::parse("https://h/a/b.flv").value().port, 443);
    EXPECT_EQ(SourceUrl::parse("rtmp://h:80/a/b").value().port, 80) << "written, not that of HTTP";
    EXPECT_EQ(SourceUrl::parse("rtmp://[::1]/a/b").value().port, 1935);
    EXPECT_EQ(SourceUrl::parse("rtmp://[::1]:80/a/b").value().port, 80);
    EXPECT_TRUE(SourceUrl::parse("rtmps://h/a/b").value().tls());
}

TEST(SourceUrlTest, WritesThePortOnlyWhereItIsNotThatOfTheScheme) {
    EXPECT_EQ(SourceUrl::parse("rtmp://h:1935/a/b").value().authority(), "h");
    EXPECT_EQ(SourceUrl::parse("rtmp://h:80/a/b").value().authority(), "h:80");
    EXPECT_EQ(SourceUrl::parse("rtmp://[::1]:1936/a").value().authority(), "[::1]:1936");
}

TEST(SourceUrlTest, RefusesWhatItCannotUseWithoutShowingIt) {
    for (const char* text :
         {"", "rtmp:/h/a", "ftp://h/a", "rtmp://", "rtmp://u:hush@h/a/hush", "rtmp://h:0/a/hush",
          "rtmp://h:99999/hush", "rtmp://h/a b", "rtmp://h/a#hush", "rtmp://h h/a", "h/a/hush"}) {
        const auto url = SourceUrl::parse(text);
        ASSERT_FALSE(url.ok()) << text;
        EXPECT_EQ(url.error().code(), ErrorCode::kMalformed);
        EXPECT_EQ(url.error().message().find("hush"), std::string_view::npos) << text;
    }
    EXPECT_FALSE(SourceUrl::parse("rtmp://h/" + std::string(3000, 'a')).ok());
}

TEST(SourceUrlTest, ShowsNoSecrets) {
    EXPECT_EQ(SourceUrl::parse("rtmp://h/live/cam?token=x").value().shown(),
              "rtmp://h/live/cam?***");
    EXPECT_EQ(SourceUrl::parse("rtmp://h/live/cam").value().shown(), "rtmp://h/live/cam");
}

TEST(SourceUrlTest, HidesTheStreamKeyOfATarget) {
    EXPECT_EQ(SourceUrl::parse("rtmp://h/live2/abcd-key").value().shown_target(),
              "rtmp://h/live2/***");
    EXPECT_EQ(SourceUrl::parse("rtmp://h/live2").value().shown_target(), "rtmp://h/live2");
    EXPECT_EQ(SourceUrl::parse("rtmp://h/[app]/[stream]?k=x").value().shown_target(),
              "rtmp://h/[app]/[stream]?***");
}

}  // namespace
}  // namespace weir::net
