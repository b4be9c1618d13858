#include "config/cluster_config.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_warnings.h"
#include "config/settings.h"

#include "test/config/test_config.h"

namespace weir::config {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSecret = "secret 0123456789abcdef;";

std::string errors_of(std::string_view inside) {
    const ParseOutcome outcome =
        parse_config(fmt::format("cluster {{ {} }}", inside), "/nowhere/t.conf");
    return outcome.ok() ? "" : to_string(outcome.errors);
}

TEST(ClusterConfigTest, IsOffWithoutItsBlock) {
    EXPECT_FALSE(config_of("").cluster.enabled);
    EXPECT_TRUE(config_of("cluster { }").cluster.enabled);
    EXPECT_FALSE(config_of("cluster { enabled off; }").cluster.enabled);
}

TEST(ClusterConfigTest, ARegistryNeedsWhatTheNodesKnowTogether) {
    EXPECT_THAT(errors_of("registry redis://h;"), HasSubstr("expected secret"));
    EXPECT_EQ(errors_of(fmt::format("registry redis://h; {}", kSecret)), "");
}

TEST(ClusterConfigTest, WarnsOfANodeWhoseStreamsNobodyCanPlay) {
    const std::string registry = fmt::format("registry redis://h; {}", kSecret);
    EXPECT_THAT(config_warnings(config_of(fmt::format("cluster {{ {} }}", registry))),
                testing::ElementsAre(HasSubstr("registry without advertise")));
    for (const std::string& inside :
         {registry + "advertise http://10.0.0.7:8080;", registry + "enabled off;", std::string()}) {
        EXPECT_THAT(config_warnings(config_of(fmt::format("cluster {{ {} }}", inside))),
                    testing::IsEmpty())
            << inside;
    }
}

TEST(ClusterConfigTest, SaysWhatIsWrongWithARegistryAndNeverItsPassword) {
    const std::string bad = errors_of(fmt::format("registry redis://:hidden@h:x; {}", kSecret));
    EXPECT_THAT(bad, HasSubstr("a port from 1 to 65535"));
    EXPECT_THAT(bad, HasSubstr("/nowhere/t.conf:1:11"));
    EXPECT_THAT(bad, Not(HasSubstr("hidden")));
    EXPECT_THAT(errors_of(fmt::format("registry redis://:a@h; registry_password b; {}", kSecret)),
                HasSubstr("keep one"));
    EXPECT_THAT(errors_of("registry_password b;"), HasSubstr("without registry"));
}

TEST(ClusterConfigTest, SecretsAreNotShown) {
    const Config config =
        config_of("cluster { registry redis://:hidden1@h; secret hidden2-hidden2-hidden2; }");
    EXPECT_THAT(dump_config(config.settings), Not(HasSubstr("hidden")));
    EXPECT_THAT(dump_config(config_of("cluster { registry redis://h; registry_password hidden3; "
                                      "secret 0123456789abcdef; }")
                                .settings),
                Not(HasSubstr("hidden")));
}

TEST(ClusterConfigTest, ANodeHasAPlainName) {
    EXPECT_EQ(errors_of("node media-1.example_x;"), "");
    EXPECT_THAT(errors_of("node \"a b\";"), HasSubstr("expected letters, digits"));
    EXPECT_THAT(errors_of("node a/b;"), HasSubstr("expected letters, digits"));
}

TEST(ClusterConfigTest, OthersHaveToReachWhatIsAdvertised) {
    EXPECT_EQ(errors_of("advertise http://10.0.0.7:8080;"), "");
    EXPECT_EQ(errors_of("advertise https://node-1.example;"), "");
    for (const char* address : {"http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost",
                                "http://0.0.0.0:8080", "http://169.254.1.1"}) {
        EXPECT_THAT(errors_of(fmt::format("advertise {};", address)), HasSubstr("no other machine"))
            << address;
    }
    EXPECT_EQ(errors_of("advertise http://127.0.0.1:8080; allow_nodes 127.0.0.0/8;"), "");
    for (const char* address : {"ftp://h", "h:8080", "http://h/path", "http://u:p@h"}) {
        EXPECT_THAT(errors_of(fmt::format("advertise {};", address)),
                    HasSubstr("expected http://HOST[:PORT]"))
            << address;
    }
}

}  // namespace
}  // namespace weir::config
