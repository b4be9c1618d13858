#include "app/cluster/configured_origins.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/deadline.h"

#include "test/support/io/loopback.h"

namespace weir::app {
namespace {

class FakeRegistry final : public net::Origins {
  public:
    Result<net::Origin> find(const stream::StreamKey&, io::Deadline) override {
        if (url.empty()) {
            return make_error(ErrorCode::kNotFound, "nobody");
        }
        return net::Origin{
            .url = net::SourceUrl::parse(url).value(), .socket = {}, .node = "r", .epoch = 3};
    }

    void note_failure(const stream::StreamKey&, const net::Origin& origin) override {
        failed.push_back(origin.node);
    }

    std::string url;
    std::vector<std::string> failed;
};

class ConfiguredOriginsTest : public testing::Test {
  protected:
    void configure(std::string_view text) {
        config::ParseOutcome outcome = config::parse_config(text, "weir.conf");
        ASSERT_TRUE(outcome.config);
        config_ = std::move(*outcome.config);
    }

    std::string find() {
        const Result<net::Origin> found = origins_.find(key_, io::soon());
        last_ = found.ok() ? *found : net::Origin();
        return found.ok() ? found->url.host : "";
    }

    void fail() { origins_.note_failure(key_, last_); }

    config::Config config_;
    ConfiguredOrigins origins_{config_};
    stream::StreamKey key_{std::string(stream::kDefaultVhost), "live", "cam"};
    net::Origin last_;
};

TEST_F(ConfiguredOriginsTest, ServersAreTriedInTurnAndTheOneThatWorksStays) {
    configure("origin http://a; origin http://b;");
    EXPECT_TRUE(origins_.has(key_));
    EXPECT_EQ(find(), "a");
    fail();
    EXPECT_EQ(find(), "b");
    EXPECT_EQ(find(), "b");
    fail();
    EXPECT_EQ(find(), "a");
}

TEST_F(ConfiguredOriginsTest, WithoutAServerNobodyHasTheStream) {
    configure("application other { origin http://a; }");
    EXPECT_FALSE(origins_.has(key_));
    EXPECT_EQ(find(), "");
    key_.app = "other/room";
    EXPECT_EQ(find(), "a");
}

TEST_F(ConfiguredOriginsTest, BehindTheServersComesTheRegistryAndThenTheFirstAgain) {
    FakeRegistry registry;
    configure("origin http://a;");
    origins_.use_next(&registry);
    EXPECT_EQ(find(), "a");
    fail();
    EXPECT_EQ(find(), "a") << "the registry knows nobody";
    registry.url = "http://r";
    fail();
    EXPECT_EQ(find(), "r");
    fail();
    EXPECT_EQ(registry.failed, std::vector<std::string>{"r"});
    EXPECT_EQ(find(), "a");
}

TEST_F(ConfiguredOriginsTest, ARegistryAloneIsAskedAtOnce) {
    FakeRegistry registry;
    configure(
        "cluster { registry redis://x; advertise http://10.0.0.7; secret 0123456789abcdef; }");
    origins_.use_next(&registry);
    registry.url = "http://r";
    EXPECT_EQ(find(), "r");
    fail();
    EXPECT_EQ(find(), "r");
    EXPECT_EQ(registry.failed.size(), 1U);
}

}  // namespace
}  // namespace weir::app
