#include "app/hooks/hook_event.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

using net::HookAction;

const net::ServerIdentity kServer{"vid-1234567", "89abcdef", {}};

HookFacts facts(HookAction action) {
    net::HookRequestView what;
    what.action = action;
    what.vhost = "__defaultVhost__";
    what.app = "live";
    what.stream = action == HookAction::kConnect ? "" : "cam";
    what.param = "key=abc";
    what.tc_url = "rtmp://host/live";
    what.page_url = "http://page/";
    return {"r1234567", "192.0.2.1", "rtmp", what};
}

TEST(HookEventTest, HasTheFieldsThatHookServersOfSrsExpect) {
    const HookFacts asked = facts(HookAction::kPublish);
    const net::Json body = net::Json::parse(
        hook_body(kServer, {HookAction::kPublish, asked, nullptr, "event-1", 1234}));
    const net::Json expected = {{"server_id", "vid-1234567"},
                                {"service_id", "89abcdef"},
                                {"action", "on_publish"},
                                {"event_id", "event-1"},
                                {"time_ms", 1234},
                                {"client_id", "r1234567"},
                                {"ip", "192.0.2.1"},
                                {"vhost", "__defaultVhost__"},
                                {"app", "live"},
                                {"tcUrl", "rtmp://host/live"},
                                {"param", "?key=abc"},
                                {"pageUrl", "http://page/"},
                                {"transport", "rtmp"},
                                {"stream", "cam"},
                                {"stream_url", "/live/cam"},
                                {"stream_id", body["stream_id"]}};
    EXPECT_EQ(body, expected);
    EXPECT_TRUE(body["stream_id"].get<std::string>().starts_with("st-"));
}

TEST(HookEventTest, ASegmentOnDiskHasTheFieldsOfSrs) {
    net::HookRequestView what;
    what.action = HookAction::kHls;
    what.app = "live";
    what.stream = "cam";
    HookFacts stored("", "", "hls", what);
    stored.folder = "/usr/local/weir";
    stored.file = "/dir/live/cam/7.m4s";
    stored.url = "live/cam/7.m4s";
    stored.playlist = "/dir/live/cam/index.m3u8";
    stored.playlist_url = "live/cam/index.m3u8";
    stored.number = 7;
    const HookEnd end{.duration = Millis(2'040), .detail = {}};
    const net::Json body = net::Json::parse(
        hook_body(kServer, {closing_of(HookAction::kHls), stored, &end, "event-3", 1}));
    EXPECT_EQ(body["action"], "on_hls");
    EXPECT_EQ(body["cwd"], "/usr/local/weir");
    EXPECT_EQ(body["file"], "/dir/live/cam/7.m4s");
    EXPECT_EQ(body["url"], "live/cam/7.m4s");
    EXPECT_EQ(body["m3u8"], "/dir/live/cam/index.m3u8");
    EXPECT_EQ(body["m3u8_url"], "live/cam/index.m3u8");
    EXPECT_EQ(body["duration"], 2.04);
    EXPECT_EQ(body["seq_no"], 7);
    EXPECT_EQ(body["stream_url"], "/live/cam");
    EXPECT_FALSE(body.contains("bytes"));
}

TEST(HookEventTest, ATurnThatEndsSaysWhatItMoved) {
    const HookFacts asked = facts(HookAction::kPlay);
    const HookEnd end{1000, 20, Millis(3000), net::EndClass::kKicked, "by the API"};
    const net::Json body =
        net::Json::parse(hook_body(kServer, {HookAction::kStop, asked, &end, "event-2", 1}));
    EXPECT_EQ(body["action"], "on_stop");
    EXPECT_EQ(body["send_bytes"], 1000);
    EXPECT_EQ(body["recv_bytes"], 20);
    EXPECT_EQ(body["bytes"], 1000);
    EXPECT_EQ(body["duration_ms"], 3000);
    EXPECT_EQ(body["reason"], "kicked");
    EXPECT_EQ(body["reason_text"], "by the API");
    const HookFacts published = facts(HookAction::kPublish);
    EXPECT_EQ(net::Json::parse(
                  hook_body(kServer, {HookAction::kUnpublish, published, &end, "", 1}))["bytes"],
              20);
}

TEST(HookEventTest, AConnectionHasNoStream) {
    const HookFacts asked = facts(HookAction::kConnect);
    const net::Json body =
        net::Json::parse(hook_body(kServer, {HookAction::kConnect, asked, nullptr, "", 1}));
    EXPECT_FALSE(body.contains("stream"));
    EXPECT_FALSE(body.contains("stream_url"));
}

TEST(HookEventTest, CutsAndRepairsWhatClientsSay) {
    net::HookRequestView what;
    const std::string endless(100'000, 'x');
    what.app = "\xff\xfe\"\n";
    what.stream = endless;
    what.param = endless;
    what.tc_url = endless;
    const HookFacts asked("r", "ip", "rtmp", what);
    const std::string body = hook_body(kServer, {HookAction::kPlay, asked, nullptr, "", 1});
    EXPECT_LT(body.size(), 16'000U);
    EXPECT_FALSE(net::Json::parse(body, nullptr, false).is_discarded());
    EXPECT_LT(asked.bytes(), 16'000U);
}

// The same by `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'a long secret'`.
TEST(HookEventTest, SignsTimeAndBody) {
    EXPECT_EQ(hook_signature("a long secret", "1700000000", "{\"a\":1}"),
              "sha256=591e6b21850ef86eab5c60f47d45b19e148ec927475b43113a5d28e219810fbc");
    EXPECT_NE(hook_signature("a long secret", "1700000001", "{\"a\":1}"),
              hook_signature("a long secret", "1700000000", "{\"a\":1}"));
}

TEST(HookEventTest, EveryQuestionHasItsEnd) {
    EXPECT_EQ(closing_of(HookAction::kConnect), HookAction::kClose);
    EXPECT_EQ(closing_of(HookAction::kPublish), HookAction::kUnpublish);
    EXPECT_EQ(closing_of(HookAction::kPlay), HookAction::kStop);
}

}  // namespace
}  // namespace weir::app
