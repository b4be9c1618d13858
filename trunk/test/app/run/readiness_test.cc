#include "app/run/readiness.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

using State = Readiness::State;

class ReadinessTest : public testing::Test {
  protected:
    ReadinessTest() {
        readiness_.start();
        readiness_.sample(now_, busy_us_);
    }

    // Each a second long.
    void work(double share, uint32_t samples = 1) {
        for (uint32_t i = 0; i < samples; i++) {
            now_ += Seconds(1);
            busy_us_ += static_cast<uint64_t>(share * 1e6);
            readiness_.sample(now_, busy_us_);
        }
    }

    Readiness readiness_;
    MonoTime now_{Seconds(100)};
    uint64_t busy_us_ = 12'345;
};

TEST_F(ReadinessTest, IsReadyOnceItHasStarted) {
    EXPECT_EQ(Readiness().state(), State::kStarting);
    EXPECT_EQ(readiness_.state(), State::kReady);
}

TEST_F(ReadinessTest, ASecondOfWorkIsNoReason) {
    work(1.0, Readiness::kSamples - 1);
    EXPECT_EQ(readiness_.state(), State::kReady);
    work(0.5);
    work(1.0, Readiness::kSamples - 1);
    EXPECT_EQ(readiness_.state(), State::kReady) << "they are not in a row";
}

TEST_F(ReadinessTest, IsBusyAfterSecondsOfWork) {
    work(0.95, Readiness::kSamples);
    EXPECT_EQ(readiness_.state(), State::kBusy);
    EXPECT_DOUBLE_EQ(readiness_.busy_ratio(), 0.95);
}

TEST_F(ReadinessTest, DoesNotFlapBetweenTheLimits) {
    work(0.95, Readiness::kSamples);
    work(0.85, 100);
    EXPECT_EQ(readiness_.state(), State::kBusy);
    work(0.75, Readiness::kSamples - 1);
    EXPECT_EQ(readiness_.state(), State::kBusy);
    work(0.75);
    EXPECT_EQ(readiness_.state(), State::kReady);
    work(0.85, 100);
    EXPECT_EQ(readiness_.state(), State::kReady);
}

TEST_F(ReadinessTest, ADrainIsTheLastWord) {
    work(0.95, Readiness::kSamples);
    readiness_.drain();
    EXPECT_EQ(readiness_.state(), State::kDraining);
    work(0.1, 2 * Readiness::kSamples);
    EXPECT_EQ(readiness_.state(), State::kDraining);
}

TEST_F(ReadinessTest, NeedsTimeBetweenSamples) {
    for (uint32_t i = 0; i < 2 * Readiness::kSamples; i++) {
        readiness_.sample(now_, busy_us_ += 1'000'000);
    }
    EXPECT_EQ(readiness_.state(), State::kReady);
}

}  // namespace
}  // namespace weir::app
