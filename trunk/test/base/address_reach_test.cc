#include "base/address_reach.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

AddressReach of(std::string_view ip) {
    return reach_of(NetAddress::parse_ip(ip, 1).value());
}

TEST(AddressReachTest, LoopbackIsOfTheHost) {
    EXPECT_EQ(of("127.0.0.1"), AddressReach::kHost);
    EXPECT_EQ(of("127.255.255.254"), AddressReach::kHost);
    EXPECT_EQ(of("::1"), AddressReach::kHost);
    EXPECT_EQ(of("::ffff:127.0.0.1"), AddressReach::kHost);
}

TEST(AddressReachTest, LinkLocalAddressesAreOfTheLink) {
    EXPECT_EQ(of("169.254.169.254"), AddressReach::kLink);
    EXPECT_EQ(of("fe80::1"), AddressReach::kLink);
}

TEST(AddressReachTest, PrivateAddressesAreOfTheSite) {
    for (const char* ip : {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
                           "100.127.255.255", "fc00::1", "fd12::1"}) {
        EXPECT_EQ(of(ip), AddressReach::kSite) << ip;
    }
}

TEST(AddressReachTest, WhatIsNoHostHasNone) {
    for (const char* ip : {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1",
                           "255.255.255.255", "::", "ff02::1", "ff0e::1"}) {
        EXPECT_EQ(of(ip), AddressReach::kNone) << ip;
    }
}

TEST(AddressReachTest, OthersArePublic) {
    for (const char* ip : {"203.0.113.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "100.63.0.1",
                           "100.128.0.1", "11.0.0.1", "223.255.255.255", "2001:db8::1"}) {
        EXPECT_EQ(of(ip), AddressReach::kPublic) << ip;
    }
}

TEST(AddressReachTest, ATranslatedAddressHasThatOfTheIpv4AddressInIt) {
    EXPECT_EQ(of("64:ff9b::7f00:1"), AddressReach::kHost);
    EXPECT_EQ(of("64:ff9b::a00:1"), AddressReach::kSite);
    EXPECT_EQ(of("64:ff9b::a9fe:a9fe"), AddressReach::kLink);
    EXPECT_EQ(of("64:ff9b::cb00:7101"), AddressReach::kPublic);
    EXPECT_EQ(of("64:ff9c::7f00:1"), AddressReach::kPublic);
}

}  // namespace
}  // namespace weir
