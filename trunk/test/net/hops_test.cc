#include "net/hops.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

NetAddress at(std::string_view ip) {
    return NetAddress::parse_ip(ip, 80).value();
}

Hops from(std::string_view ip, bool tls = false) {
    Hops hops;
    hops.begin(at(ip), tls);
    return hops;
}

TEST(HopsTest, APublicServerLeadsToPublicAddressesOnly) {
    for (const Hops& hops : {Hops(), from("203.0.113.1"), from("2001:db8::1")}) {
        EXPECT_TRUE(hops.allows(at("198.51.100.1")));
        EXPECT_TRUE(hops.allows(at("2001:db8:1::1")));
        for (const char* ip : {"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "192.168.1.1",
                               "fd00::1", "169.254.169.254", "fe80::1", "64:ff9b::7f00:1"}) {
            EXPECT_FALSE(hops.allows(at(ip))) << ip;
        }
    }
}

TEST(HopsTest, AServerOfTheSiteLeadsIntoTheSiteToo) {
    const Hops hops = from("192.168.1.2");
    EXPECT_TRUE(hops.allows(at("10.0.0.1")));
    EXPECT_TRUE(hops.allows(at("fd00::1")));
    EXPECT_TRUE(hops.allows(at("198.51.100.1")));
    EXPECT_FALSE(hops.allows(at("127.0.0.1")));
    EXPECT_FALSE(hops.allows(at("169.254.169.254")));
}

TEST(HopsTest, AServerOfThisHostLeadsToIt) {
    const Hops hops = from("127.0.0.1");
    EXPECT_TRUE(hops.allows(at("127.0.0.2")));
    EXPECT_TRUE(hops.allows(at("::1")));
    EXPECT_TRUE(hops.allows(at("10.0.0.1")));
    EXPECT_FALSE(hops.allows(at("169.254.169.254")));
}

TEST(HopsTest, AServerOfTheLinkLeadsToTheLink) {
    const Hops hops = from("169.254.1.2");
    EXPECT_TRUE(hops.allows(at("169.254.1.3")));
    EXPECT_TRUE(hops.allows(at("10.0.0.1")));
    EXPECT_FALSE(hops.allows(at("127.0.0.1")));
}

TEST(HopsTest, NothingLeadsToWhatIsNoHost) {
    for (const Hops& hops : {from("127.0.0.1"), from("10.0.0.1"), from("203.0.113.1")}) {
        for (const char* ip : {"0.0.0.0", "::", "239.1.1.1", "255.255.255.255", "ff02::1"}) {
            EXPECT_FALSE(hops.allows(at(ip))) << ip;
        }
    }
}

TEST(HopsTest, TlsIsNotGivenUp) {
    Hops plain = from("203.0.113.1");
    EXPECT_FALSE(plain.follow(false));
    EXPECT_FALSE(plain.follow(true));
    EXPECT_EQ(plain.follow(false).code(), ErrorCode::kDenied) << "nor one hop later";
    Hops tls = from("203.0.113.1", true);
    EXPECT_EQ(tls.follow(false).code(), ErrorCode::kDenied);
    EXPECT_FALSE(tls.follow(true));
}

TEST(HopsTest, AFilterIsOfItsTime) {
    Hops hops = from("127.0.0.1");
    const AddressFilter before = hops.filter();
    hops.begin(at("203.0.113.1"), false);
    EXPECT_TRUE(before(at("127.0.0.1")));
    EXPECT_FALSE(hops.filter()(at("127.0.0.1")));
}

}  // namespace
}  // namespace weir::net
