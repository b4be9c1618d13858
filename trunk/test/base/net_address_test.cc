#include "base/net_address.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>

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

TEST(NetAddressTest, DropsAnInterfaceThatDoesNotFit) {
    for (const auto& [index, scope] : {std::pair(65'535U, 65'535U), std::pair(65'536U, 0U)}) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(1935);
        in.sin6_scope_id = index;
        in.sin6_addr.s6_addr[0] = 0xFE;
        in.sin6_addr.s6_addr[1] = 0x80;
        in.sin6_addr.s6_addr[15] = 1;
        const NetAddress address = NetAddress::from_sockaddr(reinterpret_cast<sockaddr&>(in));
        EXPECT_EQ(address.scope(), scope);
        EXPECT_EQ(address.to_string(), "[fe80::1]:1935");
    }
}

TEST(NetAddressTest, AMappedAddressAndItsIpv4AreOnePeer) {
    sockaddr_storage storage{};
    ASSERT_EQ(kV4.to_sockaddr(storage, AF_INET6), sizeof(sockaddr_in6));
    EXPECT_EQ(storage.ss_family, AF_INET6);
    const NetAddress dual = NetAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage));
    EXPECT_EQ(dual, kV4);
    EXPECT_EQ(dual.hash(), kV4.hash());
    EXPECT_EQ(dual.to_string(), "192.0.2.1:8000");
    EXPECT_EQ(dual.v4(), (NetAddress::V4{192, 0, 2, 1}));
    // "Compatible" addresses, which nobody uses, are IPv6.
    EXPECT_FALSE(v6("::192.0.2.1").is_v4());
}

TEST(NetAddressTest, NeighboursOfSpecialNetworksAreOrdinary) {
    for (const char* ip : {"126.255.255.255", "128.0.0.1", "::2", "::1:0:0:1"}) {
        EXPECT_FALSE(v6(ip).is_loopback()) << ip;
    }
    EXPECT_TRUE(v6("::ffff:127.0.0.1").is_loopback());
    for (const char* ip : {"169.253.255.255", "169.255.0.0", "fe7f::1", "ff80::1"}) {
        EXPECT_FALSE(v6(ip).is_link_local()) << ip;
    }
    EXPECT_TRUE(v6("fe80::").is_link_local());
    EXPECT_FALSE(v6("0.0.0.1").is_any());
    EXPECT_FALSE(v6("1::").is_any());
    const NetAddress first = NetAddress::from_v6(v6("fe80::1").v6(), 1, 1);
    EXPECT_FALSE(first.same_ip(NetAddress::from_v6(v6("fe80::1").v6(), 1, 2)))
        << "another link has other peers";
}

TEST(NetAddressTest, EveryPartOfAnAddressCountsForItsHash) {
    std::unordered_set<uint64_t> hashes;
    const NetAddress base = NetAddress::from_v6(v6("fe80::1").v6(), 1000, 5);
    hashes.insert(base.hash());
    for (size_t byte = 2; byte < 16; byte++) {
        NetAddress::V6 ip = base.v6();
        ip[byte] ^= 0x40;
        hashes.insert(NetAddress::from_v6(ip, 1000, 5).hash());
    }
    hashes.insert(base.with_port(1001).hash());
    hashes.insert(NetAddress::from_v6(base.v6(), 1000, 6).hash());
    EXPECT_EQ(hashes.size(), 17U);
}

}  // namespace
}  // namespace weir
