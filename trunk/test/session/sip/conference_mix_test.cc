#include "session/sip/conference_mix.h"

#include <vector>

#include <gtest/gtest.h>

#include "media/tone.h"

namespace weir::session {
namespace {

using Samples = std::vector<int16_t>;

// Somebody who says a tone, and what it hears.
struct Speaker {
    Speaker(double hertz, uint32_t rate) : tone(hertz, rate, 4000), rate(rate) {}

    double share_of(double hertz) const {
        const auto last = std::span(heard).last(heard.size() / 2);
        return media::tone_share(last, hertz, rate);
    }

    media::ToneGenerator tone;
    uint32_t rate;
    Samples said;
    Samples heard;
};

void run(std::vector<Speaker>& all, int ticks = 100) {
    ConferenceMix mix;
    bool wide = false;
    for (const Speaker& each : all) {
        wide = wide || each.rate > 8000;
    }
    for (int i = 0; i < ticks; i++) {
        mix.begin(wide);
        for (Speaker& each : all) {
            each.said.resize(each.rate / 50);
            each.tone.fill(each.said);
            mix.add(each.said);
        }
        mix.mix();
        for (Speaker& each : all) {
            Samples out(each.said.size());
            each.rate > 8000 ? mix.wide(each.said, out) : mix.narrow(each.said, out);
            each.heard.insert(each.heard.end(), out.begin(), out.end());
        }
    }
}

TEST(ConferenceMixTest, EachHearsAllOthersAndNotItself) {
    std::vector<Speaker> all;
    for (const double hertz : {400.0, 700.0, 1100.0}) {
        all.emplace_back(hertz, 8000);
    }
    run(all);
    for (const Speaker& each : all) {
        for (const double hertz : {400.0, 700.0, 1100.0}) {
            const bool own = &each == &all[hertz == 400 ? 0 : hertz == 700 ? 1 : 2];
            EXPECT_NEAR(each.share_of(hertz), own ? 0 : 0.5, 0.01) << hertz;
        }
    }
}

TEST(ConferenceMixTest, NarrowAndWideMeet) {
    std::vector<Speaker> all;
    all.emplace_back(400, 8000);
    all.emplace_back(700, 16000);
    all.emplace_back(1100, 16000);
    run(all);
    EXPECT_NEAR(all[0].share_of(400), 0, 0.01);
    EXPECT_NEAR(all[0].share_of(700), 0.5, 0.02);
    EXPECT_NEAR(all[0].share_of(1100), 0.5, 0.02);
    EXPECT_NEAR(all[1].share_of(700), 0, 0.01);
    EXPECT_NEAR(all[1].share_of(400), 0.5, 0.02);
    EXPECT_NEAR(all[2].share_of(700), 0.5, 0.02);
}

TEST(ConferenceMixTest, WhoSaysNothingHearsEverybody) {
    ConferenceMix mix;
    Samples said(ConferenceMix::kNarrowFrame, 1000);
    Samples other(ConferenceMix::kNarrowFrame, 500);
    Samples out(ConferenceMix::kNarrowFrame);
    mix.begin(false);
    mix.add(said);
    mix.add(other);
    mix.mix();
    mix.narrow({}, out);
    EXPECT_EQ(out[10], 1500);
    mix.narrow(other, out);
    EXPECT_EQ(out[10], 1000);
}

TEST(ConferenceMixTest, FiftyLoudOnesAreLimitedSoftly) {
    ConferenceMix mix;
    const Samples loud(ConferenceMix::kNarrowFrame, 30'000);
    Samples out(ConferenceMix::kNarrowFrame);
    mix.begin(false);
    for (size_t i = 0; i < ConferenceMix::kMaxParties; i++) {
        mix.add(loud);
    }
    mix.mix();
    mix.narrow(loud, out);
    EXPECT_GT(out[0], 30'000);
}

TEST(ConferenceMixTest, FortyNineNarrowOnesAndAWideOneAllHear) {
    std::vector<Speaker> all;
    for (size_t i = 0; i + 1 < ConferenceMix::kMaxParties; i++) {
        all.emplace_back(400, 8000);
        all.back().tone = media::ToneGenerator(400, 8000, 100);
    }
    all.emplace_back(1000, 16000);
    run(all, 50);
    EXPECT_GT(all[0].share_of(1000), 0.1);
    EXPECT_GT(all.back().share_of(400), 0.95);
}

}  // namespace
}  // namespace weir::session
