// What every format has over HTTP, shown with a toy one: "/app/stream.txt" is a text of one line
// per packet, its time. A format is a muxer, its header and front, and a row that names them.
#include "net/http_play.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client_table.h"
#include "net/fanout.h"
#include "net/http/server.h"
#include "net/limits.h"
#include "proto/ws/frame.h"
#include "stream/publisher.h"
#include "stream/registry.h"
#include "stream/stream.h"

#include "test/net/http/test_client.h"
#include "test/support/media_packets.h"

namespace weir::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// ---- the toy format ----

class TimesMuxer final : public stream::Muxer {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override {
        if (start != nullptr) {
            start_ms_ = packet->time_ms();
        }
        const std::string line = fmt::format("{}\n", packet->time_ms());
        log().begin_entry(packet->time_ms(), start != nullptr);
        log().write(as_bytes(line));
        log().end_entry();
    }

    int64_t start_ms() const { return start_ms_; }

  private:
    int64_t start_ms_ = 0;
};

class TimesFormat final : public stream::Format {
  public:
    const char* name() const override { return "times"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<TimesMuxer>();
    }
};

const TimesFormat kTimes;

void write_header(const stream::Stream& stream, Bytes& out) {
    ByteWriter(out).text(stream.has_video() ? "# times, video\n" : "# times\n");
}

void write_front(const stream::Muxer& muxer, bool, Bytes& out) {
    ByteWriter(out).text(
        fmt::format("# from {} on\n", static_cast<const TimesMuxer&>(muxer).start_ms()));
}

const HttpFormat kToy{.suffix = ".txt",
                      .format = kTimes,
                      .content_type = "text/plain",
                      .transport = "toy",
                      .ws_transport = "ws-toy",
                      .header = write_header,
                      .front = write_front};

const HttpFormat kChunkedToy{.suffix = ".times",
                             .format = kTimes,
                             .content_type = "text/plain",
                             .transport = "toy",
                             .chunked = true,
                             .header = write_header,
                             .front = write_front};

// ---- a server of it ----

class OpenPolicy final : public Policy {
  public:
    stream::StreamKey key_of(std::string_view vhost,
                             std::string_view app,
                             std::string_view name) const override {
        return {std::string(vhost), std::string(app), std::string(name)};
    }

    Result<PublishRules> may_publish(const AccessRequest&) const override { return PublishRules(); }

    Result<PlayRules> may_play(const AccessRequest& request) const override {
        if (request.key.app == "closed" || request.token == "wrong") {
            return make_error(ErrorCode::kDenied, "playing is closed here");
        }
        return play;
    }

    PlayRules play;
};

class HttpPlayTest : public testing::Test, protected stream::Publisher {
  protected:
    HttpPlayTest() {
        lines().clear();
        log::set_sink([](log::Level, std::string_view line) { lines().emplace_back(line); });
        policy_.play.pump.merge_window = Millis(0);
        toy_.add_to(router_);
        chunked_.add_to(router_);
        server_ = HttpServer::create(router_, {});
        address_ = serve_on_loopback(*server_);
    }

    ~HttpPlayTest() override {
        EXPECT_FALSE(server_->stop(io::soon()));
        fanout_.stop(io::soon());
        unpublish();
        EXPECT_EQ(clients_.size(), 0U);
        EXPECT_EQ(registry_.size(), 0U);
        EXPECT_EQ(limits_.players(key_), 0U);
        log::set_sink(nullptr);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void publish() {
        stream_ = &registry_.get_or_create(key_, {}, MonoClock::now());
        EXPECT_FALSE(stream_->start_publish(*this, {}, MonoClock::now()));
    }

    void unpublish() {
        if (stream_ != nullptr) {
            stream_->end_publish(*this, MonoClock::now());
            registry_.release(*stream_);
            stream_ = nullptr;
        }
    }

    void frame(bool key) {
        stream_->publish(
            *this,
            test::packet(media::TrackKind::kVideo, clock_ += 40, test::avc_frame(key, ++number_)),
            MonoClock::now());
    }

    static std::string ws_request(std::string_view target) {
        return get_request(target,
                           "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"
                           "\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    }

    // A client that plays; what has come up to and with `text`.
    static std::string read_until(TestClient& client, std::string_view text) {
        std::string all;
        while (!all.ends_with(text)) {
            const std::string more = client.read_bytes(1);
            if (more.empty()) {
                ADD_FAILURE() << "ended before " << text << ": " << all;
                break;
            }
            all += more;
        }
        return all;
    }

    static std::vector<std::string>& lines() {
        static std::vector<std::string> instance;
        return instance;
    }

    stream::StreamKey key_{"", "app", "stream"};
    OpenPolicy policy_;
    stream::Registry registry_;
    Fanout fanout_{registry_};
    ClientTable clients_;
    ConnectionBudget connections_{10};
    Limits limits_;
    Services services_{registry_, fanout_, clients_, connections_, policy_, limits_};
    HttpPlay toy_{services_, kToy};
    HttpPlay chunked_{services_, kChunkedToy};
    HttpRouter router_;
    std::unique_ptr<HttpServer> server_;
    io::SocketAddress address_;
    stream::Stream* stream_ = nullptr;
    uint32_t clock_ = 0;
    uint32_t number_ = 0;
};

// The stream's clock begins at 10,000 ms.
TEST_F(HttpPlayTest, APlayerGetsHeadHeaderFrontAndLog) {
    publish();
    frame(true);
    TestClient player(address_);
    player.send(get_request("/app/stream.txt"));
    const std::string begin = read_until(player, "\n10000\n");
    EXPECT_THAT(begin, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(begin, HasSubstr("\r\nContent-Type: text/plain\r\n"));
    EXPECT_THAT(begin, HasSubstr("\r\nCache-Control: no-store\r\n"));
    EXPECT_THAT(begin, HasSubstr("\r\nAccess-Control-Allow-Origin: *\r\n"));
    EXPECT_THAT(begin, Not(HasSubstr("Transfer-Encoding")));
    EXPECT_THAT(begin, EndsWith("\r\n\r\n# times, video\n# from 10000 on\n10000\n"));
    frame(false);
    EXPECT_EQ(read_until(player, "\n"), "10040\n");
    EXPECT_THAT(lines(), testing::Contains(EndsWith("play stream=/app/stream transport=toy "
                                                    "ip=127.0.0.1")));
    ASSERT_EQ(clients_.size(), 1U);
    EXPECT_EQ(limits_.players(key_), 1U);
    player.close();
    EXPECT_TRUE(io::eventually([&] { return clients_.size() == 0; }));
}

TEST_F(HttpPlayTest, AnAnswerInChunksHasTheSameBytesAndAnEnd) {
    policy_.play.pump.wait_publisher = Millis(20);
    publish();
    frame(true);
    TestClient player(address_);
    player.send(get_request("/app/stream.times"));
    const std::string begin = read_until(player, "10000\n");
    EXPECT_THAT(begin, HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
    EXPECT_THAT(begin, EndsWith("\r\n\r\n1f\r\n# times, video\n# from 10000 on\n\r\n6\r\n10000\n"));
    frame(false);
    EXPECT_EQ(read_until(player, "10040\n"), "\r\n6\r\n10040\n");
    unpublish();
    EXPECT_EQ(player.read_to_end(), "\r\n0\r\n\r\n") << "RFC 9112 §7.1: the stream is whole";
}

TEST_F(HttpPlayTest, AnOldClientGetsNoChunks) {
    publish();
    frame(true);
    TestClient player(address_);
    player.send("GET /app/stream.times HTTP/1.0\r\n\r\n");
    const std::string begin = read_until(player, "10000\n");
    EXPECT_THAT(begin, Not(HasSubstr("Transfer-Encoding")));
    EXPECT_THAT(begin, EndsWith("\r\n\r\n# times, video\n# from 10000 on\n10000\n"));
}

TEST_F(HttpPlayTest, AWebSocketGetsTheSameBytesInMessages) {
    publish();
    frame(true);
    TestClient player(address_);
    player.send(ws_request("/app/stream.txt"));
    EXPECT_THAT(read_until(player, "\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
    const std::string front = "# times, video\n# from 10000 on\n";
    EXPECT_EQ(player.read_bytes(2 + front.size()),
              fmt::format("\x82{}{}", static_cast<char>(front.size()), front));
    EXPECT_EQ(player.read_bytes(8),
              "\x82\x06"
              "10000\n");
    clients_.for_each([](const Client& client) { EXPECT_STREQ(client.transport(), "ws-toy"); });
    EXPECT_EQ(clients_.size(), 1U);
}

TEST_F(HttpPlayTest, AFormatWithoutWebSocketAnswersAsToGet) {
    publish();
    frame(true);
    TestClient player(address_);
    player.send(ws_request("/app/stream.times"));
    EXPECT_THAT(read_until(player, "\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpPlayTest, ABrokenUpgradeIsRefusedBeforeAnythingIsAsked) {
    TestClient player(address_);
    const TestAnswer answer = player.ask(get_request("/closed/stream.txt",
                                                     "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                                     "Sec-WebSocket-Version: 8\r\n"));
    EXPECT_EQ(answer.status, 426);
    EXPECT_EQ(answer.headers.get("Sec-WebSocket-Version"), "13");
}

TEST_F(HttpPlayTest, HeadIsAnsweredAsGetWouldBe) {
    TestClient early(address_);
    EXPECT_EQ(early.ask("HEAD /app/stream.txt HTTP/1.1\r\nHost: h\r\n\r\n").status, 404)
        << "it does not wait";
    publish();
    for (const char* suffix : {"txt", "times"}) {
        TestClient asking(address_);
        asking.send(fmt::format("HEAD /app/stream.{} HTTP/1.1\r\nHost: h\r\n\r\n", suffix));
        const std::string answer = asking.read_to_end();
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
        EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain\r\n"));
        EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
    }
    EXPECT_EQ(clients_.total(), 0U) << "a question is no client";
}

TEST_F(HttpPlayTest, RefusalsAreAnswered) {
    policy_.play.pump.wait_publisher = Millis(0);
    const auto ask = [&](std::string_view target, std::string_view fields = "") {
        TestClient player(address_);
        return player.ask(get_request(target, fields));
    };
    EXPECT_EQ(ask("/app/stream.txt").status, 404);
    EXPECT_EQ(ask("/closed/stream.txt").status, 403);
    EXPECT_EQ(ask("/app/stream.txt?key=wrong").status, 403);
    EXPECT_EQ(ask("/app/stream.txt", "Authorization: Bearer\r\n").status, 400);
    for (const char* nothing : {"/stream.txt", "/.txt", "/app/.txt"}) {
        const TestAnswer answer = ask(nothing);
        EXPECT_EQ(answer.status, 404) << nothing;
        EXPECT_THAT(answer.body, HasSubstr("/app/stream.txt"));
    }
    policy_.play.max_players = 1;
    publish();
    frame(true);
    TestClient player(address_);
    player.send(get_request("/app/stream.txt"));
    read_until(player, "10000\n");
    const TestAnswer full = ask("/app/stream.txt");
    EXPECT_EQ(full.status, 503);
    EXPECT_EQ(full.headers.get("Retry-After"), "5");
}

TEST_F(HttpPlayTest, WhoWaitedInVainIsAnsweredLate) {
    policy_.play.pump.wait_publisher = Millis(20);
    TestClient player(address_);
    const TestAnswer answer = player.ask(get_request("/app/stream.txt"));
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.headers.get("Access-Control-Allow-Origin"), "*");
    EXPECT_THAT(answer.body, HasSubstr("no such stream"));
}

TEST_F(HttpPlayTest, AStoppingServerAnswersWhoWaits) {
    TestClient player(address_);
    player.send(get_request("/app/stream.times"));
    ASSERT_TRUE(io::eventually([&] { return fanout_.pumps() == 1; }));
    fanout_.stop(io::soon());
    EXPECT_EQ(player.read_answer().status, 503);
}

}  // namespace
}  // namespace weir::net
