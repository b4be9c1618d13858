#include "proto/rtp/payload_ts.h"

#include <gtest/gtest.h>

namespace weir::rtp {
namespace {

Bytes packets(size_t count) {
    Bytes bytes(count * kTsPacketSize, 0xFF);
    for (size_t i = 0; i < count; i++) {
        bytes[i * kTsPacketSize] = 0x47;
    }
    return bytes;
}

TEST(TransportPacketsTest, AreTheWholePayload) {
    for (size_t count : {1U, 7U, 300U}) {
        const Bytes payload = packets(count);
        const auto taken = transport_packets(payload);
        ASSERT_TRUE(taken);
        EXPECT_EQ(taken->size(), payload.size());
        EXPECT_EQ(taken->data(), payload.data());
    }
}

TEST(TransportPacketsTest, EndWithTheLastWholeOne) {
    Bytes payload = packets(2);
    payload.pop_back();
    EXPECT_EQ(transport_packets(payload)->size(), kTsPacketSize);
}

TEST(TransportPacketsTest, AreNoneWithoutSyncBytes) {
    EXPECT_FALSE(transport_packets({}));
    EXPECT_FALSE(transport_packets(ByteSpan(packets(1)).first(187)));
    for (size_t broken = 0; broken < 7; broken++) {
        Bytes payload = packets(7);
        payload[broken * kTsPacketSize] = 0x48;
        EXPECT_FALSE(transport_packets(payload)) << broken;
    }
    EXPECT_FALSE(transport_packets(Bytes(204 * 2, 0x46)));
}

}  // namespace
}  // namespace weir::rtp
