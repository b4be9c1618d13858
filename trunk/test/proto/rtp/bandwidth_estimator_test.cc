// By hand; proto/rtp/bandwidth_netem_test.cc has whole paths.
#include "proto/rtp/bandwidth_estimator.h"

#include <vector>

#include <gtest/gtest.h>

#include "proto/rtcp/writer.h"
#include "proto/rtp/pacer.h"

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

class BandwidthEstimatorTest : public testing::Test {
  protected:
    // Sends ten packets and tells that all but the first `lost` arrived.
    void exchange(size_t lost) {
        std::vector<rtcp::Arrival> arrivals;
        for (size_t i = 0; i < 10; i++) {
            const uint16_t sequence = history_.add(now_, 1'200);
            now_ += Millis(10);
            if (i >= lost) {
                arrivals.push_back({sequence, (now_ + Millis(30)).time_since_epoch().count()});
            }
        }
        Bytes buffer(1'200);
        rtcp::CompoundWriter writer(buffer);
        writer.transport_feedback({1, 2}, 0, arrivals, static_cast<uint16_t>(lost));
        rtcp::PacketView packet;
        ASSERT_TRUE(rtcp::CompoundReader(writer.written()).next(packet));
        estimator_.on_feedback(now_, history_, *rtcp::TransportFeedbackView::parse(packet));
    }

    MonoTime now_ = kStart;
    TwccHistory history_;
    BandwidthEstimator estimator_{{.start_bps = 1'000'000}};
};

TEST_F(BandwidthEstimatorTest, BeginsWithItsStartAndGrowsWithGoodNews) {
    EXPECT_EQ(estimator_.bps(), 1'000'000);
    EXPECT_FALSE(estimator_.next_timeout());
    for (int i = 0; i < 30; i++) {
        exchange(0);
    }
    EXPECT_GT(estimator_.bps(), 1'050'000);
    EXPECT_EQ(estimator_.load(), PathLoad::kNormal);
    EXPECT_EQ(estimator_.loss(), 0);
    EXPECT_NEAR(static_cast<double>(estimator_.arriving_bps().value()), 960'000, 60'000);
}

TEST_F(BandwidthEstimatorTest, LossReducesIt) {
    for (int i = 0; i < 10; i++) {
        exchange(5);
    }
    EXPECT_LT(estimator_.bps(), 800'000);
    EXPECT_DOUBLE_EQ(estimator_.loss(), 0.5);
}

TEST_F(BandwidthEstimatorTest, SilenceShrinksItOnlyWhileSomethingIsOutstanding) {
    exchange(0);
    const int64_t before = estimator_.bps();
    EXPECT_EQ(estimator_.next_timeout(), now_ + BandwidthEstimator::kMaxSilence);
    now_ += BandwidthEstimator::kMaxSilence;
    estimator_.handle_timeout(now_, false);
    EXPECT_EQ(estimator_.bps(), before);
    now_ += BandwidthEstimator::kMaxSilence;
    estimator_.handle_timeout(now_, true);
    EXPECT_EQ(estimator_.bps(), before * 8 / 10);
    estimator_.handle_timeout(now_, true);  // too early
    EXPECT_EQ(estimator_.bps(), before * 8 / 10);
    exchange(0);
    EXPECT_GE(estimator_.bps(), before);
}

TEST_F(BandwidthEstimatorTest, ReceiverReportsAreEnoughForLoss) {
    for (int i = 0; i < 10; i++) {
        now_ += Seconds(1);
        estimator_.on_loss_report(now_, 70, 30);
    }
    EXPECT_LT(estimator_.bps(), 500'000);
    for (int i = 0; i < 100; i++) {
        now_ += Seconds(1);
        estimator_.on_loss_report(now_, 100, 0);
    }
    EXPECT_GT(estimator_.bps(), 1'000'000);
}

TEST_F(BandwidthEstimatorTest, ItIsSmall) {
    EXPECT_LE(sizeof(BandwidthEstimator), 800u);
    EXPECT_LE(sizeof(TwccHistory), 100u);
    EXPECT_LE(sizeof(Pacer), 24u);
}

}  // namespace
}  // namespace weir::rtp
