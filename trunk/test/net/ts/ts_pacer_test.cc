#include "net/ts/ts_pacer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "proto/mpegts/packet.h"

namespace weir::net {
namespace {

using mpegts::kPacketSize;

constexpr MonoTime kNow{Seconds(100)};
constexpr uint64_t kPerMs = 27'000;

// One of any kind, or with a clock in 27 MHz.
Bytes plain() {
    Bytes packet(kPacketSize, 0xFF);
    packet[0] = 0x47;
    packet[1] = 1;
    packet[3] = 0x10;
    return packet;
}

Bytes clock_at(uint64_t pcr) {
    Bytes packet = plain();
    packet[3] = 0x30;
    packet[4] = 7;
    packet[5] = 0x10;
    const uint64_t base = pcr / 300;
    const uint64_t extension = pcr % 300;
    Bytes field;
    ByteWriter(field)
        .u32(static_cast<uint32_t>(base >> 1))
        .u16(static_cast<uint16_t>((base & 1) << 15 | 0x7E00 | extension));
    std::copy(field.begin(), field.end(), packet.begin() + 6);
    return packet;
}

class TsPacerTest : public testing::Test {
  protected:
    // The clock, and `count` packets behind it.
    void feed(MonoTime now, uint64_t pcr_ms, size_t count) {
        Bytes bytes = clock_at(pcr_ms * kPerMs);
        for (size_t i = 0; i < count; i++) {
            const Bytes more = plain();
            bytes.insert(bytes.end(), more.begin(), more.end());
        }
        pacer_.feed(now, bytes);
    }

    size_t take(MonoTime now, size_t most = 1) {
        size_t count = 0;
        for (Bytes out; pacer_.next(now, most, out);) {
            EXPECT_EQ(out.size(), most * kPacketSize);
            count += most;
        }
        return count;
    }

    TsPacer pacer_;
};

TEST_F(TsPacerTest, PacketsBetweenTwoClocksGoOutEvenly) {
    feed(kNow, 1'000, 9);
    feed(kNow + Millis(1), 1'040, 0);
    EXPECT_EQ(take(kNow + Millis(99)), 0U);
    EXPECT_EQ(take(kNow + Millis(100)), 1U);
    EXPECT_EQ(take(kNow + Millis(119)), 4U);
    EXPECT_EQ(take(kNow + Millis(140)), 5U);
    EXPECT_EQ(pacer_.bytes(), kPacketSize) << "the second clock waits for the third";
}

TEST_F(TsPacerTest, GivesWholeDatagramsOnly) {
    feed(kNow, 1'000, 9);
    feed(kNow, 1'040, 0);
    EXPECT_EQ(take(kNow + Millis(124), 7), 7U);
    EXPECT_EQ(take(kNow + Millis(200), 7), 0U);
    feed(kNow + Millis(40), 1'080, 0);
    EXPECT_EQ(pacer_.next_time(), kNow + Millis(128));
}

TEST_F(TsPacerTest, TheClockMayWrap) {
    constexpr uint64_t kWrapMs = (uint64_t{1} << 33) / 90;
    feed(kNow, kWrapMs - 10, 3);
    feed(kNow, 30, 0);
    EXPECT_EQ(take(kNow + Millis(100)), 1U);
    EXPECT_EQ(take(kNow + Millis(141)), 3U);
    EXPECT_EQ(pacer_.restarts(), 0U);
}

TEST_F(TsPacerTest, AJumpOfTheClockBeginsAnewAndLosesNothing) {
    feed(kNow, 1'000, 3);
    feed(kNow + Millis(10), 900'000, 3);
    feed(kNow + Millis(50), 900'040, 0);
    EXPECT_EQ(pacer_.restarts(), 1U);
    EXPECT_EQ(take(kNow + Millis(150)), 8U);
}

TEST_F(TsPacerTest, ASenderThatIsLateBeginsAnew) {
    feed(kNow, 1'000, 3);
    feed(kNow + Millis(20), 1'040, 3);
    feed(kNow + Millis(300), 1'080, 3);
    EXPECT_EQ(pacer_.restarts(), 1U);
    EXPECT_EQ(take(kNow + Millis(301)), 8U);
}

TEST_F(TsPacerTest, WithoutAClockNothingWaits) {
    pacer_.feed(kNow, plain());
    EXPECT_EQ(take(kNow), 1U);
    feed(kNow, 1'000, 3);
    pacer_.feed(kNow + TsPacer::kDelay + TsPacer::kMaxStep + Millis(1), plain());
    EXPECT_EQ(take(kNow + TsPacer::kDelay + TsPacer::kMaxStep + Millis(1)), 5U);
}

TEST_F(TsPacerTest, TooMuchDoesNotWait) {
    feed(kNow, 1'000, TsPacer::kMaxBytes / kPacketSize);
    EXPECT_EQ(take(kNow), TsPacer::kMaxBytes / kPacketSize + 1);
}

}  // namespace
}  // namespace weir::net
