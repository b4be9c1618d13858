#include "bench/load/core/voice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

constexpr uint64_t kMs = 1'000'000;

class VoiceTest : public testing::Test {
  protected:
    VoiceTest() { check_.set_measuring(true); }

    // Packets of 20 ms each, fed 7 ms after they were sent.
    std::vector<std::array<uint8_t, kVoiceSamples>> say(size_t count) {
        std::vector<std::array<uint8_t, kVoiceSamples>> out(count);
        for (auto& each : out) {
            source_.next(at_ns_, each);
            at_ns_ += kVoicePacketNs;
        }
        return out;
    }

    void hear(const std::vector<std::array<uint8_t, kVoiceSamples>>& packets) {
        for (const auto& each : packets) {
            check_.feed_mu(each, at_ns_ - kVoicePacketNs + 7 * kMs);
        }
    }

    void pass(size_t count) {
        for (size_t i = 0; i < count; i++) {
            hear(say(1));
        }
    }

    uint64_t at_ns_ = 1000 * kMs;
    Histogram delays_;
    VoiceSource source_{440, 12};
    VoiceCheck check_{440, 12, delays_};
};

TEST_F(VoiceTest, HearsTheToneAndEachStamp) {
    pass(250);
    const VoiceCounts counts = check_.counts();
    EXPECT_EQ(counts.stamped, 250U);
    EXPECT_EQ(counts.lost + counts.duplicated + counts.reordered + counts.foreign, 0U);
    EXPECT_EQ(counts.seconds, 4U);  // the first one is not judged
    EXPECT_EQ(counts.wrong_seconds, 0U);
    EXPECT_GT(counts.worst_share, 0.99);
    EXPECT_EQ(delays_.count(), 250U);
    EXPECT_EQ(delays_.min(), 7000U);
    EXPECT_EQ(delays_.max(), 7000U);
}

TEST_F(VoiceTest, FindsStampsHoweverThePacketsAreCut) {
    Bytes all;
    for (const auto& each : say(20)) {
        all.insert(all.end(), each.begin(), each.end());
    }
    for (size_t at = 33; at < all.size(); at += 47) {
        check_.feed_mu(ByteSpan(all).subspan(at, std::min<size_t>(47, all.size() - at)), at_ns_);
    }
    EXPECT_EQ(check_.counts().stamped, 19U);  // the first one was cut off
    EXPECT_EQ(check_.counts().lost, 0U);
}

TEST_F(VoiceTest, CountsWhatIsLostAndLate) {
    auto packets = say(10);
    std::swap(packets[3], packets[4]);
    packets.erase(packets.begin() + 6);
    packets.push_back(packets.back());
    hear(packets);
    EXPECT_EQ(check_.counts().lost, 1U);
    EXPECT_EQ(check_.counts().reordered, 1U);
    EXPECT_EQ(check_.counts().duplicated, 1U);
}

TEST_F(VoiceTest, SeesAnotherToneAndSilence) {
    source_ = VoiceSource(450, 12);
    pass(150);
    EXPECT_EQ(check_.counts().seconds, 2U);
    EXPECT_EQ(check_.counts().wrong_seconds, 2U);
    EXPECT_LT(check_.counts().worst_share, 0.1);
    check_.set_measuring(true);
    const Bytes silence(16'000, media::g711::kSilenceMu);
    check_.feed_mu(silence, at_ns_);
    EXPECT_EQ(check_.counts().wrong_seconds, 1U);
    EXPECT_EQ(check_.counts().stamped, 0U);
}

TEST_F(VoiceTest, SeesAnotherVoice) {
    source_ = VoiceSource(440, 13);
    pass(10);
    EXPECT_EQ(check_.counts().foreign, 10U);
    EXPECT_EQ(check_.counts().stamped, 0U);
}

TEST_F(VoiceTest, TakesAnyVoiceAndStaysWithIt) {
    VoiceCheck any(0, std::nullopt, delays_);
    for (const auto& each : say(3)) {
        any.feed_mu(each, at_ns_);
    }
    source_ = VoiceSource(440, 13);
    for (const auto& each : say(2)) {
        any.feed_mu(each, at_ns_);
    }
    EXPECT_EQ(any.counts().stamped, 3U);
    EXPECT_EQ(any.counts().foreign, 2U);
    EXPECT_EQ(any.counts().seconds, 0U);
}

TEST_F(VoiceTest, HearsAToneInALawWithoutStamps) {
    for (int i = 0; i < 150; i++) {
        Bytes codes;
        for (const auto& each : say(1)) {
            codes.assign(each.begin(), each.end());
        }
        media::g711::convert(media::g711::Law::kMu, codes, codes);
        check_.feed_a(codes, at_ns_);
    }
    EXPECT_EQ(check_.counts().seconds, 2U);
    EXPECT_EQ(check_.counts().wrong_seconds, 0U);
    EXPECT_EQ(check_.counts().stamped, 0U);
}

}  // namespace
}  // namespace weir::load
