// A sender with a history that answers NACKs, and a receiver, over a bad path: what comes out is in
// order, untouched, complete as far as the path allows, and not later than promised.
#include <array>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "proto/rtcp/feedback.h"
#include "proto/rtp/receiver.h"
#include "proto/rtp/rtx.h"

#include "test/proto/rtp/packets.h"
#include "test/support/netem.h"

namespace weir::rtp {
namespace {

using test::kPayloadType;
using test::kRtxPayloadType;
using test::kRtxSsrc;
using test::kSsrc;
using test::kStart;
using weir::test::Netem;
using weir::test::NetemOptions;

constexpr Micros kPacketInterval = Millis(4);  // 250 packets a second

struct Outcome {
    int64_t sent = 0;
    int64_t given = 0;
    int64_t lost = 0;
    Micros worst_delay{};  // from sending to being given out
    uint64_t requests = 0;
    ReceiverCounters counters;
};

class Call {
  public:
    Call(const NetemOptions& path, bool rtx, uint64_t seed)
        : forth_(path, seed),
          back_({.loss = path.loss, .delay = path.delay}, seed + 1),
          rtx_(rtx),
          receiver_(options(rtx)) {}

    Outcome run(Micros duration) {
        const MonoTime end = kStart + duration;
        MonoTime next_packet = kStart;
        for (MonoTime now = kStart; now < end + Seconds(2); now += Millis(1)) {
            if (now >= next_packet && now < end) {
                send_new(now);
                next_packet += kPacketInterval;
            }
            while (std::optional<Bytes> packet = forth_.receive(now)) {
                receiver_.handle_packet(now, *packet);
                drain(now);
            }
            if (const auto at = receiver_.next_timeout(); at && *at <= now) {
                receiver_.handle_timeout(now);
                drain(now);
            }
            while (std::optional<Bytes> packet = back_.receive(now)) {
                answer(now, *packet);
            }
        }
        outcome_.counters = receiver_.counters();
        return outcome_;
    }

  private:
    static ReceiverOptions options(bool rtx) {
        ReceiverOptions options;
        options.ssrc = kSsrc;
        options.payload_type = kPayloadType;
        options.nack = true;
        if (rtx) {
            options.rtx_ssrc = kRtxSsrc;
        }
        return options;
    }

    void send_new(MonoTime now) {
        const auto sequence = static_cast<uint16_t>(65'000 + outcome_.sent);
        const Bytes packet = test::media_packet(sequence, static_cast<uint32_t>(outcome_.sent));
        sent_at_[sequence] = now;
        history_[sequence] = packet;
        forth_.send(now, packet);
        outcome_.sent++;
    }

    void answer(MonoTime now, const Bytes& feedback) {
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(feedback); reader.next(packet);) {
            const std::optional<rtcp::NackView> nack = rtcp::parse_nack(packet);
            ASSERT_TRUE(nack);
            nack->for_each_lost([&](uint16_t sequence) {
                outcome_.requests++;
                const Bytes& original = history_.at(sequence);
                Bytes rtx(kMaxPacketSize);
                rtx.resize(wrap_rtx(original,
                                    {kRtxPayloadType, false, rtx_sequence_++, 0, kRtxSsrc}, rtx));
                forth_.send(now, rtx_ ? rtx : original);
            });
        }
    }

    void drain(MonoTime now) {
        ReceiverEvent event;
        while (receiver_.poll_event(event)) {
            if (event.kind == ReceiverEvent::Kind::kLost) {
                outcome_.lost += event.lost;
                next_ += event.lost;
                continue;
            }
            ASSERT_EQ(event.kind, ReceiverEvent::Kind::kPacket);
            if (next_ < 0) {
                next_ = event.sequence;
            }
            ASSERT_EQ(event.sequence, next_++);
            const Bytes& original = history_.at(event.packet.sequence());
            ASSERT_TRUE(std::ranges::equal(event.packet.payload(),
                                           ByteSpan(original).subspan(kFixedHeaderSize)));
            outcome_.given++;
            outcome_.worst_delay =
                std::max(outcome_.worst_delay, Micros(now - sent_at_.at(event.packet.sequence())));
        }
        std::array<uint8_t, 1200> buffer{};
        rtcp::CompoundWriter writer(buffer);
        if (receiver_.poll_transmit(1, writer)) {
            back_.send(now, writer.written());
        }
    }

    Netem forth_;
    Netem back_;
    bool rtx_;
    Receiver receiver_;
    Outcome outcome_;
    std::map<uint16_t, Bytes> history_;
    std::map<uint16_t, MonoTime> sent_at_;
    uint16_t rtx_sequence_ = 0;
    int64_t next_ = -1;
};

TEST(ReceiverNetemTest, APerfectPathCostsNoDelayAndNoRequest) {
    const Outcome outcome = Call({.delay = Millis(50)}, true, 1).run(Seconds(20));
    EXPECT_EQ(outcome.given, outcome.sent);
    EXPECT_EQ(outcome.requests, 0u);
    EXPECT_LE(outcome.worst_delay, Millis(50));
}

TEST(ReceiverNetemTest, FivePercentLossIsRecovered) {
    for (const bool rtx : {true, false}) {
        const Outcome outcome =
            Call({.loss = 0.05, .delay = Millis(50), .jitter = Millis(10)}, rtx, 2)
                .run(Seconds(60));
        EXPECT_LE(outcome.lost, outcome.sent / 2000) << rtx;
        EXPECT_GE(outcome.given + outcome.lost, outcome.sent - 1) << rtx;
        EXPECT_LE(outcome.worst_delay, Millis(50 + 10 + 800)) << rtx;
        EXPECT_LE(outcome.requests, static_cast<uint64_t>(outcome.sent) / 10) << rtx;
    }
}

TEST(ReceiverNetemTest, TwentyPercentLossOnALongPathLosesFewAndStaysInTime) {
    const Outcome outcome =
        Call({.loss = 0.2, .delay = Millis(100), .jitter = Millis(20)}, true, 3).run(Seconds(60));
    EXPECT_LE(outcome.lost, outcome.sent / 40);
    EXPECT_GE(outcome.counters.recovered, static_cast<uint64_t>(outcome.sent) / 7);
    EXPECT_LE(outcome.worst_delay, Millis(100 + 20 + 800 + 50));  // and until it was missed
}

TEST(ReceiverNetemTest, BurstsOfLossAreRecovered) {
    const Outcome outcome =
        Call({.loss = 0.05, .loss_burst = 8, .delay = Millis(20)}, true, 4).run(Seconds(60));
    EXPECT_LE(outcome.lost, outcome.sent / 100);
}

TEST(ReceiverNetemTest, ReorderedAndDuplicatedPacketsLoseNothing) {
    const Outcome outcome =
        Call({.duplicate = 0.1, .reorder = 0.1, .delay = Millis(30), .reorder_delay = Millis(9)},
             true, 5)
            .run(Seconds(30));
    EXPECT_EQ(outcome.lost, 0);
    EXPECT_EQ(outcome.given, outcome.sent);
    EXPECT_EQ(outcome.requests, 0u);
    EXPECT_GT(outcome.counters.late + outcome.counters.duplicates, 500u);
}

TEST(ReceiverNetemTest, APathThatIsTooNarrowLosesPacketsAndTheStreamGoesOn) {
    Call call({.delay = Millis(20), .rate_bps = 40'000, .queue_bytes = 3'000}, true, 6);
    const Outcome outcome = call.run(Seconds(30));  // far more is sent than passes
    EXPECT_GT(outcome.lost, outcome.sent / 10);
    EXPECT_GT(outcome.given, outcome.sent / 5);
    EXPECT_LE(outcome.worst_delay, Millis(1'200));
}

}  // namespace
}  // namespace weir::rtp
