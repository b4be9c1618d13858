// What an MPEG-TS multiplexer or a publisher of RTMP brings in, and when each packet goes out.
#include "net/rtp/late_audio.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::net {
namespace {

using media::TrackKind;
using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;

constexpr MonoTime kBegin{Seconds(1'000)};
constexpr int64_t kFirstMs = 10'000;  // of the stream
constexpr int64_t kAudioMs = 20;
constexpr int64_t kVideoMs = 40;

struct Sent {
    TrackKind kind = TrackKind::kData;
    int64_t time_ms = 0;
    int64_t late_ms = 0;  // behind its time
};

class LateAudioTest : public testing::Test {
  protected:
    int64_t now_ms() const {
        return std::chrono::duration_cast<Millis>(now_ - kBegin).count() + kFirstMs;
    }

    void write(const media::PacketRef& packet) {
        sent_.push_back({packet->info().kind, packet->time_ms(), now_ms() - packet->time_ms()});
        configs_ += packet->info().config ? 1U : 0U;
    }

    void drain() {
        while (late_.next_due(now_) <= now_) {
            write(late_.pop().packet);
        }
    }

    void give(TrackKind kind, int64_t time_ms, bool config = false, size_t bytes = 10) {
        media::PacketInfo info;
        info.kind = kind;
        info.config = config;
        const auto packet = make_ref<const media::MediaPacket>(info, time_ms, Bytes(bytes));
        if (late_.push(now_, packet, nullptr)) {
            write(packet);
        }
        drain();
    }

    // Video comes at its time, audio `bunch` frames at once, the newest of them `late_ms` late.
    void play(int64_t ms, int64_t bunch, int64_t late_ms = 0) {
        for (const int64_t end = now_ms() + ms; now_ms() < end; now_ += Millis(1)) {
            drain();
            if (now_ms() % kVideoMs == 0) {
                give(TrackKind::kVideo, now_ms());
            }
            if (now_ms() % (kAudioMs * bunch) == 0) {
                for (int64_t i = bunch - 1; i >= 0; i--) {
                    give(TrackKind::kAudio, now_ms() - late_ms - i * kAudioMs);
                }
            }
        }
    }

    std::vector<int64_t> lateness(TrackKind kind) const {
        std::vector<int64_t> all;
        for (const Sent& each : sent_) {
            if (each.kind == kind) {
                all.push_back(each.late_ms);
            }
        }
        return all;
    }

    LateAudio late_;
    MonoTime now_ = kBegin;
    std::vector<Sent> sent_;
    size_t configs_ = 0;
};

TEST_F(LateAudioTest, AStreamWhoseAudioIsOnTimeIsNotHeld) {
    play(5'000, 1);
    play(5'000, 4);  // 60 ms
    play(5'000, 1, LateAudio::kOnTimeMs - kVideoMs);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(0));
    EXPECT_THAT(lateness(TrackKind::kAudio), Each(Le(LateAudio::kOnTimeMs)));
    EXPECT_EQ(late_.wait_ms(), 0);
    EXPECT_FALSE(late_.holds());
}

TEST_F(LateAudioTest, BunchesGoOutEvenlyBesideTheirVideo) {
    play(2'000, 10, 20);  // what is oldest is 200 ms late
    sent_.clear();
    play(10'000, 10, 20);
    EXPECT_EQ(late_.wait_ms(), 200);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(200));
    EXPECT_THAT(lateness(TrackKind::kAudio), Each(200));
    EXPECT_GE(sent_.size(), 10'000U / kVideoMs + 10'000U / kAudioMs - 20);
}

TEST_F(LateAudioTest, AudioThatIsEvenlyLateHoldsTheVideoAlone) {
    play(2'000, 1, 500);
    sent_.clear();
    play(5'000, 1, 500);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(500));
    EXPECT_THAT(lateness(TrackKind::kAudio), Each(500));
}

TEST_F(LateAudioTest, OneBunchThatIsLateByAccidentHoldsNothing) {
    play(3'000, 1);
    for (int64_t i = 0; i < 50; i++, now_ += Millis(kAudioMs)) {
        give(TrackKind::kVideo, now_ms());  // the audio stands still for a second
    }
    for (int64_t i = 50; i > 0; i--) {
        give(TrackKind::kAudio, now_ms() - i * kAudioMs);
    }
    play(3'000, 1);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(0));
}

TEST_F(LateAudioTest, AStallOfTheNetworkHoldsNothing) {
    for (int round = 0; round < 5; round++) {
        play(3'000, 1);
        const int64_t stalled_at = now_ms();
        now_ += Seconds(1);
        for (int64_t ms = stalled_at; ms < now_ms(); ms += kAudioMs) {
            give(TrackKind::kAudio, ms);
            give(TrackKind::kVideo, ms);
        }
    }
    EXPECT_EQ(late_.wait_ms(), 0);
    EXPECT_FALSE(late_.holds());
}

TEST_F(LateAudioTest, AudioThatIsTooLateIsNotWaitedFor) {
    play(5'000, 1, LateAudio::kMaxWaitMs + 100);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(0));
}

TEST_F(LateAudioTest, TheWaitGoesSlowlyWhenAudioIsOnTimeAgain) {
    play(2'000, 1, 500);
    sent_.clear();
    play(1'000, 1);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(Ge(500 - 2 * LateAudio::kFallMsPerSecond)));
    play(30'000, 1);
    EXPECT_EQ(late_.wait_ms(), 0);
    sent_.clear();
    play(1'000, 1);
    EXPECT_THAT(lateness(TrackKind::kVideo), Each(0));
}

TEST_F(LateAudioTest, OfAGopThatComesAtOnceNothingGoesEarly) {
    late_.gather();
    for (int64_t ms = 0; ms <= 2'000; ms += kVideoMs) {
        give(TrackKind::kVideo, kFirstMs + ms);
        for (int64_t i = 9; ms % 200 == 0 && i >= 0; i--) {
            give(TrackKind::kAudio, kFirstMs + ms - 20 - i * kAudioMs);
        }
    }
    EXPECT_THAT(sent_, IsEmpty());
    late_.release();
    drain();
    EXPECT_EQ(late_.wait_ms(), 200);
    ASSERT_FALSE(sent_.empty());
    for (const Sent& each : sent_) {
        EXPECT_LE(each.time_ms, kFirstMs + 2'000 - 200);
    }
    now_ += Millis(200);
    drain();
    EXPECT_FALSE(late_.holds()) << "the rest, as its time comes";
}

TEST_F(LateAudioTest, AConfigurationKeepsItsPlaceAmongItsFrames) {
    play(2'000, 10, 20);
    sent_.clear();
    give(TrackKind::kVideo, now_ms());
    give(TrackKind::kVideo, now_ms(), true);
    const int64_t after = now_ms() + kVideoMs;
    play(1'000, 10, 20);
    ASSERT_EQ(configs_, 1U);
    int64_t newest = 0;
    for (const Sent& each : sent_) {
        EXPECT_TRUE(each.kind != TrackKind::kVideo || each.time_ms >= newest);
        newest = each.kind == TrackKind::kVideo ? each.time_ms : newest;
    }
    EXPECT_GE(newest, after);
}

TEST_F(LateAudioTest, WhatIsTooMuchGoesEarlyAndIsNotDropped) {
    play(2'000, 1, 1'500);
    const size_t before = sent_.size();
    constexpr size_t kLarge = LateAudio::kMaxBytes / 4;
    for (int i = 0; i < 12; i++) {
        give(TrackKind::kVideo, now_ms(), false, kLarge);
    }
    EXPECT_GE(sent_.size(), before + 8);
    now_ += Seconds(2);
    drain();
    EXPECT_FALSE(late_.holds());
}

TEST_F(LateAudioTest, AudioAloneIsNotHeld) {
    for (int i = 0; i < 100; i++, now_ += Millis(kAudioMs)) {
        give(TrackKind::kAudio, now_ms() - 300);
    }
    EXPECT_EQ(sent_.size(), 100U);
}

}  // namespace
}  // namespace weir::net
