#include "net/limits.h"

#include <optional>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

io::SocketAddress at(std::string_view text) {
    return io::SocketAddress::parse(text).value();
}

TEST(LimitsTest, RefusesMoreConnectionsOfOneAddress) {
    Limits limits;
    limits.set_connections_per_address(2);
    auto first = limits.enter(at("203.0.113.9:1000"));
    auto second = limits.enter(at("203.0.113.9:1001"));
    ASSERT_TRUE(first.ok() && second.ok());
    const auto third = limits.enter(at("203.0.113.9:1002"));
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code(), ErrorCode::kFull);
    EXPECT_NE(third.error().message().find("max_connections_per_ip"), std::string::npos);
    EXPECT_EQ(limits.refused(Refusal::kConnectionsPerAddress), 1U);
    EXPECT_TRUE(limits.enter(at("203.0.113.10:1000")).ok());
    first->release();
    EXPECT_TRUE(limits.enter(at("203.0.113.9:1002")).ok());
}

TEST(LimitsTest, CountsMappedAddressesAsIpv4AndIpv6ByItsNetwork) {
    Limits limits;
    limits.set_connections_per_address(1);
    const auto v4 = limits.enter(at("203.0.113.9:1"));
    EXPECT_FALSE(limits.enter(at("[::ffff:203.0.113.9]:1")).ok());
    const auto v6 = limits.enter(at("[2001:db8:0:1::1]:1"));
    EXPECT_FALSE(limits.enter(at("[2001:db8:0:1:ffff::2]:1")).ok());
    EXPECT_TRUE(limits.enter(at("[2001:db8:0:2::1]:1")).ok());
}

TEST(LimitsTest, LetsLoopbackIn) {
    Limits limits;
    limits.set_connections_per_address(1);
    const auto first = limits.enter(at("127.0.0.1:1"));
    const auto second = limits.enter(at("127.0.0.1:2"));
    EXPECT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(limits.connections_of(at("127.0.0.1:3")), 2U);
}

TEST(LimitsTest, CountsAlsoWithoutALimitSoThatALaterOneHolds) {
    Limits limits;
    auto first = limits.enter(at("203.0.113.9:1"));
    const auto second = limits.enter(at("203.0.113.9:2"));
    limits.set_connections_per_address(2);
    EXPECT_FALSE(limits.enter(at("203.0.113.9:3")).ok());
    first = limits.enter(at("203.0.113.10:1"));  // gives the old place back
    EXPECT_TRUE(limits.enter(at("203.0.113.9:3")).ok());
}

TEST(LimitsTest, ForgetsWhomNobodyHolds) {
    Limits limits;
    {
        const auto one = limits.enter(at("203.0.113.9:1"));
        auto two = limits.enter(at("203.0.113.9:2"));
        const Limits::AddressPlace moved = std::move(*two);
        EXPECT_EQ(limits.addresses(), 1U);
        EXPECT_EQ(limits.connections_of(at("203.0.113.9:9")), 2U);
    }
    EXPECT_EQ(limits.addresses(), 0U);
}

TEST(LimitsTest, RefusesMorePlayersOfOneStream) {
    Limits limits;
    const stream::StreamKey key{"v", "live", "a"};
    auto first = limits.enter_player(key, 1);
    ASSERT_TRUE(first.ok());
    const auto second = limits.enter_player(key, 1);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::kFull);
    EXPECT_EQ(limits.refused(Refusal::kPlayers), 1U);
    EXPECT_TRUE(limits.enter_player({"v", "live", "b"}, 1).ok());
    EXPECT_TRUE(limits.enter_player(key, 0).ok());
    first->release();
    EXPECT_EQ(limits.players(key), 0U);
    EXPECT_TRUE(limits.enter_player(key, 1).ok());
}

}  // namespace
}  // namespace weir::net
