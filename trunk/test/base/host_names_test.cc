#include "base/host_names.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using Names = std::vector<std::vector<std::string>>;

size_t chosen(const Names& sets, std::string_view host) {
    return choose_by_host(sets.size(), host,
                          [&](size_t i) -> const std::vector<std::string>& { return sets[i]; });
}

TEST(HostNamesTest, MatchesExactlyInAnyCase) {
    EXPECT_EQ(match_host("example.net", "example.net"), HostMatch::kExact);
    EXPECT_EQ(match_host("Example.NET", "eXample.net."), HostMatch::kExact);
    EXPECT_EQ(match_host("192.0.2.1", "192.0.2.1"), HostMatch::kExact);
    EXPECT_EQ(match_host("example.net", "a.example.net"), HostMatch::kNone);
    EXPECT_EQ(match_host("a.example.net", "example.net"), HostMatch::kNone);
    EXPECT_EQ(match_host("", ""), HostMatch::kNone);
    EXPECT_EQ(match_host("example.net", "."), HostMatch::kNone);
}

TEST(HostNamesTest, AWildcardIsOneWholeLabel) {
    EXPECT_EQ(match_host("*.example.net", "a.example.net"), HostMatch::kWildcard);
    EXPECT_EQ(match_host("*.example.net", "A.EXAMPLE.net."), HostMatch::kWildcard);
    EXPECT_EQ(match_host("*.example.net", "example.net"), HostMatch::kNone);
    EXPECT_EQ(match_host("*.example.net", "a.b.example.net"), HostMatch::kNone);
    EXPECT_EQ(match_host("*.example.net", ".example.net"), HostMatch::kNone);
    EXPECT_EQ(match_host("a*.example.net", "ab.example.net"), HostMatch::kNone);
    EXPECT_EQ(match_host("*", "a"), HostMatch::kNone);
    EXPECT_EQ(match_host("*.net", "example.net"), HostMatch::kNone) << "would cover too much";
}

TEST(HostNamesTest, AnExactNameGoesBeforeAWildcardAndTheFirstIsTheDefault) {
    const Names sets = {{"default.net"}, {"*.example.net"}, {"x.net", "a.example.net"}, {"x.net"}};
    EXPECT_EQ(chosen(sets, "a.example.net"), 2U);
    EXPECT_EQ(chosen(sets, "b.example.net"), 1U);
    EXPECT_EQ(chosen(sets, "x.net"), 2U) << "the first of equals";
    EXPECT_EQ(chosen(sets, "unknown.org"), 0U);
    EXPECT_EQ(chosen(sets, ""), 0U);
}

}  // namespace
}  // namespace weir
