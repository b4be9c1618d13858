#include "bench/load/core/udp_drops.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

// As Linux 6.1 prints it.
constexpr std::string_view kTable =
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode ref "
    "pointer drops            \n"
    " 1234: 0100FFEF:1388 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
    "11 2 "
    "0000000000000000 12          \n"
    " 1235: 0200FFEF:1388 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
    "12 2 "
    "0000000000000000 30          \n"
    " 1236: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
    "13 2 "
    "0000000000000000 5           \n";

TEST(UdpDropsTest, AddsUpTheSocketsOfThePort) {
    EXPECT_EQ(udp_drops(kTable, 5000), 42U);
    EXPECT_EQ(udp_drops(kTable, 53), 5U);
    EXPECT_EQ(udp_drops(kTable, 54), 0U);
}

TEST(UdpDropsTest, TakesAnyText) {
    for (size_t size = 0; size < kTable.size(); size++) {
        udp_drops(kTable.substr(0, size), 5000);
    }
    EXPECT_EQ(udp_drops("", 1), 0U);
    EXPECT_EQ(udp_drops(":\n::\n : : \n", 0), 0U);
}

TEST(UdpDropsTest, AddsUpThePacketsThatNoProcessorHadRoomFor) {
    constexpr std::string_view kSoftnet =
        "00000019 00000000 00000000 00000000\n00002880 0000001f 00000000 00000000\n"
        "00002880 00000001 00000000 00000000\n";
    EXPECT_EQ(backlog_drops(kSoftnet), 32U);
    for (size_t size = 0; size < kSoftnet.size(); size++) {
        EXPECT_LE(backlog_drops(kSoftnet.substr(0, size)), 32U);
    }
}

}  // namespace
}  // namespace weir::load
