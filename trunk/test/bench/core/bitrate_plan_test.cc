#include "bench/load/core/bitrate_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

BitratePlan plan_of(const StreamShape& shape) {
    auto plan = BitratePlan::create(shape);
    EXPECT_TRUE(plan.ok()) << plan.error().to_string();
    return std::move(plan).value();
}

uint64_t video_bytes(const BitratePlan& plan, uint32_t frames) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < frames; i++) {
        sum += plan.video_size(i);
    }
    return sum;
}

TEST(BitratePlanTest, VideoIsExactOverEveryNumberOfGops) {
    for (uint64_t rate : {600'000U, 777'777U, 4'000'000U}) {
        for (uint32_t fps : {1U, 24U, 25U, 30U, 60U}) {
            for (uint32_t gop : {1U, 7U, 60U, 250U}) {
                BitratePlan plan = plan_of({rate, fps, gop, 64'000});
                for (uint32_t gops : {1U, 2U, 10U}) {
                    uint64_t exact = (rate - 64'000) * gop * gops / (8 * fps);
                    EXPECT_EQ(video_bytes(plan, gop * gops), exact)
                        << rate << ' ' << fps << ' ' << gop;
                }
            }
        }
    }
}

TEST(BitratePlanTest, AudioIsExactAtAnyTime) {
    BitratePlan plan = plan_of({500'000, 30, 60, 64'000});
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        sum += plan.audio_size(i);
        EXPECT_EQ(sum, uint64_t{64'000} * (i + 1) * 1024 / 48'000 / 8);
    }
}

TEST(BitratePlanTest, TenSecondsAreTheRateAskedFor) {
    BitratePlan plan = plan_of({500'000, 30, 60, 64'000});
    uint64_t bytes = video_bytes(plan, 300);
    for (uint32_t i = 0; plan.audio_due_us(i) < 10'000'000; i++) {
        bytes += plan.audio_size(i);
    }
    EXPECT_NEAR(static_cast<double>(bytes) * 8 / 10, 500'000, 200);
}

TEST(BitratePlanTest, KeyFramesStartEachGopAndAreLarger) {
    BitratePlan plan = plan_of({500'000, 30, 60, 0});
    for (uint32_t i = 0; i < 180; i++) {
        EXPECT_EQ(plan.is_key(i), i % 60 == 0);
    }
    EXPECT_GT(plan.video_size(60), 7 * plan.video_size(61));
    EXPECT_FALSE(plan.has_audio());
}

TEST(BitratePlanTest, OtherFramesOfAGopDifferByAtMostOneByte) {
    BitratePlan plan = plan_of({500'001, 30, 60, 0});
    auto [least, most] = [&] {
        uint32_t low = UINT32_MAX;
        uint32_t high = 0;
        for (uint32_t i = 1; i < 60; i++) {
            low = std::min(low, plan.video_size(i));
            high = std::max(high, plan.video_size(i));
        }
        return std::pair(low, high);
    }();
    EXPECT_LE(most - least, 1U);
}

TEST(BitratePlanTest, TimesDoNotDrift) {
    BitratePlan plan = plan_of({500'000, 30, 60, 64'000});
    EXPECT_EQ(plan.video_time_ms(30 * 3600), 3'600'000U);
    EXPECT_EQ(plan.audio_time_ms(46'875), 1'000'000U);
    EXPECT_EQ(plan.video_time_ms(1), 33U);
}

TEST(BitratePlanTest, LowestRateThatIsOfferedWorks) {
    for (uint32_t gop : {1U, 2U, 60U, 10'000U}) {
        for (uint32_t fps : {1U, 30U, 240U}) {
            auto refused = BitratePlan::create({100, fps, gop, 0});
            ASSERT_FALSE(refused.ok());
            std::string text(refused.error().message());
            uint64_t least = std::stoull(text.substr(text.find("at least ") + 9));
            BitratePlan plan = plan_of({least, fps, gop, 0});
            for (uint32_t i = 0; i < 2 * gop; i++) {
                ASSERT_GE(plan.video_size(i), i % gop == 0 ? kMinKeySize : kMinVideoSize)
                    << least << ' ' << fps << ' ' << gop;
            }
        }
    }
}

TEST(BitratePlanTest, RefusesValuesOutOfRange) {
    EXPECT_FALSE(BitratePlan::create({500'000, 0, 60, 0}).ok());
    EXPECT_FALSE(BitratePlan::create({500'000, 241, 60, 0}).ok());
    EXPECT_FALSE(BitratePlan::create({500'000, 30, 0, 0}).ok());
    EXPECT_FALSE(BitratePlan::create({500'000, 30, 10'001, 0}).ok());
    EXPECT_FALSE(BitratePlan::create({500'000, 30, 60, 20'000}).ok());
    EXPECT_FALSE(BitratePlan::create({500'000, 30, 60, 400'000}).ok());
    EXPECT_FALSE(BitratePlan::create({64'000, 30, 60, 64'000}).ok());
    EXPECT_FALSE(BitratePlan::create({2'000'000'000, 30, 60, 0}).ok());
    EXPECT_FALSE(BitratePlan::create({900'000'000, 1, 60, 0}).ok());
}

}  // namespace
}  // namespace weir::load
