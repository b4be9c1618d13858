#include "media/comfort_noise.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "media/tone.h"

namespace weir::media {
namespace {

TEST(ComfortNoiseTest, HasTheLevelOfThePacket) {
    for (const uint8_t level : {uint8_t{10}, uint8_t{20}, uint8_t{40}, uint8_t{60}, uint8_t{78}}) {
        ComfortNoise noise(1);
        noise.set_level(level);
        std::vector<int16_t> samples(8'000);
        noise.fill(samples);  // the level is reached slowly
        noise.fill(samples);
        EXPECT_NEAR(noise_level_of(samples), level, 1) << int{level};
        EXPECT_NEAR(rms(samples), 32'768 * std::pow(10, -level / 20.0), 1 + 0.05 * rms(samples));
    }
}

TEST(ComfortNoiseTest, IsNoTone) {
    ComfortNoise noise(7);
    noise.set_level(30);
    std::vector<int16_t> samples(8'000);
    noise.fill(samples);
    for (const double hertz : {50.0, 440.0, 1'000.0, 3'000.0}) {
        EXPECT_LT(tone_share(samples, hertz, 8'000), 0.01);
    }
}

TEST(ComfortNoiseTest, BeginsWithoutAClick) {
    ComfortNoise noise(3);
    noise.set_level(20);
    std::vector<int16_t> samples(16);
    noise.fill(samples);
    for (const int16_t sample : samples) {
        EXPECT_LT(std::abs(sample), 1'000);
    }
}

TEST(ComfortNoiseTest, TheSameSeedGivesTheSameNoise) {
    std::vector<int16_t> first(100);
    std::vector<int16_t> second(100);
    std::vector<int16_t> other(100);
    for (auto& [seed, out] : {std::pair(5, &first), std::pair(5, &second), std::pair(8, &other)}) {
        ComfortNoise noise(static_cast<uint64_t>(seed));
        noise.set_level(30);
        noise.fill(*out);
    }
    EXPECT_EQ(first, second);
    EXPECT_NE(first, other);
}

TEST(ComfortNoiseTest, AddsToWhatIsThereWithoutWrapping) {
    ComfortNoise noise(1);
    noise.set_level(0);
    std::vector<int16_t> samples(4'000, 32'000);
    noise.add(samples);
    noise.add(samples);
    EXPECT_EQ(*std::max_element(samples.begin(), samples.end()), 32'767);
    ComfortNoise silent(1);
    std::vector<int16_t> same(10, 5);
    silent.add(same);
    silent.set_level(127);
    silent.add(same);
    EXPECT_EQ(same, std::vector<int16_t>(10, 5));
}

TEST(ComfortNoiseTest, ReadsTheLevelOfAPayload) {
    EXPECT_EQ(parse_noise_level(Bytes{40}), 40);
    EXPECT_EQ(parse_noise_level(Bytes{0xFF, 1, 2}), 127) << "the top bit is reserved";
    EXPECT_FALSE(parse_noise_level({}));
    EXPECT_EQ(noise_level_of(std::vector<int16_t>(160)), 127);
    EXPECT_EQ(noise_level_of(std::vector<int16_t>(160, -32'768)), 0);
}

}  // namespace
}  // namespace weir::media
