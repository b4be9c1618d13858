// A server of HLS with a stream that a test publishes, and its viewers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "io/deadline.h"
#include "net/fanout.h"
#include "net/http/server.h"
#include "net/limits.h"
#include "net/trusted_proxies.h"
#include "session/hls/hls_service.h"
#include "stream/registry.h"

#include "test/net/http/test_client.h"
#include "test/support/codec_samples.h"
#include "test/support/media_packets.h"

namespace weir::session {

using media::Codec;
using media::TrackKind;
using net::TestAnswer;
using net::TestClient;
using test::BodyKind;
using test::tag_body;

class OpenPolicy final : public net::Policy {
  public:
    stream::StreamKey key_of(std::string_view vhost,
                             std::string_view app,
                             std::string_view name) const override {
        return {std::string(vhost), std::string(app), std::string(name)};
    }

    Result<net::PublishRules> may_publish(const net::AccessRequest&) const override {
        return net::PublishRules();
    }

    Result<net::PlayRules> may_play(const net::AccessRequest& request) const override {
        if (request.key.app == "closed" && request.token != "sesame") {
            return make_error(ErrorCode::kDenied, "playing is closed here");
        }
        return play;
    }

    net::PlayRules play;
};

// A stream with some pictures, while it lives.
class OtherStream final : public stream::Publisher {
  public:
    OtherStream(stream::Registry& registry,
                std::string_view name,
                uint32_t pictures = 35,
                bool sound = false)
        : registry_(registry),
          stream_(registry.get_or_create({"", "app", std::string(name)}, {}, MonoClock::now())),
          sound_(sound) {
        EXPECT_FALSE(stream_.start_publish(*this, {}, MonoClock::now()));
        send(0, tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
        if (sound_) {
            send(0, tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")),
                 TrackKind::kAudio);
        }
        go_on(pictures);
    }

    // 25 a second, a key frame each second.
    void go_on(uint32_t pictures) {
        for (const uint32_t end = number_ + pictures; number_ < end; number_++) {
            const bool key = number_ % 25 == 0;
            if (sound_) {
                send(number_ * 40, tag_body(Codec::kAac, BodyKind::kFrame, Bytes{0x21, 0x10, 0x04}),
                     TrackKind::kAudio);
            }
            send(number_ * 40,
                 tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                          Bytes{0, 0, 0, 2, static_cast<uint8_t>(key ? 0x65 : 0x41), 0x88}));
        }
    }

    ~OtherStream() {
        stream_.end_publish(*this, MonoClock::now());
        registry_.release(stream_);
    }

    std::string describe() const override { return "another"; }

    std::string_view client_id() const override { return "other"; }

    void on_taken_over() override {}

  private:
    void send(uint32_t at, Bytes body, TrackKind kind = TrackKind::kVideo) {
        stream_.publish(*this, test::packet(kind, at, std::move(body)), MonoClock::now());
    }

    stream::Registry& registry_;
    stream::Stream& stream_;
    const bool sound_;
    uint32_t number_ = 0;
};

// A folder that goes with the test.
class Place {
  public:
    Place() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-hls-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }

    ~Place() { std::filesystem::remove_all(path_); }

    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    const std::string& path() const { return path_; }

    bool has(const std::string& file) const {
        return std::filesystem::exists(std::filesystem::path(path_) / file);
    }

  private:
    std::string path_;
};

class HlsServiceTest : public testing::Test, protected stream::Publisher, protected HlsRules {
  protected:
    HlsServiceTest() {
        log::set_sink([](log::Level, std::string_view) {});
        policy_.play.pump.wait_publisher = Millis(0);
        service_.add_to(router_);
        net::HttpServerOptions http;
        http.proxies = &proxies_;
        server_ = net::HttpServer::create(router_, std::move(http));
        address_ = net::serve_on_loopback(*server_);
    }

    ~HlsServiceTest() override {
        EXPECT_FALSE(server_->stop(io::soon()));
        service_.stop();
        EXPECT_EQ(clients_.size(), 0U);
        fanout_.stop(io::soon());
        unpublish();
        EXPECT_EQ(registry_.size(), 0U);
        log::set_sink(nullptr);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    HlsOptions hls_options(const stream::StreamKey& key) const override {
        HlsOptions options = options_;
        if (key.name != "stream") {
            options.variants.clear();
            options.container = container_of_others_.value_or(options.container);
        }
        return options;
    }

    void publish(std::string_view app = "app") {
        stream_ = &registry_.get_or_create({"", std::string(app), "stream"}, {}, MonoClock::now());
        EXPECT_FALSE(stream_->start_publish(*this, {}, MonoClock::now()));
        send(tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    }

    void unpublish() {
        if (stream_ != nullptr) {
            stream_->end_publish(*this, MonoClock::now());
            registry_.release(*stream_);
            stream_ = nullptr;
        }
    }

    void send(Bytes body, TrackKind kind = TrackKind::kVideo) {
        stream_->publish(*this, test::packet(kind, clock_, std::move(body)), MonoClock::now());
    }

    // 25 a second, a key frame each second.
    void pictures(int count) {
        for (int i = 0; i < count; i++) {
            const bool key = number_++ % 25 == 0;
            send(tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                          Bytes{0, 0, 0, 2, static_cast<uint8_t>(key ? 0x65 : 0x41), 0x88}));
            clock_ += 40;
        }
    }

    // Yields.
    TestAnswer get(const std::string& target, const std::string& fields = "") {
        TestClient client(address_);
        client.send(net::get_request(target, fields));
        return client.read_answer();
    }

    // Yields. The same of a player of DASH, which goes where it is led.
    TestAnswer describe(const std::string& target = "/app/stream.mpd",
                        const std::string& fields = "") {
        TestAnswer answer = get(target, fields);
        if (answer.status == 307) {
            answer =
                get("/app/" + std::string(answer.headers.get("Location").value_or("")), fields);
        }
        return answer;
    }

    // The target of the media playlist of a new viewer.
    std::string begin(const std::string& query = "") {
        const TestAnswer answer = get("/app/stream.m3u8" + query);
        EXPECT_EQ(answer.status, 200) << answer.body;
        const size_t at = answer.body.rfind("stream.hls/");
        return at == std::string::npos
                   ? ""
                   : "/app/" + answer.body.substr(at, answer.body.find('\n', at) - at);
    }

    // Yields. Until so many requests wait for a part.
    void wait_for_requests(size_t wanted) {
        const io::Deadline deadline = io::soon();
        const auto count = [this] {
            size_t all = 0;
            service_.for_each([&](const HlsPump& pump) { all += pump.waiting(); });
            return all;
        };
        while (count() < wanted && !deadline.passed()) {
            (void)io::sleep_for(Millis(5));
        }
        EXPECT_EQ(count(), wanted);
    }

    static std::string find(const std::string& text, const char* pattern) {
        std::smatch match;
        return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
    }

    std::optional<Place> place_;  // goes last: a thread may write there until the end
    HlsOptions options_;
    std::optional<net::SegmentContainer> container_of_others_;
    OpenPolicy policy_;
    stream::Registry registry_;
    net::Fanout fanout_{registry_};
    net::ClientTable clients_;
    net::ConnectionBudget connections_{10};
    net::Limits limits_;
    net::Services services_{registry_, fanout_, clients_, connections_, policy_, limits_};
    HlsService service_{services_, *this};
    net::HttpRouter router_;
    net::TrustedProxies proxies_;  // loopback
    std::unique_ptr<net::HttpServer> server_;
    io::SocketAddress address_;
    stream::Stream* stream_ = nullptr;
    uint32_t clock_ = 0;
    int number_ = 0;
};

}  // namespace weir::session
