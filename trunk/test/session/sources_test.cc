// Sources with a real origin: RTMP and HTTP-FLV pull, forwards. The server of World is the other
// side; this side is a registry of its own.
#include "net/source/sources.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "io/resolver.h"
#include "net/fanout.h"
#include "net/http/client.h"
#include "session/flv/flv_pull.h"
#include "session/rtmp/rtmp_forward.h"
#include "session/rtmp/rtmp_pull.h"
#include "stream/registry.h"

#include "test/session/world.h"

namespace weir::session {
namespace {

using net::SourceRole;
using net::SourceState;

// Counts what it gets.
struct Viewer final : stream::Muxer {
    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        if (packet->info().kind == media::TrackKind::kVideo && !packet->info().config) {
            frames++;
            times.push_back(packet->time_ms());
        }
    }

    size_t frames = 0;
    std::vector<int64_t> times;
};

// What holds for publishers holds for sources.
class OwnPolicy final : public net::Policy {
  public:
    explicit OwnPolicy(const FakePolicy& of) : of_(of) {}

    stream::StreamKey key_of(std::string_view vhost,
                             std::string_view app,
                             std::string_view name) const override {
        return of_.key_of(vhost, app, name);
    }

    Result<net::PublishRules> may_publish(const net::AccessRequest& request) const override {
        return of_.may_publish(request);
    }

    Result<net::PlayRules> may_play(const net::AccessRequest& request) const override {
        return of_.may_play(request);
    }

    net::PublishRules rules_of_source(const stream::StreamKey&) const override {
        return of_.publish;
    }

  private:
    const FakePolicy& of_;
};

class SourcesTest : public World {
  protected:
    ~SourcesTest() override {
        if (sources_) {
            sources_->stop(io::soon());
        }
        own_fanout_.stop(io::soon());
        if (own_rtmp_) {
            Error error = own_rtmp_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
        }
        EXPECT_EQ(own_.size(), 0U);
    }

    static stream::StreamKey key(std::string_view name) {
        return {std::string(stream::kDefaultVhost), "live", std::string(name)};
    }

    net::SourceSpec spec(SourceRole role, std::string_view name, const std::string& url) {
        net::SourceSpec made;
        made.role = role;
        made.key = key(name);
        made.url = net::SourceUrl::parse(url).value();
        made.shown = made.url.shown();
        made.named = true;
        return made;
    }

    std::string rtmp_url(std::string_view path) const {
        return fmt::format("rtmp://{}/{}", rtmp_address_.to_string(), path);
    }

    std::string http_url(std::string_view path) const {
        return fmt::format("http://{}/{}", http_address_.to_string(), path);
    }

    void start(net::SourceConfig config) {
        own_rtmp_ = std::make_unique<RtmpServer>(own_services_, options_);
        forward_ = std::make_unique<RtmpForward>(*own_rtmp_);
        sources_ = std::make_unique<net::Sources>(net::SourceServices{
            own_,
            dialer_,
            own_policy_,
            [this](const io::SocketAddress&, const io::SocketAddress&) { return is_own_; },
            system_random(),
            {}});
        sources_->add(SourceRole::kPull, "rtmp", pull_);
        sources_->add(SourceRole::kPull, "http", flv_pull_);
        sources_->add(SourceRole::kForward, "rtmp", *forward_);
        Error error = sources_->start(std::move(config));
        ASSERT_FALSE(error) << error.to_string();
    }

    void start(net::SourceSpec named) {
        named_ = {std::move(named)};
        net::SourceConfig config;
        config.named = [this] { return named_; };
        start(std::move(config));
    }

    const net::Source* only() const {
        const net::Source* found = nullptr;
        sources_->for_each([&](const net::Source& source) { found = &source; });
        return found;
    }

    SourceState state() const {
        const net::Source* const source = only();
        return source != nullptr ? source->machine().state() : SourceState::kStopped;
    }

    bool comes_to(SourceState wanted) {
        return eventually([&] { return state() == wanted; });
    }

    bool live(std::string_view name) {
        const stream::Stream* const stream = own_.find(key(name));
        return stream != nullptr && stream->live();
    }

    stream::Stream& own(std::string_view name) {
        return own_.get_or_create(key(name), {}, MonoClock::now());
    }

    void leave(Viewer& viewer, std::string_view name) {
        stream::Stream& stream = own(name);
        stream.detach(viewer);
        own_.release(stream);
    }

    io::Resolver resolver_;
    net::HttpClient dialer_{resolver_};
    OwnPolicy own_policy_{policy_};
    stream::Registry own_;
    net::Fanout own_fanout_{own_};
    net::Services own_services_{own_, own_fanout_, clients_, connections_, policy_, limits_};
    std::unique_ptr<RtmpServer> own_rtmp_;
    RtmpPull pull_;
    FlvPull flv_pull_;
    std::unique_ptr<RtmpForward> forward_;
    std::unique_ptr<net::Sources> sources_;
    std::vector<net::SourceSpec> named_;
    bool is_own_ = false;
};

struct ClientPublisher final : stream::Publisher {
    std::string describe() const override { return "a client"; }

    std::string_view client_id() const override { return "c"; }

    void on_taken_over() override {}
};

TEST_F(SourcesTest, PullsByRtmpWhatTheOriginHas) {
    start_rtmp();
    const auto from = publisher("a");
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(comes_to(SourceState::kLive));
    EXPECT_TRUE(live("b"));
    EXPECT_FALSE(live("a"));
    Viewer viewer;
    own("b").attach(viewer);
    from->media(1, rtmp::kVideo, 1000, test::avc_frame(true, 7));
    from->media(1, rtmp::kVideo, 1040, test::avc_frame(false, 8));
    EXPECT_TRUE(eventually([&] { return viewer.frames >= 3; }));
    const auto& times = viewer.times;
    EXPECT_EQ(times[times.size() - 1] - times[times.size() - 2], 40);
    EXPECT_GT(only()->bytes(), 100U);
    leave(viewer, "b");
}

TEST_F(SourcesTest, PullsByHttpFlv) {
    start_rtmp();
    start_http();
    const auto from = publisher("a");
    start(spec(SourceRole::kPull, "b", http_url("live/a.flv")));
    ASSERT_TRUE(comes_to(SourceState::kLive));
    EXPECT_TRUE(live("b"));
    Viewer viewer;
    own("b").attach(viewer);
    from->media(1, rtmp::kVideo, 1000, test::avc_frame(true, 7));
    EXPECT_TRUE(eventually([&] { return viewer.frames >= 2; }));
    leave(viewer, "b");
}

TEST_F(SourcesTest, ComesBackWhenTheOriginsStreamEnded) {
    start_rtmp();
    policy_.play.pump.wait_publisher = Millis(0);
    auto from = publisher("a");
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(comes_to(SourceState::kLive));
    from.reset();
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_FALSE(live("b"));
    EXPECT_FALSE(only()->last_error().empty());
    from = publisher("a");
    EXPECT_TRUE(comes_to(SourceState::kLive));
    EXPECT_GE(only()->machine().attempts(), 2U);
}

TEST_F(SourcesTest, TellsWhyTheOriginRefuses) {
    start_rtmp();
    policy_.play.pump.wait_publisher = Millis(0);
    start(spec(SourceRole::kPull, "b", rtmp_url("live/nobody")));
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_NE(only()->last_error().find("NetStream.Play.StreamNotFound"), std::string::npos)
        << only()->last_error();
}

TEST_F(SourcesTest, TellsWhatHttpAnswers) {
    start_rtmp();
    start_http();
    policy_.play.pump.wait_publisher = Millis(0);
    start(spec(SourceRole::kPull, "b", http_url("live/nobody.flv")));
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_NE(only()->last_error().find("404"), std::string::npos) << only()->last_error();
}

TEST_F(SourcesTest, TellsThatNobodyListens) {
    auto listener = io::TcpListener::listen(io::loopback());
    ASSERT_TRUE(listener.ok());
    rtmp_address_ = (*listener)->local();
    (*listener)->close();
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_NE(only()->last_error().find("refused"), std::string::npos) << only()->last_error();
}

TEST_F(SourcesTest, GivesUpAnOriginThatIsSilent) {
    start_rtmp();
    policy_.publish.first_packet = Millis(200);
    start(spec(SourceRole::kPull, "b", rtmp_url("live/nobody")));  // the player there waits
    ASSERT_TRUE(comes_to(SourceState::kBackingOff))
        << net::to_string(state()) << " " << only()->machine().attempts() << " "
        << only()->last_error();
    EXPECT_NE(only()->last_error().find("firstpkt_timeout"), std::string::npos)
        << only()->last_error();
}

TEST_F(SourcesTest, GivesUpAnOriginThatFallsSilent) {
    start_rtmp();
    const auto from = publisher("a");
    policy_.publish.silent = Millis(200);  // of who comes from now on: the source
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(eventually([&] { return only()->machine().failures() > 0; }));
    EXPECT_NE(only()->last_error().find("normal_timeout"), std::string::npos)
        << only()->last_error();
}

TEST_F(SourcesTest, EndsAnOriginThatSendsMoreThanAPublisherMay) {
    start_rtmp();
    const auto from = publisher("a");
    from->media(1, rtmp::kVideo, 40, test::avc_frame(true, 7, 100'000));
    policy_.publish.max_bits_per_second = 8'000;  // of who comes from now on: the source
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(eventually([&] { return only()->machine().failures() > 0; }));
    EXPECT_NE(only()->last_error().find("max_publish_bitrate"), std::string::npos)
        << only()->last_error();
}

TEST_F(SourcesTest, RefusesItself) {
    start_rtmp();
    is_own_ = true;
    start(spec(SourceRole::kPull, "a", rtmp_url("live/a")));
    ASSERT_TRUE(comes_to(SourceState::kBackingOff));
    EXPECT_NE(only()->last_error().find("loop"), std::string::npos) << only()->last_error();
}

TEST_F(SourcesTest, MayPullAnotherStreamOfItself) {
    start_rtmp();
    is_own_ = true;
    const auto from = publisher("a");
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    EXPECT_TRUE(comes_to(SourceState::kLive));
}

TEST_F(SourcesTest, OnDemandRunsFromTheFirstViewerToTheLinger) {
    start_rtmp();
    const auto from = publisher("a");
    net::SourceSpec made = spec(SourceRole::kPull, "b", rtmp_url("live/a"));
    made.on_demand = true;
    made.linger = Millis(100);
    start(made);
    EXPECT_EQ(state(), SourceState::kIdle);
    Viewer viewer;
    own("b").attach(viewer);
    ASSERT_TRUE(comes_to(SourceState::kLive));
    EXPECT_TRUE(eventually([&] { return viewer.frames > 0; }));
    leave(viewer, "b");
    EXPECT_TRUE(comes_to(SourceState::kIdle));
    EXPECT_TRUE(eventually([&] { return own_.size() == 0; }));
    EXPECT_EQ(only()->machine().failures(), 0U);
}

TEST_F(SourcesTest, MakesASourceForAnyStreamThatIsWantedAndForgetsIt) {
    start_rtmp();
    const auto from = publisher("a");
    net::SourceConfig config;
    config.for_any = [this](const stream::StreamKey& wanted) -> std::optional<net::SourceSpec> {
        net::SourceSpec made =
            spec(SourceRole::kPull, wanted.name, rtmp_url("live/" + wanted.name));
        made.named = false;
        made.on_demand = true;
        made.linger = Millis(50);
        return wanted.name == "no" ? std::nullopt : std::optional(made);
    };
    config.max_sources = [] { return size_t{1}; };
    config.asker_waits = Millis(50);
    start(std::move(config));
    EXPECT_FALSE(own_.want(key("no")));
    EXPECT_TRUE(own_.want(key("a")));
    EXPECT_FALSE(own_.want(key("c"))) << "one at a time";
    EXPECT_EQ(sources_->stats(SourceRole::kPull).refused, 1U);
    EXPECT_TRUE(eventually([&] { return sources_->size() == 0; })) << "nobody came";
    Viewer viewer;
    own("a").attach(viewer);
    EXPECT_TRUE(eventually([&] { return viewer.frames > 0; }));
    EXPECT_EQ(sources_->size(), 1U);
    leave(viewer, "a");
    EXPECT_TRUE(eventually([&] { return sources_->size() == 0; }));
    EXPECT_GE(sources_->stats(SourceRole::kPull).attempts, 2U) << "those that are gone count";
}

TEST_F(SourcesTest, WaitsWhileAClientHasTheName) {
    start_rtmp();
    const auto from = publisher("a");
    ClientPublisher client;
    Error error =
        own("b").start_publish(client, stream::PublishConflict::kRefuse, MonoClock::now());
    ASSERT_FALSE(error);
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    EXPECT_EQ(state(), SourceState::kBackingOff);
    EXPECT_NE(only()->last_error().find("another publisher"), std::string::npos);
    stream::Stream& stream = own("b");
    stream.end_publish(client, MonoClock::now());
    EXPECT_TRUE(comes_to(SourceState::kLive));
    EXPECT_EQ(only()->machine().attempts(), 1U);
}

TEST_F(SourcesTest, LeavesTheNameToAClientThatTakesItOver) {
    start_rtmp();
    const auto from = publisher("a");
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(comes_to(SourceState::kLive));
    ClientPublisher client;
    Error error =
        own("b").start_publish(client, stream::PublishConflict::kTakeover, MonoClock::now());
    ASSERT_FALSE(error);
    EXPECT_EQ(state(), SourceState::kBackingOff);
    own("b").end_publish(client, MonoClock::now());
    EXPECT_TRUE(comes_to(SourceState::kLive));
}

TEST_F(SourcesTest, AReloadAddsChangesAndRemovesSources) {
    start_rtmp();
    const auto a = publisher("a");
    const auto c = publisher("c");
    start(spec(SourceRole::kPull, "b", rtmp_url("live/a")));
    ASSERT_TRUE(comes_to(SourceState::kLive));
    const std::string first(only()->id());
    sources_->reconfigure();
    EXPECT_EQ(only()->id(), first) << "what is the same goes on";
    EXPECT_EQ(state(), SourceState::kLive);
    named_ = {spec(SourceRole::kPull, "b", rtmp_url("live/c"))};
    sources_->reconfigure();
    EXPECT_NE(only()->id(), first);
    EXPECT_TRUE(comes_to(SourceState::kLive));
    named_.clear();
    sources_->reconfigure();
    EXPECT_EQ(sources_->size(), 0U);
    EXPECT_TRUE(eventually([&] { return own_.size() == 0; }));
}

TEST_F(SourcesTest, ForwardsAStreamWhileItIsPublished) {
    start_rtmp();
    net::SourceConfig config;
    config.forwards = [this](const stream::StreamKey& published) {
        net::SourceSpec made =
            spec(SourceRole::kForward, published.name, rtmp_url("live/" + published.name));
        made.named = false;
        made.on_demand = true;
        made.linger = Millis(0);
        return std::vector{made};
    };
    start(std::move(config));
    ClientPublisher client;
    stream::Stream& stream = own("f");
    Error error = stream.start_publish(client, stream::PublishConflict::kRefuse, MonoClock::now());
    ASSERT_FALSE(error);
    const auto give = [&](media::TrackKind kind, uint32_t time, Bytes body) {
        stream.publish(client, test::packet(kind, time, std::move(body)), MonoClock::now());
    };
    give(media::TrackKind::kData, 0, test::metadata(64));
    give(media::TrackKind::kVideo, 0, test::avc_header());
    give(media::TrackKind::kVideo, 0, test::avc_frame(true, 1));
    ASSERT_TRUE(comes_to(SourceState::kLive));
    const auto there = [this]() -> const stream::Stream* {
        const stream::Stream* const found = registry_.find(key("f"));
        return found != nullptr && found->live() ? found : nullptr;
    };
    ASSERT_TRUE(eventually([&] { return there() != nullptr; }));
    EXPECT_TRUE(eventually([&] { return there()->gop().key_frames == 1; }));
    EXPECT_EQ(there()->description().width, 64);
    give(media::TrackKind::kVideo, 40, test::avc_frame(false, 2));
    EXPECT_TRUE(eventually([&] { return there()->video().frames == 2; }));
    EXPECT_TRUE(eventually([&] { return only()->bytes() > 100; }));
    stream.end_publish(client, MonoClock::now());
    EXPECT_TRUE(eventually([&] { return there() == nullptr; }));
    EXPECT_TRUE(eventually([&] { return sources_->size() == 0; }));
    EXPECT_TRUE(eventually([&] { return own_.size() == 0; }));
}

TEST_F(SourcesTest, AForwardComesBackAfterItsServerEndedIt) {
    start_rtmp();
    net::SourceConfig config;
    config.forwards = [this](const stream::StreamKey& published) {
        net::SourceSpec made =
            spec(SourceRole::kForward, published.name, rtmp_url("live/" + published.name));
        made.named = false;
        made.on_demand = true;
        made.linger = Millis(0);
        return std::vector{made};
    };
    start(std::move(config));
    ClientPublisher client;
    stream::Stream& stream = own("f");
    Error error = stream.start_publish(client, stream::PublishConflict::kRefuse, MonoClock::now());
    ASSERT_FALSE(error);
    stream.publish(client, test::packet(media::TrackKind::kVideo, 0, test::avc_frame(true, 1)),
                   MonoClock::now());
    ASSERT_TRUE(comes_to(SourceState::kLive));
    ASSERT_TRUE(eventually([&] { return registry_.find(key("f")) != nullptr; }));
    clients_.for_each([](const net::Client& each) {
        if (each.role == net::ClientRole::kPublisher && each.kick) {
            each.kick();
        }
    });
    EXPECT_TRUE(eventually([&] { return only()->machine().failures() == 1; }));
    EXPECT_TRUE(comes_to(SourceState::kLive));
    stream.end_publish(client, MonoClock::now());
    EXPECT_TRUE(eventually([&] { return own_.size() == 0; }));
}

}  // namespace
}  // namespace weir::session
