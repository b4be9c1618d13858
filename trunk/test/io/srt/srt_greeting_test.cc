#include "io/srt/srt_greeting.h"

#include <gtest/gtest.h>

namespace weir::io {
namespace {

// A conclusion as libsrt 1.5.1 writes one: handshake of version 5 for socket 0, MSS 1500, window
// 8192, and behind it HSREQ with latencies of 300 ms (receiver) and 120 ms (sender).
const Bytes kHeader = {0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
const Bytes kBody = {0, 0,    0,    5, 0, 0,    0,   1,    0x12, 0x34, 0x56, 0x78, 0,
                     0, 0x05, 0xDC, 0, 0, 0x20, 0,   0xFF, 0xFF, 0xFF, 0xFF, 0,    0,
                     0, 7,    0,    0, 0, 9,    127, 0,    0,    1,    0,    0,    0,
                     0, 0,    0,    0, 0, 0,    0,   0,    0,    0,    1,    0,    3,
                     0, 1,    5,    1, 0, 0,    0,   0xBF, 0x01, 0x2C, 0,    0x78};

TEST(SrtGreetingTest, ReadsTheWindowAndTheLongerLatency) {
    const auto greeting = SrtGreeting::parse(kHeader, kBody);
    ASSERT_TRUE(greeting.has_value());
    EXPECT_TRUE(greeting->to_listener);
    EXPECT_TRUE(greeting->conclusion);
    EXPECT_EQ(greeting->window, 8192U);
    EXPECT_EQ(greeting->latency, Millis(300));
}

TEST(SrtGreetingTest, WritesTheWindowAndNothingElse) {
    Bytes body = kBody;
    set_srt_window(body, 258);
    EXPECT_EQ(SrtGreeting::parse(kHeader, body)->window, 258U);
    set_srt_window(body, 8192);
    EXPECT_EQ(body, kBody);
}

TEST(SrtGreetingTest, PassesOtherPackets) {
    Bytes data = kHeader;
    data[0] = 0;
    EXPECT_FALSE(SrtGreeting::parse(data, kBody).has_value());
    Bytes acknowledgement = kHeader;
    acknowledgement[1] = 2;
    EXPECT_FALSE(SrtGreeting::parse(acknowledgement, kBody).has_value());
    Bytes answer = kHeader;
    answer[15] = 1;
    EXPECT_FALSE(SrtGreeting::parse(answer, kBody)->to_listener);
}

TEST(SrtGreetingTest, EveryLengthIsSafe) {
    for (size_t size = 0; size < kBody.size(); size++) {
        const auto greeting = SrtGreeting::parse(kHeader, ByteSpan(kBody).first(size));
        EXPECT_EQ(greeting.has_value(), size >= 48) << size;
        if (greeting) {
            EXPECT_EQ(greeting->latency, Millis(0)) << size;
        }
    }
    EXPECT_FALSE(SrtGreeting::parse(ByteSpan(kHeader).first(15), kBody).has_value());
}

TEST(SrtGreetingTest, AnExtensionLongerThanThePacketEndsTheSearch) {
    Bytes body = kBody;
    body[50] = 0xFF;
    EXPECT_EQ(SrtGreeting::parse(kHeader, body)->latency, Millis(0));
}

}  // namespace
}  // namespace weir::io
