#include "net/redis/redis_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/resolver.h"

#include "test/net/redis/fake_redis.h"

namespace weir::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RedisDialerTest : public testing::Test {
  protected:
    std::string error_of(redis::Url url) {
        RedisDialer dialer(http_, std::move(url));
        auto link = dialer.dial();
        EXPECT_FALSE(link.ok());
        return link.ok() ? "" : std::string(link.error().message());
    }

    io::Resolver resolver_;
    HttpClient http_{resolver_};
};

TEST_F(RedisDialerTest, SaysWhoItIsAndTakesTheDatabase) {
    FakeRedis server;
    redis::Url url = server.url();
    url.user = "weir";
    url.password = "pw";
    url.database = 3;
    RedisDialer dialer(http_, url);
    ASSERT_TRUE(dialer.dial().ok());
    EXPECT_THAT(server.said(), ElementsAre("AUTH", "SELECT"));
}

TEST_F(RedisDialerTest, AWrongPasswordIsAnErrorThatDoesNotShowIt) {
    FakeRedis server([](const redis::Command& command, int) {
        return std::string(command[0] == "AUTH" ? "-WRONGPASS invalid\r\n" : "");
    });
    redis::Url url = server.url();
    url.password = "s3cret";
    const std::string error = error_of(url);
    EXPECT_THAT(error, HasSubstr("refuses AUTH: WRONGPASS"));
    EXPECT_THAT(error, Not(HasSubstr("s3cret")));
}

TEST_F(RedisDialerTest, APasswordThatIsMissingIsNamedByItsDirective) {
    const FakeRedis::Answer asks = [](const redis::Command&, int) {
        return std::string("-NOAUTH Authentication required.\r\n");
    };
    FakeRedis server(asks);
    EXPECT_THAT(error_of(server.url()),
                HasSubstr("refuses PING: NOAUTH Authentication required. (its password is "
                          "registry_password of cluster)"));
    FakeRedis sentinel(asks);
    redis::Url url = sentinel.url(redis::Kind::kSentinel);
    url.master = "m";
    EXPECT_THAT(error_of(url), HasSubstr("registry_password"));
}

TEST_F(RedisDialerTest, OneThatDoesNotAnswerByTlsMayHaveNone) {
    FakeRedis server;
    redis::Url url = server.url();
    EXPECT_TRUE(RedisDialer(http_, url).dial().ok());
    url.tls = true;
    EXPECT_THAT(error_of(url), HasSubstr(" by TLS, as rediss:// says: "));
}

TEST_F(RedisDialerTest, AReplicaTakesNoWrites) {
    FakeRedis server([](const redis::Command& command, int) {
        return std::string(command[0] == "ROLE" ? "*2\r\n$5\r\nslave\r\n:1\r\n" : "");
    });
    EXPECT_THAT(error_of(server.url()), HasSubstr("only a master takes writes"));
}

TEST_F(RedisDialerTest, AUserWithoutTheRightToAskForTheRoleIsGoodEnough) {
    FakeRedis server([](const redis::Command& command, int) {
        return std::string(command[0] == "ROLE" ? "-NOPERM no\r\n" : "");
    });
    RedisDialer dialer(http_, server.url());
    EXPECT_TRUE(dialer.dial().ok());
}

TEST_F(RedisDialerTest, OneThatLoadsItsDataIsNotThereYet) {
    FakeRedis server([](const redis::Command& command, int) {
        return std::string(command[0] == "PING" ? "-LOADING it\r\n" : "");
    });
    EXPECT_THAT(error_of(server.url()), HasSubstr("LOADING"));
}

TEST_F(RedisDialerTest, ASilentOneIsGivenUpSoon) {
    FakeRedis server;
    server.asleep = true;
    const MonoTime begun = MonoClock::now();
    EXPECT_THAT(error_of(server.url()), HasSubstr("no answer"));
    EXPECT_LT(MonoClock::now() - begun, Seconds(20));
}

TEST_F(RedisDialerTest, WhatIsNoRedisIsNone) {
    FakeRedis server(
        [](const redis::Command&, int) { return std::string("HTTP/1.1 400 Bad Request\r\n\r\n"); });
    EXPECT_THAT(error_of(server.url()), HasSubstr("no reply of Redis"));
}

TEST_F(RedisDialerTest, AsksSentinelsInTurnWhereTheMasterIs) {
    FakeRedis master;
    FakeRedis ignorant([](const redis::Command& command, int) {
        return std::string(command[0] == "SENTINEL" ? "*-1\r\n" : "");
    });
    FakeRedis knowing([&](const redis::Command& command, int) {
        return command[0] == "SENTINEL"
                   ? "*2\r\n" + bulk("127.0.0.1") + bulk(std::to_string(master.host().port))
                   : std::string();
    });
    redis::Url url = ignorant.url(redis::Kind::kSentinel);
    url.hosts.push_back(knowing.host());
    url.master = "mymaster";
    RedisDialer dialer(http_, url);
    auto first = dialer.dial();
    ASSERT_FALSE(first.ok());
    EXPECT_THAT(std::string(first.error().message()), HasSubstr("knows no master 'mymaster'"));
    ASSERT_TRUE(dialer.dial().ok());
    EXPECT_EQ(master.connections(), 1);
}

TEST_F(RedisDialerTest, ASentinelWithNonsenseIsAnError) {
    FakeRedis sentinel([](const redis::Command& command, int) {
        return command[0] == "SENTINEL" ? "*2\r\n" + bulk("h") + bulk("99999") : std::string();
    });
    redis::Url url = sentinel.url(redis::Kind::kSentinel);
    url.master = "m";
    EXPECT_THAT(error_of(url), HasSubstr("names no address"));
}

}  // namespace
}  // namespace weir::net
