// A protocol becomes part of a whole server by a row of the wiring, and by nothing else.
#include "app/protocols/protocol.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/run/server.h"
#include "base/log.h"
#include "media/timeline.h"
#include "net/client.h"

#include "test/app/protocols/toy_protocol.h"
#include "test/net/http/test_client.h"
#include "test/session/rtmp_peer.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

class ProtocolTest : public testing::Test {
  protected:
    ProtocolTest() {
        log::set_sink([](log::Level, std::string_view) {});
        folder_ = std::filesystem::temp_directory_path() /
                  ("weir-protocol-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
        rtmp_ = free_address();
        api_ = free_address();
        listen(free_address());
        const std::string file = folder_ / "t.conf";
        std::ofstream(file) << "listen " << rtmp_.to_string()
                            << "; http_server { enabled off; } http_api { listen "
                            << api_.to_string() << "; }\n";
        const ConfigSource source{file, {}};
        auto started = Server::start(source, load(source), {}, nullptr,
                                     [this](const ProtocolContext& context, ProtocolSet& all) {
                                         wire_protocols(context, all);
                                         all.add(std::make_unique<ToyProtocol>(context, toy_));
                                     });
        WEIR_CHECK(started.ok());
        server_ = std::move(*started);
    }

    ~ProtocolTest() override {
        if (server_) {
            server_->stop();
        }
        std::filesystem::remove_all(folder_);
        log::set_sink(nullptr);
    }

    // One that nobody has.
    static io::SocketAddress free_address() {
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        return (*listener)->local();
    }

    void listen(const io::SocketAddress& address) {
        toy_address_ = address;
        config::ListenAddress wanted;
        wanted.address = address.to_string();
        wanted.origin = "test";
        toy_.listen = {wanted};
    }

    void reload() {
        bool done = false;
        server_->reload_soon("test", [&done] { done = true; });
        ASSERT_TRUE(io::eventually([&] { return done; }));
    }

    void publish() {
        publisher_ = std::make_unique<session::RtmpPeer>(rtmp_);
        publisher_->open();
        ASSERT_TRUE(publisher_->publish("a"));
        publisher_->start_media();
    }

    // One more frame; gives its time in the stream.
    int64_t frame() {
        time_ += 40;
        publisher_->media(1, rtmp::kVideo, time_, test::avc_frame(true, time_));
        return media::Timeline::kStart + time_;
    }

    // The other end of a player's connection; null: nobody listens there.
    struct Viewer {
        std::unique_ptr<io::TcpStream> stream;
        std::string text;

        // False: the connection has ended, or nothing came.
        bool read() {
            std::array<uint8_t, 256> buffer;
            const Result<size_t> got = stream->read_some(buffer, io::soon());
            if (!got.ok() || *got == 0) {
                return false;
            }
            text.append(as_text(ByteSpan(buffer).first(*got)));
            return true;
        }

        // The line of the packet with that time.
        bool gets(int64_t time_ms) {
            const std::string line = fmt::format("\n{}\n", time_ms);
            while (("\n" + text).find(line) == std::string::npos) {
                if (!read()) {
                    return false;
                }
            }
            return true;
        }

        bool ends() {
            while (read()) {
            }
            char byte = 0;
            return recv(stream->fd(), &byte, 1, MSG_DONTWAIT) == 0;
        }
    };

    std::unique_ptr<Viewer> viewer() const {
        auto stream = io::TcpStream::connect(toy_address_, io::soon());
        return stream.ok() ? std::make_unique<Viewer>(std::move(*stream), "") : nullptr;
    }

    // Who has its first frame.
    std::unique_ptr<Viewer> playing_viewer() {
        auto made = viewer();
        EXPECT_TRUE(made && io::eventually([&] { return server_->remaining().players > 0; }));
        EXPECT_TRUE(made && made->gets(frame()));
        return made;
    }

    net::TestAnswer ask(std::string_view target, std::string_view method = "GET") {
        return net::TestClient(api_).ask(
            fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", method, target));
    }

    net::Json get(std::string_view target) {
        const net::TestAnswer answer = ask(target);
        EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
        return net::Json::parse(answer.body, nullptr, false);
    }

    std::filesystem::path folder_;
    io::SocketAddress rtmp_;
    io::SocketAddress api_;
    io::SocketAddress toy_address_;
    ToyState toy_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<session::RtmpPeer> publisher_;
    uint32_t time_ = 0;
};

TEST_F(ProtocolTest, PlaysAndIsShownEverywhere) {
    publish();
    auto viewer = playing_viewer();
    ASSERT_NE(viewer, nullptr);

    const net::Json stream = get("/api/v1/streams")["streams"][0];
    EXPECT_EQ(stream["players"], 1);
    EXPECT_EQ(stream["viewers"], net::Json({{"rtmp", 0},
                                            {"flv", 0},
                                            {"ws-flv", 0},
                                            {"relay", 0},
                                            {"hls", 0},
                                            {"dash", 0},
                                            {"ts", 0},
                                            {"ws-ts", 0},
                                            {"webrtc", 0},
                                            {"rtsp", 0},
                                            {"srt", 0},
                                            {"sip", 0},
                                            {"phone", 0},
                                            {"vod", 0},
                                            {"jpg", 0},
                                            {"toy", 1}}));
    EXPECT_EQ(stream["players_toy"], 1);
    EXPECT_EQ(stream["toy"]["key"], "/live/a");
    EXPECT_EQ(get("/live.json")["streams"][0]["toy"]["key"], "/live/a");
    EXPECT_EQ(get("/live.json")["toy_port"], 7);
    EXPECT_EQ(get("/api/v1/features")["data"]["features"]["toy"], true);
    EXPECT_EQ(get("/api/v1/summaries")["data"]["toy"]["players"], 1);

    const std::string metrics = ask("/metrics").body;
    EXPECT_THAT(metrics, HasSubstr("\nweir_toy_players_total 1\n"));
    EXPECT_THAT(metrics, HasSubstr("# HELP weir_stream_toy_players Those of them that play by the "
                                   "toy.\n"));
    EXPECT_THAT(metrics, HasSubstr("\nweir_stream_toy_players{vhost=\"__defaultVhost__\","
                                   "app=\"live\",stream=\"a\"} 1\n"));

    const net::Json memory = get("/api/v1/memory")["data"];
    EXPECT_EQ(memory["sessions"].back()["kind"], "toy");
    EXPECT_EQ(memory["sessions"].back()["sessions"], 1);
    EXPECT_GT(memory["sessions"].back()["bytes"], sizeof(net::Client));
    bool counted = false;
    for (const net::Json& each : memory["subsystems"]) {
        counted = counted || (each["subsystem"] == "toy_box" && each["bytes"] == 4321);
    }
    EXPECT_TRUE(counted) << memory["subsystems"];
}

TEST_F(ProtocolTest, ClientsAreFoundAndEndedByItsTransport) {
    publish();
    auto viewer = playing_viewer();
    ASSERT_NE(viewer, nullptr);
    EXPECT_EQ(get("/api/v1/clients?transport=toy")["total"], 1);
    EXPECT_EQ(get("/api/v1/clients?transport=webrtc")["total"], 0);
    const net::TestAnswer wrong = ask("/api/v1/clients?transport=joy");
    EXPECT_EQ(wrong.status, 400);
    EXPECT_THAT(wrong.body,
                HasSubstr("one of rtmp, flv, ws-flv, relay, hls, dash, ts, ws-ts, webrtc, rtsp, "
                          "srt, sip, phone, vod, jpg, toy"));
    EXPECT_EQ(ask("/api/v1/clients?transport=toy", "DELETE").status, 200);
    EXPECT_TRUE(viewer->ends());
    EXPECT_EQ(server_->remaining().players, 0U);
    EXPECT_EQ(server_->remaining().publishers, 1U);
}

TEST_F(ProtocolTest, AReloadMovesItsListener) {
    publish();
    auto old = playing_viewer();
    ASSERT_NE(old, nullptr);
    const io::SocketAddress before = toy_address_;
    const int prepared = toy_.prepared;
    listen(free_address());
    reload();
    EXPECT_EQ(toy_.prepared, prepared + 1);
    EXPECT_EQ(toy_.reconfigured, 1);
    EXPECT_FALSE(io::TcpStream::connect(before, io::soon()).ok());
    auto fresh = viewer();
    ASSERT_NE(fresh, nullptr);
    ASSERT_TRUE(io::eventually([&] { return server_->remaining().players == 2; }));
    const int64_t time = frame();
    EXPECT_TRUE(fresh->gets(time));
    EXPECT_TRUE(old->gets(time)) << "who came before goes on";
}

TEST_F(ProtocolTest, MayRefuseAConfiguration) {
    const io::SocketAddress before = toy_address_;
    listen(free_address());
    toy_.refuses = true;
    reload();
    EXPECT_EQ(toy_.reconfigured, 0);
    EXPECT_EQ(this->viewer(), nullptr) << "no new listener";
    EXPECT_TRUE(io::TcpStream::connect(before, io::soon()).ok()) << "the old one stays";
}

TEST_F(ProtocolTest, IsDrainedAndStopped) {
    publish();
    auto viewer = playing_viewer();
    ASSERT_NE(viewer, nullptr);
    server_->start_drain();
    EXPECT_EQ(toy_.drained, 1);
    EXPECT_EQ(this->viewer(), nullptr);
    EXPECT_EQ(server_->remaining().players, 1U);
    EXPECT_EQ(get("/api/v1/clients?transport=toy")["total"], 1) << "the API goes on";
    server_->stop();
    EXPECT_EQ(toy_.stopped, 1);
    EXPECT_TRUE(viewer->ends());
    EXPECT_EQ(server_->remaining().players, 0U);
    server_.reset();
}

}  // namespace
}  // namespace weir::app
