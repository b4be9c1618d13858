#include "proto/rtp/remb_estimator.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "proto/rtp/extensions.h"

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

constexpr size_t kBytes = 1'250;

class RembEstimatorTest : public testing::Test {
  protected:
    // 1 Mbit/s for a while; each packet takes `growth` longer than the one before. What was told.
    std::vector<int64_t> run(Micros duration, Micros growth, bool send_times = true) {
        std::vector<int64_t> told;
        for (const MonoTime end = now_ + duration; now_ < end;) {
            now_ += Millis(10) + growth;
            sent_ += Millis(10);
            estimator_.on_packet(
                now_, send_times ? std::optional(absolute_send_time(sent_.count())) : std::nullopt,
                kBytes);
            if (const std::optional<int64_t> bps = estimator_.poll(now_)) {
                told.push_back(*bps);
            }
        }
        return told;
    }

    RembEstimator estimator_{{.start_bps = 2'000'000}};
    MonoTime now_ = kStart;
    Micros sent_ = Seconds(60);  // the send times wrap soon
};

TEST_F(RembEstimatorTest, TellsEachSecond) {
    EXPECT_FALSE(estimator_.next_timeout());
    const std::vector<int64_t> told = run(Seconds(10), Micros(0));
    EXPECT_EQ(told.size(), 10u);
    for (const int64_t bps : told) {
        EXPECT_GE(bps, 2'000'000);
    }
}

TEST_F(RembEstimatorTest, TellsAtOnceWhenTheQueueGrows) {
    run(Seconds(5), Micros(0));
    const std::vector<int64_t> told = run(Seconds(2), Millis(2));
    ASSERT_GE(told.size(), 3u);
    EXPECT_LT(told.back(), 1'000'000);
    EXPECT_EQ(told.back(), estimator_.bps());
}

TEST_F(RembEstimatorTest, WithoutSendTimesItNeverReduces) {
    run(Seconds(5), Micros(0), false);
    EXPECT_GE(run(Seconds(5), Millis(2), false).back(), 2'000'000);
}

}  // namespace
}  // namespace weir::rtp
