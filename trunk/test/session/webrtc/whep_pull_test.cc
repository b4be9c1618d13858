// Sources by WHEP over real sockets: this side's server is the other side, too, with streams of
// other names.
#include "session/webrtc/whep_pull.h"

#include <utility>

#include <gtest/gtest.h>

#include "base/version.h"
#include "io/resolver.h"
#include "net/http/client.h"
#include "net/source/sources.h"
#include "session/webrtc/whep_request.h"

#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

using net::SourceState;

class WhepPullTest : public RtcWorld {
  protected:
    // A run that is stopped while it waits for the answer does not know what to DELETE: the session
    // ends by this time.
    static constexpr Seconds kConnectTimeout{3};

    WhepPullTest() {
        RtcServerOptions server;
        server.ice.connect_timeout = kConnectTimeout;
        start_rtc(std::move(server));
        routes_ = std::make_unique<RtcRoutes>(services_, *rtc_, std::vector<IceServer>());
        routes_->add_to(router_);
        start_http();
        RtcIngestOptions options;
        options.workers = workers_.get();
        pull_.reconfigure(options);
    }

    ~WhepPullTest() override {
        if (sources_) {
            sources_->stop(io::soon());
        }
        Error late = pull_.stop(io::soon());
        EXPECT_FALSE(late) << late.to_string();
        unpublish();
        for (const char* name : {"whep_pull", "whep_client", "rtc_ingest"}) {
            EXPECT_EQ(live_objects(name), 0U) << name;
        }
    }

    void start(std::string_view name, std::string_view target, bool on_demand = false) {
        net::SourceSpec wanted;
        wanted.key = key(name);
        wanted.url = net::SourceUrl::parse(
                         fmt::format("whep+http://{}{}", http_address_.to_string(), target))
                         .value();
        wanted.shown = wanted.url.shown();
        wanted.named = true;
        wanted.on_demand = on_demand;
        wanted.linger = Millis(0);
        sources_ = std::make_unique<net::Sources>(
            net::SourceServices{registry_,
                                dialer_,
                                policy_,
                                [this](const io::SocketAddress&, const io::SocketAddress& peer) {
                                    return peer.port() == http_address_.port();
                                },
                                system_random(),
                                {}});
        sources_->add(net::SourceRole::kPull, "whep+http", pull_);
        net::SourceConfig config;
        config.named = [wanted] { return std::vector{wanted}; };
        Error error = sources_->start(std::move(config));
        ASSERT_FALSE(error) << error.to_string();
    }

    const net::Source* only() const {
        const net::Source* found = nullptr;
        sources_->for_each([&](const net::Source& source) { found = &source; });
        return found;
    }

    SourceState state() const { return only()->machine().state(); }

    // `a` is published here.
    void publish() {
        stream_ = &stream("a");
        publisher_ = std::make_unique<TestPublisher>(*stream_);
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
    bool feeds(Holds&& holds, bool keys = true) {
        int frames = 0;
        return io::eventually([&] {
            const bool key = keys && frames++ % 10 == 0;
            publisher_->video(key ? Picture::kKey : Picture::kReferenced, 400);
            publisher_->pass(40);
            return holds();
        });
    }

    bool live(std::string_view name) {
        const stream::Stream* const found = registry_.find(key(name));
        return found != nullptr && found->live();
    }

    io::Resolver resolver_;
    net::HttpClient dialer_{resolver_};
    std::unique_ptr<RtcRoutes> routes_;
    WhepPull pull_{RtcIngestOptions()};
    std::unique_ptr<net::Sources> sources_;
    stream::Stream* stream_ = nullptr;
    std::unique_ptr<TestPublisher> publisher_;
};

constexpr std::string_view kOfA = "/rtc/v1/whep/?app=live&stream=a";

TEST_F(WhepPullTest, BringsWhatTheOriginHas) {
    publish();
    start("b", kOfA);
    ASSERT_TRUE(feeds([&] { return state() == SourceState::kLive; })) << only()->last_error();
    EXPECT_TRUE(live("b"));
    EXPECT_EQ(rtc_->sessions(), 1U);
    const uint64_t before = only()->bytes();
    EXPECT_TRUE(feeds([&] { return only()->bytes() > before + 10'000; }));
    sources_->stop(io::soon());
    EXPECT_TRUE(io::eventually([&] { return rtc_->sessions() == 0; })) << "it says goodbye";
    EXPECT_FALSE(live("b"));
}

TEST_F(WhepPullTest, AKeyFrameThatIsWantedHereIsAskedForThere) {
    publish();
    start("b", kOfA);
    ASSERT_TRUE(feeds([&] { return state() == SourceState::kLive; })) << only()->last_error();
    const size_t before = publisher_->key_frames_wanted;
    stream::Stream* const here = registry_.find(key("b"));
    ASSERT_NE(here, nullptr);
    here->want_key_frame();
    EXPECT_TRUE(feeds([&] { return publisher_->key_frames_wanted > before; }, false));
}

TEST_F(WhepPullTest, BacksOffWhenTheOriginHasNoSuchStream) {
    start("b", "/rtc/v1/whep/?app=live&stream=nobody&token=hush");
    ASSERT_TRUE(io::eventually([&] { return state() == SourceState::kBackingOff; }));
    EXPECT_NE(only()->last_error().find("404"), std::string::npos) << only()->last_error();
    EXPECT_FALSE(logged("hush"));
}

TEST_F(WhepPullTest, TheSameStreamOfThisServerIsALoop) {
    publish();
    for (const char* target :
         {"/rtc/v1/whep/?app=live&stream=a", "/rtc/v1/whep?stream=%61&app=live", "/live/a/whep",
          "/live/%61/whep?x=y"}) {
        start("a", target);
        publisher_->end();  // or the name is taken
        ASSERT_TRUE(io::eventually([&] {
            return only()->last_error().find("loop") != std::string::npos;
        })) << target
            << ": " << only()->last_error();
        sources_->stop(io::soon());
        sources_.reset();
    }
}

TEST_F(WhepPullTest, ComesBackWhenTheServerEndsIt) {
    publish();
    start("b", kOfA);
    ASSERT_TRUE(feeds([&] { return state() == SourceState::kLive; })) << only()->last_error();
    RtcSession* session = nullptr;
    rtc_->transport().for_each([&](const RtcSession& each) { session = rtc_->find(each.id()); });
    ASSERT_NE(session, nullptr);
    session->end(net::EndClass::kKicked, "by the test");
    EXPECT_TRUE(feeds([&] {
        return only()->machine().attempts() == 2 && state() == SourceState::kLive;
    })) << only()->last_error();
    EXPECT_NE(only()->last_error().find("ended the session"), std::string::npos)
        << only()->last_error();
}

TEST_F(WhepPullTest, WhoTakesTheNameOverHasIt) {
    publish();
    start("b", kOfA);
    ASSERT_TRUE(feeds([&] { return state() == SourceState::kLive; })) << only()->last_error();
    stream::Stream& here = stream("b");
    {
        TestPublisher other(here, stream::PublishConflict::kTakeover);
        other.config();
        other.gop(2);
        EXPECT_TRUE(feeds([&] { return state() == SourceState::kBackingOff; }));
        EXPECT_TRUE(io::eventually([&] { return rtc_->sessions() == 0; }));
    }
    registry_.release(here);
    EXPECT_TRUE(feeds([&] { return state() == SourceState::kLive; })) << "it has the name again";
}

TEST_F(WhepPullTest, InterruptedAnywhereItLeavesNothing) {
    publish();
    for (int wait = 0; wait < 12; wait++) {
        start("b", kOfA);
        int turns = 0;
        feeds([&] { return turns++ >= wait; });
        sources_->stop(io::soon());
        sources_.reset();
        EXPECT_EQ(live_objects("whep_client"), 0U) << wait;
    }
    EXPECT_TRUE(io::eventually([&] { return rtc_->sessions() == 0; }));
}

// ---- requests ----

TEST(WhepRequestTest, HasWhatTheServerNeeds) {
    const auto url = net::SourceUrl::parse("whep+http://h:81/a/whep?token=x").value();
    EXPECT_EQ(whep_post(url, "v=0"),
              fmt::format("POST /a/whep?token=x HTTP/1.1\r\nHost: h:81\r\nUser-Agent: Weir/{}\r\n"
                          "Connection: close\r\nAccept: application/sdp\r\nContent-Type: "
                          "application/sdp\r\nContent-Length: 3\r\n\r\nv=0",
                          kVersion));
    EXPECT_TRUE(whep_delete(url).starts_with("DELETE /a/whep?token=x HTTP/1.1\r\n"));
    EXPECT_TRUE(whep_delete(url).ends_with("\r\n\r\n"));
}

TEST(WhepRequestTest, ALoginIsBasicAndATokenIsBearer) {
    const auto with = [](std::string_view login) {
        return whep_post(net::SourceUrl::parse(fmt::format("whep+https://{}h/whep", login)).value(),
                         "");
    };
    EXPECT_NE(with("Aladdin:open%20sesame@")
                  .find("\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"),
              std::string::npos)
        << "RFC 7617 §2";
    EXPECT_NE(with(":abc.def@").find("\r\nAuthorization: Bearer abc.def\r\n"), std::string::npos);
    EXPECT_EQ(with("").find("Authorization"), std::string::npos);
}

}  // namespace
}  // namespace weir::session
