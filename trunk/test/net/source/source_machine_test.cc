#include "net/source/source_machine.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

// Always the same share of the backoff's spread.
class FixedRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override { std::ranges::fill(out, byte); }

    uint8_t byte = 0;
};

class SourceMachineTest : public testing::Test {
  protected:
    SourceMachine make(bool on_demand) {
        SourceTiming timing;
        timing.on_demand = on_demand;
        SourceMachine machine(timing, random_, now_);
        machine.tick(now_);
        return machine;
    }

    void pass(SourceMachine& machine, Millis time) {
        now_ += time;
        machine.tick(now_);
    }

    // From its beginning to live.
    void come_up(SourceMachine& machine) {
        EXPECT_EQ(machine.state(), SourceState::kConnecting);
        machine.on_connected(now_);
        EXPECT_EQ(machine.state(), SourceState::kWaiting);
        machine.on_media(now_);
        EXPECT_EQ(machine.state(), SourceState::kLive);
    }

    // The backoff of a run that ends now.
    Micros backoff(SourceMachine& machine) {
        machine.on_ended(now_);
        EXPECT_EQ(machine.state(), SourceState::kBackingOff);
        return machine.next_timeout().value() - now_;
    }

    FixedRandom random_;
    MonoTime now_{Seconds(100)};
};

TEST_F(SourceMachineTest, ConnectsAtOnceWhenItIsNotOnDemand) {
    SourceMachine machine = make(false);
    EXPECT_TRUE(machine.runs());
    EXPECT_EQ(machine.attempts(), 1U);
    EXPECT_EQ(machine.next_timeout(), std::nullopt);
    come_up(machine);
}

TEST_F(SourceMachineTest, OnDemandWaitsForAViewer) {
    SourceMachine machine = make(true);
    EXPECT_EQ(machine.state(), SourceState::kIdle);
    EXPECT_FALSE(machine.runs());
    pass(machine, Seconds(1000));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
    machine.set_demand(true, now_);
    come_up(machine);
}

TEST_F(SourceMachineTest, LingersBehindTheLastViewer) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    come_up(machine);
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(10));
    pass(machine, Millis(9'999));
    EXPECT_EQ(machine.state(), SourceState::kLive);
    pass(machine, Millis(1));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
    EXPECT_FALSE(machine.runs());
    EXPECT_EQ(machine.failures(), 0U);
}

TEST_F(SourceMachineTest, AViewerWhoComesMeanwhileKeepsIt) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    come_up(machine);
    machine.set_demand(false, now_);
    pass(machine, Seconds(9));
    machine.set_demand(true, now_);
    EXPECT_EQ(machine.next_timeout(), std::nullopt);
    pass(machine, Seconds(100));
    EXPECT_EQ(machine.state(), SourceState::kLive);
    EXPECT_EQ(machine.attempts(), 1U);
}

TEST_F(SourceMachineTest, WhoAsksAndDoesNotComeCostsOneLinger) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
    pass(machine, Seconds(10));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
}

TEST_F(SourceMachineTest, BacksOffLongerWithEachFailureUpToABound) {
    SourceMachine machine = make(false);
    random_.byte = 0xff;  // the whole of it
    std::vector<int64_t> waits;
    for (int i = 0; i < 7; i++) {
        const Micros wait = backoff(machine);
        waits.push_back((wait.count() + 999) / 1000);
        pass(machine, Millis(waits.back()));
        EXPECT_EQ(machine.state(), SourceState::kConnecting);
    }
    EXPECT_EQ(waits, (std::vector<int64_t>{500, 1'000, 2'000, 4'000, 8'000, 10'000, 10'000}));
    EXPECT_EQ(machine.attempts(), 8U);
    EXPECT_EQ(machine.failures(), 7U);
}

TEST_F(SourceMachineTest, SpreadsTheBackoffOverHalfOfIt) {
    random_.byte = 0;
    SourceMachine least = make(false);
    EXPECT_EQ(backoff(least), Millis(250));
    random_.byte = 0x80;
    SourceMachine middle = make(false);
    EXPECT_NEAR(static_cast<double>(backoff(middle).count()), 375'000, 1'000);
}

TEST_F(SourceMachineTest, WhoWasLiveForAWhileBeginsWithTheShortBackoffAgain) {
    SourceMachine machine = make(false);
    for (int i = 0; i < 5; i++) {
        pass(machine, Millis(backoff(machine).count() / 1000 + 1));
    }
    come_up(machine);
    pass(machine, Seconds(9));
    EXPECT_GT(backoff(machine), Millis(4'000)) << "live for a moment only";
    pass(machine, Seconds(10));
    come_up(machine);
    pass(machine, Seconds(10));
    EXPECT_EQ(backoff(machine), Millis(250));
    EXPECT_EQ(machine.failures_in_a_row(), 1U);
}

TEST_F(SourceMachineTest, DoesNotComeBackWhenNobodyWantsItAnyMore) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    (void)backoff(machine);
    machine.set_demand(false, now_);
    pass(machine, Seconds(10));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
    EXPECT_EQ(machine.failures_in_a_row(), 0U);
}

TEST_F(SourceMachineTest, WaitsWhileAnotherPublisherHasTheName) {
    SourceMachine machine = make(false);
    come_up(machine);
    machine.set_held(true, now_);
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    EXPECT_FALSE(machine.runs());
    EXPECT_EQ(machine.next_timeout(), std::nullopt) << "nothing to do before the name is free";
    pass(machine, Seconds(1000));
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    machine.set_held(false, now_);
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
    EXPECT_EQ(machine.failures(), 0U);
}

TEST_F(SourceMachineTest, OnDemandGoesIdleWhileTheNameIsHeld) {
    SourceMachine machine = make(true);
    machine.set_held(true, now_);
    machine.set_demand(true, now_);
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(10));
    pass(machine, Seconds(10));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
}

TEST_F(SourceMachineTest, StopsForGood) {
    SourceMachine machine = make(false);
    come_up(machine);
    machine.stop(now_);
    EXPECT_EQ(machine.state(), SourceState::kStopped);
    machine.set_demand(true, now_);
    machine.on_media(now_);
    machine.on_ended(now_);
    pass(machine, Seconds(100));
    EXPECT_EQ(machine.state(), SourceState::kStopped);
    EXPECT_FALSE(machine.runs());
    EXPECT_EQ(machine.next_timeout(), std::nullopt);
}

TEST_F(SourceMachineTest, HearsOfItsRunOnlyWhileThereIsOne) {
    SourceMachine machine = make(true);
    machine.on_connected(now_);
    machine.on_media(now_);
    machine.on_ended(now_);
    EXPECT_EQ(machine.state(), SourceState::kIdle);
    EXPECT_EQ(machine.failures(), 0U);
}

TEST_F(SourceMachineTest, AnAbsenceThatIsToldAgainMakesTheLingerNoLonger) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    come_up(machine);
    machine.set_demand(false, now_);
    pass(machine, Seconds(6));
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(4));
    pass(machine, Seconds(4));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
}

TEST_F(SourceMachineTest, IsKeptForEachWhoAsksUntilOneHasCome) {
    SourceMachine machine = make(true);
    machine.ask(Seconds(15), now_);
    come_up(machine);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(15));
    pass(machine, Seconds(14));
    EXPECT_TRUE(machine.runs());
    machine.set_demand(true, now_);
    machine.ask(Seconds(15), now_);  // somebody else, who has not come when the first one leaves
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(15));
    machine.set_demand(true, now_);
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(10)) << "the linger";
    machine.ask(Seconds(1), now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(10)) << "who asks waits no less than that";
    pass(machine, Seconds(10));
    EXPECT_EQ(machine.state(), SourceState::kIdle);
}

// The viewer left, and a stream that nobody publishes was asked for all through the linger
// (issue 32).
TEST_F(SourceMachineTest, WhatNobodyWaitsForIsNotTriedAgainUntilSomebodyComes) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    (void)backoff(machine);
    machine.set_demand(false, now_);
    EXPECT_EQ(machine.next_timeout(), now_ + Seconds(10)) << "the end of the linger";
    pass(machine, Seconds(9));
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    EXPECT_EQ(machine.attempts(), 1U);
    machine.set_demand(true, now_);
    EXPECT_EQ(machine.state(), SourceState::kConnecting) << "the retry is long due";
}

TEST_F(SourceMachineTest, ForWhoAsksItIsTriedAsLongAsTheyWait) {
    SourceMachine machine = make(true);
    machine.ask(Seconds(2), now_);
    const MonoTime retry = now_ + backoff(machine);
    EXPECT_EQ(machine.next_timeout(), retry);
    pass(machine, Millis(1'900));
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
    const MonoTime next = now_ + backoff(machine);
    EXPECT_GT(next, now_ + Millis(100));
    EXPECT_EQ(machine.next_timeout(), now_ + Millis(8'100)) << "who asked waits no longer";
    pass(machine, Seconds(1));
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    machine.ask(Seconds(2), now_);
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
}

TEST_F(SourceMachineTest, AViewerAfterTheLingerIsServedAtOnceWhateverFailedBefore) {
    SourceMachine machine = make(true);
    machine.set_demand(true, now_);
    for (int i = 0; i < 6; i++) {
        pass(machine, Millis(backoff(machine).count() / 1000 + 1));
    }
    (void)backoff(machine);
    machine.set_demand(false, now_);
    pass(machine, Seconds(10));
    ASSERT_EQ(machine.state(), SourceState::kIdle);
    machine.set_demand(true, now_);
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
    EXPECT_LE(backoff(machine), Millis(500)) << "it fails for the first time again";
}

TEST_F(SourceMachineTest, NeverWaitsLongerThanTheLongestBackoffHoweverOftenItFails) {
    SourceMachine machine = make(false);
    random_.byte = 0xff;
    for (int i = 0; i < 1'000; i++) {
        const Micros wait = backoff(machine);
        ASSERT_GT(wait, Micros(0)) << i;
        ASSERT_LE(wait, Millis(10'000)) << i;
        pass(machine, Millis(10'000));
        ASSERT_EQ(machine.state(), SourceState::kConnecting) << i;
    }
    EXPECT_EQ(machine.failures_in_a_row(), 1'000U);
}

// A forward sends media before anybody has said yes.
TEST_F(SourceMachineTest, MediaBeforeTheConsentMakesItLive) {
    SourceMachine machine = make(false);
    machine.on_media(now_);
    EXPECT_EQ(machine.state(), SourceState::kLive);
    const MonoTime since = machine.since();
    now_ += Seconds(5);
    machine.on_connected(now_);
    machine.on_media(now_);
    EXPECT_EQ(machine.state(), SourceState::kLive);
    EXPECT_EQ(machine.since(), since) << "that it is live already is nothing new";
}

TEST_F(SourceMachineTest, ANameThatIsTakenWhileItBacksOffIsWaitedFor) {
    SourceMachine machine = make(false);
    (void)backoff(machine);
    machine.set_held(true, now_);
    EXPECT_EQ(machine.next_timeout(), std::nullopt);
    pass(machine, Seconds(60));
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    machine.set_held(true, now_);
    machine.set_held(false, now_);
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
    EXPECT_EQ(machine.attempts(), 2U);
}

TEST_F(SourceMachineTest, EveryStateHasAWordOfItsOwn) {
    std::vector<std::string_view> words;
    for (size_t i = 0; i < kSourceStates; i++) {
        words.push_back(to_string(static_cast<SourceState>(i)));
        EXPECT_FALSE(words.back().empty());
        EXPECT_EQ(std::ranges::count(words, words.back()), 1) << words.back();
    }
}

// ---- relays ----

TEST_F(SourceMachineTest, ARetryThatIsDueSoonerDoesNotComeBeforeItsSpacing) {
    SourceMachine machine = make(false);
    machine.on_ended(now_);
    pass(machine, Millis(100));
    machine.retry_soon(Millis(200), now_);
    EXPECT_EQ(machine.state(), SourceState::kBackingOff);
    EXPECT_EQ(machine.next_timeout(), now_ + Millis(100));
    pass(machine, Millis(100));
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
}

TEST_F(SourceMachineTest, ARetryIsAtOnceWhereTheLastTryIsLongAgoAndNeverLater) {
    SourceMachine machine = make(false);
    pass(machine, Seconds(5));
    machine.on_ended(now_);
    const MonoTime due = *machine.next_timeout();
    machine.retry_soon(Seconds(60), now_);
    EXPECT_EQ(machine.next_timeout(), due);
    machine.retry_soon(Millis(500), now_);
    EXPECT_TRUE(machine.runs());
    EXPECT_EQ(machine.attempts(), 2U);
}

TEST_F(SourceMachineTest, ARunThatBeginsAnewIsNoFailure) {
    SourceMachine machine = make(false);
    come_up(machine);
    EXPECT_TRUE(machine.begin_anew(now_));
    EXPECT_EQ(machine.state(), SourceState::kConnecting);
    EXPECT_EQ(machine.attempts(), 2U);
    EXPECT_EQ(machine.failures(), 0U);
    machine.on_ended(now_);
    EXPECT_FALSE(machine.begin_anew(now_));
}

TEST_F(SourceMachineTest, AStreamThatWasLiveIsLookedForAtOnce) {
    SourceTiming timing;
    timing.looks_again = true;
    SourceMachine machine(timing, random_, now_);
    machine.tick(now_);
    come_up(machine);
    pass(machine, Millis(100));
    EXPECT_EQ(backoff(machine), SourceMachine::kLeastSpacing - Millis(100));
    pass(machine, Millis(400));
    come_up(machine);
    pass(machine, Seconds(2));
    random_.byte = 255;
    EXPECT_LE(backoff(machine), SourceMachine::kLookSpread);
    pass(machine, SourceMachine::kLookSpread);
    EXPECT_GE(backoff(machine), timing.first_backoff / 2);
}

}  // namespace
}  // namespace weir::net
