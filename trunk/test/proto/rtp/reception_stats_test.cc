#include "proto/rtp/reception_stats.h"

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

constexpr uint32_t kVideoClock = 90'000;

TEST(ReceptionStatsTest, ReportsNothingLostOfACompleteSequence) {
    ReceptionStats stats(kVideoClock);
    EXPECT_FALSE(stats.started());
    for (int i = 0; i < 100; i++) {
        stats.on_packet(65'500 + i, static_cast<uint32_t>(3000 * i), kStart + Micros(33'333 * i));
    }
    const rtcp::ReportBlock block = stats.report(7, kStart);
    EXPECT_EQ(block.ssrc, 7u);
    EXPECT_EQ(block.fraction_lost, 0);
    EXPECT_EQ(block.cumulative_lost, 0);
    EXPECT_EQ(block.highest_sequence, 0x1'0000u + 63);  // one wrap
    EXPECT_LE(block.jitter, 1u);
    EXPECT_EQ(block.last_sr, 0u);
    EXPECT_EQ(block.delay_since_sr, 0u);
    EXPECT_EQ(stats.received(), 100u);
}

TEST(ReceptionStatsTest, CountsTheFractionPerIntervalAndTheSumOverAll) {
    ReceptionStats stats(kVideoClock);
    for (int i = 0; i < 100; i++) {
        if (i % 4 != 1) {
            stats.on_packet(i, 0, kStart);
        }
    }
    rtcp::ReportBlock block = stats.report(1, kStart);
    EXPECT_EQ(block.fraction_lost, 64);  // a quarter of 256
    EXPECT_EQ(block.cumulative_lost, 25);
    for (int i = 100; i < 200; i++) {
        stats.on_packet(i, 0, kStart);
    }
    block = stats.report(1, kStart);
    EXPECT_EQ(block.fraction_lost, 0);
    EXPECT_EQ(block.cumulative_lost, 25);
    EXPECT_EQ(stats.lost(), 25u);
}

TEST(ReceptionStatsTest, GoesBelowZeroByDuplicatesAsTheRfcSays) {
    ReceptionStats stats(kVideoClock);
    for (int i = 0; i < 10; i++) {
        stats.on_packet(i, 0, kStart);
        stats.on_packet(i, 0, kStart);
    }
    const rtcp::ReportBlock block = stats.report(1, kStart);
    EXPECT_EQ(block.cumulative_lost, -10);
    EXPECT_EQ(block.fraction_lost, 0);
    EXPECT_EQ(stats.lost(), 0u);
}

TEST(ReceptionStatsTest, AnEmptyIntervalHasNoFraction) {
    ReceptionStats stats(kVideoClock);
    stats.on_packet(1, 0, kStart);
    stats.report(1, kStart);
    EXPECT_EQ(stats.report(1, kStart).fraction_lost, 0);
}

TEST(ReceptionStatsTest, TheFractionOfAllButOneLostFits) {
    ReceptionStats stats(kVideoClock);
    stats.on_packet(1, 0, kStart);
    stats.report(1, kStart);
    stats.on_packet(60'000, 0, kStart);
    EXPECT_EQ(stats.report(1, kStart).fraction_lost, 255);
}

// RFC 3550 A.8: J += (|D| - J) / 16. Packets that alternate by 10 ms: |D| is 900 each time, and J
// goes towards it.
TEST(ReceptionStatsTest, JitterApproachesTheDifferenceOfTransitTimes) {
    ReceptionStats stats(kVideoClock);
    for (int i = 0; i < 200; i++) {
        const Micros late = i % 2 == 0 ? Micros(0) : Micros(10'000);
        stats.on_packet(i, static_cast<uint32_t>(3600 * i), kStart + Millis(40 * i) + late);
    }
    EXPECT_NEAR(stats.report(1, kStart).jitter, 900, 2);
    EXPECT_NEAR(static_cast<double>(stats.jitter().count()), 10'000, 30);
}

TEST(ReceptionStatsTest, PacketsOfOneFrameThatArePacedAreNoJitter) {
    ReceptionStats stats(kVideoClock);
    for (int i = 0; i < 100; i++) {
        stats.on_packet(i, static_cast<uint32_t>(3600 * (i / 10)),
                        kStart + Millis(40 * (i / 10) + i % 10));
    }
    EXPECT_LE(stats.report(1, kStart).jitter, 1u);
}

TEST(ReceptionStatsTest, AJumpOfTheRtpClockIsNoJitter) {
    ReceptionStats stats(kVideoClock);
    stats.on_packet(1, 0, kStart);
    stats.on_packet(2, 0x7000'0000, kStart + Millis(40));
    stats.on_packet(3, 0x7000'0000 + 3600, kStart + Millis(80));
    EXPECT_LE(stats.report(1, kStart).jitter, 1u);
}

TEST(ReceptionStatsTest, SaysWhichSenderReportItHeardAndWhen) {
    ReceptionStats stats(kVideoClock);
    stats.on_packet(1, 0, kStart);
    stats.on_sender_report(0x1234'5678'9ABC'DEF0U, kStart);
    const rtcp::ReportBlock block = stats.report(1, kStart + Millis(1500));
    EXPECT_EQ(block.last_sr, 0x5678'9ABCu);
    EXPECT_EQ(block.delay_since_sr, 0x1'8000u);  // 1.5 s in 1/65536 s
}

TEST(ReceptionStatsTest, ARestartKeepsTheSums) {
    ReceptionStats stats(kVideoClock);
    stats.on_packet(10, 0, kStart);
    stats.on_packet(12, 0, kStart);
    stats.restart();
    stats.on_packet(60'000, 0, kStart);
    stats.on_packet(60'001, 0, kStart);
    const rtcp::ReportBlock block = stats.report(1, kStart);
    EXPECT_EQ(block.cumulative_lost, 1);
    EXPECT_EQ(block.highest_sequence, 60'001u);
    EXPECT_EQ(stats.received(), 4u);
}

TEST(ReceptionStatsTest, AudioClocksCountInTheirOwnUnits) {
    ReceptionStats stats(48'000);
    for (int i = 0; i < 200; i++) {
        const Micros late = i % 2 == 0 ? Micros(0) : Micros(5'000);
        stats.on_packet(i, static_cast<uint32_t>(960 * i), kStart + Millis(20 * i) + late);
    }
    EXPECT_NEAR(stats.report(1, kStart).jitter, 240, 2);
}

}  // namespace
}  // namespace weir::rtp
