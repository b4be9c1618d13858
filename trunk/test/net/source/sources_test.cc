// Sources and Source with a protocol of the test's own, without any network: what they make of a
// run, whatever the protocol does. With real origins: test/session/sources_test.cc.
#include "net/source/sources.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"

#include "test/net/http/raw_server.h"
#include "test/net/source/sources_fixture.h"
#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::net {
namespace {

using media::TrackKind;

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
    config_.asker_waits = Millis(20);
    start();
    for (const char* name : {"a", "b", "c"}) {
        ASSERT_TRUE(io::eventually([&] { return registry_.want(key(name)); })) << name;
        ASSERT_TRUE(io::eventually([&] { return sources_->size() == 0; })) << name;
    }
}

TEST_F(SourcesByItselfTest, ASourceIsKeptForWhoAskedUntilItIsThere) {
    bring_any(Millis(0));
    protocol_.bodies["a"] = from("", 0);
    start();
    EXPECT_TRUE(registry_.want(key("a")));
    ASSERT_TRUE(io::eventually([&] { return live("a"); })) << "though it does not linger";
    SourceViewer viewer;
    stream("a").attach(viewer);
    EXPECT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    stream("a").detach(viewer);
    EXPECT_TRUE(io::eventually([&] { return sources_->size() == 0; })) << "who asked has left";
}

TEST_F(SourcesByItselfTest, ASourceThatIsKickedLeavesItsNameToOthersAndComesBack) {
    named_ = {spec("a")};
    protocol_.bodies["a"] = from("", 0);
    start();
    ASSERT_TRUE(io::eventually([&] { return live("a"); }));
    ASSERT_TRUE(sources_->kick(key("a")));
    EXPECT_EQ(state("a"), SourceState::kBackingOff);
    EXPECT_EQ(find("a")->last_error(), "ended by the API");
    ASSERT_TRUE(io::eventually([&] { return !live("a"); }));
    EXPECT_FALSE(sources_->kick(key("b")));
    EXPECT_TRUE(io::eventually([&] { return live("a"); })) << "behind its backoff";
}

TEST_F(SourcesByItselfTest, ADrainBeginsNoSourceForAStreamThatHasNone) {
    bring_any(Millis(10'000));
    start();
    EXPECT_TRUE(registry_.want(key("a")));
    sources_->start_drain();
    EXPECT_FALSE(registry_.want(key("b")));
    EXPECT_TRUE(registry_.want(key("a"))) << "viewers of what is there are served to the end";
    SourceViewer viewer;
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
        return SourceBodies::stay(run);
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

TEST_F(SourcesByItselfTest, ARunGoesOnWhenItMayBeRedirectedToOthers) {
    named_ = {spec("a")};
    named_[0].only_servers = {"camera.example"};
    start();
    ASSERT_TRUE(io::eventually([&] { return protocol_.running() == 1; }));
    named_[0].only_servers.emplace_back("other.example");
    sources_->reconfigure();
    EXPECT_EQ(protocol_.running(), 1);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).attempts, 1U);
    EXPECT_EQ(sources_->size(), 1U);
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
        return SourceBodies::stay(run);
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return states.size() == 3; }));
    EXPECT_EQ(states,
              (std::vector{SourceState::kWaiting, SourceState::kWaiting, SourceState::kLive}));
}

TEST_F(SourcesByItselfTest, ARunIsToldOfEachSink) {
    struct Sink final : stream::PacketSink {
        void on_packet(const media::PacketRef&, const stream::Configs*) override {}

        void on_start_lost(stream::StartLost) override {}
    };

    int told = 0;
    protocol_.bodies["a"] = [&](SourceRun& run) {
        run.connected();
        run.set_sink_watch([&] { told++; });
        EXPECT_FALSE(run.publish(TrackKind::kVideo, 0, test::avc_header()));
        return SourceBodies::stay(run);
    };
    named_ = {spec("a")};
    start();
    ASSERT_TRUE(io::eventually([&] { return live("a"); }));
    stream::Stream& published = stream("a");
    Sink first;
    Sink second;
    published.attach(first);
    published.attach(second);
    EXPECT_EQ(told, 2);
    sources_->stop(io::soon());
    published.detach(first);
    published.attach(first);
    EXPECT_EQ(told, 2) << "the run has ended";
    published.detach(first);
    published.detach(second);
    registry_.release(published);
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
        return SourceBodies::stay(run);
    };
    named_ = {spec("a")};
    start();
    EXPECT_TRUE(io::eventually([&] { return done; }));
}

// ---- where answers lead ----

// What a run says that connects to `first` and is sent to `next`.
class RedirectsTest : public SourcesByItselfTest {
  protected:
    std::string follow(const std::string& first, const std::string& next) {
        std::optional<std::string> said;
        protocol_.bodies["a"] = [&](SourceRun& run) -> Error {
            WEIR_TRY_ASSIGN(auto stream, run.connect());
            stream->close();
            auto followed = run.follow(SourceUrl::parse(next).value());
            said = followed.ok() ? "followed" : std::string(followed.error().message());
            return SourceBodies::stay(run);
        };
        named_ = {spec("a")};
        named_[0].url = SourceUrl::parse(first).value();
        named_[0].only_servers = only_;
        start();
        EXPECT_TRUE(io::eventually([&] { return said.has_value(); }));
        return said.value_or("");
    }

    static std::string url_of(const RawServer& server) {
        return fmt::format("rtmp://127.0.0.1:{}/live/cam", server.url().port);
    }

    RawServer first_{[](io::TcpStream&, int) {}};
    RawServer next_{[](io::TcpStream&, int) {}};
    std::vector<std::string> only_;
};

TEST_F(RedirectsTest, AServerOfThisHostLeadsToAnotherOne) {
    EXPECT_EQ(follow(url_of(first_), url_of(next_)), "followed");
    EXPECT_EQ(next_.accepted(), 1);
}

TEST_F(RedirectsTest, NoServerElsewhereLeadsToTheLink) {
    EXPECT_THAT(
        follow(url_of(first_), "rtmp://169.254.169.254:80/live/cam"),
        testing::HasSubstr("169.254.169.254, which is not allowed for it; if that is right, "
                           "give that address"));
}

TEST_F(RedirectsTest, OfAStreamThatWasAskedForOnlyToServersThatAreNamed) {
    only_ = {fmt::format("127.0.0.1:{}", first_.url().port)};
    EXPECT_THAT(follow(url_of(first_), url_of(next_)), testing::HasSubstr("allow_rtsp"));
    EXPECT_EQ(next_.accepted(), 0);
}

TEST_F(RedirectsTest, ToServersThatAreNamedWhereverTheyAre) {
    only_ = {"127.0.0.1", "169.254.169.254"};
    EXPECT_THAT(follow(url_of(first_), "rtmp://169.254.169.254:80/live/cam"),
                testing::Not(testing::HasSubstr("not allowed")));
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
    SourceViewer viewer;
    stream("a").attach(viewer);
    SourceRival client;
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
    SourceViewer viewer;
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
        return SourceBodies::stay(run);
    };
    start();
    SourceRival client;
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
    SourceRival first;
    SourceRival second;
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
        return SourceBodies::stay(run);
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
    for (const char* name : {"loop it", "other"}) {
        named_.push_back(spec_of(name, fmt::format("http://{}/live/loop%20it.flv", host)));
        protocol_.bodies[name] = [&codes, name](SourceRun& run) {
            const auto stream = run.connect();
            codes[name] = stream.ok() ? ErrorCode::kOk : stream.error().code();
            return SourceBodies::stay(run);
        };
    }
    start();
    ASSERT_TRUE(io::eventually([&] { return codes.size() == 2; }));
    EXPECT_EQ(codes["loop it"], ErrorCode::kDenied);
    EXPECT_EQ(codes["other"], ErrorCode::kOk);
}

}  // namespace
}  // namespace weir::net
