#include "proto/rtsp/url.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/http/url.h"

namespace weir::rtsp {
namespace {

Url url_of(std::string_view text) {
    Result<Url> url = Url::parse(text);
    EXPECT_TRUE(url.ok()) << text << ": " << url.error().message();
    return url.ok() ? *url : Url();
}

TEST(RtspUrlTest, TakesUrlsApart) {
    struct Case {
        std::string_view text;
        std::string_view full;
        std::string_view user;
        std::string_view password;
        uint16_t port;
    };

    const Case cases[] = {
        {"rtsp://cam", "rtsp://cam/", "", "", 554},
        {"RTSP://Cam:554/Live/A?b=C", "rtsp://cam/Live/A?b=C", "", "", 554},
        {"rtsp://cam:80/x", "rtsp://cam:80/x", "", "", 80},
        {"rtsp://cam:8554/a//b/", "rtsp://cam:8554/a//b/", "", "", 8554},
        {"rtsps://cam/x", "rtsps://cam/x", "", "", 322},
        {"rtsps://cam:443/x", "rtsps://cam:443/x", "", "", 443},
        {"rtspu://cam/x", "rtsp://cam/x", "", "", 554},
        {"rtsp://[2001:DB8::1]/x", "rtsp://[2001:db8::1]/x", "", "", 554},
        {"rtsp://u:p@[::1]:8554/x", "rtsp://[::1]:8554/x", "u", "p", 8554},
        {"rtsp://user@cam/x", "rtsp://cam/x", "user", "", 554},
        {"rtsp://u:p%40%2f%3A%25@cam?x=y@z", "rtsp://cam/?x=y@z", "u", "p@/:%", 554},
        // Characters that operators do not escape.
        {"rtsp://u:p@ss:w#rd%@cam/x@y", "rtsp://cam/x@y", "u", "p@ss:w#rd%", 554},
        {"rtsp://cam/x?user=a&password=b", "rtsp://cam/x?user=a&password=b", "", "", 554},
    };
    for (const Case& each : cases) {
        const Url url = url_of(each.text);
        EXPECT_EQ(url.full(), each.full) << each.text;
        EXPECT_EQ(url.login.user, each.user) << each.text;
        EXPECT_EQ(url.login.password, each.password) << each.text;
        EXPECT_EQ(url.port, each.port) << each.text;
        EXPECT_EQ(url.tls, each.full.starts_with("rtsps"));
        EXPECT_EQ(url_of(url.full()).full(), url.full());
    }
}

TEST(RtspUrlTest, ShowsNoSecrets) {
    EXPECT_EQ(url_of("rtsp://user:pass@cam:80/a?token=x").shown(), "rtsp://cam:80/a?***");
    EXPECT_EQ(url_of("rtsp://user:pass@cam/a").shown(), "rtsp://cam/a");
    for (const std::string_view text :
         {"", "secret", "http://secret/", "rtsp:/secret", "rtsp://", "rtsp:///secret",
          "rtsp://secret@/x", "rtsp://cam:0/secret", "rtsp://cam:70000/secret",
          "rtsp://cam:/secret", "rtsp://[::1/secret", "rtsp://cam/secret x", "rtsp://cam/secret#x",
          "rtsp://secret%0d%0aX:y@cam/", "rtsp://sec\nret:x@cam/", "rtsp://cam/secret\xc3\xa4"}) {
        const Result<Url> url = Url::parse(text);
        ASSERT_FALSE(url.ok()) << text;
        EXPECT_EQ(url.error().code(), ErrorCode::kMalformed);
        EXPECT_EQ(url.error().message().find("secret"), std::string_view::npos) << text;
    }
    EXPECT_FALSE(Url::parse("rtsp://cam/" + std::string(http::kMaxUrlBytes, 'x')).ok());
    EXPECT_FALSE(Url::parse("rtsp://" + std::string(http::kMaxUserInfoPart + 1, 'x') + "@c").ok());
}

// What a camera says in DESCRIBE, and what PLAY and SETUP of a track are to be sent to.
TEST(RtspControlUrlTest, FindsTheTracksOfCameras) {
    struct Case {
        std::string_view what;
        std::string_view request;
        BaseView base;
        std::string_view control;
        std::string_view aggregate;
        std::string_view track;
    };

    const Case cases[] = {
        {"as the RFC has it",
         "rtsp://c/live",
         {.content_base = "rtsp://c/live/"},
         "trackID=1",
         "rtsp://c/live/",
         "rtsp://c/live/trackID=1"},
        {"no Content-Base, no slash",
         "rtsp://c/live",
         {},
         "trackID=1",
         "rtsp://c/live",
         "rtsp://c/live/trackID=1"},
        {"a base without a slash",
         "rtsp://c/live",
         {.content_base = "rtsp://c/live"},
         "track1",
         "rtsp://c/live",
         "rtsp://c/live/track1"},
        {"Content-Location when there is no base",
         "rtsp://c/live",
         {.content_location = "rtsp://c/other/"},
         "track1",
         "rtsp://c/other/",
         "rtsp://c/other/track1"},
        {"Content-Base before Content-Location",
         "rtsp://c/live",
         {.content_base = "rtsp://c/a/", .content_location = "rtsp://c/b/"},
         "t",
         "rtsp://c/a/",
         "rtsp://c/a/t"},
        {"an absolute control",
         "rtsp://c/live",
         {.content_base = "rtsp://c/live/"},
         "rtsp://c/live/video",
         "rtsp://c/live/",
         "rtsp://c/live/video"},
        {"the inner address of a camera behind NAT",
         "rtsp://outer:8554/live",
         {.content_base = "rtsp://192.168.1.64:554/live/"},
         "rtsp://192.168.1.64:554/live/trackID=1",
         "rtsp://outer:8554/live/",
         "rtsp://outer:8554/live/trackID=1"},
        {"another host, with a login",
         "rtsp://c/live",
         {},
         "rtsp://u:p@evil/x",
         "rtsp://c/live",
         "rtsp://c/x"},
        {"our login is not part of what is sent",
         "rtsp://u:p@c/live",
         {},
         "t",
         "rtsp://c/live",
         "rtsp://c/live/t"},
        {"rtsps stays rtsps",
         "rtsps://c/live",
         {.content_base = "rtsp://c/live/"},
         "rtsp://c/live/t",
         "rtsps://c/live/",
         "rtsps://c/live/t"},
        {"a base of which only the host is there",
         "rtsp://c/live",
         {.content_base = "rtsp://c"},
         "t",
         "rtsp://c/",
         "rtsp://c/t"},
        {"a base that is a path",
         "rtsp://c/live",
         {.content_base = "/cam/"},
         "t",
         "rtsp://c/cam/",
         "rtsp://c/cam/t"},
        {"a base that is nonsense",
         "rtsp://c/live",
         {.content_base = "nonsense", .content_location = "a b"},
         "t",
         "rtsp://c/live",
         "rtsp://c/live/t"},
        {"a base whose scheme stands twice",
         "rtsp://c/live",
         {.content_base = "rtsp://rtsp://192.168.1.64:554/live/"},
         "trackID=1",
         "rtsp://c/live/",
         "rtsp://c/live/trackID=1"},
        {"the same in Content-Location and a control",
         "rtsp://c/live",
         {.content_location = "rtsp://RTSP://c/other/"},
         "rtsp://rtsp://c/other/trackID=1",
         "rtsp://c/other/",
         "rtsp://c/other/trackID=1"},
        {"the same in the control of the session",
         "rtsp://c/live",
         {.session_control = "rtsp://rtsp://c/session"},
         "t",
         "rtsp://c/session",
         "rtsp://c/session/t"},
        {"a base that is a scheme alone",
         "rtsp://c/live",
         {.content_base = "rtsp://rtsp://", .session_control = "rtsp://"},
         "t",
         "rtsp://c/live",
         "rtsp://c/live/t"},
        {"blanks around the base",
         "rtsp://c/live",
         {.content_base = " rtsp://c/live/ "},
         " t ",
         "rtsp://c/live/",
         "rtsp://c/live/t"},
        {"an absolute control of the session",
         "rtsp://c/live",
         {.content_base = "rtsp://c/live/", .session_control = "rtsp://c/session/"},
         "t",
         "rtsp://c/session/",
         "rtsp://c/session/t"},
        {"'*' of the session",
         "rtsp://c/live",
         {.content_base = "rtsp://c/live/", .session_control = "*"},
         "t",
         "rtsp://c/live/",
         "rtsp://c/live/t"},
        {"a query in the base",
         "rtsp://c/cam/realmonitor?channel=1&subtype=0",
         {.content_base = "rtsp://c/cam/realmonitor?channel=1&subtype=0/"},
         "trackID=0",
         "rtsp://c/cam/realmonitor?channel=1&subtype=0/",
         "rtsp://c/cam/realmonitor?channel=1&subtype=0/trackID=0"},
        {"a query in the request",
         "rtsp://c/video?key=a",
         {},
         "t",
         "rtsp://c/video?key=a",
         "rtsp://c/video?key=a/t"},
        {"a control that is a query",
         "rtsp://c/video",
         {.content_base = "rtsp://c/video/"},
         "?ctype=video",
         "rtsp://c/video/",
         "rtsp://c/video/?ctype=video"},
        {"a path from the root",
         "rtsp://c/live/cam",
         {.content_base = "rtsp://c/live/cam/"},
         "/live/cam/track1",
         "rtsp://c/live/cam/",
         "rtsp://c/live/cam/track1"},
        {"a slash that means nothing",
         "rtsp://c/live/cam",
         {.content_base = "rtsp://c/live/cam/"},
         "/track1",
         "rtsp://c/live/cam/",
         "rtsp://c/live/cam/track1"},
        {"the same without a slash in the base",
         "rtsp://c/live/cam",
         {},
         "/track1",
         "rtsp://c/live/cam",
         "rtsp://c/live/cam/track1"},
        {"one track for all", "rtsp://c/live", {}, "*", "rtsp://c/live", "rtsp://c/live"},
        {"no control", "rtsp://c/live", {}, "", "rtsp://c/live", "rtsp://c/live"},
        {"only a host in the request", "rtsp://c", {}, "t", "rtsp://c/", "rtsp://c/t"},
        {"an IPv6 address",
         "rtsp://[::1]:8554/a",
         {.content_base = "rtsp://[fe80::1]/a/"},
         "t",
         "rtsp://[::1]:8554/a/",
         "rtsp://[::1]:8554/a/t"},
    };
    for (const Case& each : cases) {
        const std::string base = base_url(url_of(each.request), each.base);
        EXPECT_EQ(base, each.aggregate) << each.what;
        EXPECT_EQ(resolve_control(base, each.control), each.track) << each.what;
    }
}

TEST(RtspControlUrlTest, RefusesWhatCannotGoIntoARequestLine) {
    EXPECT_EQ(resolve_control("rtsp://c/", "a b"), std::nullopt);
    EXPECT_EQ(resolve_control("rtsp://c/", "a\r\nX: y"), std::nullopt);
    EXPECT_EQ(resolve_control("rtsp://c/", std::string(http::kMaxUrlBytes, 'x')), std::nullopt);
}

TEST(RtspAuthorizedUriTest, TakesTheSessionForItsTracks) {
    EXPECT_TRUE(is_uri_for("rtsp://c/live/a", "rtsp://c/live/a"));
    EXPECT_TRUE(is_uri_for("rtsp://c/live/a/", "rtsp://c/live/a/track=1"));
    EXPECT_TRUE(is_uri_for("rtsp://c/live/a/track=1", "rtsp://c/live/a"));
    EXPECT_TRUE(is_uri_for("rtsp://10.0.0.1:8554/live/a?x=y", "rtsp://name/live/a"));
    EXPECT_TRUE(is_uri_for("/live/a", "rtsp://c/live/a"));
    EXPECT_TRUE(is_uri_for("*", "*"));
    EXPECT_FALSE(is_uri_for("*", "rtsp://c/live/a"));
    EXPECT_FALSE(is_uri_for("rtsp://c/live/ab", "rtsp://c/live/a"));
    EXPECT_FALSE(is_uri_for("rtsp://c/live/b", "rtsp://c/live/a"));
    EXPECT_FALSE(is_uri_for("rtsp://c/", "rtsp://c/live/a"));
    EXPECT_FALSE(is_uri_for("rtsp://c", "rtsp://c/live/a"));
}

}  // namespace
}  // namespace weir::rtsp
