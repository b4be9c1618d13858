#include "media/audio_clock.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace weir::media {
namespace {

constexpr AudioLength kAac{1024, 44'100};
constexpr double kFrameMs = 1024.0 * 1000 / 44'100;

struct Placed {
    std::vector<int64_t> times;
    int64_t shortest = INT64_MAX;  // step, of the second half
    int64_t longest = 0;
    double mean_off = 0;  // time minus stamp, of the second half
};

// `stamp`: of a frame by its number.
Placed place(AudioClock& clock, int frames, const std::function<int64_t(int)>& stamp) {
    Placed result;
    for (int i = 0; i < frames; i++) {
        result.times.push_back(clock.place(stamp(i), kAac));
        if (i >= frames / 2) {
            const int64_t step = result.times[size_t(i)] - result.times[size_t(i) - 1];
            result.shortest = std::min(result.shortest, step);
            result.longest = std::max(result.longest, step);
        }
        if (i >= frames / 2) {
            result.mean_off +=
                static_cast<double>(result.times.back() - stamp(i)) / (frames - frames / 2);
        }
    }
    return result;
}

int64_t true_ms(int frame) {
    return 10'000 + static_cast<int64_t>(frame * kFrameMs);
}

TEST(AudioClockTest, StampsInWholeMillisecondsStayAsTheyAre) {
    AudioClock clock;
    const Placed result = place(clock, 5'000, true_ms);
    EXPECT_GE(result.shortest, 23);
    EXPECT_LE(result.longest, 24);
    EXPECT_NEAR(result.mean_off, 0.5, 0.6);
    EXPECT_EQ(clock.holes(), 0U);
}

TEST(AudioClockTest, FiveFramesWithOneStampAreFiveFramesOfEqualLength) {
    AudioClock clock;
    const Placed result = place(clock, 2'000, [](int i) { return true_ms(i / 5 * 5); });
    EXPECT_GE(result.shortest, 20);
    EXPECT_LE(result.longest, 26);
    EXPECT_NEAR(result.mean_off, 0, 20);
    EXPECT_EQ(clock.holes(), 0U);
    EXPECT_NEAR(static_cast<double>(result.times.back() - result.times.front()), 1'999 * kFrameMs,
                60);
}

TEST(AudioClockTest, JitterOfTheStampsIsNotHeard) {
    AudioClock clock;
    const Placed result =
        place(clock, 3'000, [](int i) { return true_ms(i) + (i * 7919) % 21 - 10; });
    EXPECT_GE(result.shortest, 22);
    EXPECT_LE(result.longest, 25);
    EXPECT_NEAR(result.mean_off, 0, 2);
}

class AudioClockDriftTest : public testing::TestWithParam<double> {};

TEST_P(AudioClockDriftTest, TheStampsAreFollowedWithoutSteps) {
    AudioClock clock;
    const double frame_ms = kFrameMs * (1 + GetParam());
    const Placed result = place(
        clock, 5'000, [frame_ms](int i) { return 10'000 + static_cast<int64_t>(i * frame_ms); });
    EXPECT_GE(result.shortest, 22);
    EXPECT_LE(result.longest, 25);
    EXPECT_NEAR(result.mean_off, 0, 20);
    EXPECT_EQ(clock.holes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(SoundCards,
                         AudioClockDriftTest,
                         testing::Values(-0.0095, -0.002, 0.002, 0.0095));

TEST(AudioClockTest, ARealHoleStaysAHole) {
    AudioClock clock;
    const Placed result =
        place(clock, 400, [](int i) { return true_ms(i) + (i >= 200 ? 400 : 0); });
    EXPECT_EQ(clock.holes(), 1U);
    EXPECT_NEAR(static_cast<double>(result.times[200] - result.times[199]), 400 + kFrameMs, 2);
    EXPECT_NEAR(result.mean_off, 0, 2);
}

TEST(AudioClockTest, ASmallStepBackIsMadeGoodInSmallOnes) {
    AudioClock clock;
    const Placed result =
        place(clock, 1'000, [](int i) { return true_ms(i) - (i >= 200 ? 200 : 0); });
    EXPECT_GE(result.shortest, 19);
    EXPECT_NEAR(static_cast<double>(result.times.back() - (true_ms(999) - 200)), 0, 2);
}

TEST(AudioClockTest, SamplesThatDoNotFitTheStampsAtAllCountNoMore) {
    for (const AudioLength length : {AudioLength{2048, 44'100}, AudioLength{512, 44'100}}) {
        AudioClock clock;
        int64_t last = 0;
        for (int i = 0; i < 2'000; i++) {
            const int64_t time = clock.place(true_ms(i), length);
            EXPECT_GE(time, last);
            EXPECT_LE(std::abs(time - true_ms(i)), 600) << i << " " << length.samples;
            last = time;
        }
        EXPECT_NEAR(static_cast<double>(last), static_cast<double>(true_ms(1'999)), 30);
    }
}

struct Declared {
    AudioLength said;
    double real_hz;
};

class AudioClockRateTest : public testing::TestWithParam<Declared> {};

TEST_P(AudioClockRateTest, ARateThatIsNotTheRealOneEndsWithStamps) {
    AudioClock clock;
    const double frame_ms = GetParam().said.samples * 1000.0 / GetParam().real_hz;
    const int frames = static_cast<int>(120'000 / frame_ms);
    int64_t last = 0;
    for (int i = 0; i < frames; i++) {
        const int64_t stamp = 10'000 + static_cast<int64_t>(i * frame_ms);
        const int64_t time = clock.place(stamp, GetParam().said);
        ASSERT_GE(time, last);
        last = time;
        if (i > frames / 4) {
            ASSERT_EQ(time, stamp) << i;
        }
    }
    EXPECT_LE(clock.holes(), 30U);
}

INSTANTIATE_TEST_SUITE_P(Rates,
                         AudioClockRateTest,
                         testing::Values(Declared{{1024, 22'050}, 44'100},
                                         Declared{{1024, 24'000}, 48'000},
                                         Declared{{1024, 88'200}, 44'100},
                                         Declared{{1024, 48'000}, 24'000},
                                         Declared{{2048, 48'000}, 24'000},
                                         Declared{{120, 48'000}, 24'000},
                                         Declared{{1024, 44'100}, 48'000},
                                         Declared{{1024, 48'000}, 44'100},
                                         Declared{{1024, 32'000}, 44'100}));

TEST(AudioClockTest, BunchesAndDriftAtOnceAreNoMisfits) {
    for (const double drift : {-0.0095, 0.0, 0.0095}) {
        for (const int bunch : {1, 3, 10}) {
            AudioClock clock;
            const double frame_ms = kFrameMs * (1 + drift);
            const Placed result = place(clock, 5'000, [&](int i) {
                return 10'000 + static_cast<int64_t>(i / bunch * bunch * frame_ms) +
                       (i / bunch * 7919) % 21 - 10;
            });
            EXPECT_GE(result.shortest, 18) << drift << " " << bunch;
            EXPECT_LE(result.longest, 28) << drift << " " << bunch;
        }
    }
}

TEST(AudioClockTest, LostFramesAreHolesAndNoMisfits) {
    AudioClock clock;
    uint32_t state = 1;
    int sent = 0;
    uint64_t losses = 0;
    for (int i = 0; i < 5'000; i++) {
        state = state * 1664525 + 1013904223;
        const bool lost = (state >> 16) % 100 < 5;
        losses += lost ? 1U : 0U;
        sent += lost ? 2 : 1;
        EXPECT_NEAR(static_cast<double>(clock.place(true_ms(sent), kAac)),
                    static_cast<double>(true_ms(sent)), 2);
    }
    EXPECT_EQ(clock.holes(), losses) << "with stamps none would be counted";
}

TEST(AudioClockTest, AnotherPublisherBeginsWithNothingButTheTimeOfTheLastFrame) {
    AudioClock clock;
    place(clock, 400, [](int i) { return true_ms(i) + (i >= 200 ? 400 : 0); });
    place(clock, 400, [](int i) { return 30'000 + i * 5; });  // misfits
    EXPECT_GT(clock.holes(), 0U);
    const int64_t last = clock.place(50'000, kAac);
    clock.begin_publisher();
    EXPECT_EQ(clock.holes(), 0U);
    EXPECT_EQ(clock.place(40'000, kAac), last) << "never back";
    clock.begin_publisher();
    const Placed result =
        place(clock, 400, [](int i) { return 50'000 + true_ms(i) + (i * 7919) % 21 - 10; });
    EXPECT_GE(result.shortest, 22) << "placed by samples";
    EXPECT_LE(result.longest, 25);
}

TEST(AudioClockTest, AFrameOfUnknownLengthHasItsStamp) {
    AudioClock clock;
    EXPECT_EQ(clock.place(10'000, {}), 10'000);
    EXPECT_EQ(clock.place(10'050, {}), 10'050);
    EXPECT_EQ(clock.place(10'040, {}), 10'050) << "never back";
}

TEST(AudioClockTest, AfterARestartTheFirstFrameHasItsStamp) {
    AudioClock clock;
    EXPECT_EQ(clock.place(10'000, kAac), 10'000);
    clock.restart();
    EXPECT_EQ(clock.place(50'000, kAac), 50'000);
    clock.restart();
    EXPECT_EQ(clock.place(40'000, kAac), 50'000) << "never back";
}

}  // namespace
}  // namespace weir::media
