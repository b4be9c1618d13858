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

// ---- RTSP ----

TEST(SourceUrlTest, TakesALoginForRtsp) {
    const auto url =
        SourceUrl::parse("rtsp://admin:p%40ss:w#rd@Camera.Example/Streaming//101/?a=1");
    ASSERT_TRUE(url.ok()) << url.error().to_string();
    EXPECT_EQ(url->scheme, "rtsp");
    EXPECT_EQ(url->login.user, "admin");
    EXPECT_EQ(url->login.password, "p@ss:w#rd");
    EXPECT_EQ(url->host, "camera.example");
    EXPECT_EQ(url->port, 554);
    EXPECT_EQ(url->path, "Streaming//101/");
    EXPECT_EQ(url->query, "a=1");
    EXPECT_TRUE(url->is_rtsp());
    EXPECT_EQ(url->rtsp().full(), "rtsp://camera.example/Streaming//101/?a=1");
    EXPECT_EQ(url->rtsp().login, url->login);
    EXPECT_EQ(url->full(), "rtsp://admin:p%40ss%3Aw%23rd@camera.example/Streaming//101/?a=1");
    EXPECT_EQ(SourceUrl::parse(url->full()).value(), *url);
}

TEST(SourceUrlTest, KnowsThePortsOfRtsp) {
    EXPECT_EQ(SourceUrl::parse("rtsps://h/a").value().port, 322);
    EXPECT_EQ(SourceUrl::parse("rtsp://h:8554").value().authority(), "h:8554");
    EXPECT_EQ(SourceUrl::parse("RTSP://[::1]/a").value().authority(), "[::1]");
    EXPECT_EQ(SourceUrl::parse("rtsp://h").value().rtsp().target, "/");
    EXPECT_FALSE(SourceUrl::parse("rtspx://h/a").ok());
}

TEST(SourceUrlTest, ShowsNoLoginOfACamera) {
    for (const char* text : {"rtsp://admin:hush@h/live", "rtsp://h/live?user=a&password=hush",
                             "rtsp://h/user=admin_password=hush_channel=1.sdp",
                             "rtsps://hush@h/PassWord/hush", "rtsp://h/admin&pwd=hush"}) {
        const auto url = SourceUrl::parse(text);
        ASSERT_TRUE(url.ok()) << text;
        EXPECT_EQ(url->shown().find("hush"), std::string::npos) << url->shown();
        EXPECT_EQ(url->shown_target().find("hush"), std::string::npos) << url->shown_target();
    }
    EXPECT_EQ(SourceUrl::parse("rtsp://a:b@h/live/cam").value().shown(), "rtsp://h/live/cam");
    const auto wrong = SourceUrl::parse("rtsp://admin:hush@h:99999/");
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().message().find("hush"), std::string_view::npos);
}

// ---- WHEP ----

TEST(SourceUrlTest, TakesALoginAndAPathAsWrittenForWhep) {
    const auto url = SourceUrl::parse(
        "WHEP+http://admin:p%40ss@Other.Example:8080/rtc//v1/whep/?app=live&stream=cam&token=x");
    ASSERT_TRUE(url.ok()) << url.error().to_string();
    EXPECT_EQ(url->scheme, "whep+http");
    EXPECT_EQ(url->login.user, "admin");
    EXPECT_EQ(url->login.password, "p@ss");
    EXPECT_EQ(url->host, "other.example");
    EXPECT_EQ(url->port, 8080);
    EXPECT_TRUE(url->is_whep());
    EXPECT_FALSE(url->is_http() || url->is_rtsp() || url->tls());
    EXPECT_EQ(url->endpoint().target, "/rtc//v1/whep/?app=live&stream=cam&token=x");
    EXPECT_EQ(url->endpoint().origin(), "http://other.example:8080");
    EXPECT_EQ(SourceUrl::parse(url->full()).value(), *url);
    EXPECT_EQ(url->shown(), "whep+http://other.example:8080/rtc//v1/whep/?***");
}

TEST(SourceUrlTest, KnowsThePortsOfWhep) {
    EXPECT_EQ(SourceUrl::parse("whep+http://h").value().port, 80);
    const auto tls = SourceUrl::parse("whep+https://h/live/cam/whep").value();
    EXPECT_EQ(tls.port, 443);
    EXPECT_TRUE(tls.tls());
    EXPECT_TRUE(tls.endpoint().tls);
    EXPECT_EQ(tls.full(), "whep+https://h/live/cam/whep");
    EXPECT_EQ(SourceUrl::parse("whep+http://[::1]:443/a").value().authority(), "[::1]:443");
    EXPECT_EQ(SourceUrl::whep_at(tls.endpoint()), tls);
}

TEST(SourceUrlTest, RefusesWhatIsNoEndpointWithoutShowingIt) {
    for (const char* text :
         {"whep://h/hush", "whep+rtmp://h/hush", "whep+http:/h/hush", "whep+http://u:hush@/a",
          "whep+http://u:hush@h:0/a", "whep+http://h/hush#", "whep+http://u:hu%0ash@h/a",
          "whep+http", "whep+"}) {
        const auto url = SourceUrl::parse(text);
        ASSERT_FALSE(url.ok()) << text;
        EXPECT_EQ(url.error().message().find("hush"), std::string_view::npos) << text;
    }
    EXPECT_FALSE(SourceUrl::parse("whep+http://h/" + std::string(3000, 'a')).ok());
    EXPECT_EQ(SourceUrl::parse("whep+http://a:hush@h/x?password=hush").value().shown(),
              "whep+http://h/x?***");
}

TEST(SourceUrlTest, PutsNamesBehindThePath) {
    const auto appended = [](std::string_view text) {
        SourceUrl url = SourceUrl::parse(text).value();
        url.append("room/cam");
        return url.full();
    };
    EXPECT_EQ(appended("rtmp://h"), "rtmp://h/room/cam");
    EXPECT_EQ(appended("rtmp://h/live?a=b"), "rtmp://h/live/room/cam?a=b");
    EXPECT_EQ(appended("rtsp://h/live/"), "rtsp://h/live/room/cam");
}

TEST(SourceUrlTest, TakesGroups) {
    const auto url = SourceUrl::parse("UDP://10.0.0.9@232.1.1.1:5000@eth1");
    ASSERT_TRUE(url.ok()) << url.error().to_string();
    EXPECT_EQ(url->scheme, "udp");
    EXPECT_EQ(url->host, "232.1.1.1");
    EXPECT_EQ(url->port, 5000);
    EXPECT_TRUE(url->is_group());
    EXPECT_FALSE(url->tls());
    EXPECT_EQ(url->full(), "udp://10.0.0.9@232.1.1.1:5000@eth1");
    EXPECT_EQ(url->shown(), url->full());
    EXPECT_EQ(SourceUrl::parse(url->full()).value(), *url);
    EXPECT_EQ(SourceUrl::parse("rtp://[ff15::1]:5000").value().full(), "rtp://[ff15::1]:5000");
    EXPECT_FALSE(SourceUrl::parse("rtp://239.1.1.1").ok());
    EXPECT_FALSE(SourceUrl::parse("udp://239.1.1.1:1?fcc=3").ok());
    EXPECT_FALSE(SourceUrl::parse("rtmp://h/a/b").value().is_group());
}

}  // namespace
}  // namespace weir::net
