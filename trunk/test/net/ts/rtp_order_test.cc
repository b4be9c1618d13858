#include "net/ts/rtp_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/rtp/header.h"

namespace weir::net {
namespace {

constexpr size_t kPacket = 188;

class RtpOrderTest : public testing::Test, private RtpOrderOutput {
  protected:
    // A packet of a transport stream that can be told from others.
    static Bytes ts(uint8_t tag, size_t packets = 1) {
        Bytes bytes(packets * kPacket, tag);
        for (size_t at = 0; at < bytes.size(); at += kPacket) {
            bytes[at] = 0x47;
        }
        return bytes;
    }

    static Bytes rtp(uint16_t sequence, const Bytes& payload, uint32_t ssrc = 7) {
        rtp::Header header;
        header.payload_type = 33;
        header.sequence = sequence;
        header.ssrc = ssrc;
        Bytes bytes(rtp::kFixedHeaderSize);
        rtp::write_header(header, bytes.data());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        return bytes;
    }

    void send(uint16_t sequence, uint32_t ssrc = 7) {
        order_.feed(now_, rtp(sequence, ts(static_cast<uint8_t>(sequence)), ssrc));
    }

    void on_ordered(MonoTime, ByteSpan bytes) override {
        out_.push_back(bytes.size() > 1 ? bytes[1] : -1);
        bytes_ += bytes.size();
    }

    void on_gap() override { out_.push_back(kGap); }

    static constexpr int kGap = -2;
    MonoTime now_{Millis(1000)};
    std::vector<int> out_;  // second byte of each, kGap
    size_t bytes_ = 0;
    RtpOrder order_{*this};
};

TEST_F(RtpOrderTest, PassesWhatIsInOrderAtOnce) {
    for (const uint16_t sequence : std::vector<uint16_t>{65534, 65535, 0, 1}) {
        send(sequence);
    }
    EXPECT_EQ(out_, (std::vector<int>{254, 255, 0, 1}));
    EXPECT_EQ(order_.counters().packets, 4U);
    EXPECT_FALSE(order_.next_timeout());
}

TEST_F(RtpOrderTest, RestoresTheOrderAcrossTheWrap) {
    for (const uint16_t sequence : std::vector<uint16_t>{65534, 1, 0, 65535, 2}) {
        send(sequence);
    }
    EXPECT_EQ(out_, (std::vector<int>{254, 255, 0, 1, 2}));
    EXPECT_EQ(order_.counters().reordered, 2U);
    EXPECT_EQ(order_.counters().lost, 0U);
}

TEST_F(RtpOrderTest, DropsDuplicatesThatWaitAndThatWereDelivered) {
    for (const uint16_t sequence : std::vector<uint16_t>{10, 12, 12, 10, 11, 12, 13}) {
        send(sequence);
    }
    EXPECT_EQ(out_, (std::vector<int>{10, 11, 12, 13}));
    EXPECT_EQ(order_.counters().duplicates, 3U);
    EXPECT_EQ(order_.counters().packets, 4U);
}

TEST_F(RtpOrderTest, GivesUpWhenPatienceIsOver) {
    send(10);
    send(12);
    ASSERT_TRUE(order_.next_timeout());
    EXPECT_EQ(*order_.next_timeout(), now_ + RtpOrder::kPatience);
    now_ += RtpOrder::kPatience - Millis(1);
    order_.handle_timeout(now_);
    EXPECT_EQ(out_, (std::vector<int>{10}));
    now_ += Millis(1);
    order_.handle_timeout(now_);
    EXPECT_EQ(out_, (std::vector<int>{10, kGap, 12}));
    EXPECT_EQ(order_.counters().lost, 1U);
    send(11);
    EXPECT_EQ(order_.counters().late, 1U);
    EXPECT_EQ(order_.counters().duplicates, 0U);
    EXPECT_EQ(out_.size(), 3U);
}

TEST_F(RtpOrderTest, CountsPatienceFromTheArrivalBehindEachHole) {
    send(10);
    send(12);
    now_ += Millis(60);
    send(14);
    now_ += Millis(40);
    order_.handle_timeout(now_);
    EXPECT_EQ(out_, (std::vector<int>{10, kGap, 12}));
    EXPECT_EQ(*order_.next_timeout(), now_ + Millis(60));
    now_ += Millis(60);
    order_.feed(now_, rtp(15, ts(15)));  // looks at the time by itself
    EXPECT_EQ(out_, (std::vector<int>{10, kGap, 12, kGap, 14, 15}));
    EXPECT_EQ(order_.counters().lost, 2U);
}

TEST_F(RtpOrderTest, HoldsNoMoreThanTheWindow) {
    send(0);
    for (uint16_t i = 2; i <= RtpOrder::kWindow; i++) {
        send(i);
    }
    EXPECT_EQ(out_.size(), 1U) << "63 wait for one";
    send(RtpOrder::kWindow + 1);
    EXPECT_EQ(out_.size(), 1U + 1 + RtpOrder::kWindow) << "the gap, and all";
    EXPECT_EQ(order_.counters().lost, 1U);
    EXPECT_FALSE(order_.next_timeout());
}

TEST_F(RtpOrderTest, GoesOnAfterALongLoss) {
    send(0);
    send(2);
    send(RtpOrder::kMaxJump);
    EXPECT_EQ(out_, (std::vector<int>{0, kGap, 2, kGap, RtpOrder::kMaxJump & 0xFF}));
    EXPECT_EQ(order_.counters().lost, 1U + RtpOrder::kMaxJump - 3U);
    EXPECT_EQ(order_.counters().restarts, 0U);
}

TEST_F(RtpOrderTest, FollowsASenderThatRestartedFromItsSecondPacketOn) {
    send(10);
    send(12);
    send(40'000);
    EXPECT_EQ(out_, (std::vector<int>{10})) << "one alone may be anybody's";
    send(40'001);
    EXPECT_EQ(out_, (std::vector<int>{10, kGap, 12, kGap, 40'000 & 0xFF, 40'001 & 0xFF}));
    send(40'002);
    EXPECT_EQ(out_.size(), 7U);
    EXPECT_EQ(order_.counters().restarts, 1U);
    send(5, 8);
    send(6, 8);
    EXPECT_EQ(order_.counters().restarts, 2U);
    EXPECT_EQ(out_.back(), 6);
}

TEST_F(RtpOrderTest, StaysWithTheSenderThatGoesOn) {
    for (uint16_t i = 0; i < 50; i++) {
        send(i);
        send(static_cast<uint16_t>(1000 + i), 8);
    }
    EXPECT_EQ(out_.size(), 50U);
    EXPECT_EQ(out_.back(), 49);
    EXPECT_EQ(order_.counters().restarts, 0U);
}

TEST_F(RtpOrderTest, SkipsSourcesExtensionsAndPadding) {
    const Bytes payload = ts(9, 7);
    Bytes packet = rtp(5, {});
    packet[0] = 0x80 | 0x20 | 0x10 | 2;  // padding, extension, two sources
    packet.insert(packet.end(), 8, 0x55);
    packet.insert(packet.end(), {0xBE, 0xDE, 0, 1, 0x10, 0xFF, 0, 0});
    packet.insert(packet.end(), payload.begin(), payload.end());
    packet.insert(packet.end(), {0, 0, 0, 4});
    order_.feed(now_, packet);
    EXPECT_EQ(bytes_, payload.size());
    EXPECT_EQ(order_.counters().packets, 1U);
    order_.feed(now_, rtp(6, {}));  // a probe
    send(7);
    EXPECT_EQ(out_, (std::vector<int>{9, 7}));
    EXPECT_EQ(order_.counters().lost, 0U);
}

TEST_F(RtpOrderTest, TakesDatagramsWithoutRtp) {
    order_.feed(now_, ts(1, 7));
    order_.feed(now_, ts(2));
    EXPECT_EQ(out_, (std::vector<int>{1, 2}));
    EXPECT_EQ(order_.counters().plain, 2U);
}

// As ffmpeg sends them with its own datagram size.
TEST_F(RtpOrderTest, TakesPacketsThatAreCutAnywhere) {
    const Bytes all = ts(3, 100);
    size_t sent = 0;
    for (ByteSpan rest(all); !rest.empty(); sent++) {
        const size_t part = std::min<size_t>(1472, rest.size());
        order_.feed(now_, rest.first(part));
        rest = rest.subspan(part);
    }
    EXPECT_EQ(bytes_, all.size());
    EXPECT_EQ(order_.counters().plain, sent);
    EXPECT_EQ(order_.counters().foreign, 0U);
}

// ffmpeg sends what it has at each flush, so a datagram may be the last bytes of a packet only.
TEST_F(RtpOrderTest, TakesTheEndOfAPacketThatLooksLikeRtp) {
    const Bytes packets = ts(0x80, 2);
    constexpr size_t kEnd = rtp::kFixedHeaderSize;  // version 2, and nothing behind the header
    order_.feed(now_, ByteSpan(packets).first(packets.size() - kEnd));
    order_.feed(now_, ByteSpan(packets).last(kEnd));
    order_.feed(now_, packets);
    EXPECT_EQ(bytes_, 2 * packets.size());
    EXPECT_EQ(order_.counters().plain, 3U);
    EXPECT_EQ(order_.counters().packets, 0U);
    EXPECT_EQ(std::ranges::count(out_, kGap), 0);
}

TEST_F(RtpOrderTest, FindsPacketsAgainWhenADatagramOfThoseIsLost) {
    const Bytes all = ts(3, 100);
    const ByteSpan bytes(all);
    order_.feed(now_, bytes.first(1472));
    order_.feed(now_, bytes.subspan(2 * 1472, 1472));
    order_.feed(now_, bytes.subspan(3 * 1472, 1472));
    ASSERT_EQ(out_.size(), 4U);
    EXPECT_EQ(out_[1], kGap);
    const size_t cut = (kPacket - 2 * 1472 % kPacket) % kPacket;
    EXPECT_EQ(bytes_, 3 * 1472 - cut);
}

TEST_F(RtpOrderTest, NothingIsOverdueAfterADatagram) {
    send(0);
    send(4);  // 1 to 3 are missing
    now_ += RtpOrder::kPatience - Millis(10);
    send(2);
    now_ += Millis(20);
    send(1);  // now 3 is the hole, and what is behind it has waited for too long
    EXPECT_EQ(out_, (std::vector<int>{0, 1, 2, kGap, 4}));
    EXPECT_FALSE(order_.next_timeout());
}

TEST_F(RtpOrderTest, AnEmptyDatagramIsNothing) {
    order_.feed(now_, {});
    order_.feed(now_, ts(1));
    order_.feed(now_, {});  // where packets of a stream are expected
    EXPECT_EQ(out_, std::vector<int>{1});
    EXPECT_EQ(order_.counters().foreign, 2U);
}

TEST_F(RtpOrderTest, DropsWhatIsNoTransportStream) {
    send(1);
    order_.feed(now_, {});
    order_.feed(now_, Bytes(1316, 0x11));
    order_.feed(now_, rtp(2, Bytes(kPacket, 0x11)));  // RTP of something else
    Bytes report = rtp(3, ts(1));
    report[1] = 200;  // RTCP
    order_.feed(now_, report);
    order_.feed(now_, rtp(2, Bytes(100, 0x47)));
    send(2);
    EXPECT_EQ(out_, (std::vector<int>{1, 2}));
    EXPECT_EQ(order_.counters().foreign, 5U);
    order_.feed(now_, ts(4));
    order_.feed(now_, Bytes(kPacket, 0x80));
    EXPECT_EQ(order_.counters().foreign, 6U);
    EXPECT_EQ(out_.back(), 4);
}

}  // namespace
}  // namespace weir::net
