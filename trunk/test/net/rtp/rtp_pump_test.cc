// The turns that RtpPump gives to players, and how it lets them go. With packets:
// rtp_over_udp_test.cc.
#include "net/rtp/rtp_pump.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "net/play_rules.h"
#include "net/rtp/rtp_player.h"
#include "net/rtp/rtp_profile.h"

#include "test/support/io/loopback.h"
#include "test/support/rtp_media.h"

namespace weir::net {
namespace {

// Says what the test wants of it, and notes its turns.
class FakePlayer final : public RtpPlayer {
  public:
    FakePlayer(RtpPump& pump, std::string& order, char name)
        : pump_(pump), turns_(order), name_(name) {
        pump_.add(*this);
    }

    FakePlayer(const FakePlayer&) = delete;
    FakePlayer& operator=(const FakePlayer&) = delete;

    ~FakePlayer() override { pump_.remove(*this); }

    RtpFlush flush(MonoTime, size_t most_runs) override {
        EXPECT_EQ(most_runs, RtpPump::kRunsPerTurn);
        turns++;
        turns_ += name_;
        return answer ? answer() : RtpFlush::kCaughtUp;
    }

    Fate look(MonoTime) override {
        looks++;
        return fate;
    }

    void end_playing(EndClass why, std::string_view reason) override {
        ended = why;
        ended_with = reason;
        pump_.remove(*this);
    }

    std::function<RtpFlush()> answer;
    Fate fate;
    int turns = 0;
    int looks = 0;
    std::optional<EndClass> ended;
    std::string_view ended_with;

  private:
    RtpPump& pump_;
    std::string& turns_;
    char name_;
};

class RtpPumpTurnsTest : public testing::Test {
  protected:
    RtpPumpTurnsTest() {
        pump_ = std::make_unique<RtpPump>(stream_, RtpPumpOptions(),
                                          std::make_unique<RtpLogWriter>(profile_));
        pump_->hold();
    }

    ~RtpPumpTurnsTest() override {
        if (running_.running()) {
            running_.interrupt();
        }
        running_.join();
        pump_.reset();
        publisher_.end();
    }

    void run() {
        running_ = io::go([this] { pump_->run(); });
    }

    RtpProfile profile_;
    stream::Stream stream_{{"v", "live", "a"}, {}, MonoClock::now()};
    test::TestPublisher publisher_{stream_};
    std::unique_ptr<RtpPump> pump_;
    io::Coroutine running_;
    std::string turns_;
};

TEST_F(RtpPumpTurnsTest, APlayerWithMuchToSendLetsOthersHaveTheirTurns) {
    FakePlayer greedy(*pump_, turns_, 'g');
    FakePlayer other(*pump_, turns_, 'o');
    int left = 20;
    greedy.answer = [&] { return left-- > 0 ? RtpFlush::kMore : RtpFlush::kCaughtUp; };
    run();
    ASSERT_TRUE(io::eventually([&] { return left < 0; }));
    EXPECT_EQ(turns_.find("gg"), std::string::npos) << turns_;
    EXPECT_GE(other.turns, 20);
}

// Its packets are due one after the other.
class HoldingWriter final : public RtpLogWriter {
  public:
    using RtpLogWriter::RtpLogWriter;

    MonoTime release(MonoTime now) override {
        if (now >= due && ++released < 5) {
            due = now + Millis(20);
        }
        return released < 5 ? due : MonoTime::max();
    }

    int released = 0;
    MonoTime due{};
};

TEST_F(RtpPumpTurnsTest, WhatItsWriterHoldsBackGoesOutWhenItIsDueAlthoughNothingNewComes) {
    auto writer = std::make_unique<HoldingWriter>(profile_);
    const HoldingWriter& holding = *writer;
    pump_->release();
    pump_ = std::make_unique<RtpPump>(stream_, RtpPumpOptions(), std::move(writer));
    pump_->hold();
    const MonoTime begin = MonoClock::now();
    run();
    ASSERT_TRUE(io::eventually([&] { return holding.released == 5; }));
    EXPECT_GE(MonoClock::now() - begin, Millis(80));
    EXPECT_LT(MonoClock::now() - begin, Seconds(2)) << "each would wait for a look";
}

TEST_F(RtpPumpTurnsTest, WhoIsHeldBackIsAskedAgainAlsoWhenNothingNewComes) {
    FakePlayer paced(*pump_, turns_, 'p');
    FakePlayer blocked(*pump_, turns_, 'b');
    paced.answer = [&] { return paced.turns < 3 ? RtpFlush::kPaced : RtpFlush::kCaughtUp; };
    blocked.answer = [&] { return blocked.turns < 3 ? RtpFlush::kBlocked : RtpFlush::kCaughtUp; };
    run();
    EXPECT_TRUE(io::eventually([&] { return paced.turns >= 3 && blocked.turns >= 3; }));
    EXPECT_EQ(pump_->players(), 2U);
}

TEST_F(RtpPumpTurnsTest, WhatIsPublishedWakesPlayersThatHadEverything) {
    FakePlayer player(*pump_, turns_, 'a');
    run();
    ASSERT_TRUE(io::eventually([&] { return player.turns > 0; }));
    publisher_.config();
    publisher_.video(test::Picture::kKey);
    const int before = player.turns;
    EXPECT_TRUE(io::eventually([&] { return player.turns > before; }));
}

TEST_F(RtpPumpTurnsTest, APlayerThatMustGoGoesAndOthersStay) {
    FakePlayer first(*pump_, turns_, '1');
    FakePlayer second(*pump_, turns_, '2');
    FakePlayer third(*pump_, turns_, '3');
    second.answer = [] { return RtpFlush::kBlocked; };
    second.fate = {false, "no consent"};
    run();
    ASSERT_TRUE(io::eventually([&] { return second.ended.has_value(); }));
    EXPECT_EQ(second.ended, EndClass::kError);
    EXPECT_EQ(second.ended_with, "no consent");
    EXPECT_EQ(pump_->players(), 2U);
    EXPECT_FALSE(first.ended || third.ended);
    const int before = first.turns + third.turns;
    pump_->wake();
    EXPECT_TRUE(io::eventually([&] { return first.turns + third.turns >= before + 2; }));
}

TEST_F(RtpPumpTurnsTest, AllPlayersOfAllPlacesAreToldThatThePublisherIsGone) {
    std::vector<std::unique_ptr<FakePlayer>> players;
    for (const RtpFlush place : {RtpFlush::kCaughtUp, RtpFlush::kPaced, RtpFlush::kBlocked}) {
        for (int i = 0; i < 3; i++) {
            players.push_back(std::make_unique<FakePlayer>(*pump_, turns_, 'x'));
            players.back()->answer = [place] { return place; };
        }
    }
    run();
    ASSERT_TRUE(io::eventually([&] { return players.back()->looks > 0; }));
    publisher_.end();
    PumpOptions at_once;
    at_once.wait_publisher = Millis(0);
    pump_->reconfigure(at_once);
    ASSERT_TRUE(io::eventually([&] { return pump_->players() == 0; }));
    for (const auto& player : players) {
        EXPECT_EQ(player->ended, EndClass::kNoPublisher);
    }
}

TEST_F(RtpPumpTurnsTest, PlayersMayComeAndGoInAnyOrder) {
    std::vector<std::unique_ptr<FakePlayer>> players;
    for (int i = 0; i < 9; i++) {
        players.push_back(std::make_unique<FakePlayer>(*pump_, turns_, 'x'));
    }
    EXPECT_EQ(pump_->by_transport()[0].players, 9U);
    pump_->add(*players[4]);
    EXPECT_EQ(pump_->players(), 9U) << "who is there already is there once";
    for (const size_t at : {4U, 0U, 6U, 0U, 2U}) {
        players.erase(players.begin() + static_cast<std::ptrdiff_t>(at));
    }
    pump_->remove(*players[0]);
    pump_->remove(*players[0]);
    EXPECT_EQ(pump_->players(), 3U);
    run();
    EXPECT_TRUE(io::eventually(
        [&] { return players[1]->turns && players[2]->turns && players[3]->turns; }));
    EXPECT_EQ(players[0]->turns, 0);
    players.clear();
    EXPECT_EQ(pump_->players(), 0U);
}

}  // namespace
}  // namespace weir::net
