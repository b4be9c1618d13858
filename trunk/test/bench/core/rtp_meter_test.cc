#include "bench/load/core/rtp_meter.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

constexpr uint64_t kMs = 1'000'000;

class RtpMeterTest : public testing::Test {
  protected:
    void see(uint32_t number, uint64_t late_ms = 0) {
        meter_.see((20 * uint64_t{number} + late_ms) * kMs, static_cast<uint16_t>(65'530 + number),
                   160 * number);
    }

    RtpMeter meter_{8000};
};

TEST_F(RtpMeterTest, CountsNothingWrongOverTheWrap) {
    for (uint32_t i = 0; i < 100; i++) {
        see(i);
    }
    EXPECT_EQ(meter_.counts().packets, 100U);
    EXPECT_EQ(meter_.counts().lost, 0U);
    EXPECT_EQ(meter_.counts().reordered, 0U);
    EXPECT_EQ(meter_.counts().gaps, 0U);
    EXPECT_EQ(meter_.jitter_ms(), 0);
}

TEST_F(RtpMeterTest, CountsLostLateAndRepeated) {
    for (const uint32_t i : {0U, 1U, 3U, 4U, 4U, 6U, 5U, 9U}) {
        see(i);
    }
    EXPECT_EQ(meter_.counts().lost, 3U);  // 2, 7, 8
    EXPECT_EQ(meter_.counts().duplicated, 1U);
    EXPECT_EQ(meter_.counts().reordered, 1U);
}

TEST_F(RtpMeterTest, MeasuresJitterAndGaps) {
    for (uint32_t i = 0; i < 400; i++) {
        see(i, i % 2 * 4);
    }
    EXPECT_NEAR(meter_.jitter_ms(), 4, 0.1);
    meter_.see(400 * 20 * kMs + 150 * kMs, static_cast<uint16_t>(65'530 + 400), 160 * 400);
    EXPECT_EQ(meter_.counts().gaps, 1U);
    EXPECT_EQ(meter_.counts().longest_gap_ns, 166 * kMs);
    meter_.reset();
    EXPECT_EQ(meter_.counts().packets, 0U);
}

}  // namespace
}  // namespace weir::load
