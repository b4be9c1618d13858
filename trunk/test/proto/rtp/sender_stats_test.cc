#include "proto/rtp/sender_stats.h"

#include <gtest/gtest.h>

namespace weir::rtp {
namespace {

constexpr rtcp::NtpTime kNow = 0xB3DB'B710'8000'0000U;

// RFC 3550 §6.4.1, figure 2: a report received at 46864.500 s, about a sender report of 46853.125 s
// that had been there for 5.250 s: the round trip took 6.125 s.
TEST(SenderStatsTest, FindsTheRoundTripOfTheExampleInTheRfc) {
    SenderStats stats;
    stats.report(1, 0xB3DB'B705'2000'0000U, 0);
    rtcp::ReportBlock block;
    block.last_sr = 0xB705'2000;
    block.delay_since_sr = 0x0005'4000;
    EXPECT_EQ(stats.on_report_block(block, kNow).rtt, Micros(6'125'000));
}

TEST(SenderStatsTest, NoRoundTripWithoutASenderReportOrFromTheFuture) {
    SenderStats stats;
    rtcp::ReportBlock block;
    EXPECT_FALSE(stats.on_report_block(block, kNow).rtt);
    block.last_sr = 0xB705'2000;
    EXPECT_FALSE(stats.on_report_block(block, kNow).rtt);  // we never sent one
    stats.report(1, kNow, 0);
    block.last_sr = 0xB710'8000;
    block.delay_since_sr = 1;
    EXPECT_FALSE(stats.on_report_block(block, kNow).rtt);
    block.delay_since_sr = 0;
    EXPECT_EQ(stats.on_report_block(block, kNow).rtt, Micros(0));
    EXPECT_FALSE(stats.on_report_block(block, kNow + (uint64_t{61} << 32U)).rtt);
}

TEST(SenderStatsTest, CountsWhatWasSent) {
    SenderStats stats;
    stats.on_packet(1'000);
    stats.on_packet(200);
    const rtcp::SenderInfo info = stats.report(7, kNow, 1'234);
    EXPECT_EQ(info.ssrc, 7u);
    EXPECT_EQ(info.ntp_time, kNow);
    EXPECT_EQ(info.rtp_time, 1'234u);
    EXPECT_EQ(info.packets, 2u);
    EXPECT_EQ(info.octets, 1'200u);
}

TEST(SenderStatsTest, TellsWhatWasLostSinceTheBlockBefore) {
    SenderStats stats;
    rtcp::ReportBlock block;
    block.highest_sequence = 0xFFFF'FFF0;
    block.cumulative_lost = 5;
    ReceiverNews news = stats.on_report_block(block, kNow);
    EXPECT_EQ(news.received + news.lost, 0u);  // nobody knows since when
    block.highest_sequence += 100;             // wraps
    block.cumulative_lost = 15;
    block.jitter = 33;
    news = stats.on_report_block(block, kNow);
    EXPECT_EQ(news.lost, 10u);
    EXPECT_EQ(news.received, 90u);
    EXPECT_EQ(stats.lost(), 15);
    EXPECT_EQ(stats.jitter(), 33u);
    block.cumulative_lost = -3;  // duplicates
    block.highest_sequence += 10;
    news = stats.on_report_block(block, kNow);
    EXPECT_EQ(news.lost, 0u);
    EXPECT_EQ(news.received, 10u);
}

TEST(SenderStatsTest, NonsenseSaysNothing) {
    SenderStats stats;
    rtcp::ReportBlock block;
    block.highest_sequence = 1'000;
    stats.on_report_block(block, kNow);
    block.highest_sequence = 900;  // back
    block.cumulative_lost = 50;
    ReceiverNews news = stats.on_report_block(block, kNow);
    EXPECT_EQ(news.received + news.lost, 0u);
    block.highest_sequence = 910;
    block.cumulative_lost = 0x7F'FFFF;
    news = stats.on_report_block(block, kNow);
    EXPECT_EQ(news.lost, 10u);
    EXPECT_EQ(news.received, 0u);
}

}  // namespace
}  // namespace weir::rtp
