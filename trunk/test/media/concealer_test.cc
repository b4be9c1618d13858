#include "media/concealer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "media/tone.h"

#include "test/support/netem.h"

namespace weir::media {
namespace {

using Samples = std::vector<int16_t>;

constexpr double kAmplitude = 8000;

// The largest step between two samples of a sine.
double sine_step(double hertz, uint32_t rate) {
    return kAmplitude * 2 * std::sin(3.14159265 * hertz / rate);
}

int largest_step(const Samples& samples) {
    int most = 0;
    for (size_t i = 1; i < samples.size(); i++) {
        most = std::max(most, std::abs(samples[i] - samples[i - 1]));
    }
    return most;
}

class ConcealerTest : public testing::TestWithParam<uint32_t> {
  protected:
    uint32_t rate() const { return GetParam(); }

    size_t frame_size() const { return rate() / 50; }

    Samples frame() {
        Samples out(frame_size());
        tone.fill(out);
        return out;
    }

    void play(Samples samples) { heard.insert(heard.end(), samples.begin(), samples.end()); }

    void good(bool broken = false) {
        Samples samples = frame();
        concealer.add(samples, broken);
        play(samples);
    }

    void lost() {
        frame();
        Samples samples(frame_size());
        concealer.conceal(samples);
        play(samples);
    }

    ToneGenerator tone{440, GetParam(), kAmplitude};
    Concealer concealer{GetParam()};
    Samples heard;
};

INSTANTIATE_TEST_SUITE_P(Rates, ConcealerTest, testing::Values(8'000U, 16'000U, 48'000U));

TEST_P(ConcealerTest, LeavesGoodFramesAlone) {
    ToneGenerator same(440, rate(), kAmplitude);
    for (int i = 0; i < 10; i++) {
        good();
    }
    Samples expected(heard.size());
    for (int i = 0; i < 10; i++) {
        same.fill(std::span(expected).subspan(static_cast<size_t>(i) * frame_size(), frame_size()));
    }
    EXPECT_EQ(heard, expected);
}

TEST_P(ConcealerTest, AToneGoesOnThroughLossWithoutAClick) {
    test::SeededRandom random(3);
    for (int i = 0; i < 5; i++) {
        good();
    }
    for (int i = 0; i < 250; i++) {
        if (random.chance(0.05)) {
            lost();
        } else {
            good();
        }
    }
    EXPECT_GT(tone_share(heard, 440, rate()), 0.95);
    EXPECT_LT(largest_step(heard), 1.5 * sine_step(440, rate()));
}

TEST_P(ConcealerTest, FadesToSilence) {
    for (int i = 0; i < 5; i++) {
        good();
    }
    EXPECT_FALSE(concealer.silent());
    Samples out(rate() / 100);
    concealer.conceal(out);
    EXPECT_NEAR(rms(out), kAmplitude / std::sqrt(2), kAmplitude / 10) << "the first 10 ms";
    double last = rms(out);
    for (uint32_t ms = 20; ms <= Concealer::kFadeMs; ms += 10) {
        EXPECT_FALSE(concealer.faded());
        concealer.conceal(out);
        EXPECT_LT(rms(out), last);
        last = rms(out);
    }
    EXPECT_TRUE(concealer.faded());
    concealer.conceal(out);
    EXPECT_EQ(out, Samples(out.size()));
    heard = out;
    good();
    EXPECT_LT(largest_step(heard), 2 * sine_step(440, rate())) << "and comes back without a click";
}

TEST_P(ConcealerTest, NothingIsHeardBeforeTheFirstFrame) {
    EXPECT_TRUE(concealer.silent());
    lost();
    EXPECT_EQ(heard, Samples(frame_size()));
    for (int i = 0; i < 3; i++) {
        good();
    }
    concealer.reset();
    heard.clear();
    lost();
    EXPECT_EQ(heard, Samples(frame_size()));
}

TEST_P(ConcealerTest, JoinsWhatDoesNotFollow) {
    for (int i = 0; i < 5; i++) {
        good();
    }
    Samples skipped(rate() / 440 / 2);  // half a period: the sine turns over
    tone.fill(skipped);
    good(true);
    good();
    EXPECT_LT(largest_step(heard), 1.5 * sine_step(440, rate()));
}

TEST_P(ConcealerTest, ShortensAndStretchesByAPeriod) {
    for (int i = 0; i < 100; i++) {
        Samples samples = frame();
        if (i % 4 == 1) {
            const size_t left = concealer.shorten(samples);
            EXPECT_LT(left, frame_size());
            EXPECT_GE(left, frame_size() / 2);
            samples.resize(left);
        } else if (i % 4 == 3) {
            Samples longer(samples.size() + concealer.max_period());
            const size_t size = concealer.stretch(samples, longer);
            EXPECT_GT(size, frame_size());
            EXPECT_LE(size, longer.size());
            longer.resize(size);
            samples = longer;
        }
        concealer.add(samples);
        play(samples);
    }
    EXPECT_LT(largest_step(heard), 1.5 * sine_step(440, rate()));
    EXPECT_GT(tone_share(heard, 440, rate()), 0.9);
}

TEST_P(ConcealerTest, FramesTooShortForAPeriodStayAsTheyAre) {
    Samples samples(rate() / 1000 * 4, 100);
    EXPECT_EQ(concealer.shorten(samples), samples.size());
    Samples out(samples.size() + concealer.max_period());
    EXPECT_EQ(concealer.stretch(samples, out), samples.size());
    EXPECT_EQ(concealer.shorten({}), 0U);
    concealer.add({});
}

// Noise and the loudest samples: no value may wrap.
TEST_P(ConcealerTest, TheLoudestSamplesDoNotWrap) {
    test::SeededRandom random(9);
    for (int i = 0; i < 200; i++) {
        Samples samples(frame_size());
        for (int16_t& sample : samples) {
            sample = random.chance(0.5) ? int16_t{32'767} : int16_t{-32'768};
        }
        if (i % 3 == 0) {
            concealer.conceal(samples);
        } else {
            samples.resize(concealer.shorten(samples));
            concealer.add(samples, i % 5 == 0);
        }
    }
    Samples steady(frame_size(), 32'767);
    concealer.add(steady);
    concealer.conceal(steady);
    EXPECT_GE(*std::min_element(steady.begin(), steady.end()), 0);
}

TEST_P(ConcealerTest, KnowsSilence) {
    Samples quiet(frame_size(), 20);
    concealer.add(quiet);
    EXPECT_TRUE(concealer.silent());
    Samples loud(frame_size(), 500);
    concealer.add(loud);
    EXPECT_FALSE(concealer.silent());
}

}  // namespace
}  // namespace weir::media
