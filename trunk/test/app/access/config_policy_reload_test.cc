#include <gtest/gtest.h>

#include "app/access/config_policy.h"
#include "io/socket_address.h"

#include "test/app/access/test_config.h"

namespace weir::app {
namespace {

constexpr std::string_view kLocal = "127.0.0.1:5000";

// What a reload puts in the place of the configuration holds at once.
class ConfigPolicyReload : public testing::Test {
  protected:
    Error publish() { return policy_.may_publish({.key = key_, .peer = peer_}).take_error(); }

    Result<net::PlayRules> play() { return policy_.may_play({.key = key_, .peer = peer_}); }

    config::Config config_ = config_of("vhost a { play { queue_length 5s; } }");
    net::Limits limits_;
    AccessControl access_{limits_};
    ConfigPolicy policy_{config_, access_, limits_};
    stream::StreamKey key_ = policy_.key_of("A", "live", "x");
    io::SocketAddress peer_ = io::SocketAddress::parse(kLocal).value();
};

TEST_F(ConfigPolicyReload, AnswersFromTheConfigurationThatIsInForce) {
    EXPECT_EQ(key_.vhost, "a");
    EXPECT_EQ(play()->pump.queue_length, Seconds(5));
    config_ = config_of("vhost a { play { queue_length 6s; } security { deny publish all; } }");
    EXPECT_EQ(play()->pump.queue_length, Seconds(6));
    EXPECT_EQ(publish().code(), ErrorCode::kDenied);
    config_ = config_of("vhost a { enabled off; }");
    EXPECT_FALSE(play().ok());
    config_ = config_of("");
    EXPECT_EQ(policy_.key_of("A", "live", "x").vhost, stream::kDefaultVhost)
        << "the name of a vhost that is gone is the default one's";
}

TEST_F(ConfigPolicyReload, PumpsOfAVhostThatIsGoneKeepTheirRules) {
    config_ = config_of("play { queue_length 3s; } vhost a { play { queue_length 5s; } }");
    EXPECT_EQ(policy_.pump_options({"a", "live", "x"})->queue_length, Seconds(5));
    EXPECT_EQ(policy_.pump_options({std::string(stream::kDefaultVhost), "live", "x"})->queue_length,
              Seconds(3));
    config_ = config_of("vhost b { enabled off; }");
    EXPECT_FALSE(policy_.pump_options({"a", "live", "x"}).has_value());
    EXPECT_FALSE(policy_.pump_options({"b", "live", "x"}).has_value());
}

}  // namespace
}  // namespace weir::app
