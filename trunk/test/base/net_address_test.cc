#include "base/net_address.h"

#include <bitset>
#include <unordered_set>

#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

namespace weir {
namespace {

const NetAddress kV4 = NetAddress::from_v4({192, 0, 2, 1}, 8000);

NetAddress v6(std::string_view ip, uint16_t port = 8000) {
    return NetAddress::parse_ip(ip, port).value_or(NetAddress());
}

TEST(NetAddressTest, TheDefaultIsNone) {
    EXPECT_TRUE(NetAddress().empty());
    EXPECT_EQ(NetAddress().to_string(), "none");
    EXPECT_FALSE(kV4.empty());
    EXPECT_FALSE(NetAddress::from_v4({0, 0, 0, 0}, 0).empty());
}

TEST(NetAddressTest, ShowsItselfAsText) {
    EXPECT_EQ(kV4.to_string(), "192.0.2.1:8000");
    EXPECT_EQ(kV4.ip_text(), "192.0.2.1");
    EXPECT_EQ(v6("2001:DB8:0:0::1").to_string(), "[2001:db8::1]:8000");
    NetAddress longest = v6("2001:1234:1234:1234:1234:1234:1234:1234", 65535);
    EXPECT_LE(longest.to_string().size(), NetAddress::kMaxText);
}

TEST(NetAddressTest, ParsesWhatItShows) {
    for (const char* text :
         {"192.0.2.1:8000", "[2001:db8::1]:8000", "0.0.0.0:0", "[fe80::1]:65535"}) {
        std::optional<NetAddress> address = NetAddress::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), text);
    }
}

TEST(NetAddressTest, RefusesTextThatIsNoAddress) {
    for (const char* text : {"", ":", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3:80", "::1:80",
                             "[::1]", "[1.2.3.4]:80", "[]:80", "localhost:80", "1.2.3.4:-1",
                             "[::1]:80 ", "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18:1"}) {
        EXPECT_FALSE(NetAddress::parse(text)) << text;
    }
    EXPECT_FALSE(NetAddress::parse_ip(std::string_view("1.2.3.4\0", 8), 1));
    EXPECT_FALSE(NetAddress::parse_ip("fe80::1%eth0", 1));
}

TEST(NetAddressTest, TakesAMappedAddressForIpv4) {
    EXPECT_EQ(v6("::ffff:192.0.2.1"), kV4);
    EXPECT_TRUE(v6("::ffff:192.0.2.1").is_v4());
    EXPECT_FALSE(v6("::1").is_v4());
}

TEST(NetAddressTest, GoesThroughSockaddrOfBothFamilies) {
    for (const NetAddress& address :
         {kV4, v6("2001:db8::1"), NetAddress::from_v6(v6("fe80::1").v6(), 1, 7)}) {
        sockaddr_storage storage{};
        ASSERT_EQ(address.to_sockaddr(storage, AF_INET6), sizeof(sockaddr_in6));
        EXPECT_EQ(NetAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)), address);
    }
    sockaddr_storage storage{};
    ASSERT_EQ(kV4.to_sockaddr(storage, AF_INET), sizeof(sockaddr_in));
    EXPECT_EQ(storage.ss_family, AF_INET);
    EXPECT_EQ(NetAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)), kV4);
    EXPECT_EQ(v6("::1").to_sockaddr(storage, AF_INET), 0U);
    EXPECT_EQ(kV4.to_sockaddr(storage, AF_UNIX), 0U);
    storage.ss_family = AF_UNIX;
    EXPECT_TRUE(NetAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)).empty());
}

TEST(NetAddressTest, KeepsAScopeForLinkLocalAddressesOnly) {
    EXPECT_EQ(NetAddress::from_v6(v6("fe80::1").v6(), 1, 7).scope(), 7);
    EXPECT_NE(NetAddress::from_v6(v6("fe80::1").v6(), 1, 7), v6("fe80::1", 1));
    EXPECT_EQ(NetAddress::from_v6(v6("2001:db8::1").v6(), 1, 7), v6("2001:db8::1", 1));
    EXPECT_EQ(NetAddress::from_v6(v6("::ffff:169.254.1.1").v6(), 1, 7).scope(), 0);
}

TEST(NetAddressTest, KnowsTheKindsOfAddresses) {
    EXPECT_TRUE(v6("0.0.0.0").is_any());
    EXPECT_TRUE(v6("::").is_any());
    EXPECT_FALSE(kV4.is_any());
    EXPECT_TRUE(v6("127.8.8.8").is_loopback());
    EXPECT_TRUE(v6("::1").is_loopback());
    EXPECT_FALSE(v6("1::1").is_loopback());
    EXPECT_TRUE(v6("169.254.0.1").is_link_local());
    EXPECT_TRUE(v6("febf::1").is_link_local());
    EXPECT_FALSE(v6("fec0::1").is_link_local());
    EXPECT_TRUE(kV4.same_ip(kV4.with_port(1)));
    EXPECT_EQ(kV4.with_port(1).port(), 1);
}

TEST(NetAddressTest, HashesNeighboursFarApart) {
    std::unordered_set<uint64_t> low_bits;
    std::unordered_set<NetAddress> set;
    for (uint16_t port = 1000; port < 3000; port++) {
        low_bits.insert(kV4.with_port(port).hash() & 0xFFFFU);
        set.insert(kV4.with_port(port));
    }
    EXPECT_EQ(set.size(), 2000U);
    // 2,000 balls in 65,536 boxes: about 30 meet.
    EXPECT_GT(low_bits.size(), 1900U);
    uint64_t difference = kV4.hash() ^ kV4.with_port(8001).hash();
    EXPECT_GT(std::bitset<64>(difference).count(), 16U);
}

}  // namespace
}  // namespace weir
