#include "net/segments/audio_chain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

constexpr uint32_t kRate = 44'100;
constexpr uint32_t kFrame = 1'024;
constexpr double kFrameMs = 1000.0 * kFrame / kRate;

// Frames at these times of the stream; they must never overlap.
class Chained {
  public:
    void at(double ms, uint32_t nominal = kFrame) {
        const auto time_ms = static_cast<int64_t>(std::lround(ms));
        const AudioChain::Place place = chain_.place(time_ms, kRate, nominal);
        if (!places.empty()) {
            const uint64_t end = places.back().ticks + places.back().duration;
            EXPECT_GE(place.ticks, end) << "at " << ms << " ms";
            EXPECT_EQ(place.ticks != end, place.hole) << "at " << ms << " ms";
        }
        places.push_back(place);
        off_ms = static_cast<double>(place.ticks) * 1000 / kRate - ms;
        most_off_ms = std::max(most_off_ms, std::abs(off_ms));
    }

    size_t holes() const {
        size_t count = 0;
        for (const AudioChain::Place& place : places) {
            count += place.hole ? 1U : 0U;
        }
        return count;
    }

    std::vector<AudioChain::Place> places;
    double off_ms = 0;  // of the newest frame, against the stream's time
    double most_off_ms = 0;

  private:
    AudioChain chain_;
};

TEST(AudioChainTest, TimesInWholeMillisecondsChangeNoDuration) {
    Chained audio;
    for (int i = 0; i < 10'000; i++) {
        audio.at(1'000 + i * kFrameMs + (i % 3 - 1));  // 1 ms early or late
    }
    for (const AudioChain::Place& place : audio.places) {
        EXPECT_EQ(place.duration, kFrame);
    }
    EXPECT_EQ(audio.holes(), 0U);
}

TEST(AudioChainTest, AClockThatRunsFasterOrSlowerIsFollowedWithoutSteps) {
    for (const double rate : {0.88, 0.99, 0.998, 1.002, 1.01, 1.12}) {
        Chained audio;
        for (int i = 0; i < 5'000; i++) {
            audio.at(1'000 + i * kFrameMs * rate);
        }
        EXPECT_EQ(audio.holes(), 0U) << rate;
        EXPECT_LE(audio.most_off_ms, 15) << rate;
        for (const AudioChain::Place& place : audio.places) {
            EXPECT_GE(place.duration, kFrame * 3 / 4) << rate;
            EXPECT_LE(place.duration, kFrame * 5 / 4) << rate;
        }
    }
}

TEST(AudioChainTest, AHoleStaysAHole) {
    Chained audio;
    double ms = 1'000;
    for (int i = 0; i < 100; i++, ms += kFrameMs) {
        audio.at(ms);
    }
    ms += 4'000;
    for (int i = 0; i < 100; i++, ms += kFrameMs) {
        audio.at(ms);
    }
    EXPECT_EQ(audio.holes(), 1U);
    EXPECT_TRUE(audio.places[100].hole);
    EXPECT_LE(std::abs(audio.off_ms), 4);
}

TEST(AudioChainTest, AMissingFrameIsMadeUpWithinASecond) {
    Chained audio;
    double ms = 1'000;
    for (int i = 0; i < 150; i++, ms += kFrameMs) {
        audio.at(ms);
        ms += i == 100 ? kFrameMs : 0;
    }
    EXPECT_EQ(audio.holes(), 0U);
    EXPECT_LE(std::abs(audio.off_ms), 4);
}

TEST(AudioChainTest, TimesThatGoBackNeverOverlap) {
    Chained audio;
    double ms = 5'000;
    for (int i = 0; i < 100; i++, ms += kFrameMs) {
        audio.at(ms);
    }
    ms -= 800;
    for (int i = 0; i < 400; i++, ms += kFrameMs) {
        audio.at(ms);
    }
    EXPECT_EQ(audio.holes(), 0U);
    EXPECT_LE(std::abs(audio.off_ms), 4) << "it is made up in the end";
}

TEST(AudioChainTest, FramesOfUnknownLengthLastUntilTheNext) {
    Chained audio;
    for (int i = 0; i < 100; i++) {
        audio.at(1'000 + 20 * i, 0);
    }
    EXPECT_EQ(audio.holes(), 99U);
    EXPECT_EQ(audio.off_ms, 0);
}

TEST(AudioChainTest, AnotherTimescaleGoesOnAtTheSameInstant) {
    AudioChain chain;
    const AudioChain::Place first = chain.place(1'000, 44'100, 1'024);
    const uint64_t end = first.ticks + first.duration;
    chain.restart(1'000);
    const AudioChain::Place second = chain.place(1'020, 48'000, 1'024);
    EXPECT_GE(second.ticks * 44'100, end * 48'000);
    EXPECT_NEAR(static_cast<double>(second.ticks) / 48, 1'023.2, 0.1);
}

TEST(AudioChainTest, ADiscontinuityFarBackBeginsThere) {
    AudioChain chain;
    (void)chain.place(60'000, kRate, kFrame);
    chain.restart(1'000);
    EXPECT_EQ(chain.place(1'000, kRate, kFrame).ticks, kRate);
}

}  // namespace
}  // namespace weir::net
