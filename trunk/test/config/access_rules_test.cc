#include "config/access_rules.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

AccessRule rule(bool allow, Action action, std::string_view network) {
    return {allow, action, network == "all" ? std::nullopt : IpNetwork::parse(network)};
}

std::string round_trip(std::string_view address) {
    std::optional<IpAddress> parsed = IpAddress::parse(address);
    return parsed ? parsed->to_string() : "none";
}

bool in(std::string_view network, std::string_view address) {
    return IpNetwork::parse(network).value().contains(IpAddress::parse(address).value());
}

TEST(IpAddressTest, ReadsAndWritesBothFamilies) {
    EXPECT_EQ(round_trip("192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(round_trip("2001:DB8:0:0::1"), "2001:db8::1");
    EXPECT_EQ(round_trip("[2001:db8::1]"), "2001:db8::1");
    EXPECT_EQ(round_trip("::"), "::");
    EXPECT_EQ(round_trip("fe80::1%eth0"), "fe80::1");
}

TEST(IpAddressTest, TakesAMappedAddressAsIpv4) {
    EXPECT_EQ(IpAddress::parse("::ffff:192.0.2.1"), IpAddress::parse("192.0.2.1"));
    EXPECT_EQ(round_trip("::ffff:192.0.2.1"), "192.0.2.1");
    EXPECT_TRUE(IpAddress::parse("::ffff:192.0.2.1")->is_ipv4());
    EXPECT_FALSE(IpAddress::parse("2001:db8::1")->is_ipv4());
}

TEST(IpAddressTest, RefusesWhatIsNoAddress) {
    for (std::string_view bad :
         {"", "localhost", "192.0.2", "192.0.2.256", "192.0.2.1.1", "192.0.2.1:1935", " 192.0.2.1",
          ":::", "2001:db8::g", "[", "[]", "1.2.3.4/8", "::1::"}) {
        EXPECT_FALSE(IpAddress::parse(bad)) << bad;
    }
    EXPECT_FALSE(IpAddress::parse(std::string(5000, '1')));
    EXPECT_FALSE(IpAddress::parse(std::string_view("192.0.2.1\0x", 11)));
}

TEST(IpAddressTest, KnowsLoopbackOfBothFamilies) {
    for (std::string_view loopback : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"}) {
        EXPECT_TRUE(IpAddress::parse(loopback)->is_loopback()) << loopback;
    }
    for (std::string_view other : {"128.0.0.1", "::", "::2", "1::1", "0.0.0.0"}) {
        EXPECT_FALSE(IpAddress::parse(other)->is_loopback()) << other;
    }
}

TEST(IpNetworkTest, ContainsWhatSharesItsBits) {
    EXPECT_TRUE(in("10.0.0.0/8", "10.255.1.2"));
    EXPECT_FALSE(in("10.0.0.0/8", "11.0.0.0"));
    EXPECT_TRUE(in("192.168.4.0/22", "192.168.7.255"));
    EXPECT_FALSE(in("192.168.4.0/22", "192.168.8.0"));
    EXPECT_TRUE(in("2001:db8::/33", "2001:db8:7fff::1"));
    EXPECT_FALSE(in("2001:db8::/33", "2001:db8:8000::1"));
    EXPECT_TRUE(in("192.0.2.1", "::ffff:192.0.2.1"));
    EXPECT_FALSE(in("192.0.2.1", "192.0.2.2"));
    EXPECT_TRUE(in("192.0.2.1/32", "192.0.2.1"));
}

TEST(IpNetworkTest, ZeroBitsOfIpv4MeanAllOfIpv4AndNoMore) {
    EXPECT_TRUE(in("0.0.0.0/0", "203.0.113.9"));
    EXPECT_FALSE(in("0.0.0.0/0", "2001:db8::1"));
    EXPECT_TRUE(in("::/0", "2001:db8::1"));
}

// Mapped, every address of IPv4 begins with the zeros of ::/80.
TEST(IpNetworkTest, ANetworkOfIpv6HasNoAddressOfIpv4) {
    for (std::string_view network : {"::/0", "::/16", "::/80", "::/95"}) {
        EXPECT_FALSE(in(network, "10.9.9.1")) << network;
        EXPECT_FALSE(in(network, "::ffff:10.9.9.1")) << network;
        EXPECT_TRUE(in(network, "::1")) << network;
    }
    EXPECT_TRUE(in("::ffff:0:0/96", "10.9.9.1")) << "the mapped form of 0.0.0.0/0";
}

TEST(IpNetworkTest, ClearsHostBitsAndWritesItselfAsOneWould) {
    EXPECT_EQ(IpNetwork::parse("10.1.2.3/8")->to_string(), "10.0.0.0/8");
    EXPECT_EQ(IpNetwork::parse("2001:db8:ffff::1/32")->to_string(), "2001:db8::/32");
    EXPECT_EQ(IpNetwork::parse("10.1.2.3")->to_string(), "10.1.2.3");
    EXPECT_EQ(IpNetwork::parse("10.1.2.3/32")->to_string(), "10.1.2.3");
    EXPECT_EQ(IpNetwork::parse("::ffff:10.0.0.0/104")->to_string(), "10.0.0.0/8");
    EXPECT_EQ(IpNetwork::parse("0.0.0.0/0")->to_string(), "0.0.0.0/0");
    EXPECT_EQ(IpNetwork::parse("::/0")->to_string(), "::/0");
}

TEST(IpNetworkTest, RefusesBrokenPrefixes) {
    for (std::string_view bad :
         {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "/8", "all"}) {
        EXPECT_FALSE(IpNetwork::parse(bad)) << bad;
    }
}

TEST(AccessRulesTest, PublishesFromLoopbackOnlyAndPlaysFromEverywhereByDefault) {
    AccessRules rules;
    EXPECT_TRUE(rules.allows(Action::kPublish, "127.0.0.1"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "::1"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "::ffff:127.0.0.1"));
    EXPECT_FALSE(rules.allows(Action::kPublish, "203.0.113.9"));
    EXPECT_FALSE(rules.allows(Action::kPublish, "2001:db8::1"));
    EXPECT_TRUE(rules.allows(Action::kPlay, "203.0.113.9"));
    EXPECT_TRUE(rules.allows(Action::kPlay, "2001:db8::1"));
}

TEST(AccessRulesTest, OneLineLetsARemotePublisherInAndNobodyElse) {
    AccessRules rules;
    rules.add(rule(true, Action::kPublish, "203.0.113.9"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "203.0.113.9"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "::ffff:203.0.113.9"));
    EXPECT_FALSE(rules.allows(Action::kPublish, "203.0.113.10"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "127.0.0.1"));
}

TEST(AccessRulesTest, TheFirstMatchWins) {
    AccessRules rules;
    rules.add(rule(true, Action::kPlay, "10.1.0.0/16"));
    rules.add(rule(false, Action::kPlay, "10.0.0.0/8"));
    rules.add(rule(true, Action::kPlay, "10.2.0.0/16"));
    EXPECT_TRUE(rules.allows(Action::kPlay, "10.1.0.1"));
    EXPECT_FALSE(rules.allows(Action::kPlay, "10.2.0.1")) << "a later rule does not count";
    EXPECT_TRUE(rules.allows(Action::kPlay, "11.0.0.1"));
}

TEST(AccessRulesTest, RulesOfOneActionDoNotTouchTheOther) {
    AccessRules rules;
    rules.add(rule(false, Action::kPlay, "all"));
    EXPECT_FALSE(rules.allows(Action::kPlay, "127.0.0.1"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "127.0.0.1"));
    rules.add(rule(true, Action::kPublish, "all"));
    EXPECT_TRUE(rules.allows(Action::kPublish, "2001:db8::1"));
}

TEST(AccessRulesTest, RefusesAPeerWhoseAddressIsNoAddress) {
    AccessRules rules;
    rules.add(rule(true, Action::kPublish, "all"));
    EXPECT_FALSE(rules.allows(Action::kPublish, "somewhere"));
    EXPECT_FALSE(rules.allows(Action::kPlay, ""));
}

TEST(RefusalTextTest, NamesTheLineToAdd) {
    EXPECT_EQ(
        refusal_text(Action::kPublish, "::ffff:203.0.113.9", "vhost __defaultVhost__", nullptr),
        "publishing from 203.0.113.9 is not allowed; add \"security { allow publish "
        "203.0.113.9; }\" to vhost "
        "__defaultVhost__");
    EXPECT_EQ(refusal_text(Action::kPlay, "2001:db8::1", "vhost a.b", nullptr),
              "playing from 2001:db8::1 is not allowed; add \"security { allow play 2001:db8::1; "
              "}\" to vhost a.b");
}

TEST(RefusalTextTest, NamesTheRuleThatDecided) {
    AccessRules rules;
    rules.add(rule(false, Action::kPublish, "10.0.0.0/8"));
    rules.add(rule(false, Action::kPublish, "all"));
    rules.add(rule(true, Action::kPublish, "127.0.0.1"));
    const auto text = [&rules](std::string_view peer) {
        return refusal_text(Action::kPublish, peer, "vhost a.b",
                            rules.verdict(Action::kPublish, *IpAddress::parse(peer)).rule);
    };
    EXPECT_EQ(text("127.0.0.1"),
              "publishing from 127.0.0.1 is not allowed: of the rules of vhost a.b, \"deny publish "
              "all;\" is the first one that fits; put \"allow publish 127.0.0.1;\" before it")
        << "not the line that is there already";
    EXPECT_NE(text("10.1.2.3").find("\"deny publish 10.0.0.0/8;\" is the first"),
              std::string::npos);
    EXPECT_EQ(rules.verdict(Action::kPlay, *IpAddress::parse("10.1.2.3")).rule, nullptr);
}

}  // namespace
}  // namespace weir::config
