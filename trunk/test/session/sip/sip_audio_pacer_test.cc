#include "session/sip/sip_audio_pacer.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "proto/rtp/header.h"

namespace weir::session {
namespace {

constexpr uint32_t kClockHz = 8'000;
constexpr uint32_t kTicks = 160;  // of 20 ms

// The clock goes in steps of a tick.
class SipAudioPacerTest : public testing::Test {
  protected:
    // So many packets of 20 ms at once.
    void says(int packets, Micros skew = {}) {
        for (int i = 0; i < packets; i++) {
            Bytes packet(rtp::kFixedHeaderSize + kTicks, 0x55);
            rtp::write_header({0, false, sequence_++, time_ += kTicks, 77}, packet.data());
            pacer_.push(now_ + skew, kClockHz, packet);
        }
    }

    // How many packets go in this tick.
    int tick() {
        now_ += SipAudioPacer::kTick;
        int count = 0;
        while (const auto packet = pacer_.poll(now_)) {
            sequences_.push_back(rtp::sequence_of(packet->bytes.data()));
            after_drop_ += packet->after_drop ? 1 : 0;
            count++;
        }
        return count;
    }

    // In each of so many ticks; of a stream that says `packets` in the first of each `period`.
    std::vector<int> ticks(int count, int packets, int period) {
        std::vector<int> all;
        for (int i = 0; i < count; i++) {
            if (i % period == 0) {
                says(packets);
            }
            all.push_back(tick());
        }
        return all;
    }

    MonoTime now_{Seconds(100)};
    SipAudioPacer pacer_;
    uint16_t sequence_ = 0;
    uint32_t time_ = 5;
    std::vector<uint16_t> sequences_;
    int after_drop_ = 0;
};

TEST_F(SipAudioPacerTest, ABunchGoesInEvenSteps) {
    for (const int bunch : {1, 5, 20, 50}) {  // of 20 ms to 1 s
        SCOPED_TRACE(bunch);
        pacer_.clear();
        std::vector<int> sent = ticks(400, bunch, bunch);
        const auto first = std::ranges::find(sent, 1);
        EXPECT_LE(first - sent.begin(), SipAudioPacer::kDelay / SipAudioPacer::kTick);
        EXPECT_EQ(std::count(first, sent.end(), 1), sent.end() - first) << "one in each tick";
        EXPECT_EQ(pacer_.dropped(), 0U);
    }
}

TEST_F(SipAudioPacerTest, PacketsThatAreUpToTheDelayLateGoInEvenSteps) {
    says(1);
    tick();
    std::vector<int> sent;
    for (int i = 0; i < 100; i++) {
        // Nothing for two ticks, then what is missing.
        says(i % 3 == 2 ? 3 : 0);
        sent.push_back(tick());
    }
    EXPECT_EQ(std::ranges::count(sent, 2), 0);
    EXPECT_GE(std::ranges::count(sent, 1), 97);
}

TEST_F(SipAudioPacerTest, TicksThatAreNotQuiteInTimeMakeNoPairs) {
    for (const int phase_ms : {0, 5, 9, 10, 11, 15, 19}) {
        SCOPED_TRACE(phase_ms);
        pacer_.clear();
        int pairs = 0;
        for (int i = 0; i < 200; i++) {
            says(1, Millis(phase_ms) - SipAudioPacer::kTick);
            const Micros jitter(i * 7919 % 3'000);
            now_ += jitter;
            pairs += tick() > 1 ? 1 : 0;
            now_ -= jitter;
        }
        EXPECT_EQ(pairs, 0);
    }
}

TEST_F(SipAudioPacerTest, AfterAStallWhatIsTooMuchIsDroppedAndCounted) {
    ticks(50, 1, 1);
    ticks(25, 0, 1);
    says(25);  // half a second at once, and no pause behind it
    std::vector<int> sent = ticks(300, 1, 1);
    EXPECT_EQ(std::ranges::count(sent, 2), 0);
    EXPECT_NEAR(static_cast<double>(pacer_.dropped()), 25, 2);
    EXPECT_EQ(after_drop_, 1);
    const uint64_t dropped = pacer_.dropped();
    ticks(300, 1, 1);
    EXPECT_EQ(pacer_.dropped(), dropped);
}

TEST_F(SipAudioPacerTest, AClockThatIsTooFastIsHeldWithinTheLimit) {
    for (int i = 0; i < 60'000; i++) {  // 20 minutes, 0.2 % too fast
        says(i % 500 == 0 ? 2 : 1);
        EXPECT_LE(tick(), 1);
    }
    EXPECT_NEAR(static_cast<double>(pacer_.dropped()), 120, 12);
    EXPECT_LE(sequence_ - 60'000 % 65'536 - pacer_.dropped(), 20U) << "so many wait";
}

TEST_F(SipAudioPacerTest, SilenceIsKept) {
    says(1);
    tick();
    tick();
    tick();
    time_ += 10 * kTicks;
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(tick(), 0);
    }
    says(1);
    EXPECT_EQ(tick() + tick() + tick(), 1);
}

TEST_F(SipAudioPacerTest, TimesThatJumpOrGoBackBeginAgain) {
    for (const uint32_t jump : {0x8000'0000U, 0x7000'0000U, uint32_t{0} - 8'000, 80'000U}) {
        SCOPED_TRACE(jump);
        time_ += jump;
        says(3);
        EXPECT_EQ(tick() + tick() + tick() + tick() + tick(), 3);
    }
}

TEST_F(SipAudioPacerTest, TheQueueIsBounded) {
    says(1'000);
    EXPECT_EQ(pacer_.dropped(), 1'000 - SipAudioPacer::kMaxPackets);
    ticks(200, 0, 1);
    EXPECT_EQ(sequences_.size(), SipAudioPacer::kMaxPackets);
    EXPECT_EQ(sequences_.back(), 999);
    pacer_.push(now_, kClockHz, Bytes(5, 1));
    EXPECT_EQ(tick() + tick() + tick(), 0) << "too short for a packet";
}

}  // namespace
}  // namespace weir::session
