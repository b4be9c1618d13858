#include "bench/load/core/player_check.h"

#include <gtest/gtest.h>

#include "proto/rtmp/message.h"

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kStream = 3;

// A player of a stream whose frames the test makes itself, with a delay of 5 ms.
class PlayerCheckTest : public testing::Test {
  protected:
    PlayerCheckTest() { check_.joined(now_); }

    Bytes video(uint32_t sequence) {
        Stamp stamp{stream_,       epoch_, sequence,
                    now_ - delay_, 0,      static_cast<uint16_t>(sequence % 10)};
        Bytes body;
        build_video(body, stamp.place == 0 ? 800 : 300, stamp);
        return body;
    }

    Bytes audio(uint32_t sequence) {
        Stamp stamp{stream_, epoch_, sequence, now_ - delay_, 0, 0};
        Bytes body;
        build_audio(body, 170, stamp);
        return body;
    }

    void receive(uint8_t type, const Bytes& body, uint32_t timestamp) {
        ScannedMessage message{6, timestamp, static_cast<uint32_t>(body.size()), 1, type};
        check_.received(body.size(), now_);
        check_.begin(message);
        check_.part(message, body);
        check_.end(message);
    }

    void play_video(uint32_t sequence) {
        now_ += 33 * kMs;
        receive(rtmp::kVideo, video(sequence), sequence * 33);
    }

    void play_audio(uint32_t sequence) {
        now_ += 21 * kMs;
        receive(rtmp::kAudio, audio(sequence), sequence * 21);
    }

    uint64_t now_ = 1'000'000 * kMs;
    uint64_t delay_ = 5 * kMs;
    uint32_t stream_ = kStream;
    uint32_t epoch_ = 77;
    RunTotals totals_;
    PlayerCheck check_{totals_, kStream};
};

TEST_F(PlayerCheckTest, AGoodStreamHasNoFaults) {
    receive(rtmp::kVideo, video_config(), 0);
    receive(rtmp::kAudio, audio_config(), 0);
    for (uint32_t i = 20; i < 60; i++) {
        play_video(i);
        play_audio(i);
    }
    EXPECT_EQ(check_.lost() + check_.duplicated() + check_.reordered(), 0U);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.counts().time_steps_back, 0U);
    EXPECT_EQ(check_.counts().video_frames, 40U);
    EXPECT_EQ(check_.counts().audio_frames, 40U);
    EXPECT_EQ(check_.counts().sessions, 1U);
    EXPECT_FALSE(check_.counts().began_without_key);
}

TEST_F(PlayerCheckTest, EachFaultIsCountedAsWhatItIs) {
    for (uint32_t sequence : {0U, 1U, 3U, 4U, 4U, 6U, 5U}) {
        play_video(sequence);
    }
    EXPECT_EQ(check_.lost(), 1U);
    EXPECT_EQ(check_.duplicated(), 1U);
    EXPECT_EQ(check_.reordered(), 1U);
    EXPECT_EQ(check_.counts().time_steps_back, 1U);
}

TEST_F(PlayerCheckTest, ADamagedFrameIsCorruptedAndNotLost) {
    play_video(0);
    for (size_t at : {40UL, 120UL, 290UL}) {  // stamp, filler, picture
        uint32_t next = 1 + static_cast<uint32_t>(check_.counts().corrupted);
        now_ += 33 * kMs;
        Bytes body = video(next);
        body[at] ^= 1;
        receive(rtmp::kVideo, body, next * 33);
    }
    play_video(4);
    EXPECT_EQ(check_.counts().corrupted, 3U);
    EXPECT_EQ(check_.lost(), 0U);
}

TEST_F(PlayerCheckTest, AFrameOfAnotherStreamIsCorruption) {
    play_video(0);
    stream_ = kStream + 1;
    play_video(1);
    EXPECT_EQ(check_.counts().corrupted, 1U);
}

TEST_F(PlayerCheckTest, AFrameThatIsCutOffIsCorruption) {
    play_video(0);
    ScannedMessage message{6, 33, 300, 1, rtmp::kVideo};
    Bytes body = video(1);
    check_.begin(message);
    check_.part(message, ByteSpan(body).first(200));
    play_video(2);
    EXPECT_EQ(check_.counts().corrupted, 1U);
    EXPECT_EQ(check_.lost(), 1U);
}

TEST_F(PlayerCheckTest, OtherMediaIsUnstampedUntilAStampWasSeen) {
    Bytes foreign(300, 0x41);
    foreign[0] = 0x17;
    foreign[1] = 1;
    receive(rtmp::kVideo, foreign, 0);
    EXPECT_EQ(check_.counts().unstamped, 1U);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    play_video(0);
    receive(rtmp::kVideo, foreign, 40);
    EXPECT_EQ(check_.counts().unstamped, 1U);
    EXPECT_EQ(check_.counts().corrupted, 1U);
}

TEST_F(PlayerCheckTest, WithoutVerifyingAnyMediaIsFine) {
    totals_.verify = false;
    Bytes foreign(300, 0x41);
    foreign[0] = 0x17;
    foreign[1] = 1;
    receive(rtmp::kVideo, foreign, 0);
    EXPECT_EQ(check_.counts().unstamped + check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.counts().video_frames, 1U);
    EXPECT_TRUE(check_.has_key());
}

TEST_F(PlayerCheckTest, ANewPublishingSessionStartsAtItsOwnNumbers) {
    play_video(50);
    play_audio(80);
    epoch_++;
    now_ += 33 * kMs;
    receive(rtmp::kVideo, video(0), 51 * 33);
    now_ += 21 * kMs;
    receive(rtmp::kAudio, audio(0), 81 * 21);
    EXPECT_EQ(check_.counts().sessions, 2U);
    EXPECT_EQ(check_.lost() + check_.duplicated() + check_.reordered(), 0U);
}

TEST_F(PlayerCheckTest, APlayerShouldBeginWithAKeyFrame) {
    play_video(5);
    EXPECT_TRUE(check_.counts().began_without_key);
}

TEST_F(PlayerCheckTest, FirstTimesCountFromThePlayRequest) {
    now_ += 7 * kMs;
    receive(rtmp::kVideo, video_config(), 0);
    EXPECT_FALSE(check_.has_media()) << "a configuration is nothing to see";
    now_ += 3 * kMs;
    receive(rtmp::kVideo, video(0), 0);
    EXPECT_EQ(totals_.first_byte.max(), 7'000U);
    EXPECT_EQ(totals_.first_key.max(), 10'000U);
    EXPECT_TRUE(check_.has_media());
}

TEST_F(PlayerCheckTest, DelayIsMeasuredInTheWindowOnFramesSentAfterTheJoin) {
    play_video(0);
    EXPECT_EQ(totals_.latency.count(), 0U) << "before the window";
    totals_.quarter = 1;
    play_video(1);
    EXPECT_EQ(totals_.latency.count(), 1U);
    EXPECT_EQ(totals_.latency.max(), 5'000U);
    delay_ = 10'000 * kMs;
    play_video(2);
    EXPECT_EQ(totals_.latency.count(), 1U) << "sent before the join";
}

TEST_F(PlayerCheckTest, DriftIsTheLastQuarterAgainstTheFirst) {
    totals_.quarter = 1;
    play_video(0);
    play_video(1);
    totals_.quarter = 2;
    delay_ = 80 * kMs;
    play_video(2);
    EXPECT_EQ(check_.drift_us(), 0);
    EXPECT_TRUE(check_.dried_up());
    totals_.quarter = 4;
    delay_ = 45 * kMs;
    play_video(3);
    EXPECT_EQ(check_.drift_us(), 40'000);
    EXPECT_FALSE(check_.dried_up());
    EXPECT_EQ(totals_.latency_first.count(), 2U);
    EXPECT_EQ(totals_.latency_last.count(), 1U);
}

TEST_F(PlayerCheckTest, AGapOfMoreThanASecondIsAStall) {
    play_video(0);
    now_ += 900 * kMs;
    play_video(1);
    EXPECT_EQ(check_.counts().stalls, 0U);
    now_ += 1'000 * kMs;
    play_video(2);
    EXPECT_EQ(check_.counts().stalls, 1U);
    EXPECT_EQ(check_.counts().longest_gap_ns, 1'033 * kMs);
    EXPECT_FALSE(check_.silent(now_ + 999 * kMs));
    EXPECT_TRUE(check_.silent(now_ + 1'001 * kMs));
    EXPECT_EQ(check_.counts_at(now_ + 1'500 * kMs).stalls, 2U) << "the one that is open counts";
    EXPECT_EQ(check_.counts().stalls, 1U);
    check_.finish(now_ + 1'500 * kMs);
    EXPECT_EQ(check_.counts().stalls, 2U) << "the gap at the end";
    EXPECT_EQ(check_.counts().longest_gap_ns, 1'500 * kMs);
}

TEST_F(PlayerCheckTest, EmptyMessagesAndDataAreNoFrames) {
    receive(rtmp::kAudio, Bytes(), 0);
    receive(rtmp::kDataAmf0, Bytes(20, 2), 0);
    EXPECT_FALSE(check_.has_media());
    EXPECT_EQ(check_.counts().unstamped, 0U);
}

TEST_F(PlayerCheckTest, BytesOfTheWindowAreCountedApart) {
    play_video(0);
    uint64_t before = check_.counts().bytes;
    totals_.quarter = 3;
    play_video(1);
    EXPECT_EQ(check_.counts().window_bytes, check_.counts().bytes - before);
}

TEST_F(PlayerCheckTest, JitterFollowsTheVariationOfTheDelayNotTheDelay) {
    delay_ = 800 * kMs;
    now_ += delay_;
    for (uint32_t i = 0; i < 200; i++) {
        play_video(i);
    }
    EXPECT_EQ(check_.jitter_us(), 0U) << "late, but evenly";
    for (uint32_t i = 200; i < 600; i++) {
        delay_ = (i % 2 == 0 ? 5 : 25) * kMs;
        play_video(i);
    }
    EXPECT_NEAR(static_cast<double>(check_.jitter_us()), 20'000, 200);
}

TEST_F(PlayerCheckTest, AWindowStartsItsDelaysAnew) {
    totals_.quarter = 1;
    play_video(0);
    play_video(1);
    EXPECT_EQ(check_.mean_latency_us(), 5'000U);
    EXPECT_GT(check_.counts().window_bytes, 0U);
    check_.begin_window();
    EXPECT_EQ(check_.mean_latency_us(), 0U);
    EXPECT_EQ(check_.counts().window_bytes, 0U);
    EXPECT_EQ(check_.counts().video_frames, 2U) << "what the player has seen stays";
    delay_ = 9 * kMs;
    play_video(2);
    EXPECT_EQ(check_.mean_latency_us(), 9'000U);
}

TEST_F(PlayerCheckTest, TellsWhenTheFirstMediaAndKeyFrameCame) {
    EXPECT_EQ(check_.first_media_after_ns(), 0U);
    play_video(1);
    play_video(10);
    EXPECT_EQ(check_.first_media_after_ns(), 33 * kMs);
    EXPECT_EQ(check_.first_key_after_ns(), 66 * kMs);
}

}  // namespace
}  // namespace weir::load
