#include "net/pump.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deadline.h"
#include "net/client.h"
#include "stream/stream_key.h"

#include "test/net/pump_fixture.h"

namespace weir::net {
namespace {

TEST_F(PumpTest, APlayerStartsAtTheNewestKeyFrameAndFlows) {
    publish();
    gop(5);
    const uint32_t key = number_ + 1;
    gop(5);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    EXPECT_EQ(peer.items.at(0), (Item{kFront, key}));
    EXPECT_EQ(peer.items.at(1), (Item{kKey, key}));
    frame(false);
    gop(3);
    ASSERT_TRUE(peer.read_to(number_));
    EXPECT_EQ(peer.told->starts, 1);
    EXPECT_EQ(peer.count(kFront), 1U);
}

TEST_F(PumpTest, WaitingPlayersAreStartedByTheFirstKeyFrame) {
    Peer& early = join();
    Peer& framed_one = join(true);
    publish();
    frame(false);
    Peer& later = join();
    EXPECT_EQ(fanout_.players(*registry_.find(key_)), 3U);
    const uint32_t key = gop(1);
    for (Peer* peer : {&early, &framed_one, &later}) {
        ASSERT_TRUE(peer->read_to(key));
        EXPECT_THAT(peer->items, testing::ElementsAre(Item{kFront, key}, Item{kKey, key}));
    }
}

TEST_F(PumpTest, WithoutAWindowEveryFrameIsAWrite) {
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    const uint64_t before = fanout_.stats().writes;
    for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(peer.read_to(frame(false)));
    }
    EXPECT_EQ(fanout_.stats().writes - before, 20U);
}

TEST_F(PumpTest, AWindowMergesFramesIntoOneWrite) {
    rules_.pump.merge_window = Millis(200);
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_)) << "the first key frame is not held back";
    const uint64_t before = fanout_.stats().writes;
    const MonoTime began = MonoClock::now();
    publish_more(100);
    ASSERT_TRUE(peer.read_to(number_));
    const auto windows = static_cast<uint64_t>((MonoClock::now() - began) / Millis(200));
    EXPECT_LE(fanout_.stats().writes - before, windows + 1);
    peer.expect_in_order();
}

TEST_F(PumpTest, PlayersThatJoinedAtDifferentMomentsAreWrittenToTogether) {
    rules_.pump.merge_window = Millis(80);
    publish();
    gop(1);
    for (int i = 0; i < 10; i++) {
        join();
        ASSERT_FALSE(io::sleep_for(Millis(8)));
        frame(false);
    }
    const uint64_t before = fanout_.stats().passes;
    const MonoTime began = MonoClock::now();
    while (MonoClock::now() - began < Millis(800)) {
        frame(false);
        ASSERT_FALSE(io::sleep_for(Millis(4)));
    }
    const auto windows = static_cast<uint64_t>((MonoClock::now() - began) / Millis(80));
    EXPECT_LE(fanout_.stats().passes - before, 3 * (windows + 1)) << "not ten times a window";
    for (auto& peer : peers_) {
        ASSERT_TRUE(peer->read_to(number_));
        peer->expect_in_order();
    }
}

TEST_F(PumpTest, PeersOfDifferentPhasesShareOneLog) {
    rules_.pump.merge_window = Millis(20);
    publish();
    for (int i = 0; i < 20; i++) {
        gop(3);
        join(i % 2 == 0);
        io::yield();
    }
    const uint32_t last = gop(10);
    for (auto& peer : peers_) {
        ASSERT_TRUE(peer->read_to(last));
        peer->expect_in_order();
    }
    EXPECT_EQ(fanout_.pumps(), 1U);
}

class PumpFramingTest : public PumpTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(PlainAndFramed, PumpFramingTest, testing::Bool(), [](const auto& variant) {
    return variant.param ? "Framed" : "Plain";
});

TEST_P(PumpFramingTest, ASlowPlayerIsMovedToTheNewestKeyFrameAndNothingIsTorn) {
    use_small_buffers();
    rules_.pump.queue_bytes = 60'000;
    publish();
    gop(1);
    Peer& slow = join(GetParam());
    Peer& other = join(GetParam());
    for (int round = 0; round < 3; round++) {
        const uint64_t resyncs = fanout_.stats().resyncs;
        ASSERT_TRUE(eventually([&] {
            gop(20, 3000);
            other.read();
            return fanout_.stats().resyncs > resyncs;
        }));
        slow.read(30'000);
    }
    const uint32_t last = gop(1);
    ASSERT_TRUE(slow.read_to(last));
    slow.expect_in_order();
    EXPECT_GE(slow.told->starts, 2);
    ASSERT_TRUE(other.read_to(last));
    other.expect_in_order();
    uint64_t resyncs = 0;
    uint64_t dropped = 0;
    uint64_t frames = 0;
    uint64_t stalls = 0;
    clients_.for_each([&](const Client& client) {
        resyncs += client.resyncs;
        dropped += client.dropped_bytes;
        frames += client.dropped_frames;
        stalls += client.write_stalls;
        EXPECT_GE(client.first_frame_ms, 0);
        ASSERT_NE(client.probe, nullptr);
        ASSERT_NE(client.probe->tcp(), nullptr);
        EXPECT_TRUE(client.probe->tcp()->facts());
        EXPECT_EQ(client.probe->lag_facts()->bytes, 0U) << "it has caught up";
        EXPECT_EQ(client.probe->lag_facts()->lag_ms, 0);
    });
    const PumpStats& stats = fanout_.stats();
    EXPECT_EQ(resyncs, stats.resyncs);
    EXPECT_EQ(dropped, stats.dropped_bytes);
    EXPECT_EQ(frames, stats.dropped_frames);
    EXPECT_EQ(stalls, stats.blocked);
    EXPECT_GT(dropped, 60'000U);
    EXPECT_GT(frames, 10U);
    EXPECT_LE(frames, dropped / 100);
    EXPECT_GE(stalls, 3U);
    size_t players = 0;
    fanout_.for_each_transport(*stream_,
                               [&](const TransportCount& count) { players += count.players; });
    EXPECT_EQ(players, 2U);
}

TEST_P(PumpFramingTest, AnswersStandBetweenEntriesHoweverTheWritesAreCut) {
    use_small_buffers();
    publish();
    gop(1);
    for (int i = 0; i < 6; i++) {
        join(GetParam());
    }
    constexpr uint32_t kRounds = 8;
    for (uint32_t round = 1; round <= kRounds; round++) {
        // Small writes, so that a full socket cuts a frame's header as likely as its payload.
        gop(1);
        ASSERT_TRUE(eventually([&] { return all_are_full(round % 3 == 0 ? 700 : 100 + round); }));
        for (auto& peer : peers_) {
            peer->say("q");
        }
        io::yield();
        publish_more(5, 100);
        for (auto& peer : peers_) {
            ASSERT_TRUE(peer->read_until([&] {
                return peer->newest() == number_ && peer->count(kAnswer) == round;
            })) << peer->count(kAnswer)
                << " answers, frame " << peer->newest() << " of " << number_;
        }
    }
    for (auto& peer : peers_) {
        peer->expect_in_order();
    }
}

TEST_P(PumpFramingTest, APlayerThatIsPausedGetsNoMediaAndGoesOnAtTheNewestKeyFrame) {
    publish();
    gop(3);
    Peer& peer = join(GetParam());
    ASSERT_TRUE(peer.read_to(number_));
    const uint32_t before = number_;
    peer.say("qp");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 1; }));
    gop(5);
    peer.say("q");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 2; })) << "it still answers";
    EXPECT_EQ(peer.newest(), before);
    const uint32_t key = gop(1);
    peer.say("r");
    ASSERT_TRUE(peer.read_to(key));
    frame(false);
    ASSERT_TRUE(peer.read_to(number_));
    peer.expect_in_order();
    EXPECT_EQ(peer.count(kFront), 2U);
}

TEST_F(PumpTest, APlayerPausedWhileItsSocketIsFullGetsItsEntryWhole) {
    use_small_buffers();
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(eventually([&] { return all_are_full(3000); }));
    peer.say("p");
    peer.say("q");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 1; }));
    const uint32_t key = gop(1);
    peer.say("r");
    ASSERT_TRUE(peer.read_to(key));
    peer.expect_in_order();
}

TEST_F(PumpTest, ALongGopIsNotStartedOverByASlowReader) {
    use_small_buffers();
    rules_.pump.queue_bytes = 20'000;
    publish();
    gop(400, 4000);
    Peer& peer = join();
    // Paced: the pump looks at slow players several times meanwhile.
    const io::Deadline deadline = io::soon();
    while (peer.newest() < number_ && !deadline.passed()) {
        peer.read(8000);
        ASSERT_FALSE(io::sleep_for(Millis(3)));
    }
    EXPECT_EQ(peer.newest(), number_);
    peer.expect_in_order();
    EXPECT_EQ(peer.told->starts, 1) << "there is no newer key frame to move to";
    EXPECT_EQ(fanout_.stats().resyncs, 0U);
}

TEST_F(PumpTest, AShorterWindowHoldsAtOnce) {
    rules_.pump.merge_window = Millis(600'000);
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    const uint32_t held_back = frame(false);
    PumpOptions shorter = rules_.pump;
    shorter.merge_window = Millis(0);
    fanout_.reconfigure([&](const stream::StreamKey&) { return std::optional(shorter); });
    EXPECT_TRUE(peer.read_to(held_back));
    fanout_.reconfigure([](const stream::StreamKey&) { return std::optional<PumpOptions>(); });
    EXPECT_TRUE(peer.read_to(frame(false))) << "none leaves it as it is";
}

TEST_F(PumpTest, AnIdlePumpSleepsAlsoAfterAMoveWithAnEmptyFront) {
    use_small_buffers();
    rules_.pump.queue_bytes = 20'000;
    publish();
    gop(1);
    Peer& peer = join(false, false);
    ASSERT_TRUE(eventually([&] {
        gop(5, 2000);
        return fanout_.stats().resyncs > 0;
    }));
    ASSERT_TRUE(peer.read_to(number_));
    const uint64_t loops = io::runtime_stats().reactor_loops;
    ASSERT_FALSE(io::sleep_for(Millis(100)));
    EXPECT_LE(io::runtime_stats().reactor_loops - loops, 20U);
}

TEST_F(PumpTest, AWaitForAPublisherEndsAndThePlayerIsTold) {
    rules_.pump.wait_publisher = Millis(50);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to_end());
    EXPECT_TRUE(peer.told->ended);
    EXPECT_EQ(peer.told->reason, EndReason::kNoPublisher);
    EXPECT_FALSE(peer.told->ended_started);
    EXPECT_THAT(peer.items, testing::ElementsAre(Item{kEnd, 0}));
    EXPECT_TRUE(eventually([&] { return registry_.size() == 0; }));
}

TEST_F(PumpTest, APlayerWhosePublisherDoesNotComeBackIsTold) {
    rules_.pump.wait_publisher = Millis(50);
    publish();
    gop(2);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    unpublish();
    ASSERT_TRUE(peer.read_to_end());
    EXPECT_EQ(peer.told->reason, EndReason::kPublisherGone);
    EXPECT_TRUE(peer.told->ended_started);
    EXPECT_EQ(peer.items.back().letter, kEnd);
}

TEST_F(PumpTest, APlayerStaysForTheNextPublisher) {
    publish();
    gop(3);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    unpublish();
    EXPECT_EQ(registry_.size(), 1U);
    publish();
    gop(3);
    ASSERT_TRUE(peer.read_to(number_));
    peer.expect_in_order();
    EXPECT_EQ(peer.told->starts, 1);
}

TEST_F(PumpTest, AKickEndsThePlayer) {
    publish();
    gop(2);
    Peer& kicked = join();
    Peer& stays = join();
    ASSERT_TRUE(kicked.read_to(number_));
    bool first = true;
    clients_.for_each([&](Client& client) {
        if (std::exchange(first, false)) {
            client.kick();
        }
    });
    ASSERT_TRUE(kicked.read_to_end());
    EXPECT_EQ(kicked.told->reason, EndReason::kKicked);
    EXPECT_FALSE(stays.told->ended);
    EXPECT_TRUE(eventually([&] { return clients_.size() == 1; }));
}

TEST_F(PumpTest, WhatThePeerDoesEndsThePlayer) {
    publish();
    gop(2);
    Peer& closes = join();
    Peer& says_goodbye = join();
    Peer& talks_nonsense = join();
    Peer& leaves_waiting = join();
    says_goodbye.say("x");
    talks_nonsense.say("!");
    closes.close();
    leaves_waiting.close();
    ASSERT_TRUE(eventually([&] { return clients_.size() == 0; }));
    EXPECT_EQ(closes.told->reason, EndReason::kPeerClosed);
    EXPECT_EQ(says_goodbye.told->reason, EndReason::kPeerClosed);
    EXPECT_EQ(talks_nonsense.told->reason, EndReason::kProtocolError);
    EXPECT_TRUE(eventually([&] { return fanout_.pumps() == 0; }))
        << "the last one takes its pump along";
}

TEST_F(PumpTest, APeerThatAsksAndNeverReadsIsEnded) {
    use_small_buffers();
    publish();
    gop(300, 5000);
    Peer& peer = join();
    const std::string many(2000, 'q');
    for (int i = 0; i < 20 && !peer.told->ended; i++) {
        peer.say(many);
        io::yield();
    }
    ASSERT_TRUE(eventually([&] { return peer.told->ended; }));
    EXPECT_EQ(peer.told->reason, EndReason::kProtocolError);
}

TEST_F(PumpTest, AConnectionThatTalksOnIsGivenBack) {
    publish();
    gop(2);
    for (const char* word : {"c", "C"}) {  // without and with an answer before
        Peer& peer = join();
        ASSERT_TRUE(peer.read_to(number_));
        peer.say(word);
        ASSERT_TRUE(eventually([&] { return peer.told->released != nullptr || peer.told->ended; }));
        EXPECT_FALSE(peer.told->ended) << word;
        ASSERT_TRUE(peer.told->released) << word;
        EXPECT_FALSE(peer.told->released->write_all(record(kAnswer, 77), io::soon()));
        ASSERT_TRUE(peer.read_until(
            [&] { return !peer.items.empty() && peer.items.back() == Item{kAnswer, 77}; }));
        EXPECT_EQ(peer.count(kAnswer), std::string_view(word) == "C" ? 2U : 1U);
        peer.told->released.reset();
        peer.told->released_client.reset();
    }
}

TEST_F(PumpTest, AThousandPlayersComeAndGoAndNothingIsLeft) {
    publish();
    gop(2);
    const uint64_t registered = io::runtime_stats().registered;
    for (int i = 0; i < 1000; i++) {
        join(i % 2 == 0);
    }
    EXPECT_EQ(fanout_.players(*registry_.find(key_)), 1000U);
    gop(2);
    for (auto& peer : peers_) {
        ASSERT_TRUE(peer->read_to(number_));
        peer->expect_in_order();
    }
    peers_.clear();
    ASSERT_TRUE(eventually([&] { return clients_.size() == 0 && fanout_.pumps() == 0; }));
    EXPECT_EQ(io::runtime_stats().registered, registered);
    EXPECT_EQ(stream::LogBlock::live_blocks(), blocks_before_);
    EXPECT_FALSE(stream_->has_sinks());
}

TEST_F(PumpTest, StoppingEndsPlayersInEveryState) {
    use_small_buffers();
    publish();
    gop(1);
    Peer& flowing = join();
    Peer& paused = join();
    Peer& blocked = join(true);
    ASSERT_TRUE(paused.read_to(number_));
    paused.say("p");
    for (int i = 0; i < 300; i++) {
        frame(false, 3000);
        flowing.read();
        io::yield();
    }
    key_.name = "nobody publishes this";
    Peer& waiting = join();
    key_.name = "a";
    const MonoTime began = MonoClock::now();
    fanout_.stop(io::soon());
    EXPECT_LT(MonoClock::now() - began, Seconds(10));
    EXPECT_EQ(fanout_.pumps(), 0U);
    for (Peer* peer : {&flowing, &paused, &blocked, &waiting}) {
        EXPECT_TRUE(peer->told->ended);
        EXPECT_EQ(peer->told->reason, EndReason::kServerStopping);
    }
    Peer& late = join();
    EXPECT_TRUE(late.read_to_end()) << "who comes now is refused";
}

}  // namespace
}  // namespace weir::net
