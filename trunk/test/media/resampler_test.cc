#include "media/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "media/tone.h"

namespace weir::media {
namespace {

using Samples = std::vector<int16_t>;

constexpr uint32_t kRates[] = {8'000, 16'000, 24'000, 32'000, 48'000};

Samples run(uint32_t from, uint32_t to, double hertz, size_t block_ms = 20) {
    Resampler resampler(from, to);
    ToneGenerator tone(hertz, from, 10'000);
    Samples out;
    Samples block(from * block_ms / 1000);
    for (size_t ms = 0; ms < 1'000; ms += block_ms) {
        tone.fill(block);
        resampler.feed(block, out);
    }
    return out;
}

TEST(ResamplerTest, ATonePassesBetweenAllRates) {
    for (const uint32_t from : kRates) {
        for (const uint32_t to : kRates) {
            Samples out = run(from, to, 440);
            ASSERT_NEAR(static_cast<double>(out.size()), to, 1) << from << " to " << to;
            const auto settled = std::span(out).subspan(out.size() / 10);
            EXPECT_GT(tone_share(settled, 440, to), 0.999) << from << " to " << to;
            EXPECT_NEAR(rms(settled), 7'071, 100) << from << " to " << to;
        }
    }
}

TEST(ResamplerTest, WhatTheLowerRateCannotHaveIsTakenAway) {
    for (const uint32_t from : {16'000U, 48'000U}) {
        const Samples out = run(from, 8'000, 5'000);
        EXPECT_LT(rms(std::span(out).subspan(800)), 100) << from;
    }
    // And nothing is mirrored upwards: 440 Hz at 8 kHz would be 7,560 Hz as well.
    const Samples up = run(8'000, 48'000, 3'000);
    EXPECT_LT(tone_share(std::span(up).subspan(4'800), 5'000, 48'000), 1e-4);
}

TEST(ResamplerTest, BlocksOfAnySizeGiveTheSame) {
    for (const uint32_t to : {8'000U, 32'000U, 48'000U}) {
        const Samples whole = run(16'000, to, 700, 500);
        for (const size_t block_ms : {1U, 10U, 20U, 100U}) {
            EXPECT_EQ(run(16'000, to, 700, block_ms), whole) << to << " " << block_ms;
        }
    }
}

TEST(ResamplerTest, AConstantStaysAndTheLoudestDoNotWrap) {
    for (const int16_t value : {int16_t{1'000}, int16_t{32'767}, int16_t{-32'768}}) {
        Resampler resampler(8'000, 48'000);
        Samples out;
        resampler.feed(Samples(400, value), out);
        for (size_t i = 300; i < out.size(); i++) {
            ASSERT_NEAR(out[i], value, 1 + std::abs(value) / 2'000);
        }
    }
    Resampler resampler(8'000, 16'000);
    Samples square;
    for (int i = 0; i < 400; i++) {
        square.push_back(i / 8 % 2 == 0 ? int16_t{32'767} : int16_t{-32'768});
    }
    Samples out;
    resampler.feed(square, out);
    // An overflow would be a step over the whole range within one sample.
    for (size_t i = 1; i < out.size(); i++) {
        ASSERT_LT(std::abs(out[i] - out[i - 1]), 50'000);
    }
}

TEST(ResamplerTest, ForgetsWhatWasBefore) {
    Resampler resampler(8'000, 48'000);
    Samples out;
    resampler.feed(Samples(163, 20'000), out);
    resampler.reset();
    out.clear();
    resampler.feed(Samples(100, 0), out);
    EXPECT_EQ(rms(out), 0);
}

TEST(ResamplerTest, KnowsItsRates) {
    EXPECT_TRUE(Resampler::supports(8'000, 48'000));
    EXPECT_FALSE(Resampler::supports(44'100, 48'000));
    EXPECT_FALSE(Resampler::supports(8'000, 0));
    EXPECT_FALSE(Resampler::supports(96'000, 8'000));
}

}  // namespace
}  // namespace weir::media
