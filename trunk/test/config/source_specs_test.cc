#include "config/source_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::config {
namespace {

using testing::HasSubstr;

Config parse(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "weir.conf");
    for (const Diagnostic& error : outcome.errors) {
        ADD_FAILURE() << error.to_string();
    }
    return outcome.config ? std::move(*outcome.config) : Config();
}

std::string error_of(std::string_view text) {
    const ParseOutcome outcome = parse_config(text, "weir.conf");
    return outcome.errors.empty() ? "" : outcome.errors[0].to_string();
}

stream::StreamKey key(std::string_view app, std::string_view name) {
    return {std::string(stream::kDefaultVhost), std::string(app), std::string(name)};
}

TEST(SourceSpecsTest, NamesAStreamOfAnApplication) {
    const Config config = parse(
        "application live { source rtmp://o.example/a/b { stream cam1; on_demand on; linger 3s; } "
        "}");
    const std::vector<net::SourceSpec> specs = named_sources(config);
    ASSERT_EQ(specs.size(), 1U);
    EXPECT_EQ(specs[0].role, net::SourceRole::kPull);
    EXPECT_EQ(specs[0].key, key("live", "cam1"));
    EXPECT_EQ(specs[0].url.full(), "rtmp://o.example/a/b");
    EXPECT_TRUE(specs[0].on_demand);
    EXPECT_TRUE(specs[0].named);
    EXPECT_EQ(specs[0].linger, Seconds(3));
    EXPECT_FALSE(source_for(config, key("live", "other")).has_value());
}

TEST(SourceSpecsTest, RunsANamedSourceAlwaysUnlessToldOtherwise) {
    const Config config = parse("source http://o/x.flv { stream live/room/cam1; }");
    const std::vector<net::SourceSpec> specs = named_sources(config);
    ASSERT_EQ(specs.size(), 1U);
    EXPECT_EQ(specs[0].key, key("live/room", "cam1"));
    EXPECT_FALSE(specs[0].on_demand);
    EXPECT_EQ(specs[0].linger, Seconds(10));
}

TEST(SourceSpecsTest, TakesWhatAVhostSaysOnceThoughItsApplicationsHaveItToo) {
    const Config config = parse(
        "vhost a.example { source rtmp://o/x/y { stream live/cam; } application live { } "
        "application vip { } }");
    const std::vector<net::SourceSpec> specs = named_sources(config);
    size_t seen = 0;
    for (const net::SourceSpec& spec : specs) {
        EXPECT_EQ(spec.key, (stream::StreamKey{"a.example", "live", "cam"}));
        seen++;
    }
    EXPECT_GE(seen, 1U);
}

TEST(SourceSpecsTest, PutsWhatStandsBelowTheApplicationBehindTheUrl) {
    const Config config =
        parse("application live { source rtmp://o/origin?token=x { on_demand on; } }");
    const auto spec = source_for(config, key("live/room", "cam"));
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->url.full(), "rtmp://o/origin/room/cam?token=x");
    EXPECT_EQ(spec->shown, "rtmp://o/origin/room/cam?***");
    EXPECT_TRUE(spec->on_demand);
    EXPECT_FALSE(spec->named);
    EXPECT_FALSE(source_for(config, key("other", "cam")).has_value());
    EXPECT_TRUE(named_sources(config).empty());
}

TEST(SourceSpecsTest, BringsAnyStreamOfAVhostUnderItsWholeAddress) {
    const Config config = parse("source http://o:8080;");
    const auto spec = source_for(config, key("live", "cam"));
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->url.full(), "http://o:8080/live/cam.flv");
    EXPECT_TRUE(spec->on_demand);
}

TEST(SourceSpecsTest, ANameIsNothingButANameInTheRequestOfASource) {
    const auto path_of = [](std::string_view source, std::string_view app, std::string_view name) {
        const auto spec =
            source_for(parse(source), {"__defaultVhost__", std::string(app), std::string(name)});
        return spec ? spec->url.target() : "none";
    };
    EXPECT_EQ(path_of("source http://o;", "live/room 1", "a?token=x y"),
              "/live/room%201/a%3Ftoken%3Dx%20y.flv");
    EXPECT_EQ(path_of("source http://o;", "live", "%2e%2e"), "/live/%252e%252e.flv");
    EXPECT_EQ(path_of("source rtsp://o/x/;", "live", "a b?c"), "/x/live/a%20b%3Fc");
    EXPECT_EQ(path_of("source rtmp://o;", "live", "a b"), "/live/a b");
    EXPECT_EQ(path_of("source rtmp://o;", "live", "a?token=x"), "none");
    EXPECT_EQ(path_of("source srt://o;", "live", "a?key=x"), "none");
    for (const char* source : {"source http://o;", "source rtsp://o/;", "source rtmp://o;",
                               "origin http://o;", "source whep+http://o/[app]/[stream]/whep;"}) {
        EXPECT_EQ(path_of(source, "live/../secret", "cam"), "none") << source;
        EXPECT_EQ(path_of(source, "live", ".."), "none") << source;
        EXPECT_EQ(path_of(source, "live", "a HTTP/1.1\r\nHost: evil"), "none") << source;
    }
}

TEST(SourceSpecsTest, ANameIsNothingButANameInTheAddressOfAForward) {
    const Config config = parse(
        "application live { forward rtmp://a/other; forward rtmp://a/x/y?n=[stream]; forward "
        "rtmp://b/live2/stream-key; forward rtsp://c/[app]/[stream]_x?n=[stream]; }");
    std::vector<std::string> urls;
    for (const net::SourceSpec& spec : forwards_of(config, key("live", "a?b=1&c"))) {
        urls.push_back(spec.url.full());
    }
    EXPECT_THAT(urls, testing::ElementsAre("rtmp://b/live2/stream-key",
                                           "rtsp://c/live/a%3Fb%3D1%26c_x?n=a%3Fb%3D1%26c"));
}

TEST(SourceSpecsTest, AnApplicationsOwnSourcesReplaceThoseOfItsVhost) {
    const Config config =
        parse("source rtmp://o; application vip { source rtmp://p/x/y { stream cam; } }");
    EXPECT_FALSE(source_for(config, key("vip", "other")).has_value());
    EXPECT_TRUE(source_for(config, key("live", "other")).has_value());
    EXPECT_EQ(named_sources(config).size(), 1U);
}

TEST(SourceSpecsTest, DisabledSectionsHaveNone) {
    const Config config =
        parse("application live { enabled off; source rtmp://o/a/b { stream cam; } }");
    EXPECT_TRUE(named_sources(config).empty());
    EXPECT_FALSE(source_for(config, key("live", "x")).has_value());
}

TEST(SourceSpecsTest, ForwardsUnderTheSameNameOrAsTheUrlSays) {
    const Config config = parse(
        "application live { forward rtmp://a/other; forward rtmps://b/live2/stream-key; "
        "forward rtmp://c/[app]/[stream]_x?n=[stream]; }");
    const std::vector<net::SourceSpec> specs = forwards_of(config, key("live", "cam"));
    ASSERT_EQ(specs.size(), 3U);
    EXPECT_EQ(specs[0].role, net::SourceRole::kForward);
    EXPECT_EQ(specs[0].url.full(), "rtmp://a/other/cam");
    EXPECT_EQ(specs[0].shown, "rtmp://a/other/cam");
    EXPECT_EQ(specs[1].url.full(), "rtmps://b/live2/stream-key");
    EXPECT_EQ(specs[1].shown, "rtmps://b/live2/***");
    EXPECT_EQ(specs[2].url.full(), "rtmp://c/live/cam_x?n=cam");
    EXPECT_EQ(specs[0].linger, Millis(0));
    EXPECT_TRUE(forwards_of(config, key("other", "cam")).empty());
}

TEST(SourceSpecsTest, LeavesOutAForwardWhoseStreamIdANameWouldChange) {
    const Config config =
        parse("application live { forward srt://h:9000?streamid=%23!::r=x/[stream],m=publish; }");
    ASSERT_EQ(forwards_of(config, key("live", "cam%2C")).size(), 1U);
    EXPECT_THAT(forwards_of(config, key("live", "cam%2C"))[0].url.query, HasSubstr("x/cam%252C,"));
    for (const char* name : {"a,key=k", "a&passphrase=", "a{", "a=b", "a:b"}) {
        EXPECT_TRUE(forwards_of(config, key("live", name)).empty()) << name;
    }
}

TEST(SourceSpecsTest, SaysWhatIsMissing) {
    EXPECT_THAT(error_of("source rtmp://o/a/b { stream cam; }"), HasSubstr("stream APP/STREAM"));
    EXPECT_THAT(error_of("source rtmp://o/a { stream live/cam; }"),
                HasSubstr("rtmp://HOST/APP/STREAM"));
    EXPECT_THAT(error_of("source rtmp://o/a { on_demand off; }"), HasSubstr("stream NAME"));
    EXPECT_THAT(error_of("application a { source rtmp://o; }"), HasSubstr("rtmp://HOST/APP"));
    EXPECT_THAT(error_of("source rtmp://o/a/b { stream live/cam; stream live/b; }"),
                HasSubstr("a second stream"));
    EXPECT_THAT(error_of("source rtmp://o/a { listen 1; }"), HasSubstr("listen"));
    EXPECT_THAT(error_of("forward http://o/a/b;"), HasSubstr("rtmp://HOST[:PORT]/APP"));
    EXPECT_THAT(error_of("forward rtmp://o;"), HasSubstr("rtmp://HOST[:PORT]/APP"));
}

TEST(SourceSpecsTest, RefusesPlaylistsAndSaysWhatCanBringThem) {
    for (const char* url : {"http://h/live/a.m3u8", "https://h/a.M3U8?token=hush", "http://h/a.mpd",
                            "http://h/list.m3u"}) {
        const std::string error =
            error_of(std::string("source ") + url + " { stream live/a; on_demand on; }");
        EXPECT_THAT(error, HasSubstr("a playlist")) << url;
        EXPECT_THAT(error,
                    HasSubstr("ffmpeg -re -i URL -c copy -f flv rtmp://127.0.0.1/APP/STREAM"));
        EXPECT_EQ(error.find("hush"), std::string::npos) << error;
    }
}

TEST(SourceSpecsTest, AForwardThatIsLeftOutShowsNoStreamKey) {
    testing::internal::CaptureStderr();
    const Config config = parse("application live { forward rtmp://b/live2/hush-key?n=[stream]; }");
    EXPECT_TRUE(forwards_of(config, key("live", "a?b")).empty());
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("is not forwarded to rtmp://b/live2/***"));
    EXPECT_EQ(log.find("hush"), std::string::npos) << log;
}

TEST(SourceSpecsTest, ErrorsShowNoSecret) {
    for (const char* text : {"source ftp://h/a?token=hush { on_demand on; }",
                             "forward rtmp://u:hush@h/live;", "source rtmp://u:hush@h/live/a;"}) {
        const std::string error = error_of(text);
        EXPECT_FALSE(error.empty());
        EXPECT_EQ(error.find("hush"), std::string::npos) << error;
    }
}

TEST(SourceSpecsTest, IsWrittenAgainAsItWasWithoutSecrets) {
    const Config config = parse(
        "application live { source rtmp://o/a/b?token=hush { stream cam1; linger 60s; } "
        "forward rtmp://y/live2/hush; }");
    const std::string dump = dump_config(config.settings);
    EXPECT_THAT(dump, HasSubstr("source rtmp://o/a/b?*** { stream cam1; linger 1m; }  #"));
    EXPECT_THAT(dump, HasSubstr("forward rtmp://y/live2/***;"));
    EXPECT_EQ(dump.find("hush"), std::string::npos);
}

// ---- RTSP ----

TEST(SourceSpecsTest, TakesACameraWithItsLogin) {
    const Config config = parse(
        "source \"rtsp://admin:p@ss;{}@cam.example/Streaming/101/?a=b\" { stream live/door; "
        "transport "
        "multicast; } source rtsps://cam.example { stream live/hall; }");
    const std::vector<net::SourceSpec> specs = named_sources(config);
    ASSERT_EQ(specs.size(), 2U);
    EXPECT_EQ(specs[0].url.login.user, "admin");
    EXPECT_EQ(specs[0].url.login.password, "p@ss;{}");
    EXPECT_EQ(specs[0].url.path, "Streaming/101/");
    EXPECT_EQ(specs[0].shown, "rtsp://cam.example/Streaming/101/?***");
    EXPECT_EQ(specs[0].transport, net::SourceTransport::kMulticast);
    EXPECT_EQ(specs[1].transport, net::SourceTransport::kAuto);
    EXPECT_EQ(specs[1].shown, "rtsps://cam.example/");
}

TEST(SourceSpecsTest, BringsAnyStreamOfAnRtspServer) {
    const Config config = parse("application live { source rtsp://o:8554/; }");
    const auto spec = source_for(config, key("live/room", "cam"));
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->url.full(), "rtsp://o:8554/room/cam");
}

TEST(SourceSpecsTest, RefusesATransportWhereThereIsNoChoice) {
    EXPECT_THAT(error_of("source rtmp://o/a/b { stream live/x; transport tcp; }"),
                HasSubstr("expected it with rtsp:// and rtsps:// only"));
    EXPECT_THAT(error_of("source rtsp://o/a/b { stream live/x; transport sctp; }"),
                HasSubstr("multicast"));
    const std::string wrong = error_of("source rtsp://admin:hush@o:x/ { stream live/x; }");
    EXPECT_THAT(wrong, HasSubstr("rtsp://[USER:PASSWORD@]HOST"));
    EXPECT_THAT(wrong, testing::Not(HasSubstr("hush")));
}

TEST(SourceSpecsTest, VerifiesCertificatesUnlessToldOtherwise) {
    const Config config = parse(
        "source rtsps://a { stream live/a; tls_verify off; } source rtmps://b/x/y { stream "
        "live/b; }");
    const std::vector<net::SourceSpec> specs = named_sources(config);
    ASSERT_EQ(specs.size(), 2U);
    EXPECT_FALSE(specs[0].tls_verify);
    EXPECT_TRUE(specs[1].tls_verify);
    EXPECT_THAT(error_of("source rtsp://o/a/b { stream live/x; tls_verify off; }"),
                HasSubstr("rtmps://, https://, rtsps:// and whep+https:// only"));
}

TEST(SourceSpecsTest, PullsByWhep) {
    const Config config = parse(
        "source whep+https://admin:hush@a/live/cam/whep?token=hush { stream live/a; on_demand on; "
        "tls_verify off; }");
    const std::vector<net::SourceSpec> specs = named_sources(config);
    ASSERT_EQ(specs.size(), 1U);
    EXPECT_EQ(specs[0].url.full(), "whep+https://admin:hush@a/live/cam/whep?token=hush");
    EXPECT_EQ(specs[0].shown, "whep+https://a/live/cam/whep?***");
    EXPECT_FALSE(specs[0].tls_verify);
    EXPECT_TRUE(specs[0].on_demand);
    EXPECT_THAT(error_of("source whep+http://a/x { stream live/a; transport tcp; }"),
                HasSubstr("expected it with rtsp:// and rtsps:// only"));
    EXPECT_THAT(error_of("source whep+http://a { stream live/a; }"),
                HasSubstr("whep+http://HOST/PATH"));
    EXPECT_THAT(error_of("forward whep+http://a/x;"), HasSubstr("rtmp://HOST"));
    EXPECT_THAT(error_of("source whep+ftp://a/x { stream live/a; }"), HasSubstr("whep+http"));
}

TEST(SourceSpecsTest, PullsAnyStreamByWhepWhereTheUrlHasAPlaceForItsName) {
    const Config config = parse(
        "application live { source "
        "\"whep+http://o:8080/rtc/v1/whep/?app=[app]&stream=[stream]&token=x\"; }");
    const auto spec = source_for(config, key("live/room", "cam&token=other 1"));
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->url.full(),
              "whep+http://o:8080/rtc/v1/whep/"
              "?app=live/room&stream=cam%26token%3Dother%201&token=x");
    EXPECT_TRUE(spec->on_demand);
    EXPECT_EQ(spec->shown, "whep+http://o:8080/rtc/v1/whep/?***");
    EXPECT_THAT(error_of("application live { source whep+http://o/whep/?app=live; }"),
                HasSubstr("expected [stream] in the URL"));
}

TEST(SourceSpecsTest, ForwardsByRtsp) {
    const Config config = parse(
        "application live { forward rtsp://admin:hush@a:8554/other; forward "
        "rtsps://b/live2/stream-key; forward rtsp://c/[app]/[stream]_x; }");
    const std::vector<net::SourceSpec> specs = forwards_of(config, key("live", "cam"));
    ASSERT_EQ(specs.size(), 3U);
    EXPECT_EQ(specs[0].url.full(), "rtsp://admin:hush@a:8554/other/cam");
    EXPECT_EQ(specs[0].shown, "rtsp://a:8554/other/cam");
    EXPECT_EQ(specs[1].url.full(), "rtsps://b/live2/stream-key");
    EXPECT_EQ(specs[1].shown, "rtsps://b/live2/***");
    EXPECT_EQ(specs[2].url.full(), "rtsp://c/live/cam_x");
    EXPECT_THAT(error_of("forward rtsp://o/;"), HasSubstr("rtsp://[USER:PASSWORD@]HOST"));
}

TEST(SourceSpecsTest, AGroupIsOneStream) {
    const auto specs = named_sources(parse(
        "source udp://0.0.0.0:5000 { stream live/a; linger 3s; } application iptv { source "
        "rtp://10.0.0.9@232.1.1.1:5000@eth1; source udp://[ff15::1]:6000 { on_demand on; } }"));
    ASSERT_EQ(specs.size(), 3U);
    EXPECT_EQ(specs[0].url.full(), "udp://0.0.0.0:5000");
    EXPECT_EQ(specs[0].key.app, "live");
    EXPECT_EQ(specs[0].key.name, "a");
    EXPECT_FALSE(specs[0].on_demand);
    EXPECT_EQ(specs[1].key.app, "iptv");
    EXPECT_EQ(specs[1].key.name, "232.1.1.1-5000");
    EXPECT_EQ(specs[1].shown, "rtp://10.0.0.9@232.1.1.1:5000@eth1");
    EXPECT_FALSE(specs[1].on_demand);
    EXPECT_EQ(specs[2].key.name, "ff15..1-6000");
    EXPECT_TRUE(specs[2].on_demand);
}

TEST(SourceSpecsTest, SaysWhatIsWrongWithAGroup) {
    EXPECT_THAT(error_of("source udp://239.1.1.1 { stream live/x; }"),
                HasSubstr("address with a port (239.1.1.1:5000, [ff15::1]:5000)"));
    EXPECT_THAT(error_of("source rtp://239.1.1.1:1?fcc=2 { stream live/x; }"),
                HasSubstr("the option ?fcc is not supported"));
    EXPECT_THAT(error_of("source udp://239.1.1.1:1 { stream live/x; transport udp; }"),
                HasSubstr("transport"));
    EXPECT_THAT(error_of("source udp://239.1.1.1:1;"), HasSubstr("APP/STREAM"));
    EXPECT_THAT(error_of("forward udp://239.1.1.1:1;"), HasSubstr("rtmp://HOST"));
}

TEST(SourceSpecsTest, PullsFromAnOriginWhatNoSourceBrings) {
    const Config config = parse(
        "origin http://o.example:8080; origin rtmp://p.example; application live { source "
        "rtmp://q.example/live; } application own { } cluster { relay_linger 3s; "
        "relay_input_timeout 1s; }");
    const auto spec = source_for(config, key("own", "cam"));
    ASSERT_TRUE(spec.has_value());
    EXPECT_TRUE(spec->relayed);
    EXPECT_TRUE(spec->on_demand);
    EXPECT_FALSE(spec->named);
    EXPECT_EQ(spec->url.scheme, "relay");
    EXPECT_EQ(spec->linger, Seconds(3));
    EXPECT_EQ(spec->input_timeout, Seconds(1));
    EXPECT_FALSE(source_for(config, key("live", "cam"))->relayed);
}

TEST(SourceSpecsTest, ARegistryMakesEveryStreamOneOfAnotherNode) {
    EXPECT_FALSE(source_for(parse("cluster { }"), key("live", "cam")).has_value());
    const Config config = parse("cluster { registry redis://127.0.0.1; secret 0123456789abcdef; }");
    EXPECT_TRUE(source_for(config, key("live", "cam"))->relayed);
}

TEST(SourceSpecsTest, AnOriginIsAServerAndNoMore) {
    for (const char* wrong : {"origin rtsp://o.example;", "origin http://o.example/live;",
                              "origin rtmp://o.example/?a=b;", "origin o.example;"}) {
        EXPECT_THAT(error_of(wrong), HasSubstr("http://HOST[:PORT]")) << wrong;
    }
}

// Each hop of a stream that viewers ask for is to be one that they may ask for.
TEST(SourceSpecsTest, AllowRtspNamesHostsAndPorts) {
    const Config config =
        parse("vhost __defaultVhost__ { allow_rtsp camera.example Other.example:8554; }");
    const auto spec = source_for(config, key("rtsp/camera.example:9", "live"));
    ASSERT_TRUE(spec.has_value());
    EXPECT_THAT(spec->only_servers, testing::ElementsAre("camera.example", "other.example:8554"));
    EXPECT_TRUE(source_for(config, key("rtsp/other.example:8554", "live")).has_value());
    EXPECT_FALSE(source_for(config, key("rtsp/other.example:8555", "live")).has_value());
    EXPECT_FALSE(source_for(config, key("rtsp/other.example", "live")).has_value());
    EXPECT_FALSE(source_for(config, key("rtsp/third.example", "live")).has_value());
    for (const char* wrong : {"camera.example:0", "camera.example:", "a:b", ":554", "a:1:2"}) {
        EXPECT_THAT(error_of(std::string("vhost __defaultVhost__ { allow_rtsp ") + wrong + "; }"),
                    HasSubstr("HOST:PORT"))
            << wrong;
    }
}

}  // namespace
}  // namespace weir::config
