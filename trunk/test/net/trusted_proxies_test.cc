#include "net/trusted_proxies.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/http/fields.h"

namespace weir::net {
namespace {

io::SocketAddress address(const std::string& ip) {
    return io::SocketAddress::of(NetAddress::parse_ip(ip, 4711).value());
}

AddressRange range(const std::string& ip, uint8_t bits) {
    return {NetAddress::parse_ip(ip, 0)->v6(), bits};
}

// The client of a request by that peer.
std::string client(const TrustedProxies& proxies,
                   const std::string& peer,
                   const http::Fields& fields) {
    return proxies.origin_of(address(peer), false, fields).client.host();
}

TEST(TrustedProxiesTest, RangesCountBits) {
    const AddressRange net = range("10.1.0.0", 96 + 15);
    EXPECT_TRUE(net.contains(*NetAddress::parse_ip("10.1.2.3", 1)));
    EXPECT_TRUE(net.contains(*NetAddress::parse_ip("10.0.2.3", 1)));
    EXPECT_FALSE(net.contains(*NetAddress::parse_ip("10.2.0.0", 1)));
    EXPECT_FALSE(net.contains(*NetAddress::parse_ip("::10.1.2.3", 1)));
    EXPECT_TRUE(range("::1", 128).contains(*NetAddress::parse_ip("::1", 1)));
    EXPECT_FALSE(range("::1", 128).contains(*NetAddress::parse_ip("::2", 1)));
    for (const int each : {0, 16, 80, 95}) {
        const auto bits = static_cast<uint8_t>(each);
        EXPECT_FALSE(range("::", bits).contains(*NetAddress::parse_ip("192.0.2.1", 1))) << each;
        EXPECT_TRUE(range("::", bits).contains(*NetAddress::parse_ip("::1", 1)));
    }
}

TEST(TrustedProxiesTest, WithoutFieldsThePeerIsTheClient) {
    TrustedProxies proxies;
    EXPECT_EQ(client(proxies, "192.0.2.1", {}), "192.0.2.1");
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"Host", "a"}}), "127.0.0.1");
    EXPECT_FALSE(proxies.origin_of(address("127.0.0.1"), false, {}).forwarded);
}

TEST(TrustedProxiesTest, OthersAreNeverBelieved) {
    TrustedProxies proxies;
    proxies.set({range("10.0.0.0", 96 + 8)});
    const http::Fields fields{{"X-Forwarded-For", "127.0.0.1"}, {"X-Forwarded-Proto", "https"}};
    const RequestOrigin origin = proxies.origin_of(address("192.0.2.1"), false, fields);
    EXPECT_EQ(origin.client.host(), "192.0.2.1");
    EXPECT_FALSE(origin.secure);
    EXPECT_FALSE(origin.forwarded);
}

TEST(TrustedProxiesTest, TheLastThatIsNoProxyItselfIsTheClient) {
    TrustedProxies proxies;
    proxies.set({range("10.0.0.0", 96 + 8), range("2001:db8::", 32)});
    const auto by = [&](const std::string& list) {
        return client(proxies, "10.0.0.1", {{"X-Forwarded-For", list}});
    };
    EXPECT_EQ(by("192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(by("127.0.0.1, 192.0.2.1, 10.0.0.2"), "192.0.2.1") << "the first was made up";
    EXPECT_EQ(by("192.0.2.1:4711,10.0.0.2"), "192.0.2.1");
    EXPECT_EQ(by("[2001:db9::7]:4711"), "2001:db9::7");
    EXPECT_EQ(by("2001:db9::7 , 2001:db8::1"), "2001:db9::7");
    EXPECT_EQ(by("10.0.0.9, 10.0.0.8"), "10.0.0.9") << "all are proxies: a client among them";
    EXPECT_EQ(client(proxies, "10.0.0.1",
                     {{"X-Forwarded-For", "198.51.100.1"}, {"X-Forwarded-For", "192.0.2.1"}}),
              "192.0.2.1")
        << "lines of one field are one list";
}

TEST(TrustedProxiesTest, OtherFieldsCountWhereThatOneIsMissing) {
    TrustedProxies proxies;
    proxies.set({range("10.0.0.0", 96 + 8)});
    EXPECT_EQ(client(proxies, "10.0.0.1", {{"X-Real-IP", "192.0.2.1"}}), "192.0.2.1");
    EXPECT_EQ(client(proxies, "10.0.0.1",
                     {{"Forwarded", "for=198.51.100.1, proto=http;FOR=\"192.0.2.1:80\";by=x"}}),
              "192.0.2.1");
    EXPECT_EQ(client(proxies, "10.0.0.1", {{"Forwarded", "for=\"[2001:db8::1]:80\""}}),
              "2001:db8::1");
    EXPECT_EQ(
        client(proxies, "10.0.0.1", {{"X-Real-IP", "192.0.2.9"}, {"X-Forwarded-For", "192.0.2.1"}}),
        "192.0.2.1");
    EXPECT_EQ(client(proxies, "10.0.0.1", {{"Via", "1.1 cache"}}), "10.0.0.1");
}

TEST(TrustedProxiesTest, WhatIsNoAddressIsNobodyAndNeverLocal) {
    TrustedProxies proxies;
    proxies.set({range("127.0.0.0", 96 + 8), range("10.0.0.0", 96 + 8)});
    for (const std::string& list :
         {std::string("unknown"), std::string("127.0.0.1, _hidden"), std::string("127.0.0.1x"),
          std::string("1.2.3.4.5"), std::string("localhost"), std::string(300, '1')}) {
        EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-For", list}}), "0.0.0.0") << list;
    }
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"Forwarded", "for=unknown"}}), "0.0.0.0");
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"Forwarded", "proto=https"}}), "0.0.0.0");
}

TEST(TrustedProxiesTest, ListsAreBounded) {
    TrustedProxies proxies;
    proxies.set({range("10.0.0.0", 96 + 8)});
    std::string list = "192.0.2.1";
    for (size_t i = 0; i + 1 < TrustedProxies::kMaxHops; i++) {
        list += ",10.0.0.2";
    }
    EXPECT_EQ(client(proxies, "10.0.0.1", {{"X-Forwarded-For", list}}), "192.0.2.1");
    EXPECT_EQ(client(proxies, "10.0.0.1", {{"X-Forwarded-For", list + ",10.0.0.2"}}), "0.0.0.0");
    std::string endless;
    for (int i = 0; i < 5000; i++) {
        endless += "10.0.0.2,";
    }
    EXPECT_EQ(client(proxies, "10.0.0.1", {{"X-Forwarded-For", endless}}), "0.0.0.0");
}

TEST(TrustedProxiesTest, FieldsOfLargeNetworksNameAProxyToo) {
    const TrustedProxies proxies;
    for (const char* name : {"CF-Connecting-IP", "True-Client-IP", "Via", "Fastly-Client-IP"}) {
        EXPECT_TRUE(net::names_a_proxy({{name, "192.0.2.1"}})) << name;
        EXPECT_EQ(client(proxies, "127.0.0.1", {{name, "192.0.2.1"}}), "0.0.0.0") << name;
    }
    EXPECT_FALSE(net::names_a_proxy({{"Host", "a"}, {"User-Agent", "b"}}));
}

// A proxy on this machine that nobody named: its clients must not become local.
TEST(TrustedProxiesTest, ByDefaultLoopbackIsBelievedButMakesNobodyLocal) {
    const TrustedProxies proxies;
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-For", "192.0.2.1"}}), "192.0.2.1");
    EXPECT_EQ(client(proxies, "::1", {{"X-Real-IP", "192.0.2.1"}}), "192.0.2.1");
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-For", "127.0.0.1"}}), "0.0.0.0");
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-For", "::1, 127.0.0.1"}}), "0.0.0.0");
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-Proto", "https"}}), "0.0.0.0");
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"Via", "1.1 nginx"}}), "0.0.0.0");
    EXPECT_EQ(client(proxies, "192.0.2.1", {{"X-Forwarded-For", "127.0.0.1"}}), "192.0.2.1");
}

TEST(TrustedProxiesTest, WhereNobodyIsTrustedALocalProxyStillMakesNobodyLocal) {
    TrustedProxies proxies;
    proxies.set({});
    EXPECT_FALSE(proxies.trusts(address("127.0.0.1")));
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-For", "192.0.2.1"}}), "0.0.0.0");
    EXPECT_EQ(client(proxies, "127.0.0.1", {}), "127.0.0.1");
    proxies.reset();
    EXPECT_TRUE(proxies.trusts(address("127.0.0.1")));
}

TEST(TrustedProxiesTest, AnOperatorsLocalProxyMayNameALocalClient) {
    TrustedProxies proxies;
    proxies.set({range("127.0.0.0", 96 + 8)});
    EXPECT_EQ(client(proxies, "127.0.0.1", {{"X-Forwarded-For", "127.0.0.1"}}), "127.0.0.1");
}

TEST(TrustedProxiesTest, TheProxyKnowsWhetherTheClientSpokeTls) {
    TrustedProxies proxies;
    proxies.set({range("10.0.0.0", 96 + 8)});
    const auto secure = [&](bool encrypted, const http::Fields& fields) {
        return proxies.origin_of(address("10.0.0.1"), encrypted, fields).secure;
    };
    EXPECT_TRUE(secure(false, {{"X-Forwarded-Proto", "HTTPS"}}));
    EXPECT_FALSE(secure(true, {{"X-Forwarded-Proto", "http"}}));
    EXPECT_TRUE(secure(false, {{"X-Forwarded-Proto", "http, https"}})) << "the nearest proxy's";
    EXPECT_TRUE(secure(true, {{"X-Forwarded-For", "192.0.2.1"}}));
    EXPECT_FALSE(secure(false, {}));
}

}  // namespace
}  // namespace weir::net
