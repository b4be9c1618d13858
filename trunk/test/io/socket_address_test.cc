#include <ostream>
#include <string>

#include <arpa/inet.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "io/tcp.h"

namespace weir::io {
namespace {

struct Case {
    const char* text;
    const char* shown;
    int family;
};

// gtest would print its bytes, and with them those between the members that nothing has set:
// valgrind reports each.
void PrintTo(const Case& value, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << value.text;
}

class SocketAddressParseTest : public testing::TestWithParam<Case> {};

TEST_P(SocketAddressParseTest, ReadsAndShows) {
    auto address = SocketAddress::parse(GetParam().text);
    ASSERT_TRUE(address.ok()) << address.error().to_string();
    EXPECT_EQ(address->to_string(), GetParam().shown);
    EXPECT_EQ(address->family(), GetParam().family);
    auto again = SocketAddress::parse(address->to_string());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->to_string(), GetParam().shown);
}

INSTANTIATE_TEST_SUITE_P(Forms,
                         SocketAddressParseTest,
                         testing::Values(Case{"1935", "[::]:1935", AF_INET6},
                                         Case{":1935", "[::]:1935", AF_INET6},
                                         Case{"127.0.0.1:1935", "127.0.0.1:1935", AF_INET},
                                         Case{"0.0.0.0:0", "0.0.0.0:0", AF_INET},
                                         Case{"localhost:80", "127.0.0.1:80", AF_INET},
                                         Case{"[::]:65535", "[::]:65535", AF_INET6},
                                         Case{"[2001:db8::1]:1935", "[2001:db8::1]:1935", AF_INET6},
                                         Case{"[::1]:1", "[::1]:1", AF_INET6}));

class SocketAddressRefusalTest : public testing::TestWithParam<const char*> {};

TEST_P(SocketAddressRefusalTest, IsMalformed) {
    auto address = SocketAddress::parse(GetParam());
    ASSERT_FALSE(address.ok()) << address->to_string();
    EXPECT_EQ(address.error().code(), ErrorCode::kMalformed);
    EXPECT_NE(address.error().message().find("expected PORT, IPV4:PORT or [IPV6]:PORT"),
              std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Forms,
                         SocketAddressRefusalTest,
                         testing::Values("",
                                         ":",
                                         "65536",
                                         "-1",
                                         "+80",
                                         " 80",
                                         "80 ",
                                         "1.2.3.4",
                                         "1.2.3.4:",
                                         "1.2.3:80",
                                         "256.1.1.1:80",
                                         "example.org:80",
                                         "::1:80",
                                         "2001:db8::1",
                                         "[]:80",
                                         "[::1:80",
                                         "[1.2.3.4]:80",
                                         "[::1]",
                                         "[::1]80",
                                         "99999999999999999999"));

TEST(SocketAddressTest, TakesLittleRoom) {
    EXPECT_LE(sizeof(SocketAddress), 28U);
}

TEST(SocketAddressTest, SaysThatBareIpv6NeedsBrackets) {
    EXPECT_NE(SocketAddress::parse("fe80::1:1935").error().message().find("needs brackets"),
              std::string::npos);
}

TEST(SocketAddressTest, ShowsAnIpv4PeerOfADualStackSocketAsIpv4) {
    auto address = SocketAddress::parse("[::ffff:192.0.2.7]:5000");
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(address->host(), "192.0.2.7");
    EXPECT_EQ(address->to_string(), "192.0.2.7:5000");
}

TEST(SocketAddressTest, KnowsLoopback) {
    for (const char* text : {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
        EXPECT_TRUE(SocketAddress::parse(text)->is_loopback()) << text;
    }
    for (const char* text :
         {"128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::2]:1", "[::ffff:10.0.0.1]:1"}) {
        EXPECT_FALSE(SocketAddress::parse(text)->is_loopback()) << text;
    }
    EXPECT_FALSE(SocketAddress().is_loopback());
}

TEST(SocketAddressTest, KnowsTheWildcard) {
    EXPECT_TRUE(SocketAddress::parse("80")->is_any());
    EXPECT_TRUE(SocketAddress::parse("0.0.0.0:80")->is_any());
    EXPECT_FALSE(SocketAddress::parse("127.0.0.1:80")->is_any());
    EXPECT_FALSE(SocketAddress().is_any());
}

TEST(SocketAddressTest, TakesOverARawAddress) {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(1234);
    raw.sin_addr.s_addr = htonl(0xc0000201);
    SocketAddress address = SocketAddress::from_raw(reinterpret_cast<sockaddr*>(&raw), sizeof raw);
    EXPECT_EQ(address.to_string(), "192.0.2.1:1234");
    EXPECT_EQ(address.raw_size(), sizeof raw);
    EXPECT_EQ(address.raw()->sa_family, AF_INET);
}

TEST(SocketAddressTest, OtherFamiliesAndShortOnesStayEmpty) {
    sockaddr_un unix_address{};
    unix_address.sun_family = AF_UNIX;
    EXPECT_EQ(
        SocketAddress::from_raw(reinterpret_cast<sockaddr*>(&unix_address), sizeof unix_address)
            .raw_size(),
        0U);
    sockaddr_in short_address{};
    short_address.sin_family = AF_INET;
    EXPECT_EQ(SocketAddress::from_raw(reinterpret_cast<sockaddr*>(&short_address), 4).raw_size(),
              0U);
    EXPECT_EQ(SocketAddress().port(), 0);
    EXPECT_EQ(SocketAddress().host(), "");
}

}  // namespace
}  // namespace weir::io
