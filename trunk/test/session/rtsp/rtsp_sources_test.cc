// Sources and forwards by RTSP over real sockets: this side's server is the other side, too, with
// streams of other names.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/resolver.h"
#include "net/http/client.h"
#include "net/source/sources.h"
#include "session/rtsp/rtsp_forward.h"
#include "session/rtsp/rtsp_pull.h"
#include "session/rtsp/rtsp_server.h"

#include "test/session/world.h"
#include "test/support/rtp_media.h"

namespace weir::session {
namespace {

using net::SourceRole;
using net::SourceState;

class RtspSourcesTest : public World {
  protected:
    RtspSourcesTest() {
        rtsp_ = std::make_unique<RtspServer>(services_, RtspServerOptions());
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        address_ = (*listener)->local();
        EXPECT_FALSE(rtsp_->acceptors().serve(std::move(*listener)));
        for (net::DatagramPorts* ports : {&rtsp_->udp().rtp(), &rtsp_->udp().rtcp()}) {
            auto socket = io::UdpSocket::bind(io::loopback(), {});
            WEIR_CHECK(socket.ok());
            EXPECT_FALSE(ports->serve(std::move(*socket)));
        }
        forward_ = std::make_unique<RtspForward>(*rtsp_);
    }

    ~RtspSourcesTest() override {
        if (sources_) {
            sources_->stop(io::soon());
        }
        unpublish();
        Error late = rtsp_->stop(io::soon());
        EXPECT_FALSE(late) << late.to_string();
    }

    static stream::StreamKey key(std::string_view name) {
        return {std::string(stream::kDefaultVhost), "live", std::string(name)};
    }

    net::SourceSpec spec(SourceRole role, std::string_view name, std::string_view path) const {
        net::SourceSpec made;
        made.role = role;
        made.key = key(name);
        made.url =
            net::SourceUrl::parse(fmt::format("rtsp://{}/{}", address_.to_string(), path)).value();
        made.shown = made.url.shown();
        made.named = role == SourceRole::kPull;
        made.on_demand = role == SourceRole::kForward;
        made.linger = Millis(0);
        return made;
    }

    void start(net::SourceSpec wanted) {
        sources_ = std::make_unique<net::Sources>(
            net::SourceServices{registry_,
                                dialer_,
                                policy_,
                                [this](const io::SocketAddress&, const io::SocketAddress& peer) {
                                    return peer.port() == address_.port();
                                },
                                system_random(),
                                {}});
        sources_->add(SourceRole::kPull, "rtsp", pull_);
        sources_->add(SourceRole::kForward, "rtsp", *forward_);
        net::SourceConfig config;
        if (wanted.role == SourceRole::kPull) {
            config.named = [wanted] { return std::vector{wanted}; };
        } else {
            config.forwards = [wanted](const stream::StreamKey& published) {
                return published == wanted.key ? std::vector{wanted}
                                               : std::vector<net::SourceSpec>();
            };
        }
        Error error = sources_->start(std::move(config));
        ASSERT_FALSE(error) << error.to_string();
    }

    const net::Source* only() const {
        const net::Source* found = nullptr;
        sources_->for_each([&](const net::Source& source) { found = &source; });
        return found;
    }

    bool comes_to(SourceState wanted) {
        return eventually([&] { return only() != nullptr && only()->machine().state() == wanted; });
    }

    bool live(std::string_view name) {
        const stream::Stream* const stream = registry_.find(key(name));
        return stream != nullptr && stream->live();
    }

    // `a` is published here.
    void publish() {
        stream_ = &registry_.get_or_create(key("a"), {}, MonoClock::now());
        publisher_ = std::make_unique<test::TestPublisher>(*stream_);
        publisher_->config();
        publisher_->gop();
    }

    void unpublish() {
        publisher_.reset();
        if (stream_ != nullptr) {
            registry_.release(*std::exchange(stream_, nullptr));
        }
    }

    // Sends frames until `holds`.
    template <typename Holds>
    bool feeds(Holds&& holds) {
        int frames = 0;
        return eventually([&] {
            publisher_->video(frames++ % 10 == 0 ? test::Picture::kKey : test::Picture::kReferenced,
                              400);
            publisher_->pass(40);
            return holds();
        });
    }

    io::Resolver resolver_;
    net::HttpClient dialer_{resolver_};
    std::unique_ptr<RtspServer> rtsp_;
    io::SocketAddress address_;
    RtspPull pull_;
    std::unique_ptr<RtspForward> forward_;
    std::unique_ptr<net::Sources> sources_;
    stream::Stream* stream_ = nullptr;
    std::unique_ptr<test::TestPublisher> publisher_;
};

class RtspTransportsTest : public RtspSourcesTest,
                           public testing::WithParamInterface<net::SourceTransport> {};

INSTANTIATE_TEST_SUITE_P(All,
                         RtspTransportsTest,
                         testing::Values(net::SourceTransport::kTcp, net::SourceTransport::kUdp));

TEST_P(RtspTransportsTest, PullsWhatTheOriginHas) {
    publish();
    net::SourceSpec wanted = spec(SourceRole::kPull, "b", "live/a");
    wanted.transport = GetParam();
    start(std::move(wanted));
    EXPECT_TRUE(feeds([&] { return only()->machine().state() == SourceState::kLive; }))
        << only()->last_error();
    EXPECT_TRUE(live("b"));
    const uint64_t before = only()->bytes();
    EXPECT_TRUE(feeds([&] { return only()->bytes() > before; }));
}

TEST_F(RtspSourcesTest, BacksOffWhenTheOriginHasNoSuchStream) {
    start(spec(SourceRole::kPull, "b", "live/nobody"));
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_NE(only()->last_error().find("404"), std::string::npos) << only()->last_error();
}

TEST_F(RtspSourcesTest, TheSameStreamOfThisServerIsALoop) {
    for (const char* path : {"live/a", "live/a/", "live/%61?key=hush"}) {
        start(spec(SourceRole::kPull, "a", path));
        ASSERT_TRUE(comes_to(SourceState::kBackingOff)) << path;
        EXPECT_NE(only()->last_error().find("loop"), std::string::npos) << only()->last_error();
        EXPECT_EQ(only()->last_error().find("hush"), std::string::npos) << only()->last_error();
        sources_->stop(io::soon());
        sources_.reset();
    }
}

TEST_F(RtspSourcesTest, AForwardToTheSameStreamIsALoop) {
    publish();
    start(spec(SourceRole::kForward, "a", "live/a"));
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_NE(only()->last_error().find("loop"), std::string::npos) << only()->last_error();
}

TEST_F(RtspSourcesTest, ForwardsWhatIsPublished) {
    publish();
    start(spec(SourceRole::kForward, "a", "live/b"));
    EXPECT_TRUE(feeds([&] {
        return only() != nullptr && only()->machine().state() == SourceState::kLive && live("b");
    }));
    EXPECT_TRUE(feeds([&] { return only()->bytes() > 1'000; }));
    unpublish();
    EXPECT_TRUE(eventually([&] { return sources_->size() == 0; })) << "it ends with its publisher";
    EXPECT_TRUE(eventually([&] { return !live("b"); })) << "and unpublishes";
}

TEST_F(RtspSourcesTest, AForwardThatIsRefusedSaysWhy) {
    publish();
    start(spec(SourceRole::kForward, "a", "closed/b"));
    EXPECT_TRUE(feeds([&] {
        return only() != nullptr && only()->machine().state() == SourceState::kBackingOff;
    }));
    EXPECT_NE(only()->last_error().find("403"), std::string::npos) << only()->last_error();
}

TEST_F(RtspSourcesTest, AForwardComesBackWhenTheOtherSideEndsIt) {
    publish();
    start(spec(SourceRole::kForward, "a", "live/b"));
    ASSERT_TRUE(feeds([&] { return live("b"); }));
    const net::Client* there = nullptr;
    net::ClientWalk walk(clients_);
    while (const net::Client* each = walk.next()) {
        there = each->key.name == "b" && each->role == net::ClientRole::kPublisher ? each : there;
    }
    ASSERT_NE(there, nullptr);
    ASSERT_TRUE(there->kick);
    const std::function<void()> kick = there->kick;
    kick();
    EXPECT_TRUE(feeds([&] { return only()->machine().attempts() >= 2 && live("b"); }));
}

TEST_F(RtspSourcesTest, AForwardDescribesTheStreamAgainWhenItsCodecsChange) {
    publish();
    const auto configure_aac = [this](std::string_view config) {
        publisher_->send(
            media::TrackKind::kAudio,
            test::tag_body(media::Codec::kAac, test::BodyKind::kConfig, test::from_hex(config)));
        publisher_->send(
            media::TrackKind::kAudio,
            test::tag_body(media::Codec::kAac, test::BodyKind::kFrame, Bytes(100, 0x21)));
    };
    configure_aac("1210");
    start(spec(SourceRole::kForward, "a", "live/b"));
    ASSERT_TRUE(feeds([&] { return live("b"); }));
    configure_aac("1190");  // 48 kHz in place of 44.1
    EXPECT_TRUE(feeds([&] { return only()->machine().attempts() >= 2 && live("b"); }));
}

}  // namespace
}  // namespace weir::session
