// A sender of video over paths with a bottleneck: packets with transport-wide numbers one way,
// feedback the other. What rate comes out, how long the queue gets, how fast it follows changes.
#include <algorithm>
#include <array>
#include <optional>

#include <gtest/gtest.h>

#include "proto/rtp/bandwidth_estimator.h"
#include "proto/rtp/pacer.h"
#include "proto/rtp/twcc_history.h"
#include "proto/rtp/twcc_receiver.h"

#include "test/proto/rtp/packets.h"
#include "test/support/netem.h"

namespace weir::rtp {
namespace {

using test::kStart;
using weir::test::Netem;
using weir::test::NetemOptions;
using weir::test::SeededRandom;

constexpr size_t kPacket = 1'200;
constexpr Micros kFrame = Millis(33);

struct Seen {
    double mean_bps = 0;  // of the estimate
    int64_t lowest_bps = 0;
    int64_t highest_bps = 0;
    Micros mean_delay{};  // of packets, beyond the path's own
    double delivered_bps = 0;
    double lost = 0;
};

class Flow {
  public:
    // `source_bps`: what there is to send; nothing: as much as the estimate says.
    Flow(const NetemOptions& path, const RateLimits& limits, std::optional<int64_t> source_bps)
        : forth_(path, 7),
          back_({.delay = path.delay}, 8),
          estimator_(limits),
          source_(source_bps) {}

    void set_path(const NetemOptions& path) { forth_.set_options(path); }

    // What was seen while `duration` passed.
    Seen run(Micros duration) {
        const MonoTime end = now_ + duration;
        Seen seen;
        seen.lowest_bps = INT64_MAX;
        double sum = 0;
        int steps = 0;
        delays_ = {};
        const uint64_t sent_before = forth_.sent();
        const uint64_t lost_before = forth_.lost();
        delivered_ = 0;
        packets_ = 0;
        for (; now_ < end; now_ += Millis(1)) {
            step();
            const int64_t bps = estimator_.bps();
            seen.lowest_bps = std::min(seen.lowest_bps, bps);
            seen.highest_bps = std::max(seen.highest_bps, bps);
            sum += static_cast<double>(bps);
            steps++;
        }
        seen.mean_bps = sum / steps;
        seen.delivered_bps =
            static_cast<double>(delivered_) * 8e6 / static_cast<double>(duration.count());
        seen.mean_delay = packets_ > 0 ? delays_ / packets_ : Micros(0);
        seen.lost = static_cast<double>(forth_.lost() - lost_before) /
                    static_cast<double>(forth_.sent() - sent_before);
        return seen;
    }

    const BandwidthEstimator& estimator() const { return estimator_; }

  private:
    void step() {
        if (now_ >= next_frame_) {
            next_frame_ += kFrame;
            const int64_t rate = std::min(source_.value_or(estimator_.bps()), estimator_.bps());
            const double noise = 0.6 + 0.8 * random_.unit();  // frames are not of one size
            queue_ += std::max(static_cast<double>(rate) * noise * 0.033 / 8, 100.0);
            pacer_.set_rate(estimator_.bps() * 5 / 2);
        }
        while (queue_ > 0 && pacer_.may_send(now_)) {
            const size_t size = std::min(kPacket, static_cast<size_t>(queue_) + 50);
            queue_ = std::max(queue_ - static_cast<double>(size), 0.0);
            pacer_.on_sent(now_, size);
            Bytes packet(size);
            store_u16(packet.data(), history_.add(now_, size));
            store_u64(packet.data() + 2, static_cast<uint64_t>(now_.time_since_epoch().count()));
            forth_.send(now_, packet);
        }
        while (std::optional<Bytes> packet = forth_.receive(now_)) {
            ByteReader reader(*packet);
            receiver_.on_packet(now_, reader.u16(), 1);
            const Micros delay = now_.time_since_epoch() - Micros(reader.u64());
            delays_ += delay - forth_.options().delay;
            packets_++;
            delivered_ += static_cast<int64_t>(packet->size());
        }
        std::array<uint8_t, 1200> buffer{};
        rtcp::CompoundWriter writer(buffer);
        while (receiver_.poll_transmit(now_, 1, writer)) {
        }
        if (writer.size() > 0) {
            back_.send(now_, writer.written());
        }
        while (std::optional<Bytes> packet = back_.receive(now_)) {
            rtcp::PacketView view;
            for (rtcp::CompoundReader reader(*packet); reader.next(view);) {
                const auto feedback = rtcp::TransportFeedbackView::parse(view);
                ASSERT_TRUE(feedback);
                estimator_.on_feedback(now_, history_, *feedback);
            }
        }
        if (const auto at = estimator_.next_timeout(); at && *at <= now_) {
            estimator_.handle_timeout(now_, history_.has_unanswered());
        }
    }

    Netem forth_;
    Netem back_;
    SeededRandom random_{9};
    TwccHistory history_;
    TwccReceiver receiver_;
    BandwidthEstimator estimator_;
    Pacer pacer_{1'000'000};
    std::optional<int64_t> source_;
    double queue_ = 0;  // bytes of frames that wait for the pacer
    MonoTime now_ = kStart;
    MonoTime next_frame_ = kStart;
    Micros delays_{};
    int64_t packets_ = 0;
    int64_t delivered_ = 0;
};

TEST(BandwidthNetemTest, FindsTheRateOfABottleneckAndKeepsItsQueueShort) {
    Flow flow({.delay = Millis(30), .rate_bps = 2'000'000, .queue_bytes = 150'000},
              {.start_bps = 5'000'000}, std::nullopt);
    flow.run(Seconds(5));
    const Seen seen = flow.run(Seconds(60));
    EXPECT_GE(seen.delivered_bps, 1'500'000);
    EXPECT_LE(seen.mean_bps, 2'100'000);
    EXPECT_LE(seen.mean_delay, Millis(60));
    EXPECT_LE(seen.lost, 0.01);
}

TEST(BandwidthNetemTest, ClimbsWhenStartedTooLow) {
    Flow flow({.delay = Millis(30), .rate_bps = 4'000'000, .queue_bytes = 150'000},
              {.start_bps = 500'000}, std::nullopt);
    flow.run(Seconds(30));
    const Seen seen = flow.run(Seconds(30));
    EXPECT_GE(seen.mean_bps, 3'000'000);
}

TEST(BandwidthNetemTest, FollowsAFallWithinSecondsAndARiseAgain) {
    NetemOptions path{.delay = Millis(40), .rate_bps = 3'000'000, .queue_bytes = 150'000};
    Flow flow(path, {.start_bps = 2'500'000}, std::nullopt);
    flow.run(Seconds(20));
    path.rate_bps = 800'000;
    flow.set_path(path);
    flow.run(Seconds(10));  // 150 kB of queue take their time
    const Seen low = flow.run(Seconds(20));
    EXPECT_LE(low.mean_bps, 850'000);
    EXPECT_GE(low.delivered_bps, 500'000);
    EXPECT_LE(low.mean_delay, Millis(150));
    path.rate_bps = 3'000'000;
    flow.set_path(path);
    flow.run(Seconds(20));
    const Seen high = flow.run(Seconds(10));
    EXPECT_GE(high.mean_bps, 1'700'000);
}

TEST(BandwidthNetemTest, AStreamFarBelowTheBottleneckIsNotReduced) {
    Flow flow({.delay = Millis(30), .jitter = Millis(5), .rate_bps = 10'000'000},
              {.start_bps = 2'000'000}, 1'000'000);
    const Seen seen = flow.run(Seconds(60));
    EXPECT_GE(seen.lowest_bps, 1'200'000);
    EXPECT_EQ(seen.lost, 0);
}

TEST(BandwidthNetemTest, JitterAloneDoesNotReduceMuch) {
    Flow flow({.delay = Millis(40), .jitter = Millis(30)}, {.start_bps = 2'000'000}, 1'000'000);
    flow.run(Seconds(5));
    const Seen seen = flow.run(Seconds(60));
    EXPECT_GE(seen.mean_bps, 1'000'000);
}

TEST(BandwidthNetemTest, LossThatDoesNotDependOnTheRateIsEndured) {
    for (const double loss : {0.05, 0.2}) {
        Flow flow({.loss = loss, .delay = Millis(50)}, {.start_bps = 2'000'000}, 1'000'000);
        flow.run(Seconds(20));
        const Seen seen = flow.run(Seconds(60));
        EXPECT_GE(seen.delivered_bps, 0.9 * (1 - loss) * 1'000'000) << loss;
    }
}

TEST(BandwidthNetemTest, AQueueThatIsTooShortToSeeIsFoundByItsLoss) {
    Flow flow({.delay = Millis(20), .rate_bps = 1'000'000, .queue_bytes = 4'000},
              {.start_bps = 3'000'000}, std::nullopt);
    flow.run(Seconds(10));
    const Seen seen = flow.run(Seconds(60));
    EXPECT_LE(seen.mean_bps, 1'300'000);
    EXPECT_GE(seen.delivered_bps, 500'000);
    EXPECT_LE(seen.lost, 0.15);
}

TEST(BandwidthNetemTest, SilenceShrinksTheEstimateAndFeedbackBringsItBack) {
    NetemOptions path{.delay = Millis(20), .rate_bps = 5'000'000};
    Flow flow(path, {.start_bps = 2'000'000}, 1'000'000);
    flow.run(Seconds(10));
    const int64_t before = flow.estimator().bps();
    path.loss = 1;
    flow.set_path(path);
    flow.run(Seconds(8));
    EXPECT_LE(flow.estimator().bps(), before / 2);
    path.loss = 0;
    flow.set_path(path);
    flow.run(Seconds(10));
    EXPECT_GE(flow.estimator().bps(), 1'000'000);
}

TEST(BandwidthNetemTest, ThePeersOwnLimitHolds) {
    BandwidthEstimator estimator({.start_bps = 2'000'000});
    EXPECT_EQ(estimator.bps(), 2'000'000);
    estimator.on_remote_limit(600'000);
    EXPECT_EQ(estimator.bps(), 600'000);
    estimator.on_remote_limit(1);
    EXPECT_EQ(estimator.bps(), RateLimits{}.min_bps);
    estimator.on_remote_limit(9'000'000);
    EXPECT_EQ(estimator.bps(), 2'000'000);
}

}  // namespace
}  // namespace weir::rtp
