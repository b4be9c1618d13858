#include "media/tone.h"

#include <vector>

#include <gtest/gtest.h>

namespace weir::media {
namespace {

std::vector<int16_t> tone(double hertz, uint32_t rate, size_t size, double amplitude = 8000) {
    std::vector<int16_t> out(size);
    ToneGenerator(hertz, rate, amplitude).fill(out);
    return out;
}

TEST(ToneTest, APureToneIsAllOfTheBlock) {
    for (const uint32_t rate : {8'000U, 16'000U, 48'000U}) {
        EXPECT_GT(tone_share(tone(440, rate, rate), 440, rate), 0.999) << rate;
        EXPECT_LT(tone_share(tone(1'000, rate, rate), 440, rate), 0.001) << rate;
    }
}

TEST(ToneTest, TheShareOfOneOfTwoEqualTonesIsAHalf) {
    std::vector<int16_t> both = tone(440, 8'000, 8'000);
    const std::vector<int16_t> other = tone(1'000, 8'000, 8'000);
    for (size_t i = 0; i < both.size(); i++) {
        both[i] = static_cast<int16_t>(both[i] + other[i]);
    }
    EXPECT_NEAR(tone_share(both, 440, 8'000), 0.5, 0.01);
    EXPECT_NEAR(tone_share(both, 1'000, 8'000), 0.5, 0.01);
}

TEST(ToneTest, SilenceAndNothingHaveNoTone) {
    EXPECT_EQ(tone_share(std::vector<int16_t>(800), 440, 8'000), 0);
    EXPECT_EQ(tone_share({}, 440, 8'000), 0);
    EXPECT_EQ(rms({}), 0);
}

TEST(ToneTest, ThePhaseGoesOnFromCallToCall) {
    const std::vector<int16_t> whole = tone(440, 8'000, 1'000);
    ToneGenerator generator(440, 8'000);
    std::vector<int16_t> parts(1'000);
    for (size_t at = 0; at < parts.size(); at += 100) {
        generator.fill(std::span(parts).subspan(at, 100));
    }
    for (size_t i = 0; i < whole.size(); i++) {
        EXPECT_NEAR(whole[i], parts[i], 1);
    }
}

TEST(ToneTest, TheAmplitudeIsOfThePeaks) {
    EXPECT_NEAR(rms(tone(440, 8'000, 8'000, 10'000)), 7'071, 10);
    const std::vector<int16_t> loud = tone(440, 8'000, 8'000, 1e9);
    EXPECT_LE(rms(loud), 23'171);
}

}  // namespace
}  // namespace weir::media
