// What the API shows of WebRTC, and its JSON form of signalling.
#include "app/protocols/rtc_protocol.h"

#include <array>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/api/http_api.h"
#include "app/api/metrics.h"
#include "diagnosis/memory_api.h"

#include "test/net/http/test_client.h"
#include "test/session/webrtc/rtc_world.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

class RtcProtocolTest : public session::RtcWorld {
  protected:
    ~RtcProtocolTest() override {
        if (rtc_ != nullptr) {
            EXPECT_FALSE(rtc_->stop(io::soon()));
            World::stop();
            rtc_ = nullptr;
        }
    }

    void start() {
        const net::ServerIdentity who{"vid-1234567", "89abcdef", MonoClock::now()};
        const config::Config config = *config::parse_config("", "test").config;
        auto protocol = std::make_unique<RtcProtocol>(ProtocolContext{config, services_, who});
        serve_rtc(protocol->server());
        protocol->add_routes(router_, other_router_);
        protocols_.add(std::move(protocol));
        api_.emplace(services_, who, protocols_);
        api_->add_to(router_);
        memory_.emplace(who, services_, *workers_, [this](diagnosis::MemoryReport& report) {
            protocols_.all()[0]->add_memory(report);
        });
        memory_->add_to(router_);
        start_http();
    }

    net::TestAnswer ask(std::string_view method,
                        std::string_view target,
                        std::string_view body = "") {
        return net::TestClient(http_address_)
            .ask(fmt::format("{} {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", method,
                             target, body.size(), body));
    }

    net::Json get(std::string_view target) {
        const net::TestAnswer answer = ask("GET", target);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return net::Json::parse(answer.body, nullptr, false);
    }

    net::Json post(std::string_view target, const net::Json& body) {
        const net::TestAnswer answer = ask("POST", target, body.dump());
        EXPECT_EQ(answer.status, 200) << "those clients read nothing else";
        return net::Json::parse(answer.body, nullptr, false);
    }

    static net::Json request(std::string_view stream, const std::string& sdp) {
        return {{"api", "http://h:1985/rtc/v1/publish/"},
                {"tid", "01ab2cd"},
                {"streamurl", "webrtc://h/" + std::string(stream)},
                {"clientip", nullptr},
                {"sdp", sdp}};
    }

    net::Json kind(const net::Json& data, std::string_view name) {
        for (const net::Json& each : data["sessions"]) {
            if (each["kind"] == name) {
                return each;
            }
        }
        ADD_FAILURE() << "no kind " << name << " in " << data.dump();
        return {};
    }

    uint64_t subsystem(const net::Json& data, std::string_view name) {
        for (const net::Json& each : data["subsystems"]) {
            if (each["subsystem"] == name) {
                return each["bytes"];
            }
        }
        ADD_FAILURE() << "no subsystem " << name << " in " << data.dump();
        return 0;
    }

    ProtocolSet protocols_;
    net::HttpRouter other_router_;
    std::optional<HttpApi> api_;
    std::optional<diagnosis::MemoryApi> memory_;
};

TEST_F(RtcProtocolTest, ClientsOfSrsPublishAndEnd) {
    start();
    const net::Json made =
        post("/rtc/v1/publish/", request("live/a", session::RtcPeer::offer("chromium-whip")));
    EXPECT_EQ(made.value("code", -1), 0) << made.dump();
    EXPECT_EQ(made["server"], "vid-1234567");
    EXPECT_THAT(made["sdp"].get<std::string>(), HasSubstr("a=ice-lite"));
    const std::string path = "/rtc/v1/session/" + made["sessionid"].get<std::string>();
    EXPECT_EQ(rtc_->sessions(), 1U);
    EXPECT_EQ(ask("DELETE", path).status, 200);
    EXPECT_EQ(rtc_->sessions(), 0U);
    EXPECT_EQ(ask("DELETE", path).status, 404);
}

TEST_F(RtcProtocolTest, ClientsOfSrsPlay) {
    start();
    session::TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    const net::Json made =
        post("/rtc/v1/play/", request("live/a", session::RtcPeer::offer("chromium-whep")));
    EXPECT_EQ(made.value("code", -1), 0) << made.dump();
    const net::Json nobody =
        post("/rtc/v1/play/", request("live/b", session::RtcPeer::offer("chromium-whep")));
    EXPECT_EQ(nobody["code"], 404);
    EXPECT_FALSE(nobody["error"].get<std::string>().empty());
    EXPECT_FALSE(nobody.contains("sdp"));
}

TEST_F(RtcProtocolTest, WhatClientsOfSrsSayWrongIsSaidBack) {
    start();
    const std::string sdp = session::RtcPeer::offer("chromium-whip");
    const auto code = [&](const net::Json& body) { return post("/rtc/v1/publish/", body)["code"]; };
    EXPECT_EQ(code(net::Json::array()), 400);
    EXPECT_EQ(code({{"sdp", sdp}}), 400) << "which stream?";
    EXPECT_EQ(code({{"sdp", 7}, {"streamurl", "webrtc://h/live/a"}}), 400);
    EXPECT_EQ(code(request("live/a", "hello")), 400);
    EXPECT_EQ(code(request("closed/a", sdp)), 403);
    EXPECT_EQ(code(request("secret/a", sdp)), 403);
    EXPECT_EQ(code(request("secret/a?key=open-sesame", sdp)), 0);
    for (const std::string& text :
         {std::string("{"), std::string(), std::string(60'000, '['), std::string("\xff\xfe"),
          "{\"sdp\":" + std::string(30'000, '[') + std::string(30'000, ']') + "}"}) {
        const net::TestAnswer answer = ask("POST", "/rtc/v1/publish/", text);
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(net::Json::parse(answer.body)["code"], 400);
    }
    EXPECT_EQ(ask("GET", "/rtc/v1/publish/").status, 405);
    EXPECT_EQ(rtc_->sessions(), 1U);
}

TEST_F(RtcProtocolTest, APlayerIsShownWithItsLinkAndCanBeKicked) {
    start();
    session::TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    ASSERT_TRUE(io::eventually([&] {
        player->poll();
        return player->rtp.size() > 5;
    }));
    const net::Json stream = get("/api/v1/streams")["streams"][0];
    EXPECT_EQ(stream["players"], 1);
    EXPECT_EQ(stream["players_webrtc"], 1);
    EXPECT_EQ(stream["clients"], 2);
    EXPECT_EQ(stream["video"]["codec"], "H264");
    EXPECT_GT(stream["video"]["width"].get<int>(), 0) << "of the SPS: nobody described the stream";
    EXPECT_FALSE(stream["video"]["profile"].get<std::string>().empty());
    const net::Json client = get("/api/v1/clients")["clients"][0];
    EXPECT_EQ(client["type"], "webrtc-play");
    EXPECT_EQ(client["protocol"], "webrtc");
    EXPECT_EQ(client["encrypted"], true);
    const net::Json link = client["link"];
    EXPECT_EQ(link["state"], "connected");
    EXPECT_EQ(link["transport"], "udp");
    EXPECT_THAT(link["remote"].get<std::string>(), testing::StartsWith("127.0.0.1:"));
    EXPECT_THAT(link["local"].get<std::string>(),
                testing::EndsWith(":" + std::to_string(rtc_address_.port())));
    EXPECT_GT(link["packets"].get<uint64_t>(), 5U);
    for (const char* name : {"rtt_ms", "loss", "retransmitted", "skipped", "estimate_kbps"}) {
        EXPECT_TRUE(link.contains(name)) << name;
    }
    EXPECT_EQ(ask("DELETE", "/api/v1/clients/" + client["id"].get<std::string>()).status, 200);
    EXPECT_TRUE(io::eventually([&] {
        player->poll();
        return player->closed;
    }));
    EXPECT_TRUE(logged("kicked by the API"));
    EXPECT_EQ(get("/api/v1/clients")["total"], 0);
}

TEST_F(RtcProtocolTest, DropsAreCountedApart) {
    start();
    auto socket = std::move(io::UdpSocket::bind(io::loopback(), {})).value();
    const io::UdpPath path{rtc_address_.net_address(), {}};
    const std::array<uint8_t, 20> media = {0x80, 96};
    (void)socket->send(path, media);
    ASSERT_TRUE(io::eventually([&] { return rtc_->stats().unknown_datagrams == 1; }));
    const net::Json webrtc = get("/api/v1/summaries")["data"]["webrtc"];
    EXPECT_EQ(webrtc["udp"]["received"], 1);
    EXPECT_EQ(webrtc["udp"]["kernel_drops"], 0);
    EXPECT_EQ(webrtc["udp"]["app_drops"], 1);
    EXPECT_EQ(webrtc["app_drops"]["unknown_datagrams"], 1);
    const std::string metrics = ask("GET", "/metrics").body;
    EXPECT_THAT(metrics, HasSubstr("\nweir_rtc_udp_received_total 1\n"));
    EXPECT_THAT(metrics, HasSubstr("\nweir_rtc_udp_kernel_drops_total 0\n"));
    EXPECT_THAT(metrics,
                HasSubstr("\nweir_rtc_udp_app_drops_total{reason=\"unknown_datagram\"} 1\n"));
    EXPECT_THAT(metrics, HasSubstr("\n# TYPE weir_rtc_udp_app_drops_total counter\n"));
}

TEST_F(RtcProtocolTest, MemoryIsAccountedPerSubsystemAndKind) {
    start();
    const net::Json idle = get("/api/v1/memory")["data"];
    EXPECT_EQ(kind(idle, "webrtc-play")["sessions"], 0);
    EXPECT_EQ(subsystem(idle, "ice"), 0U);
    session::TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    const net::Json data = get("/api/v1/memory")["data"];
    const net::Json play = kind(data, "webrtc-play");
    EXPECT_EQ(play["sessions"], 1);
    for (const char* part : {"ice", "dtls", "srtp", "media", "other"}) {
        EXPECT_GT(play["parts"][part].get<uint64_t>(), 0U) << part;
    }
    EXPECT_LE(play["parts"]["ice"].get<uint64_t>(), 2048U) << "the budget of ICE";
    EXPECT_GT(subsystem(data, "rtp_history"), 25U * 3000) << "the pictures";
    EXPECT_GT(subsystem(data, "ice"), 0U);
    EXPECT_GT(subsystem(data, "dtls"), 0U);
}

// The sum of all that is counted grows as the heap does: nothing large is forgotten. The allocators
// of sanitizers and valgrind do not tell how much they hold; there each session counts its share.
TEST_F(RtcProtocolTest, WhatIsAccountedIsWhatTheHeapHolds) {
    const bool tells =
        diagnosis::heap_stats() && std::string_view(diagnosis::heap_allocator()) == "glibc";
    const auto in_use = [tells] { return tells ? diagnosis::heap_stats()->in_use_bytes : 0; };
    start();
    constexpr uint64_t kSessions = 300;
    const std::string offer = session::RtcPeer::offer("chromium-whip");
    ASSERT_TRUE(ask_to_publish(offer, "first").ok());  // what is made once
    const uint64_t heap_before = in_use();
    const uint64_t counted_before =
        kind(get("/api/v1/memory")["data"], "webrtc-connecting")["bytes"];
    for (uint64_t i = 0; i < kSessions; i++) {
        ASSERT_TRUE(ask_to_publish(offer, std::to_string(i)).ok());
    }
    const uint64_t heap = in_use() - heap_before;
    const net::Json connecting = kind(get("/api/v1/memory")["data"], "webrtc-connecting");
    const uint64_t counted = connecting["bytes"].get<uint64_t>() - counted_before;
    EXPECT_EQ(connecting["sessions"], kSessions + 1);
    EXPECT_GT(counted, kSessions * sizeof(session::RtcSession));
    if (tells) {
        EXPECT_GT(counted, heap * 3 / 4) << heap / kSessions << " bytes of heap a session";
        EXPECT_LT(counted, heap * 5 / 4) << heap / kSessions << " bytes of heap a session";
    }
}

}  // namespace
}  // namespace weir::app
