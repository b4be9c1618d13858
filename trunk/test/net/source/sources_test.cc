// Sources and Source with a protocol of the test's own, without any network: what they make of a
// run, whatever the protocol does. With real origins: test/session/sources_test.cc.
#include "net/source/sources.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/object_count.h"
#include "io/resolver.h"

#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::net {
namespace {

using media::TrackKind;

class FakePolicy final : public Policy {
  public:
    stream::StreamKey key_of(std::string_view,
                             std::string_view app,
                             std::string_view name) const override {
        return {"v", std::string(app), std::string(name)};
    }

    Result<PublishRules> may_publish(const AccessRequest&) const override { return rules; }

    Result<PlayRules> may_play(const AccessRequest&) const override { return PlayRules(); }

    PublishRules rules_of_source(const stream::StreamKey&) const override { return rules; }

    PublishRules rules;
};

// Each run is given to the function of its stream's name; without one it stays until it is
// interrupted.
class FakeProtocol final : public SourceProtocol {
  public:
    using Body = std::function<Error(SourceRun&)>;

    Error run(SourceRun& run) override {
        begun++;
        const auto found = bodies.find(run.spec().key.name);
        const Body body = found == bodies.end() ? Body(stay) : found->second;
        Error end = body(run);
        ended++;
        return end;
    }

    static Error stay(SourceRun&) {
        io::Signal never;
        return never.wait_until(io::soon());
    }

    int running() const { return begun - ended; }

    std::map<std::string, Body> bodies;
    int begun = 0;
    int ended = 0;
};

// Another node has all names, or none.
class FakeClaims final : public Claims {
  public:
    Error claim(const stream::StreamKey&, stream::PublishConflict) override {
        asked++;
        return elsewhere ? make_error(ErrorCode::kBusy, "node media-2 has the name") : Error();
    }

    void give_up(const stream::StreamKey&) override {}

    std::optional<uint64_t> epoch(const stream::StreamKey&) const override { return std::nullopt; }

    bool elsewhere = false;
    int asked = 0;
};

struct Viewer final : stream::Muxer {
    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        packets += packet->info().config ? 0 : 1;
    }

    int packets = 0;
};

struct ClientPublisher final : stream::Publisher {
    std::string describe() const override { return "a client"; }

    std::string_view client_id() const override { return "c"; }

    void on_taken_over() override {}
};

class SourcesByItselfTest : public testing::Test {
  protected:
    SourcesByItselfTest() {
        log::set_sink([](log::Level, std::string_view) {});
        config_.named = [this] { return named_; };
    }

    ~SourcesByItselfTest() override {
        sources_->stop(io::soon());
        EXPECT_EQ(protocol_.running(), 0);
        sources_.reset();
        EXPECT_EQ(registry_.size(), 0U);
        EXPECT_EQ(find_object_class("source")->live(), before_);
        log::set_sink(nullptr);
    }

    static stream::StreamKey key(std::string_view name) { return {"v", "live", std::string(name)}; }

    static SourceSpec spec(std::string_view name, SourceRole role = SourceRole::kPull) {
        return spec_of(name, fmt::format("rtmp://192.0.2.1/live/{}", name), role);
    }

    static SourceSpec spec_of(std::string_view name,
                              const std::string& url,
                              SourceRole role = SourceRole::kPull) {
        SourceSpec made;
        made.role = role;
        made.key = key(name);
        made.url = SourceUrl::parse(url).value();
        made.shown = made.url.shown();
        made.named = role == SourceRole::kPull;
        made.on_demand = role == SourceRole::kForward;
        made.linger = Millis(role == SourceRole::kForward ? 0 : 10'000);
        return made;
    }

    // Any stream that somebody asks for has a source, for `linger` behind the last viewer.
    void bring_any(Millis linger, size_t most = 1'000) {
        config_.for_any = [linger](const stream::StreamKey& wanted) {
            SourceSpec made = spec(wanted.name);
            made.named = false;
            made.on_demand = true;
            made.linger = linger;
            return std::optional(made);
        };
        config_.max_sources = [most] { return most; };
    }

    // The same of streams that other nodes have.
    void relay_any(size_t most = 1'000, Millis linger = Millis(10'000)) {
        bring_any(linger, most);
        config_.for_any = [any = config_.for_any](const stream::StreamKey& wanted) {
            std::optional<SourceSpec> made = any(wanted);
            made->relayed = true;
            made->input_timeout = Millis(3'000);
            return made;
        };
    }

    // Comes from a node of that name, by a claim of that epoch, and is live until it is
    // interrupted.
    static FakeProtocol::Body from(const std::string& node, uint64_t epoch) {
        return [node, epoch](SourceRun& run) {
            Origin origin;
            origin.url = SourceUrl::parse("http://192.0.2.1:8080").value();
            origin.node = node;
            origin.epoch = epoch;
            run.note_origin(origin);
            run.connected();
            EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_frame(true, 1)));
            return FakeProtocol::stay(run);
        };
    }

    // Relays of sources that other nodes run, by "rtsp" to tell them apart.
    void stand_in_for_named(Millis linger = Millis(10'000)) {
        sources_->add(SourceRole::kPull, "rtsp", relays_);
        config_.stand_in = [linger](const stream::StreamKey& wanted) {
            SourceSpec made = spec_of(wanted.name, "rtsp://192.0.2.2/relay");
            made.named = false;
            made.on_demand = made.relayed = made.stands_in = true;
            made.linger = linger;
            return std::optional(made);
        };
    }

    void forward_to(std::vector<std::string> urls) {
        config_.forwards = [urls = std::move(urls)](const stream::StreamKey& published) {
            std::vector<SourceSpec> all;
            for (const std::string& url : urls) {
                all.push_back(spec_of(published.name, url, SourceRole::kForward));
            }
            return all;
        };
    }

    void start() {
        Error error = sources_->start(config_);
        ASSERT_FALSE(error) << error.to_string();
    }

    const Source* find(std::string_view name, SourceRole role = SourceRole::kPull) const {
        const Source* found = nullptr;
        sources_->for_each([&](const Source& source) {
            const SourceSpec& spec = source.spec();
            const bool is_it = spec.key.name == name && spec.role == role && !spec.stands_in;
            found = is_it ? &source : found;
        });
        return found;
    }

    SourceState state(std::string_view name, SourceRole role = SourceRole::kPull) const {
        const Source* const source = find(name, role);
        return source != nullptr ? source->machine().state() : SourceState::kStopped;
    }

    stream::Stream& stream(std::string_view name) {
        return registry_.get_or_create(key(name), {}, MonoClock::now());
    }

    bool live(std::string_view name) {
        const stream::Stream* const found = registry_.find(key(name));
        return found != nullptr && found->live();
    }

    stream::Stream& publish(ClientPublisher& client,
                            std::string_view name,
                            stream::PublishConflict conflict = stream::PublishConflict::kRefuse) {
        stream::Stream& made = stream(name);
        EXPECT_FALSE(made.start_publish(client, conflict, MonoClock::now()));
        return made;
    }

    void unpublish(ClientPublisher& client, stream::Stream& from) {
        from.end_publish(client, MonoClock::now());
        registry_.release(from);
    }

    uint64_t before_ = find_object_class("source")->live();
    io::Resolver resolver_;
    HttpClient dialer_{resolver_};
    FakePolicy policy_;
    stream::Registry registry_;
    FakeProtocol protocol_;
    FakeProtocol relays_;
    FakeClaims claims_;
    SourceConfig config_;
    std::vector<SourceSpec> named_;
    bool is_own_ = false;
    std::unique_ptr<Sources> sources_ = [this] {
        auto made = std::make_unique<Sources>(SourceServices{
            registry_,
            dialer_,
            policy_,
            [this](const io::SocketAddress&, const io::SocketAddress&) { return is_own_; },
            system_random(),
            {},
            &claims_});
        made->add(SourceRole::kPull, "rtmp", protocol_);
        made->add(SourceRole::kForward, "rtmp", protocol_);
        return made;
    }();
};

// ---- which there are ----

TEST_F(SourcesByItselfTest, MoreThanMaxSourcesAreRefusedAndNamedOnesDoNotCount) {
    named_ = {spec("named")};
    bring_any(Millis(10'000), 2);
    start();
    EXPECT_TRUE(registry_.want(key("a")));
    EXPECT_TRUE(registry_.want(key("b")));
    EXPECT_FALSE(registry_.want(key("c")));
    EXPECT_TRUE(registry_.want(key("a"))) << "it is there already";
    EXPECT_EQ(sources_->size(), 3U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).refused, 1U);
}

TEST_F(SourcesByItselfTest, ASourceThatNobodyWantsAnyMoreMakesRoomForAnother) {
    bring_any(Millis(20), 1);
    start();
    for (const char* name : {"a", "b", "c"}) {
        ASSERT_TRUE(io::eventually([&] { return registry_.want(key(name)); })) << name;
        ASSERT_TRUE(io::eventually([&] { return sources_->size() == 0; })) << name;
    }
}

TEST_F(SourcesByItselfTest, ADrainBeginsNoSourceForAStreamThatHasNone) {
    bring_any(Millis(10'000));
    start();
    EXPECT_TRUE(registry_.want(key("a")));
    sources_->start_drain();
    EXPECT_FALSE(registry_.want(key("b")));
    EXPECT_TRUE(registry_.want(key("a"))) << "viewers of what is there are served to the end";
    Viewer viewer;
    stream("c").attach(viewer);
    EXPECT_EQ(sources_->size(), 1U);
    stream("c").detach(viewer);
    registry_.release(stream("c"));
}

TEST_F(SourcesByItselfTest, ASchemeWithoutAProtocolHasNoSource) {
    named_ = {spec_of("a", "https://192.0.2.1/live/a.flv"), spec("b")};
    start();
    EXPECT_EQ(find("a"), nullptr);
    EXPECT_NE(find("b"), nullptr);
    EXPECT_EQ(sources_->size(), 1U);
}

TEST_F(SourcesByItselfTest, WhoAsksWhileASourceBacksOffIsNotToldToWait) {
    protocol_.bodies["a"] = [](SourceRun&) { return make_error(ErrorCode::kClosed, "no"); };
    bring_any(Millis(10'000));
    start();
    EXPECT_TRUE(registry_.want(key("a")));
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kBackingOff; }));
    EXPECT_FALSE(registry_.want(key("a")));
    EXPECT_EQ(sources_->stats(SourceRole::kPull).refused, 0U);
}

TEST_F(SourcesByItselfTest, WhatWasCountedStaysCountedWhenItsSourceIsGone) {
    protocol_.bodies["a"] = [](SourceRun& run) {
        run.note_bytes(1'000);
        run.note_bytes(234);
        return FakeProtocol::stay(run);
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return sources_->stats(SourceRole::kPull).bytes == 1'234; }));
    named_.clear();
    sources_->reconfigure();
    EXPECT_EQ(sources_->size(), 0U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).bytes, 1'234U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).attempts, 1U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).failures, 0U) << "that it was ended is no failure";
    EXPECT_EQ(sources_->stats(SourceRole::kForward).bytes, 0U);
    EXPECT_TRUE(io::eventually([&] { return protocol_.running() == 0; }));
}

TEST_F(SourcesByItselfTest, ManySourcesEndTogether) {
    for (int i = 0; i < 50; i++) {
        named_.push_back(spec(fmt::format("s{}", i)));
    }
    start();
    ASSERT_TRUE(io::eventually([&] { return protocol_.running() == 50; }));
    sources_->stop(io::soon());
    EXPECT_EQ(protocol_.running(), 0);
    EXPECT_EQ(sources_->size(), 0U);
    EXPECT_FALSE(registry_.want(key("s1"))) << "it is heard no more";
    sources_->reconfigure();
    EXPECT_EQ(sources_->size(), 0U) << "a reload at the end begins nothing";
}

// ---- a run ----

TEST_F(SourcesByItselfTest, WhatIsNoMediaIsIgnoredAndDataIsNotYetMedia) {
    std::vector<SourceState> states;
    protocol_.bodies["a"] = [&](SourceRun& run) {
        run.connected();
        for (const Bytes& body : {Bytes(), Bytes{0x17}, Bytes{0x80}, Bytes{0xff, 0xff, 0xff}}) {
            EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, body));
        }
        EXPECT_FALSE(live("a")) << "nothing was published";
        states.push_back(state("a"));
        EXPECT_FALSE(run.publish(TrackKind::kData, 0, test::metadata(64)));
        EXPECT_TRUE(live("a"));
        states.push_back(state("a"));
        EXPECT_EQ(stream("a").description().width, 64);
        EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_header()));
        states.push_back(state("a"));
        return FakeProtocol::stay(run);
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return states.size() == 3; }));
    EXPECT_EQ(states,
              (std::vector{SourceState::kWaiting, SourceState::kWaiting, SourceState::kLive}));
}

TEST_F(SourcesByItselfTest, TheFirstMediaAndTheNextHaveDeadlinesOfTheirOwn) {
    policy_.rules.first_packet = Seconds(300);
    policy_.rules.silent = Seconds(100);
    bool done = false;
    protocol_.bodies["a"] = [&](SourceRun& run) {
        const MonoTime begun = MonoClock::now();
        EXPECT_LE(run.connect_deadline().time(), begun + Source::kConnectTimeout);
        run.connected();
        EXPECT_GE(run.media_deadline().time(), begun + Seconds(300));
        EXPECT_NE(run.silence().message().find("firstpkt_timeout"), std::string_view::npos);
        EXPECT_FALSE(run.publish(TrackKind::kData, 0, test::metadata(64)));
        EXPECT_GE(run.media_deadline().time(), begun + Seconds(300)) << "data is not media";
        EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_frame(true, 1)));
        EXPECT_LT(run.media_deadline().time(), begun + Seconds(200));
        EXPECT_GE(run.media_deadline().time(), begun + Seconds(100));
        EXPECT_NE(run.silence().message().find("normal_timeout"), std::string_view::npos);
        EXPECT_EQ(run.silence().code(), ErrorCode::kTimeout);
        done = true;
        return FakeProtocol::stay(run);
    };
    named_ = {spec("a")};
    start();
    EXPECT_TRUE(io::eventually([&] { return done; }));
}

// The API shows it, and the log.
TEST_F(SourcesByItselfTest, WordsOfTheOtherSideAreEscapedAndCut) {
    protocol_.bodies["a"] = [](SourceRun&) {
        return make_error(ErrorCode::kDenied, "{}", "no\n\"" + std::string(5'000, 'x'));
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return find("a")->machine().failures() == 1; }));
    const std::string& said = find("a")->last_error();
    EXPECT_TRUE(said.starts_with("no")) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_LE(said.size(), 320U);
    EXPECT_TRUE(said.ends_with("...")) << said;
}

TEST_F(SourcesByItselfTest, WhatARunPublishedEndsWithIt) {
    io::Signal leave;
    protocol_.bodies["a"] = [&](SourceRun& run) {
        run.connected();
        EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_frame(true, 1)));
        EXPECT_FALSE(leave.wait_until(io::soon()));
        return make_error(ErrorCode::kClosed, "the origin left");
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    EXPECT_TRUE(live("a"));
    leave.notify_all();
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kBackingOff; }));
    EXPECT_FALSE(live("a"));
    EXPECT_EQ(find("a")->last_error(), "the origin left");
}

// It is told by its next packet, not by an event: nothing of it may reach the new publisher's
// viewers.
TEST_F(SourcesByItselfTest, ARunWhoseNameWasTakenOverPublishesNoMore) {
    io::Signal taken;
    ErrorCode told = ErrorCode::kOk;
    protocol_.bodies["a"] = [&](SourceRun& run) {
        run.connected();
        EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_frame(true, 1)));
        EXPECT_FALSE(taken.wait_even_interrupted(io::soon()));
        told = run.publish(TrackKind::kVideo, 40, test::avc_frame(true, 2)).code();
        return make_error(ErrorCode::kBusy, "taken over");
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    Viewer viewer;
    stream("a").attach(viewer);
    ClientPublisher client;
    stream::Stream& of = publish(client, "a", stream::PublishConflict::kTakeover);
    const int before = viewer.packets;
    EXPECT_EQ(state("a"), SourceState::kBackingOff);
    taken.notify_all();
    ASSERT_TRUE(io::eventually([&] { return protocol_.ended == 1; }));
    EXPECT_EQ(told, ErrorCode::kBusy);
    EXPECT_EQ(viewer.packets, before);
    EXPECT_EQ(of.publisher(), &client);
    EXPECT_EQ(find("a")->machine().failures(), 0U);
    of.detach(viewer);
    protocol_.bodies.clear();
    unpublish(client, of);
    EXPECT_TRUE(io::eventually([&] { return protocol_.begun == 2; })) << "the name is free again";
}

// ---- reloads ----

TEST_F(SourcesByItselfTest, AChangedSourceBeginsWhenTheRunBeforeItHasEnded) {
    io::Signal leave;
    protocol_.bodies["a"] = [&](SourceRun& run) {
        run.connected();
        EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_frame(true, 1)));
        return leave.wait_even_interrupted(io::soon());  // it takes its time to end
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    named_ = {spec_of("a", "rtmp://192.0.2.2/live/a")};
    sources_->reconfigure();
    EXPECT_EQ(sources_->size(), 1U);
    EXPECT_EQ(find("a")->spec().url.host, "192.0.2.2");
    EXPECT_EQ(state("a"), SourceState::kBackingOff) << "the old one still has the name";
    EXPECT_EQ(protocol_.begun, 1);
    protocol_.bodies.clear();
    leave.notify_all();
    EXPECT_TRUE(io::eventually([&] { return protocol_.begun == 2; }));
    EXPECT_EQ(find("a")->machine().failures(), 0U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).attempts, 2U);
}

TEST_F(SourcesByItselfTest, AReloadFindsStreamsThatAreWantedAlready) {
    start();
    Viewer viewer;
    stream("a").attach(viewer);
    EXPECT_EQ(sources_->size(), 0U);
    SourceSpec on_demand = spec("a");
    on_demand.on_demand = true;
    named_ = {on_demand};
    sources_->reconfigure();
    EXPECT_TRUE(io::eventually([&] { return protocol_.running() == 1; }));
    stream("a").detach(viewer);
    registry_.release(stream("a"));
}

// ---- forwards ----

TEST_F(SourcesByItselfTest, AStreamGoesToAllItsForwardsAndOneThatFailsDisturbsNoOther) {
    forward_to({"rtmp://192.0.2.1/live/a", "rtmp://192.0.2.2/live/a", "rtmp://192.0.2.1/live/a?k"});
    protocol_.bodies["a"] = [](SourceRun& run) {
        if (run.spec().url.host == "192.0.2.2") {
            return make_error(ErrorCode::kDenied, "not here");
        }
        run.connected();
        run.live();
        return FakeProtocol::stay(run);
    };
    start();
    ClientPublisher client;
    stream::Stream& of = publish(client, "a");
    EXPECT_EQ(sources_->size(), 3U);
    EXPECT_TRUE(io::eventually([&] {
        int live = 0;
        sources_->for_each(
            [&](const Source& each) { live += each.machine().state() == SourceState::kLive; });
        return live == 2 && sources_->stats(SourceRole::kForward).failures == 1;
    }));
    unpublish(client, of);
    EXPECT_TRUE(io::eventually([&] { return sources_->size() == 0; }));
    EXPECT_TRUE(io::eventually([&] { return protocol_.running() == 0; }));
}

TEST_F(SourcesByItselfTest, AForwardStaysWhenAnotherPublisherTakesTheStreamOver) {
    forward_to({"rtmp://192.0.2.1/live/a"});
    start();
    ClientPublisher first;
    ClientPublisher second;
    publish(first, "a");
    ASSERT_TRUE(io::eventually([&] { return protocol_.running() == 1; }));
    stream::Stream& of = publish(second, "a", stream::PublishConflict::kTakeover);
    EXPECT_EQ(sources_->size(), 1U);
    EXPECT_EQ(find("a", SourceRole::kForward)->machine().attempts(), 1U);
    EXPECT_EQ(protocol_.running(), 1);
    unpublish(second, of);
    EXPECT_TRUE(io::eventually([&] { return protocol_.running() == 0; }));
}

// Its forward would be a viewer that never leaves.
TEST_F(SourcesByItselfTest, WhatASourceBringsOnDemandIsNotForwarded) {
    const auto media = [](SourceRun& run) {
        run.connected();
        if (run.spec().role == SourceRole::kPull) {
            EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_frame(true, 1)));
        }
        return FakeProtocol::stay(run);
    };
    protocol_.bodies["always"] = media;
    protocol_.bodies["wanted"] = media;
    forward_to({"rtmp://192.0.2.9/live/x"});
    SourceSpec on_demand = spec("wanted");
    on_demand.on_demand = true;
    named_ = {spec("always"), on_demand};
    start();
    EXPECT_TRUE(registry_.want(key("wanted")));
    ASSERT_TRUE(io::eventually([&] { return live("always") && live("wanted"); }));
    EXPECT_NE(find("always", SourceRole::kForward), nullptr);
    EXPECT_EQ(find("wanted", SourceRole::kForward), nullptr);
}

// ---- loops ----

TEST_F(SourcesByItselfTest, ALoopByHttpIsSeenThroughTheEndingOfItsFile) {
    const auto listener = io::TcpListener::listen(io::loopback());
    ASSERT_TRUE(listener.ok());
    sources_->add(SourceRole::kPull, "http", protocol_);
    is_own_ = true;
    std::map<std::string, ErrorCode> codes;
    const std::string host = (*listener)->local().to_string();
    for (const char* name : {"loop", "other"}) {
        named_.push_back(spec_of(name, fmt::format("http://{}/live/loop.flv", host)));
        protocol_.bodies[name] = [&codes, name](SourceRun& run) {
            const auto stream = run.connect();
            codes[name] = stream.ok() ? ErrorCode::kOk : stream.error().code();
            return FakeProtocol::stay(run);
        };
    }
    start();
    ASSERT_TRUE(io::eventually([&] { return codes.size() == 2; }));
    EXPECT_EQ(codes["loop"], ErrorCode::kDenied);
    EXPECT_EQ(codes["other"], ErrorCode::kOk);
}

// ---- relays ----

TEST_F(SourcesByItselfTest, ARelayThatNeverCameUpGivesItsPlaceToAnother) {
    relay_any(2);
    protocol_.bodies["up"] = from("a", 0);
    start();
    Viewer viewer;
    stream("up").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("up") == SourceState::kLive; }));
    EXPECT_TRUE(registry_.want(key("a")));
    EXPECT_TRUE(registry_.want(key("b")));
    EXPECT_EQ(find("a"), nullptr);
    EXPECT_NE(find("b"), nullptr);
    EXPECT_EQ(state("up"), SourceState::kLive);
    EXPECT_EQ(sources_->size(), 2U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).displaced, 1U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).refused, 0U);
    stream("up").detach(viewer);
}

TEST_F(SourcesByItselfTest, WhoHasAViewerIsDisplacedLast) {
    relay_any(2);
    start();
    Viewer viewer;
    stream("a").attach(viewer);
    EXPECT_TRUE(registry_.want(key("b")));
    EXPECT_TRUE(registry_.want(key("c")));
    EXPECT_NE(find("a"), nullptr) << "older, but somebody waits for it";
    EXPECT_EQ(find("b"), nullptr);
    stream("a").detach(viewer);
    registry_.release(stream("a"));
}

TEST_F(SourcesByItselfTest, AnEventMakesABackingOffRelayTryAtOnce) {
    relay_any();
    protocol_.bodies["a"] = [](SourceRun&) { return make_error(ErrorCode::kNotFound, "no"); };
    start();
    Viewer viewer;
    stream("a").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kBackingOff; }));
    protocol_.bodies["a"] = from("a", 7);
    ASSERT_FALSE(io::sleep_for(Sources::kEventSpacing));
    sources_->retry_now(key("a"));
    EXPECT_TRUE(find("a")->machine().runs());
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    EXPECT_EQ(sources_->pull_of(key("a"))->origin()->epoch, 7U);
    stream("a").detach(viewer);
}

TEST_F(SourcesByItselfTest, ARunWhoseOriginHasLostTheStreamBeginsAnew) {
    relay_any();
    protocol_.bodies["a"] = from("old", 7);
    start();
    Viewer viewer;
    stream("a").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    sources_->end_run(key("a"), 7);
    EXPECT_EQ(protocol_.begun, 1) << "its claim is the newest";
    protocol_.bodies["a"] = from("new", 8);
    sources_->end_run(key("a"), 8);
    ASSERT_TRUE(io::eventually(
        [&] { return state("a") == SourceState::kLive && find("a")->origin()->node == "new"; }));
    EXPECT_EQ(find("a")->machine().failures(), 0U);
    stream("a").detach(viewer);
}

TEST_F(SourcesByItselfTest, WhoeverPublishesHereTakesTheNameOfARelay) {
    relay_any();
    protocol_.bodies["a"] = from("other", 0);
    start();
    Viewer viewer;
    stream("a").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    EXPECT_TRUE(stream("a").relayed());
    EXPECT_EQ(stream("a").publisher()->relayed_from(), "other");
    ClientPublisher client;
    publish(client, "a");
    EXPECT_FALSE(stream("a").relayed());
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kBackingOff; }));
    unpublish(client, stream("a"));
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    stream("a").detach(viewer);
}

// ---- sources that another node runs ----

TEST_F(SourcesByItselfTest, ViewersOfASourceThatAnotherNodeRunsGetItByARelay) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named(Millis(20));
    relays_.bodies["cam"] = from("media-2", 7);
    start();
    ASSERT_TRUE(io::eventually([&] { return claims_.asked > 0; }));
    EXPECT_EQ(relays_.begun, 0) << "nobody watches";

    Viewer viewer;
    stream("cam").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    EXPECT_EQ(relays_.running(), 1);
    EXPECT_EQ(protocol_.begun, 0) << "its own source has no claim";
    EXPECT_EQ(sources_->pull_of(key("cam"))->origin()->node, "media-2");

    stream("cam").detach(viewer);
    ASSERT_TRUE(io::eventually([&] { return sources_->size() == 1; })) << "only its own stays";
    EXPECT_EQ(relays_.running(), 0);
    registry_.release(stream("cam"));
}

TEST_F(SourcesByItselfTest, WhoWaitedForASourceThatIsRefusedGetsItByARelay) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named();
    relays_.bodies["cam"] = from("media-2", 7);
    Viewer viewer;
    stream("cam").attach(viewer);
    start();
    EXPECT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    stream("cam").detach(viewer);
}

TEST_F(SourcesByItselfTest, ASourceWhoseNodeHasLostItIsRunHere) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named();
    relays_.bodies["cam"] = from("media-2", 7);
    protocol_.bodies["cam"] = from("", 0);
    Viewer viewer;
    stream("cam").attach(viewer);
    start();
    ASSERT_TRUE(io::eventually([&] { return relays_.running() == 1 && live("cam"); }));

    claims_.elsewhere = false;
    relays_.bodies["cam"] = [](SourceRun&) {
        return make_error(ErrorCode::kNotFound, "nobody publishes it");
    };
    sources_->end_run(key("cam"), 8);
    ASSERT_TRUE(io::eventually([&] { return protocol_.running() == 1 && live("cam"); }));
    EXPECT_EQ(relays_.running(), 0);
    EXPECT_EQ(state("cam"), SourceState::kLive);
    stream("cam").detach(viewer);
}

TEST_F(SourcesByItselfTest, WhatAStandInBringsIsNotForwarded) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named(Millis(20));
    relays_.bodies["cam"] = from("media-2", 7);
    forward_to({"rtmp://192.0.2.9/live/cam"});
    Viewer viewer;
    stream("cam").attach(viewer);
    start();
    ASSERT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    EXPECT_EQ(find("cam", SourceRole::kForward), nullptr);
    stream("cam").detach(viewer);
    EXPECT_TRUE(io::eventually([&] { return sources_->size() == 1; })) << "only its own stays";
    registry_.release(stream("cam"));
}

TEST_F(SourcesByItselfTest, AStandInEndsWithItsViewersAlsoWhenItsSourceIsNoMore) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named(Millis(20));
    relays_.bodies["cam"] = from("media-2", 7);
    Viewer viewer;
    stream("cam").attach(viewer);
    start();
    ASSERT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    named_.clear();
    sources_->reconfigure();
    stream("cam").detach(viewer);
    EXPECT_TRUE(io::eventually([&] { return sources_->size() == 0; }));
    registry_.release(stream("cam"));
}

TEST_F(SourcesByItselfTest, StandInsDoNotDisplaceEachOther) {
    named_ = {spec("a"), spec("b")};
    claims_.elsewhere = true;
    stand_in_for_named();
    config_.max_sources = [] { return size_t{1}; };
    Viewer first;
    Viewer second;
    stream("a").attach(first);
    stream("b").attach(second);
    start();
    ASSERT_TRUE(io::eventually([&] { return relays_.begun == 1; }));
    for (int i = 0; i < 20; i++) {
        io::yield();
    }
    EXPECT_EQ(relays_.begun, 1);
    stream("a").detach(first);
    stream("b").detach(second);
    registry_.release(stream("a"));
    registry_.release(stream("b"));
}

}  // namespace
}  // namespace weir::net
