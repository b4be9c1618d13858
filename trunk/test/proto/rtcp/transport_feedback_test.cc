#include "proto/rtcp/transport_feedback.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace weir::rtcp {
namespace {

struct Received {
    uint16_t sequence;
    int64_t time_us;

    bool operator==(const Received&) const = default;
};

// Numbers that are the same in every run.
class Numbers {
  public:
    int below(int limit) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<int>((state_ >> 33U) % static_cast<uint32_t>(limit));
    }

  private:
    uint64_t state_ = 5;
};

PacketView only(ByteSpan bytes) {
    CompoundReader reader(bytes);
    PacketView packet;
    EXPECT_TRUE(reader.next(packet));
    return packet;
}

std::vector<Received> received(ByteSpan bytes) {
    std::vector<Received> all;
    auto view = TransportFeedbackView::parse(only(bytes));
    EXPECT_TRUE(view);
    if (view) {
        view->for_each_received(
            [&](uint16_t sequence, int64_t time_us) { all.push_back({sequence, time_us}); });
    }
    return all;
}

struct Written {
    Bytes bytes;
    size_t arrivals;
};

Written write(const std::vector<Arrival>& arrivals, size_t room = 1200) {
    Bytes out(room);
    const WrittenFeedback written = write_transport_feedback({1, 2}, 7, arrivals, out);
    EXPECT_LE(written.bytes, room);
    EXPECT_EQ(written.bytes % 4, 0U);
    out.resize(written.bytes);
    return {out, written.arrivals};
}

// draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1.3 and §3.1.4: a run of 3 lost packets; a
// vector of one bit each, as drawn there; a vector of two bits each.
const Bytes kFeedback = {0x8F, 205,  0, 9,  0, 0, 0, 1, 0,    0,    0, 2,  // sources
                         0xFF, 0xFE, 0, 24,  // base 65534, 24 statuses
                         0,    0,    2, 9,   // 128 ms, the ninth
                         0x00, 0x03,         // three lost
                         0x9F, 0x1C,         // 0 1 1 1 1 1 0 0 0 1 1 1 0 0
                         0xD2, 0x00,         // small, lost, large, four times lost
                         4,    8,    0, 1,  2, 3, 4, 5, 0xFF, 0xFE, 0, 0, 0, 0};

TEST(RtcpTransportFeedbackTest, ReadsRunsAndVectors) {
    const Bytes& bytes = kFeedback;
    auto view = TransportFeedbackView::parse(only(bytes));
    ASSERT_TRUE(view);
    EXPECT_EQ(view->base_sequence(), 65534);
    EXPECT_EQ(view->status_count(), 24);
    EXPECT_EQ(view->reference_time_us(), 128'000);
    EXPECT_EQ(view->feedback_count(), 9);
    EXPECT_EQ(view->sources().media_ssrc, 2U);
    // 65534, 65535, 0 lost; then the vector from 1 on; then the one from 15 on.
    EXPECT_EQ(received(bytes), (std::vector<Received>{{2, 129'000},
                                                      {3, 131'000},
                                                      {4, 131'000},
                                                      {5, 131'250},
                                                      {6, 131'750},
                                                      {10, 132'500},
                                                      {11, 133'500},
                                                      {12, 134'750},
                                                      {15, 134'750 + 255 * 250},
                                                      {17, 134'750 + 255 * 250 - 512 * 250}}));
}

TEST(RtcpTransportFeedbackTest, RefusesWhatIsShorterThanItsStatuses) {
    const PacketView whole = only(kFeedback);
    const size_t needed = 16 + 6 + 11;
    for (size_t size = 0; size <= whole.body.size(); size++) {
        PacketView cut = whole;
        cut.body = whole.body.first(size);
        EXPECT_EQ(TransportFeedbackView::parse(cut).has_value(), size >= needed) << size;
    }
}

TEST(RtcpTransportFeedbackTest, RefusesTheReservedStatusAndEmptyRuns) {
    for (const auto& chunk : std::vector<std::array<uint8_t, 2>>{
             {0x60, 0x01}, {0x00, 0x00}, {0xF0, 0x00}, {0x20, 0x00}}) {
        const Bytes bytes = {0x8F, 205, 0, 5, 0, 0, 0, 1, 0,        0,        0, 2,
                             0,    0,   0, 1, 0, 0, 0, 0, chunk[0], chunk[1], 0, 0};
        EXPECT_FALSE(TransportFeedbackView::parse(only(bytes))) << int{chunk[0]};
    }
    const Bytes no_status = {0x8F, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0};
    EXPECT_FALSE(TransportFeedbackView::parse(only(no_status)));
}

TEST(RtcpTransportFeedbackTest, TakesARunThatIsLongerThanTheStatuses) {
    const Bytes bytes = {0x8F, 205, 0, 5, 0, 0, 0, 1, 0,    0,    0, 2,
                         0,    10,  0, 1, 0, 0, 0, 0, 0x3F, 0xFF, 4, 0};
    EXPECT_EQ(received(bytes), (std::vector<Received>{{10, 1000}}));
}

TEST(RtcpTransportFeedbackTest, WritesTheExactBytesOfASmallPacket) {
    // Three in a row, 10 ms apart: a run of small deltas.
    const Written written = write({{65535, 64'000}, {65536, 74'000}, {65537, 84'000}});
    EXPECT_EQ(written.bytes, (Bytes{0x8F, 205, 0, 6, 0, 0, 0,    1, 0, 0,  0,  2, 0xFF, 0xFF,
                                    0,    3,   0, 0, 1, 7, 0x20, 3, 0, 40, 40, 0, 0,    0}));
}

TEST(RtcpTransportFeedbackTest, ReadsBackWhatItWrites) {
    Numbers numbers;
    for (int round = 0; round < 300; round++) {
        std::vector<Arrival> arrivals;
        int64_t sequence = numbers.below(100'000);
        int64_t time_us = 10'000'000 + numbers.below(1'000'000'000);
        const int loss = numbers.below(4);
        const int jitter = round % 3 == 0 ? 500'000 : 20'000;
        for (int i = numbers.below(200); i >= 0; i--) {
            arrivals.push_back({sequence, time_us});
            const bool lost = loss > 0 && numbers.below(loss) == 0;
            sequence += 1 + (lost ? numbers.below(round % 40 + 1) : 0);
            time_us += numbers.below(jitter) - (round % 5 == 0 ? 15'000 : 0);
        }
        size_t done = 0;
        while (done < arrivals.size()) {
            const std::vector<Arrival> rest(arrivals.begin() + static_cast<std::ptrdiff_t>(done),
                                            arrivals.end());
            const size_t room = kMinTransportFeedbackSize + static_cast<size_t>(numbers.below(300));
            const Written written = write(rest, room);
            ASSERT_GT(written.arrivals, 0U);
            const std::vector<Received> got = received(written.bytes);
            ASSERT_EQ(got.size(), written.arrivals);
            for (size_t i = 0; i < got.size(); i++) {
                ASSERT_EQ(got[i].sequence, static_cast<uint16_t>(rest[i].sequence));
                ASSERT_EQ(got[i].time_us % kReferenceRangeUs, rest[i].time_us / 250 * 250);
            }
            done += written.arrivals;
        }
    }
}

TEST(RtcpTransportFeedbackTest, StartsAnotherPacketAfterALongGapOrALongPause) {
    EXPECT_EQ(write({{0, 0}, {8190, 0}}).arrivals, 2U);
    EXPECT_EQ(write({{0, 0}, {8191, 0}}).arrivals, 1U);
    EXPECT_EQ(write({{0, 0}, {1, 8'191'750}}).arrivals, 2U);
    EXPECT_EQ(write({{0, 0}, {1, 8'192'000}}).arrivals, 1U);
    EXPECT_EQ(received(write({{0, 0}, {8190, 0}}).bytes),
              (std::vector<Received>{{0, 0}, {8190, 0}}));
}

TEST(RtcpTransportFeedbackTest, WrapsTheReferenceTime) {
    const Written written = write({{1, kReferenceRangeUs + 64'250}});
    EXPECT_EQ(received(written.bytes), (std::vector<Received>{{1, 64'250}}));
}

TEST(RtcpTransportFeedbackTest, SpendsOneStepOnAnyRunOfLostPackets) {
    // 65535 statuses in 9 chunks; nothing arrived.
    Bytes bytes = {0x8F, 205, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
    for (int i = 0; i < 10; i++) {
        bytes.insert(bytes.end(), {0x1F, 0xFF});
    }
    EXPECT_TRUE(received(bytes).empty());
}

}  // namespace
}  // namespace weir::rtcp
