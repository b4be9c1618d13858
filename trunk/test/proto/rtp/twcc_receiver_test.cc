#include "proto/rtp/twcc_receiver.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;
using testing::ElementsAre;
using testing::IsEmpty;

// What one feedback packet says.
struct Feedback {
    uint16_t base = 0;
    uint16_t statuses = 0;
    uint8_t count = 0;
    std::vector<uint16_t> received;
    std::vector<int64_t> times_us;
};

class TwccReceiverTest : public testing::Test {
  protected:
    void arrive(int sequence) {
        receiver_.on_packet(now_, static_cast<uint16_t>(sequence), test::kSsrc);
    }

    std::vector<Feedback> poll(size_t room = 1200) {
        std::vector<Feedback> all;
        Bytes buffer(room);
        rtcp::CompoundWriter writer(buffer);
        while (receiver_.poll_transmit(now_, 99, writer)) {
        }
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(writer.written()); reader.next(packet);) {
            const auto view = rtcp::TransportFeedbackView::parse(packet);
            EXPECT_TRUE(view);
            EXPECT_EQ(view->sources().sender_ssrc, 99u);
            EXPECT_EQ(view->sources().media_ssrc, test::kSsrc);
            Feedback feedback{
                view->base_sequence(), view->status_count(), view->feedback_count(), {}, {}};
            view->for_each_received([&](uint16_t sequence, int64_t time_us) {
                feedback.received.push_back(sequence);
                feedback.times_us.push_back(time_us);
            });
            all.push_back(feedback);
        }
        return all;
    }

    MonoTime now_ = kStart;
    TwccReceiver receiver_;
};

TEST_F(TwccReceiverTest, ReportsWhatArrivedAfterTheInterval) {
    EXPECT_FALSE(receiver_.next_timeout());
    arrive(65'534);
    now_ += Millis(1);
    arrive(65'535);
    now_ += Millis(10);
    arrive(1);
    EXPECT_EQ(receiver_.next_timeout(), kStart + TwccReceiver::kInterval);
    EXPECT_THAT(poll(), IsEmpty());
    now_ = kStart + TwccReceiver::kInterval;
    const std::vector<Feedback> feedback = poll();
    ASSERT_EQ(feedback.size(), 1u);
    EXPECT_EQ(feedback[0].base, 65'534);
    EXPECT_EQ(feedback[0].statuses, 4);
    EXPECT_THAT(feedback[0].received, ElementsAre(65'534, 65'535, 1));
    EXPECT_EQ(feedback[0].times_us[1] - feedback[0].times_us[0], 1'000);
    EXPECT_EQ(feedback[0].times_us[2] - feedback[0].times_us[1], 10'000);
    EXPECT_FALSE(receiver_.next_timeout());
    EXPECT_THAT(poll(), IsEmpty());
}

TEST_F(TwccReceiverTest, WhatIsMissingBetweenTwoFeedbacksIsInTheSecond) {
    arrive(10);
    now_ += Millis(100);
    EXPECT_EQ(poll().size(), 1u);
    arrive(14);
    now_ += Millis(100);
    const std::vector<Feedback> feedback = poll();
    ASSERT_EQ(feedback.size(), 1u);
    EXPECT_EQ(feedback[0].base, 11);
    EXPECT_EQ(feedback[0].statuses, 4);
    EXPECT_EQ(feedback[0].count, 1);
    EXPECT_THAT(feedback[0].received, ElementsAre(14));
}

TEST_F(TwccReceiverTest, ALatePacketIsReportedWithAllBehindIt) {
    for (int sequence : {10, 11, 13, 14}) {
        arrive(sequence);
    }
    now_ += Millis(100);
    EXPECT_THAT(poll()[0].received, ElementsAre(10, 11, 13, 14));
    arrive(12);
    now_ += Millis(50);
    arrive(15);
    now_ += Millis(50);
    const std::vector<Feedback> feedback = poll();
    ASSERT_EQ(feedback.size(), 1u);
    EXPECT_EQ(feedback[0].base, 12);
    EXPECT_THAT(feedback[0].received, ElementsAre(12, 13, 14, 15));
    EXPECT_LT(feedback[0].times_us[1], feedback[0].times_us[0]);  // it really was late
}

TEST_F(TwccReceiverTest, DuplicatesAreReportedOnce) {
    arrive(10);
    arrive(10);
    now_ += Millis(100);
    EXPECT_THAT(poll()[0].received, ElementsAre(10));
}

TEST_F(TwccReceiverTest, ManyPacketsAreReportedAtOnceInSeveralFeedbacks) {
    for (int i = 0; i < 5'000; i++) {
        arrive(i);
        now_ += Micros(100);
        if (receiver_.next_timeout() <= now_) {
            EXPECT_GE(i, 511);
            break;
        }
    }
    std::vector<uint16_t> received;
    for (std::vector<Feedback> some = poll(100); !some.empty(); some = poll(100)) {
        for (const Feedback& feedback : some) {
            EXPECT_EQ(feedback.base, received.size());
            received.insert(received.end(), feedback.received.begin(), feedback.received.end());
        }
    }
    ASSERT_EQ(received.size(), TwccReceiver::kMaxUnreported);
    EXPECT_EQ(received.back(), TwccReceiver::kMaxUnreported - 1);
    EXPECT_FALSE(receiver_.next_timeout());
}

TEST_F(TwccReceiverTest, RemembersABoundedNumberWhenNobodyPolls) {
    for (int i = 0; i < 10'000; i++) {
        arrive(i);
    }
    now_ += Millis(100);
    size_t received = 0;
    for (std::vector<Feedback> some = poll(); !some.empty(); some = poll()) {
        for (const Feedback& feedback : some) {
            received += feedback.received.size();
        }
    }
    EXPECT_EQ(received, TwccReceiver::kMaxArrivals);
}

TEST_F(TwccReceiverTest, AVeryOldPacketIsIgnoredAndAHugeGapIsNotSpelledOut) {
    arrive(20'000);
    arrive(15'000);  // more than kMaxLate before it
    now_ += Millis(100);
    EXPECT_THAT(poll()[0].received, ElementsAre(20'000));
    arrive(30'000);
    now_ += Millis(100);
    const std::vector<Feedback> feedback = poll();
    ASSERT_EQ(feedback.size(), 1u);
    EXPECT_EQ(feedback[0].base, 30'000);
    EXPECT_EQ(feedback[0].statuses, 1);
}

TEST_F(TwccReceiverTest, NothingIsLostWithoutRoom) {
    arrive(1);
    now_ += Millis(100);
    EXPECT_THAT(poll(rtcp::kMinTransportFeedbackSize - 4), IsEmpty());
    EXPECT_EQ(receiver_.next_timeout(), now_);
    EXPECT_EQ(poll().size(), 1u);
}

}  // namespace
}  // namespace weir::rtp
