#include "io/srt/srt_sizes.h"

#include <limits>

#include <gtest/gtest.h>

#include "io/srt/srt_types.h"

namespace weir::io {
namespace {

constexpr uint64_t kMost = 50'000'000;  // bits per second
constexpr uint64_t kPacketsPerSecond = kMost / 8 / kSrtPayload;

TEST(SrtSizesTest, ARoomOfADefaultPlayerIsUnderATenthOfAMegabyte) {
    EXPECT_LT(srt_connection_bytes(srt_flight_window(kMost, Millis(120)), kSrtFewPackets),
              100'000U);
}

TEST(SrtSizesTest, WindowsHoldTheLatencyAtTheLargestBitrate) {
    for (const Millis latency : {Millis(20), Millis(120), Millis(1'000)}) {
        const auto packets = kPacketsPerSecond * static_cast<uint64_t>(latency.count()) / 1000;
        EXPECT_GT(srt_receive_window(kMost, latency), packets) << latency.count();
        EXPECT_GT(srt_flight_window(kMost, latency), packets) << latency.count();
    }
    // And a round trip of 100 ms besides, for the default recommendation of latency.
    EXPECT_GT(srt_receive_window(kMost, Millis(1'000)), kPacketsPerSecond * 12 / 10);
    EXPECT_GT(srt_flight_window(kMost, Millis(1'000)), kPacketsPerSecond * 12 / 10);
}

TEST(SrtSizesTest, NoPeerAndNoNumberGetsMoreThanTheMost) {
    const uint64_t all = std::numeric_limits<uint64_t>::max();
    for (const Millis latency : {Millis(65'535), Millis(1'000'000'000)}) {
        EXPECT_EQ(srt_receive_window(all, latency), kSrtMostPackets);
        EXPECT_EQ(srt_flight_window(all, latency), kSrtMostPackets);
    }
    EXPECT_EQ(srt_send_buffer(all / 4, 0, Micros(10'000'000)), kSrtMostPackets);
    EXPECT_GE(srt_receive_window(0, Millis(0)), kSrtFewPackets);
    EXPECT_GE(srt_flight_window(0, Millis(-5)), kSrtFewPackets);
}

// libsrt gets its second block of 32 packets with the 32nd.
TEST(SrtSizesTest, AShortPathNeedsOneBlockOfTheSendBuffer) {
    EXPECT_LT(srt_send_buffer(0, 0, Micros(0)), 32U);
    EXPECT_LT(srt_send_buffer(8'000'000, 2'000'000, Micros(1'000)), 32U);
}

TEST(SrtSizesTest, ALongPathAndALargeStreamGetWhatTheyNeed) {
    const uint64_t round_trip = kPacketsPerSecond / 10;
    EXPECT_GT(srt_send_buffer(kMost, 0, Micros(100'000)), 2 * round_trip);
    EXPECT_GT(srt_send_buffer(0, kMost / 8 * 2, Micros(100'000)), 2 * round_trip)
        << "a player that begins with a GOP of two seconds";
}

}  // namespace
}  // namespace weir::io
