#include "net/limits.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/socket_address.h"

namespace weir::net {
namespace {

io::SocketAddress at(std::string_view text) {
    return io::SocketAddress::parse(text).value();
}

constexpr ShareRule unproven(size_t limit) {
    return {.of_one = limit, .spared = AddressReach::kNone};
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

TEST(LimitsTest, AStreamIsToldFromAnotherByEachPartOfItsKey) {
    Limits limits;
    const auto place = limits.enter_player({"v", "live", "a"}, 1);
    EXPECT_FALSE(limits.enter_player({"v", "live", "a"}, 1).ok());
    // The same letters, cut at other places.
    EXPECT_TRUE(limits.enter_player({"vl", "ive", "a"}, 1).ok());
    EXPECT_TRUE(limits.enter_player({"v", "livea", ""}, 1).ok());
    EXPECT_TRUE(limits.enter_player({"w", "live", "a"}, 1).ok());
    EXPECT_EQ(limits.players({"v", "live", "a"}), 1U);
}

TEST(LimitsTest, RefusesMoreUnprovenOffersOfOneAddressAlsoOfLoopback) {
    Limits limits;
    auto first = limits.enter(Share::kOffers, at("127.0.0.1:1"), unproven(2));
    const auto second = limits.enter(Share::kOffers, at("127.0.0.1:2"), unproven(2));
    ASSERT_TRUE(first.ok() && second.ok());
    const auto third = limits.enter(Share::kOffers, at("127.0.0.1:3"), unproven(2));
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code(), ErrorCode::kFull);
    EXPECT_NE(third.error().message().find("max_unproven_per_ip"), std::string::npos);
    EXPECT_EQ(limits.refused(Refusal::kUnproven), 1U);
    EXPECT_TRUE(limits.enter(Share::kOffers, at("127.0.0.1:3"), unproven(0)).ok()) << "no limit";
    EXPECT_TRUE(limits.enter(Share::kOffers, at("203.0.113.9:1"), unproven(2)).ok());
    first->release();
    EXPECT_TRUE(limits.enter(Share::kOffers, at("127.0.0.1:3"), unproven(2)).ok());
}

TEST(LimitsTest, OffersAndCallsOfAnAddressAreCountedApart) {
    Limits limits;
    const auto offer = limits.enter(Share::kOffers, at("203.0.113.9:1"), unproven(1));
    const auto call = limits.enter(Share::kCalls, at("203.0.113.9:1"), unproven(1));
    EXPECT_TRUE(call.ok());
    const auto more = limits.enter(Share::kCalls, at("203.0.113.9:2"), unproven(1));
    ASSERT_FALSE(more.ok());
    EXPECT_NE(more.error().message().find("calls from 203.0.113.9"), std::string::npos);
}

TEST(LimitsTest, OneAddressHasAShareOfAFixedTable) {
    constexpr ShareRule kTwoOfFour{.of_one = 2, .places = 4};
    constexpr ShareRule kOneOfTwo{.of_one = 1, .places = 2};
    Limits limits;
    auto first = limits.enter(Share::kRtspTunnels, at("203.0.113.9:1"), kTwoOfFour);
    const auto second = limits.enter(Share::kRtspTunnels, at("203.0.113.9:2"), kTwoOfFour);
    ASSERT_TRUE(first.ok() && second.ok());
    const auto third = limits.enter(Share::kRtspTunnels, at("203.0.113.9:3"), kTwoOfFour);
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code(), ErrorCode::kFull);
    EXPECT_EQ(limits.refused(Refusal::kRtspTunnels), 1U);
    const auto page = limits.enter(Share::kPhonePages, at("203.0.113.9:1"), kOneOfTwo);
    EXPECT_TRUE(page.ok()) << "another table";
    EXPECT_FALSE(limits.enter(Share::kPhonePages, at("203.0.113.9:1"), kOneOfTwo).ok());
    EXPECT_EQ(limits.refused(Refusal::kPhonePages), 1U);
    EXPECT_TRUE(limits.enter(Share::kRtspTunnels, at("203.0.113.8:1"), kTwoOfFour).ok());
    EXPECT_TRUE(limits.enter(Share::kRtspTunnels, at("127.0.0.1:1"), kOneOfTwo).ok())
        << "a proxy of this machine";
    first->release();
    EXPECT_TRUE(limits.enter(Share::kRtspTunnels, at("203.0.113.9:3"), kTwoOfFour).ok());
}

// An office behind one router.
TEST(LimitsTest, OneAddressHasMoreThanItsShareWhileMostOfTheTableIsFree) {
    Limits limits;
    constexpr ShareRule kShares{.of_one = 1, .places = 10};
    std::vector<AddressPlace> office;
    for (int i = 0; i < 5; i++) {
        auto place = limits.enter(Share::kPhonePages, at("203.0.113.9:1"), kShares);
        ASSERT_TRUE(place.ok()) << i;
        office.push_back(std::move(*place));
    }
    EXPECT_FALSE(limits.enter(Share::kPhonePages, at("203.0.113.9:1"), kShares).ok());
    EXPECT_TRUE(limits.enter(Share::kPhonePages, at("203.0.113.8:1"), kShares).ok());
}

// max_connections is for all of them.
TEST(LimitsTest, OnePublicAddressDoesNotTakeAllConnections) {
    Limits limits;
    limits.set_connections_per_address(0, 100);
    std::vector<AddressPlace> held;
    const auto fill = [&](std::string_view ip) {
        for (auto place = limits.enter(at(ip)); place.ok() && held.size() < 100;
             place = limits.enter(at(ip))) {
            held.push_back(std::move(*place));
        }
        return held.size();
    };
    EXPECT_EQ(fill("203.0.113.9:1"), 50U) << "half of all";
    const auto refused = limits.enter(at("203.0.113.9:1"));
    EXPECT_NE(refused.error().message().find("max_connections_per_ip"), std::string::npos);
    EXPECT_EQ(fill("[2001:db8::1]:1"), 100U) << "the other half is for others";
    EXPECT_FALSE(limits.enter(at("[2001:db8::2]:1")).ok()) << "the same /64";
    EXPECT_TRUE(limits.enter(at("203.0.113.7:1")).ok());
    held.resize(40);
    EXPECT_TRUE(limits.enter(at("203.0.113.9:1")).ok());
    held.clear();
    EXPECT_EQ(fill("192.168.1.1:1"), 100U) << "a proxy of the site";
}

TEST(LimitsTest, ALimitOfTheOperatorReplacesTheShareOfConnections) {
    Limits limits;
    limits.set_connections_per_address(90, 100);
    std::vector<AddressPlace> held;
    for (auto place = limits.enter(at("203.0.113.9:1")); place.ok();
         place = limits.enter(at("203.0.113.9:1"))) {
        held.push_back(std::move(*place));
    }
    EXPECT_EQ(held.size(), 90U);
}

TEST(LimitsTest, OffersAndConnectionsOfAnAddressAreCountedApart) {
    Limits limits;
    limits.set_connections_per_address(1);
    const auto offer = limits.enter(Share::kOffers, at("203.0.113.9:1"), unproven(1));
    EXPECT_EQ(limits.connections_of(at("203.0.113.9:1")), 0U);
    const auto connection = limits.enter(at("203.0.113.9:1"));
    EXPECT_TRUE(connection.ok());
    EXPECT_EQ(limits.refused(Refusal::kConnectionsPerAddress), 0U);
}

TEST(LimitsTest, ALowerLimitThrowsNobodyOutAndHoldsForThoseWhoCome) {
    Limits limits;
    std::vector<Limits::AddressPlace> inside;
    for (int i = 0; i < 3; i++) {
        inside.push_back(std::move(limits.enter(at("203.0.113.9:1")).value()));
    }
    limits.set_connections_per_address(1);
    EXPECT_EQ(limits.connections_of(at("203.0.113.9:1")), 3U);
    inside.resize(1);
    EXPECT_FALSE(limits.enter(at("203.0.113.9:1")).ok());
    inside.clear();
    EXPECT_TRUE(limits.enter(at("203.0.113.9:1")).ok());
}

TEST(LimitsTest, APlaceThatIsGivenBackTwiceOrMovedIsGivenBackOnce) {
    Limits limits;
    const io::SocketAddress peer = at("203.0.113.9:1");
    const auto stays = limits.enter(peer);
    auto other = limits.enter(peer);
    Limits::AddressPlace place = std::move(*other);
    place.release();
    place.release();
    other->release();
    EXPECT_EQ(limits.connections_of(peer), 1U);
    Limits::AddressPlace nothing;
    nothing.release();
    place = std::move(nothing);
    EXPECT_EQ(limits.connections_of(peer), 1U);
}

// A place points into its table, which grows and shrinks around it.
TEST(LimitsTest, APlaceHoldsWhileManyOthersComeAndGo) {
    Limits limits;
    auto first = limits.enter(at("203.0.113.9:1"));
    std::vector<Limits::AddressPlace> others;
    for (int i = 0; i < 2'000; i++) {
        const std::string host = fmt::format("10.{}.{}.{}:1", i % 7, i / 250, i % 250);
        others.push_back(std::move(limits.enter(at(host)).value()));
    }
    EXPECT_GT(limits.addresses(), 1'000U);
    others.clear();
    EXPECT_EQ(limits.addresses(), 1U);
    EXPECT_EQ(limits.connections_of(at("203.0.113.9:1")), 1U);
    first->release();
    EXPECT_EQ(limits.addresses(), 0U);
}

TEST(LimitsTest, WhoOnlyAsksWhatWouldHappenIsNotCountedAsRefused) {
    Limits limits;
    {
        const Limits::Uncounted outer(limits);
        {
            const Limits::Uncounted inner(limits);
            limits.count(Refusal::kKeyWrong);
        }
        limits.count(Refusal::kKeyWrong);
    }
    EXPECT_EQ(limits.refused(Refusal::kKeyWrong), 0U);
    limits.count(Refusal::kKeyWrong);
    EXPECT_EQ(limits.refused(Refusal::kKeyWrong), 1U);
    EXPECT_EQ(limits.refused(Refusal::kKeyMissing), 0U);
}

// Labels of /metrics: two that are the same would make it one that Prometheus refuses.
TEST(LimitsTest, EveryRefusalHasALabelOfItsOwn) {
    std::set<std::string_view> labels;
    for (size_t i = 0; i < kRefusals; i++) {
        labels.insert(to_string(static_cast<Refusal>(i)));
    }
    EXPECT_EQ(labels.size(), kRefusals);
    EXPECT_FALSE(labels.contains("unknown"));
}

}  // namespace
}  // namespace weir::net
