#include "media/mixer.h"

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "media/tone.h"

namespace weir::media {
namespace {

std::vector<int16_t> tone(double hertz, double amplitude) {
    std::vector<int16_t> out(4'000);
    ToneGenerator(hertz, 8'000, amplitude).fill(out);
    return out;
}

TEST(MixerTest, EachPartyHearsAllOthers) {
    const std::vector<std::vector<int16_t>> said = {tone(400, 5'000), tone(700, 5'000),
                                                    tone(1'100, 5'000)};
    const double hertz[] = {400, 700, 1'100};
    Mixer mixer;
    mixer.begin(4'000);
    for (const auto& frame : said) {
        EXPECT_TRUE(mixer.add(frame));
    }
    std::vector<int16_t> heard(4'000);
    for (size_t party = 0; party < 3; party++) {
        mixer.mix_without(said[party], heard);
        for (size_t other = 0; other < 3; other++) {
            EXPECT_NEAR(tone_share(heard, hertz[other], 8'000), party == other ? 0 : 0.5, 0.01)
                << party << " hears " << other;
        }
    }
    mixer.mix(heard);
    EXPECT_NEAR(tone_share(heard, 700, 8'000), 1.0 / 3, 0.01);
    EXPECT_EQ(mixer.parties(), 3U);
}

TEST(MixerTest, FiftyLoudPartiesDoNotWrap) {
    Mixer mixer;
    mixer.begin(160);
    const std::vector<int16_t> loud(160, 32'767);
    const std::vector<int16_t> low(160, -32'768);
    for (size_t i = 0; i < Mixer::kMaxParties; i++) {
        EXPECT_TRUE(mixer.add(loud));
    }
    EXPECT_FALSE(mixer.add(loud));
    std::vector<int16_t> heard(160);
    mixer.mix_without(loud, heard);
    EXPECT_GT(heard[0], 32'000);
    mixer.begin(160);
    for (size_t i = 0; i < Mixer::kMaxParties; i++) {
        mixer.add(low);
    }
    mixer.mix(heard);
    EXPECT_LT(heard[0], -32'000);
}

TEST(MixerTest, OnePartyAloneHearsSilence) {
    Mixer mixer;
    mixer.begin(160);
    const std::vector<int16_t> said(160, 123);
    mixer.add(said);
    std::vector<int16_t> heard(160, 9);
    mixer.mix_without(said, heard);
    EXPECT_EQ(heard, std::vector<int16_t>(160, 0));
}

TEST(MixerTest, FramesOfOtherLengthsAreFilledWithSilence) {
    Mixer mixer;
    mixer.begin(4);
    mixer.add(std::vector<int16_t>{1, 2});
    mixer.add(std::vector<int16_t>{10, 20, 30, 40, 50});
    std::vector<int16_t> heard(6, 9);
    mixer.mix(heard);
    EXPECT_EQ(heard, (std::vector<int16_t>{11, 22, 30, 40, 0, 0}));
    mixer.mix_without(std::vector<int16_t>{1, 2}, heard);
    EXPECT_EQ(heard, (std::vector<int16_t>{10, 20, 30, 40, 0, 0}));
    mixer.begin(1'000'000);
    std::vector<int16_t> most(Mixer::kMaxFrame + 1, 9);
    mixer.mix(most);
    EXPECT_EQ(most.back(), 0);
}

TEST(MixerTest, TheLimitBendsSmoothly) {
    int16_t last = limit_softly(-2'000'000);
    int before = -2'000'000;
    for (int sum = -2'000'000; sum <= 2'000'000; sum += 97) {
        const int16_t value = limit_softly(sum);
        ASSERT_GE(value, last);
        ASSERT_LE(value - last, sum - before + 1);
        ASSERT_EQ(limit_softly(-sum), -value);
        if (std::abs(sum) <= 24'576) {
            ASSERT_EQ(value, sum);
        }
        last = value;
        before = sum;
    }
    EXPECT_LT(limit_softly(INT32_MAX), 32'767);
    EXPECT_GT(limit_softly(INT32_MIN), -32'768);
}

TEST(MixerTest, ChoosesTheLoudest) {
    EXPECT_EQ(power_of(std::vector<int16_t>{3, -3}), 9);
    EXPECT_EQ(power_of({}), 0);
    const std::vector<double> powers = {1, 9, 4, 9, 0};
    EXPECT_EQ(loudest(powers, 2), (std::vector<size_t>{1, 3}));
    EXPECT_EQ(loudest(powers, 3), (std::vector<size_t>{1, 2, 3}));
    EXPECT_EQ(loudest(powers, 9).size(), 5U);
    EXPECT_TRUE(loudest({}, 3).empty());
}

}  // namespace
}  // namespace weir::media
