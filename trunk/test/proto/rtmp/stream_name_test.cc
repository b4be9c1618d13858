#include "proto/rtmp/stream_name.h"

#include <gtest/gtest.h>

namespace weir::rtmp {
namespace {

TEST(StreamNameTest, AppAndNameMeetInOneNormalForm) {
    struct Case {
        const char* app;
        const char* name;
        const char* expected;
    };

    for (const Case& c : {Case{"live", "a", "live/a"}, Case{"live/room1", "a", "live/room1/a"},
                          Case{"live", "room1/a", "live/room1/a"}, Case{"/live/", "/a/", "live/a"},
                          Case{"live//room1/", "//a", "live/room1/a"}, Case{"", "live/a", "live/a"},
                          Case{"live", "a b:ü", "live/a b:ü"}}) {
        StreamName name;
        EXPECT_FALSE(parse_path(c.app, c.name, name)) << c.app << " + " << c.name;
        EXPECT_EQ(name.path(), c.expected);
    }
}

TEST(StreamNameTest, LastPartIsTheStream) {
    StreamName name;
    EXPECT_FALSE(parse_path("a", "b/c", name));
    EXPECT_EQ(name.app, "a/b");
    EXPECT_EQ(name.stream, "c");
}

TEST(StreamNameTest, AnEmptyNameIsTheLastPartOfTheApp) {
    struct Case {
        const char* app;
        const char* name;
        const char* expected_app;
        const char* expected_stream;
    };

    for (const Case& c :
         {Case{"live/x", "", "live", "x"}, Case{"live/room1/x", "", "live/room1", "x"},
          Case{"/live//x/", "/", "live", "x"}}) {
        StreamName name;
        EXPECT_FALSE(parse_path(c.app, c.name, name)) << c.app;
        EXPECT_EQ(name.app, c.expected_app);
        EXPECT_EQ(name.stream, c.expected_stream);
    }
    StreamName name;
    EXPECT_TRUE(parse_path("live/..", "", name)) << "dots stay refused";
    EXPECT_TRUE(parse_path("../x", "", name));
}

TEST(StreamNameTest, RefusesEmptyNames) {
    StreamName name;
    for (const char* empty : {"", "/", "///"}) {
        const Error error = parse_path("live", empty, name);
        EXPECT_EQ(error.code(), ErrorCode::kMalformed);
        EXPECT_NE(error.message().find("empty stream name"), std::string_view::npos);
    }
    EXPECT_NE(parse_path("", "a", name).message().find("empty application name"),
              std::string_view::npos);
    EXPECT_NE(parse_path("", "", name).message().find("empty stream name"), std::string_view::npos);
}

TEST(StreamNameTest, RefusesDotPartsAndControlCharacters) {
    StreamName name;
    for (const char* bad : {"..", "../a", "a/../b", "a/.", "a\nb", "a\x7f"}) {
        EXPECT_EQ(parse_path("live", bad, name).code(), ErrorCode::kMalformed) << bad;
    }
    EXPECT_FALSE(parse_path("live", "a..b.c", name));
}

TEST(StreamNameTest, RefusesLongNames) {
    StreamName name;
    EXPECT_FALSE(parse_path("live", std::string(kMaxStreamNameSize, 'a'), name));
    EXPECT_EQ(parse_path("live", std::string(kMaxStreamNameSize + 1, 'a'), name).code(),
              ErrorCode::kLimit);
    EXPECT_EQ(parse_path(std::string(kMaxAppSize + 1, 'a'), "s", name).code(), ErrorCode::kLimit);
}

TEST(StreamNameTest, QueryIsSplitAtTheFirstMark) {
    EXPECT_EQ(split_query("a?b=1?c").first, "a");
    EXPECT_EQ(split_query("a?b=1?c").second, "b=1?c");
    EXPECT_EQ(split_query("a").second, "");
}

TEST(StreamNameTest, HostOfAUrl) {
    EXPECT_EQ(url_host("rtmp://example.com:1935/live"), "example.com");
    EXPECT_EQ(url_host("rtmp://example.com"), "example.com");
    EXPECT_EQ(url_host("rtmp://[::1]:1935/live"), "::1");
    EXPECT_EQ(url_host("rtmp://user:secret@example.com/live"), "example.com");
    EXPECT_EQ(url_host("rtmp://example.com?vhost=a@b"), "example.com");
    EXPECT_EQ(url_host("rtmp://[::1"), "");
    EXPECT_EQ(url_host("nothing"), "");
}

TEST(StreamNameTest, ValueOfAQuery) {
    EXPECT_EQ(query_value("vhost=a&key=b", "vhost"), "a");
    EXPECT_EQ(query_value("vhost=a&key=b", "key"), "b");
    EXPECT_EQ(query_value("myvhost=a", "vhost"), "");
    EXPECT_EQ(query_value("vhost", "vhost"), "");
    EXPECT_EQ(query_value("vhost=", "vhost"), "");
    EXPECT_EQ(query_value("", "vhost"), "");
}

TEST(StreamNameTest, AppLosesItsQueryAndSlashes) {
    EXPECT_EQ(normal_app("/live//room1/?key=1/2"), "live/room1");
}

}  // namespace
}  // namespace weir::rtmp
