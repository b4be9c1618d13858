#include "proto/rtcp/packet.h"

#include <vector>

#include <gtest/gtest.h>

namespace weir::rtcp {
namespace {

struct Seen {
    std::vector<int> types;
    bool ok;
};

Seen read(ByteSpan compound) {
    Seen seen{{}, false};
    CompoundReader reader(compound);
    for (PacketView packet; reader.next(packet);) {
        seen.types.push_back(static_cast<int>(packet.type));
    }
    seen.ok = reader.ok();
    return seen;
}

// An empty receiver report, then a BYE, then a PLI.
const Bytes kCompound = {0x80, 201, 0, 1, 0, 0, 0, 1,  //
                         0x81, 203, 0, 1, 0, 0, 0, 1,  //
                         0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2};

TEST(RtcpPacketTest, GivesEachPacketOfACompound) {
    const Seen seen = read(kCompound);
    EXPECT_EQ(seen.types, (std::vector{201, 203, 206}));
    EXPECT_TRUE(seen.ok);
    EXPECT_TRUE(read({}).ok);
}

TEST(RtcpPacketTest, TakesAReducedSizePacketOfAnyType) {
    EXPECT_EQ(read(ByteSpan(kCompound).subspan(16)).types, std::vector{206});
    EXPECT_EQ(read(Bytes{0x80, 222, 0, 0}).types, std::vector{222});
}

TEST(RtcpPacketTest, GivesThePacketsBeforeACut) {
    for (size_t size = 0; size <= kCompound.size(); size++) {
        const Seen seen = read(ByteSpan(kCompound).first(size));
        EXPECT_EQ(seen.types.size(), size < 8 ? 0U : size < 16 ? 1U : size < 28 ? 2U : 3U);
        EXPECT_EQ(seen.ok, size == 0 || size == 8 || size == 16 || size == 28) << size;
    }
}

TEST(RtcpPacketTest, StopsAtAnotherVersion) {
    Bytes compound = kCompound;
    compound[8] = 0x41;
    EXPECT_EQ(read(compound).types, std::vector{201});
    EXPECT_FALSE(read(compound).ok);
}

TEST(RtcpPacketTest, TakesPaddingOffTheBody) {
    Bytes packet = {0xA0, 201, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4};
    CompoundReader reader(packet);
    PacketView view;
    ASSERT_TRUE(reader.next(view));
    EXPECT_EQ(view.body.size(), 4U);
    for (uint8_t wrong : Bytes{0, 9, 255}) {
        packet.back() = wrong;
        EXPECT_FALSE(read(packet).ok);
    }
    EXPECT_FALSE(read(Bytes{0xA0, 201, 0, 0}).ok);
}

}  // namespace
}  // namespace weir::rtcp
