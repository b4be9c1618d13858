#include "net/redis/redis_client.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/resolver.h"

#include "test/net/redis/fake_redis.h"

namespace weir::net {
namespace {

using testing::HasSubstr;

class RedisClientTest : public testing::Test {
  protected:
    ~RedisClientTest() override {
        if (client_) {
            client_->stop();
        }
    }

    void start(const redis::Url& url) {
        dialer_ = std::make_unique<RedisDialer>(http_, url);
        client_ = std::make_unique<RedisClient>(*dialer_, system_random());
        client_->on_state([this](bool up, const Error& why) {
            states_.push_back(up ? "up" : std::string(why.message()));
        });
        ASSERT_FALSE(client_->start());
        ASSERT_TRUE(io::eventually([this] { return client_->up(); }));
    }

    Result<redis::Reply> ask(redis::Command command, const cluster::Script* script = nullptr) {
        auto replies = client_->run({{std::move(command), script}}, io::soon());
        if (!replies.ok()) {
            return replies.take_error();
        }
        return std::move(replies->front());
    }

    std::string text_of(redis::Command command, const cluster::Script* script = nullptr) {
        auto reply = ask(std::move(command), script);
        return reply.ok() ? reply->text : std::string(reply.error().message());
    }

    io::Resolver resolver_;
    HttpClient http_{resolver_};
    std::unique_ptr<RedisDialer> dialer_;
    std::unique_ptr<RedisClient> client_;
    std::vector<std::string> states_;
};

std::string echo(const redis::Command& command, int) {
    return command[0] == "ECHO" ? bulk(command[1]) : std::string();
}

TEST_F(RedisClientTest, GivesEachCallerItsOwnReplies) {
    FakeRedis server(echo);
    start(server.url());
    std::vector<io::Coroutine> callers;
    int right = 0;
    for (int i = 0; i < 100; i++) {
        callers.push_back(io::go([&, i] {
            auto replies = client_->run(
                {{{"ECHO", std::to_string(i)}, nullptr}, {{"ECHO", std::to_string(-i)}, nullptr}},
                io::soon());
            right += replies.ok() && (*replies)[0].text == std::to_string(i) &&
                     (*replies)[1].text == std::to_string(-i);
        }));
    }
    for (io::Coroutine& caller : callers) {
        caller.join();
    }
    EXPECT_EQ(right, 100);
    EXPECT_EQ(server.connections(), 1);
    EXPECT_GE(client_->stats().commands, 200U);
}

TEST_F(RedisClientTest, AnErrorOfRedisIsAReply) {
    FakeRedis server([](const redis::Command& command, int) {
        return std::string(command[0] == "GET" ? "-WRONGTYPE x\r\n" : "");
    });
    start(server.url());
    const auto reply = ask({"GET", "k"});
    ASSERT_TRUE(reply.ok());
    EXPECT_TRUE(reply->is_error("WRONGTYPE"));
    EXPECT_TRUE(client_->up());
}

TEST_F(RedisClientTest, OneThatDoesNotAnswerIsAwayUntilItDoes) {
    FakeRedis server(echo);
    start(server.url());
    server.asleep = true;
    const MonoTime begun = MonoClock::now();
    EXPECT_THAT(text_of({"ECHO", "a"}), HasSubstr("Redis is away: no answer"));
    EXPECT_LT(MonoClock::now() - begun, Seconds(8));
    EXPECT_FALSE(client_->up());
    EXPECT_EQ(text_of({"ECHO", "a"}), "Redis is away") << "at once";
    server.asleep = false;
    ASSERT_TRUE(io::eventually([this] { return client_->up(); }));
    EXPECT_EQ(text_of({"ECHO", "b"}), "b") << "not the answer to what was asked before";
}

TEST_F(RedisClientTest, OneThatClosesIsFoundOutWithoutACommand) {
    bool closes = false;
    FakeRedis server([&closes](const redis::Command& command, int) {
        return std::string(closes && command[0] == "PING" ? FakeRedis::kHangUp : "");
    });
    start(server.url());
    closes = true;
    ASSERT_TRUE(io::eventually([this] { return !client_->up(); }));
    closes = false;
    ASSERT_TRUE(io::eventually([this] { return client_->up(); }));
}

TEST_F(RedisClientTest, GarbageAndRepliesThatAreTooLargeEndTheConnection) {
    std::string answer = "garbage\r\n";
    FakeRedis server([&answer](const redis::Command& command, int) {
        return command[0] == "GET" ? answer : std::string();
    });
    start(server.url());
    EXPECT_THAT(text_of({"GET", "k"}), HasSubstr("no reply of Redis"));
    ASSERT_TRUE(io::eventually([this] { return client_->up(); }));
    answer = "*2000000000\r\n";
    EXPECT_THAT(text_of({"GET", "k"}), HasSubstr("too many elements"));
    ASSERT_TRUE(io::eventually([this] { return client_->up(); }));
    answer = fmt::format("${}\r\n{}", 100'000'000, std::string(9'000'000, 'x'));
    EXPECT_THAT(text_of({"GET", "k"}), HasSubstr("Redis is away"));
}

TEST_F(RedisClientTest, SendsTheTextOfAScriptThatRedisDoesNotKnowOnce) {
    bool known = false;
    FakeRedis server([&known](const redis::Command& command, int) {
        if (command[0] == "EVAL") {
            known = true;
            return command[1] == cluster::leave_script().text ? std::string("+text\r\n")
                                                              : std::string("-ERR other\r\n");
        }
        return std::string(command[0] != "EVALSHA" ? ""
                           : known                 ? "+digest\r\n"
                                                   : "-NOSCRIPT no\r\n");
    });
    start(server.url());
    const cluster::Script& script = cluster::leave_script();
    const redis::Command command = cluster::leave({"n", "0123456789abcdef"});
    auto replies =
        client_->run({{command, &script}, {command, &script}, {command, &script}}, io::soon());
    ASSERT_TRUE(replies.ok());
    EXPECT_EQ((*replies)[0].text, "text");
    EXPECT_EQ((*replies)[1].text, "digest");
    EXPECT_EQ((*replies)[2].text, "digest");
}

TEST_F(RedisClientTest, FollowsMovedKeysAndStaysThere) {
    FakeRedis home([](const redis::Command& command, int) {
        return std::string(command[0] == "GET" ? "+home\r\n" : "");
    });
    FakeRedis first([&home](const redis::Command& command, int) {
        return command[0] == "GET" ? fmt::format("-MOVED 1 127.0.0.1:{}\r\n", home.host().port)
                                   : std::string();
    });
    start(first.url(redis::Kind::kCluster));
    EXPECT_EQ(text_of({"GET", "k"}), "home");
    EXPECT_EQ(text_of({"GET", "k"}), "home");
    EXPECT_EQ(home.connections(), 1);
    EXPECT_EQ(std::ranges::count(first.said(), "GET"), 1);
    EXPECT_TRUE(client_->up());
}

TEST_F(RedisClientTest, AsksWhereASlotIsOnItsWay) {
    FakeRedis target([](const redis::Command& command, int) {
        return std::string(command[0] == "GET" ? "+there\r\n" : "");
    });
    FakeRedis first([&target](const redis::Command& command, int) {
        return command[0] == "GET" ? fmt::format("-ASK 1 :{}\r\n", target.host().port)
                                   : std::string();
    });
    start(first.url(redis::Kind::kCluster));
    EXPECT_EQ(text_of({"GET", "k"}), "there");
    EXPECT_THAT(target.said(), testing::ElementsAre("ASKING", "GET"));
    EXPECT_EQ(text_of({"GET", "k"}), "there");
    EXPECT_EQ(std::ranges::count(first.said(), "GET"), 2) << "the next one goes there first again";
}

TEST_F(RedisClientTest, RedirectsInACircleEnd) {
    FakeRedis* self = nullptr;
    FakeRedis server([&self](const redis::Command& command, int) {
        return command[0] == "GET" ? fmt::format("-MOVED 1 127.0.0.1:{}\r\n", self->host().port)
                                   : std::string();
    });
    self = &server;
    start(server.url(redis::Kind::kCluster));
    const auto reply = ask({"GET", "k"});
    ASSERT_TRUE(reply.ok());
    EXPECT_TRUE(reply->is_error("MOVED"));
    EXPECT_LT(server.connections(), 8);
}

TEST_F(RedisClientTest, OneThatIsNoClusterSendsNobodyElsewhere) {
    FakeRedis elsewhere;
    FakeRedis server([&elsewhere](const redis::Command& command, int) {
        return command[0] == "GET" ? fmt::format("-MOVED 1 127.0.0.1:{}\r\n", elsewhere.host().port)
                                   : std::string();
    });
    start(server.url());
    const auto reply = ask({"GET", "k"});
    ASSERT_TRUE(reply.ok());
    EXPECT_TRUE(reply->is_error("MOVED"));
    EXPECT_EQ(elsewhere.connections(), 0) << "it would be told the password";
    EXPECT_TRUE(client_->up());
}

TEST_F(RedisClientTest, AClusterDoesNotLeadToTheLink) {
    FakeRedis server([](const redis::Command& command, int) {
        return std::string(command[0] == "GET" ? "-MOVED 1 169.254.169.254:80\r\n" : "");
    });
    start(server.url(redis::Kind::kCluster));
    const auto reply = ask({"GET", "k"});
    ASSERT_FALSE(reply.ok());
    EXPECT_THAT(std::string(reply.error().message()), HasSubstr("169.254.169.254, which is not"));
}

TEST_F(RedisClientTest, AMasterThatBecameAReplicaIsLookedForAnew) {
    bool demoted = true;
    FakeRedis server([&demoted](const redis::Command& command, int) {
        return std::string(command[0] == "SET" && demoted ? "-READONLY replica\r\n" : "");
    });
    start(server.url());
    EXPECT_THAT(text_of({"SET", "k", "v"}), HasSubstr("READONLY"));
    EXPECT_FALSE(client_->up());
    demoted = false;
    ASSERT_TRUE(io::eventually([this] { return client_->up(); }));
    EXPECT_EQ(text_of({"SET", "k", "v"}), "OK");
    EXPECT_EQ(server.connections(), 2);
}

TEST_F(RedisClientTest, WhoAsksMayLeaveBeforeTheAnswer) {
    FakeRedis server(echo);
    start(server.url());
    server.asleep = true;
    Error got;
    io::Coroutine caller = io::go([&] {
        auto reply = ask({"ECHO", "a"});
        got = reply.ok() ? Error() : reply.take_error();
    });
    io::yield();
    caller.interrupt();
    caller.join();
    EXPECT_EQ(got.code(), ErrorCode::kInterrupted);
    server.asleep = false;
}

TEST_F(RedisClientTest, StoppingEndsWhoeverWaits) {
    FakeRedis server(echo);
    start(server.url());
    server.asleep = true;
    Error got;
    io::Coroutine caller = io::go([&] {
        auto reply = ask({"ECHO", "a"});
        got = reply.ok() ? Error() : reply.take_error();
    });
    io::yield();
    client_->stop();
    caller.join();
    EXPECT_EQ(got.code(), ErrorCode::kInterrupted);
    server.asleep = false;
}

}  // namespace
}  // namespace weir::net
