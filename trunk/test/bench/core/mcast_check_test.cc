#include "bench/load/core/mcast_check.h"

#include <vector>

#include <gtest/gtest.h>

#include "proto/mpegts/reader.h"
#include "proto/rtp/header.h"

#include "bench/load/core/mcast_stream.h"

namespace weir::load {
namespace {

constexpr uint64_t kMs = 1'000'000;

// Datagrams of a group, one each millisecond.
std::vector<Bytes> datagrams(size_t count,
                             uint32_t group = 3,
                             uint32_t session = 7,
                             bool rtp = false) {
    McastStream stream(group, session, rtp);
    std::vector<Bytes> out;
    for (size_t i = 0; i < count; i++) {
        out.emplace_back(stream.datagram_size());
        stream.write((1000 + i) * kMs, out.back());
    }
    return out;
}

class McastCheckTest : public testing::Test {
  protected:
    void feed(ByteSpan bytes, uint64_t now_ns = 0) { check_.feed(bytes, now_ns); }

    Histogram delays_;
    McastCheck check_{3, delays_};
};

TEST(McastStreamTest, CarriesAStampInEachPacket) {
    uint64_t sequence = 0;
    for (const Bytes& datagram : datagrams(600)) {
        ASSERT_EQ(datagram.size(), McastStream::kPayload);
        for (size_t at = 0; at < datagram.size(); at += kTsPacketBytes) {
            const auto stamp = McastStamp::of(ByteSpan(datagram).subspan(at, kTsPacketBytes));
            ASSERT_TRUE(stamp);
            EXPECT_EQ(stamp->group, 3U);
            EXPECT_EQ(stamp->session, 7U);
            EXPECT_EQ(stamp->sequence, sequence++);
            EXPECT_EQ(stamp->sent_ns, (1000 + (sequence - 1) / 7) * kMs);
        }
    }
}

TEST(McastStreamTest, StampHoldsTheLargestNumbers) {
    const McastStamp stamp{.group = McastStamp::kGroups - 1,
                           .session = McastStamp::kSessions - 1,
                           .sequence = UINT64_MAX,
                           .sent_ns = UINT64_MAX - 1};
    Bytes packet(kTsPacketBytes, 0x10);
    packet[0] = 0x47;
    stamp.write(packet.data() + 4);
    EXPECT_EQ(McastStamp::of(packet), stamp);
}

TEST(McastStreamTest, IsATransportStreamWithItsTables) {
    mpegts::Reader reader;
    mpegts::Unit unit;
    size_t track = 0;
    for (const Bytes& datagram : datagrams(600)) {
        for (ByteSpan rest = datagram; !rest.empty(); rest = rest.subspan(reader.feed(rest))) {
            while (reader.next(unit, track) != mpegts::Reader::Event::kNeedMore) {
            }
        }
    }
    ASSERT_EQ(reader.tracks().size(), 1U);
    EXPECT_EQ(reader.tracks()[0].info.pid, McastStream::kVideoPid);
    EXPECT_EQ(reader.counters().continuity_errors, 0U);
    EXPECT_EQ(reader.counters().sync_losses, 0U);
}

TEST(McastStreamTest, BeginsADatagramWithTablesAndARandomAccessPointEachHalfSecond) {
    const std::vector<Bytes> all = datagrams(1001);
    for (size_t i = 0; i < all.size(); i++) {
        const uint8_t* packet = all[i].data();
        const bool is_table = packet[1] == 0x40 && packet[2] == 0;
        EXPECT_EQ(is_table, i % 500 == 0) << i;
        if (is_table) {
            const uint8_t* access = packet + 2 * kTsPacketBytes;
            EXPECT_EQ(access[1], 0x41);
            EXPECT_EQ(access[5] & 0x40, 0x40);
        }
    }
}

TEST(McastStreamTest, PutsRtpInFront) {
    uint16_t sequence = 0;
    for (const Bytes& datagram : datagrams(3, 3, 7, true)) {
        const auto packet = rtp::PacketView::parse(datagram);
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->payload_type(), 33);
        EXPECT_EQ(packet->sequence(), sequence++);
        EXPECT_EQ(packet->payload().size(), McastStream::kPayload);
    }
}

TEST_F(McastCheckTest, FindsNothingWrongWhereNothingIs) {
    check_.set_measuring(true);
    for (const Bytes& each : datagrams(1200)) {
        feed(each, 5000 * kMs);
    }
    EXPECT_EQ(check_.counts().packets, 1200U * 7);
    EXPECT_EQ(check_.counts().stamped, 1200U * 7 - 2);  // without the first tables
    EXPECT_EQ(check_.counts().lost + check_.counts().jumps + check_.counts().wrong(), 0U);
    EXPECT_EQ(delays_.count(), check_.counts().stamped);
    EXPECT_EQ(delays_.max(), 4'000'000U);
}

TEST_F(McastCheckTest, TakesBytesCutAnywhere) {
    for (const Bytes& each : datagrams(3)) {
        for (const uint8_t& byte : each) {
            feed(ByteSpan(&byte, 1));
        }
    }
    EXPECT_EQ(check_.counts().packets, 21U);
    EXPECT_EQ(check_.counts().lost + check_.counts().jumps + check_.counts().wrong(), 0U);
}

TEST_F(McastCheckTest, CountsWhatIsMissing) {
    const std::vector<Bytes> all = datagrams(10);
    feed(all[0]);
    feed(all[3]);
    EXPECT_EQ(check_.counts().lost, 14U);
    EXPECT_EQ(check_.counts().jumps, 1U);
}

TEST_F(McastCheckTest, CountsWhatComesTwiceOrLate) {
    const std::vector<Bytes> all = datagrams(10);
    for (size_t i : {0U, 1U, 1U, 2U}) {
        feed(all[i]);
    }
    EXPECT_EQ(check_.counts().repeated, 7U);
    EXPECT_EQ(check_.counts().lost, 0U);
}

TEST_F(McastCheckTest, SeesPacketsOfAnotherGroup) {
    feed(datagrams(1, 4)[0]);
    EXPECT_EQ(check_.counts().foreign, 7U);
}

TEST_F(McastCheckTest, DoesNotCountTablesInFront) {
    const std::vector<Bytes> all = datagrams(501);
    feed(ByteSpan(all[0]).first(2 * kTsPacketBytes));  // as a server repeats them
    feed(all[400]);
    EXPECT_EQ(check_.counts().lost, 0U);
    EXPECT_EQ(check_.counts().stamped, 7U);
}

TEST_F(McastCheckTest, BeginsAgainWithAnotherSender) {
    for (uint32_t session : {1U, 2U}) {
        for (const Bytes& each : datagrams(100, 3, session)) {
            feed(each);
        }
    }
    EXPECT_EQ(check_.counts().restarts, 1U);
    EXPECT_EQ(check_.counts().lost + check_.counts().jumps + check_.counts().wrong(), 0U);
}

TEST_F(McastCheckTest, FindsTheNextPacketBehindOtherBytes) {
    const std::vector<Bytes> all = datagrams(2);
    feed(all[0]);
    feed(Bytes(10, 0x11));
    feed(all[1]);
    EXPECT_EQ(check_.counts().no_packets, 1U);
    EXPECT_EQ(check_.counts().packets, 14U);
}

TEST_F(McastCheckTest, MeasuresOnlyWhatWasSentAfterTheJoin) {
    check_.set_measuring(true);
    check_.joined(1005 * kMs);
    for (const Bytes& each : datagrams(10)) {
        feed(each, 2000 * kMs);
    }
    EXPECT_EQ(delays_.count(), 5U * 7);
}

}  // namespace
}  // namespace weir::load
