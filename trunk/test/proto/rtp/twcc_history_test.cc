#include "proto/rtp/twcc_history.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtcp/writer.h"

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;
using testing::IsEmpty;

class TwccHistoryTest : public testing::Test {
  protected:
    // Sends packets first..last, one a millisecond, each as large as 100 and its number.
    void send(int first, int last) {
        for (int i = first; i <= last; i++) {
            EXPECT_EQ(history_.add(kStart + Millis(i), static_cast<size_t>(100 + i % 1000)),
                      static_cast<uint16_t>(i));
        }
    }

    // Feedback about packets that arrived 50 ms after they were sent, on a clock of its own.
    std::vector<PacketResult> feedback(const std::vector<int>& arrived,
                                       uint16_t lost_before = 0,
                                       int64_t clock_us = 5'000'000) {
        std::vector<rtcp::Arrival> arrivals;
        for (const int i : arrived) {
            arrivals.push_back({i, clock_us + int64_t{i} * 1'000 + 50'000});
        }
        Bytes buffer(4'000);
        rtcp::CompoundWriter writer(buffer);
        EXPECT_EQ(writer.transport_feedback({1, 2}, 0, arrivals, lost_before), arrivals.size());
        rtcp::PacketView packet;
        EXPECT_TRUE(rtcp::CompoundReader(writer.written()).next(packet));
        const auto view = rtcp::TransportFeedbackView::parse(packet);
        EXPECT_TRUE(view);
        std::vector<PacketResult> results;
        history_.on_feedback(*view, [&](const PacketResult& result) { results.push_back(result); });
        return results;
    }

    TwccHistory history_;
};

TEST_F(TwccHistoryTest, JoinsWhatWasSentWithWhatArrived) {
    send(0, 9);
    EXPECT_TRUE(history_.has_unanswered());
    const std::vector<PacketResult> results = feedback({0, 1, 4});
    ASSERT_EQ(results.size(), 5u);
    for (size_t i = 0; i < results.size(); i++) {
        EXPECT_EQ(results[i].sent, kStart + Millis(i));
        EXPECT_EQ(results[i].size, 100 + i);
        EXPECT_EQ(results[i].received, i != 2 && i != 3);
    }
    EXPECT_EQ(results[4].arrival - results[0].arrival, Millis(4));
}

TEST_F(TwccHistoryTest, TellsEachPacketOnce) {
    send(0, 9);
    EXPECT_EQ(feedback({0, 1, 2}).size(), 3u);
    EXPECT_THAT(feedback({0, 1, 2}), IsEmpty());
    EXPECT_EQ(feedback({2, 5}).size(), 3u);  // 3 and 4 lost, 5
    const std::vector<PacketResult> late = feedback({4});
    ASSERT_EQ(late.size(), 1u);
    EXPECT_TRUE(late[0].received);
}

TEST_F(TwccHistoryTest, LossInFrontOfTheFirstArrivalCounts) {
    send(0, 9);
    const std::vector<PacketResult> results = feedback({5}, 3);
    ASSERT_EQ(results.size(), 4u);
    EXPECT_FALSE(results[0].received);
    EXPECT_EQ(results[0].sent, kStart + Millis(2));
    EXPECT_TRUE(results[3].received);
}

TEST_F(TwccHistoryTest, GoesOnOverTheWrapOfSequenceNumbers) {
    for (int at = 0; at < 200'000; at += 100) {
        send(at, at + 99);
        const std::vector<PacketResult> results = feedback({at + 10, at + 99}, 10);
        ASSERT_EQ(results.size(), 100u) << at;
        EXPECT_EQ(results[99].sent, kStart + Millis(at + 99));
    }
    EXPECT_EQ(history_.capacity(), TwccHistory::kMinEntries);
}

TEST_F(TwccHistoryTest, ArrivalTimesRiseOverTheWrapOfTheReferenceTime) {
    send(0, 9);
    const int64_t wrap = rtcp::kReferenceRangeUs - 100'000;
    const std::vector<PacketResult> before = feedback({0}, 0, wrap);
    const std::vector<PacketResult> after = feedback({9}, 0, wrap + 100'000);
    ASSERT_EQ(after.size(), 1u);
    EXPECT_EQ(after[0].arrival - before[0].arrival, Millis(9) + Millis(100));
}

TEST_F(TwccHistoryTest, GrowsForALongPathUpToItsLimit) {
    send(0, 999);
    EXPECT_EQ(history_.capacity(), 1'024u);
    EXPECT_EQ(feedback({999}, 999).size(), 1'000u);
    send(1'000, 20'000);  // nobody answers
    EXPECT_EQ(history_.capacity(), TwccHistory::kMaxEntries);
    EXPECT_EQ(feedback({20'000}, 4'000).size(), TwccHistory::kMaxEntries);
}

TEST_F(TwccHistoryTest, DoesNotGrowForPacketsThatAreTooOld) {
    for (int i = 0; i < 1'000; i++) {
        history_.add(kStart + Millis(20 * i), 100);
    }
    EXPECT_EQ(history_.capacity(), TwccHistory::kMinEntries);
}

TEST_F(TwccHistoryTest, FeedbackAboutWhatWasNeverSentSaysNothing) {
    EXPECT_THAT(feedback({3, 4}, 2), IsEmpty());
    send(0, 4);
    EXPECT_THAT(feedback({5, 6}), IsEmpty());
    EXPECT_THAT(feedback({40'000}), IsEmpty());
    EXPECT_EQ(feedback({3, 30'000 % 8'000}, 3).size(), 5u);  // reaches beyond the last one
}

}  // namespace
}  // namespace weir::rtp
