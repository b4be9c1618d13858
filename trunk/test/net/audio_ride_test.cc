#include "net/audio_ride.h"

#include <gtest/gtest.h>

#include "net/pump.h"

#include "test/net/pump_fixture.h"

namespace weir::net {
namespace {

using Verdict = AudioRide::Verdict;

// Entries of ten bytes in a log; video each 40 ms unless it says otherwise.
class AudioRideTest : public testing::Test {
  protected:
    Verdict video(int64_t time_ms) { return append(time_ms, false); }

    Verdict audio(int64_t time_ms) { return append(time_ms, true); }

    stream::WireLog log_;
    AudioRide ride_;
    MonoTime now_{Millis(1'000'000)};

  private:
    Verdict append(int64_t time_ms, bool rides) {
        log_.begin_entry(time_ms, log_.head() == 0, rides);
        log_.write(Bytes(10));
        log_.end_entry();
        return ride_.take(log_, now_);
    }
};

TEST_F(AudioRideTest, AudioMakesNobodyDueUntilTheNextVideoFrame) {
    EXPECT_EQ(video(0), Verdict::kDue);
    EXPECT_EQ(audio(10), Verdict::kBegins);
    EXPECT_EQ(ride_.due_head(log_), 10U) << "who has the video is not behind";
    EXPECT_EQ(audio(30), Verdict::kWaits);
    EXPECT_EQ(ride_.due_head(log_), 10U);
    EXPECT_EQ(video(40), Verdict::kDue);
    EXPECT_EQ(ride_.due_head(log_), log_.head());
    EXPECT_FALSE(ride_.waits());
}

TEST_F(AudioRideTest, NothingWaitsForVideoThatHasStopped) {
    EXPECT_EQ(video(0), Verdict::kDue);
    EXPECT_EQ(audio(AudioRide::kVideoGoneMs), Verdict::kBegins);
    ride_.end();
    EXPECT_EQ(audio(AudioRide::kVideoGoneMs + 1), Verdict::kDue);
    EXPECT_EQ(video(240), Verdict::kDue);
    EXPECT_EQ(audio(250), Verdict::kBegins) << "it has come back";
}

TEST_F(AudioRideTest, AnAudioMessageThatFindsTheFirstOneLateTakesItAlong) {
    EXPECT_EQ(video(0), Verdict::kDue);
    EXPECT_EQ(audio(10), Verdict::kBegins);
    now_ += AudioRide::kLongest - Micros(1);
    EXPECT_EQ(audio(30), Verdict::kWaits);
    now_ += Micros(1);
    EXPECT_EQ(audio(55), Verdict::kDue);
    EXPECT_EQ(ride_.due_head(log_), log_.head());
}

class PumpRideTest : public PumpTest {
  protected:
    PumpRideTest() { rules_.pump.merge_window = std::nullopt; }

    // One message `step_ms` of stream time after the last; gives its number.
    uint32_t audio(uint32_t step_ms = 1) {
        Bytes body = {0x2f, 0, 0, 0, 0};  // MP3; the number as in video
        ByteWriter(body).u32(++number_);
        stream_->publish(*this,
                         test::packet(media::TrackKind::kAudio, clock_ += step_ms, std::move(body)),
                         MonoClock::now());
        return number_;
    }

    // Rounds of an audio message, a pause in which it could go out, and a video frame.
    void play_rounds(size_t players) {
        publish();
        gop(1);
        for (size_t i = 0; i < players; i++) {
            ASSERT_TRUE(join().read_to(number_));
        }
        const uint64_t before = fanout_.stats().writes;
        for (size_t i = 0; i < kRounds; i++) {
            const MonoTime began = MonoClock::now();
            audio();
            ASSERT_FALSE(io::sleep_for(Millis(2)));
            late_ += MonoClock::now() - began >= AudioRide::kLongest ? 1U : 0U;
            frame(false);
            for (auto& peer : peers_) {
                ASSERT_TRUE(peer->read_to(number_));
            }
        }
        writes_ = fanout_.stats().writes - before;
        for (auto& peer : peers_) {
            peer->expect_in_order();
        }
    }

    static constexpr size_t kRounds = 10;
    uint64_t writes_ = 0;
    size_t late_ = 0;  // rounds in which the audio had to go alone: this process stood still
};

TEST_F(PumpRideTest, AudioLeavesWithTheNextVideoFrame) {
    play_rounds(2);
    EXPECT_LE(writes_, 2 * (kRounds + late_));
}

TEST_F(PumpRideTest, AudioOfAStreamWithManyPlayersToo) {
    const size_t players = Pump::kSmall + 4;
    play_rounds(players);
    EXPECT_LE(writes_, players * (kRounds + late_));
}

TEST_F(PumpRideTest, WithMwLatencyZeroEachAudioMessageIsAWrite) {
    rules_.pump.merge_window = Millis(0);
    play_rounds(2);
    EXPECT_EQ(writes_, 2 * 2 * kRounds);
}

TEST_F(PumpRideTest, AudioGoesAloneWhenNoVideoComes) {
    publish();
    gop(1);
    Peer& few = join();
    ASSERT_TRUE(few.read_to(number_));
    for (const size_t others : {size_t{0}, Pump::kSmall}) {
        for (size_t i = 0; i < others; i++) {
            ASSERT_TRUE(join().read_to(number_));
        }
        ASSERT_TRUE(few.read_to(frame(false)));
        const MonoTime began = MonoClock::now();
        ASSERT_TRUE(few.read_to(audio()));
        EXPECT_GE(MonoClock::now() - began, AudioRide::kLongest) << others;
        audio(AudioRide::kVideoGoneMs);
        for (int i = 0; i < 5; i++) {
            const uint64_t before = fanout_.stats().writes;
            ASSERT_TRUE(few.read_to(audio()));
            EXPECT_GE(fanout_.stats().writes - before, 1U);
        }
    }
}

TEST_F(PumpRideTest, AStreamWithoutVideoIsWrittenAtOnce) {
    publish();
    audio();
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    const uint64_t before = fanout_.stats().writes;
    for (int i = 0; i < 10; i++) {
        ASSERT_TRUE(peer.read_to(audio()));
    }
    EXPECT_EQ(fanout_.stats().writes - before, 10U);
}

TEST_F(PumpRideTest, APumpMayGoWhileItsAudioWaits) {
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    audio();
    peers_.clear();
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 0; }));
    ASSERT_FALSE(io::sleep_for(AudioRide::kLongest + Millis(10)));  // its time is over by then
}

}  // namespace
}  // namespace weir::net
