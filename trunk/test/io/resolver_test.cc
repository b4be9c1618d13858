#include "io/resolver.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/deadline.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

Result<std::vector<SocketAddress>> answer_of(std::string_view ip) {
    return std::vector<SocketAddress>{SocketAddress::parse(std::string(ip) + ":0").value()};
}

// A name server that a test has in its hand. Threads that hang in it may outlive the test's
// resolver, so it lives as long as they do.
struct Server {
    std::mutex mutex;
    std::condition_variable changed;
    bool hangs = false;
    bool fails = false;
    bool unknown = false;
    int asked = 0;

    Result<std::vector<SocketAddress>> look_up() {
        std::unique_lock lock(mutex);
        asked++;
        changed.wait(lock, [this] { return !hangs; });
        if (fails) {
            return make_error(ErrorCode::kSystem, "the name server is ill");
        }
        if (unknown) {
            return make_error(ErrorCode::kNotFound, "there is no such host");
        }
        return answer_of("192.0.2.7");
    }

    void set(bool Server::*what, bool value) {
        const std::lock_guard lock(mutex);
        this->*what = value;
        changed.notify_all();
    }
};

class ResolverTest : public testing::Test {
  protected:
    ~ResolverTest() override { server_->set(&Server::hangs, false); }

    ResolverOptions options() {
        ResolverOptions options;
        options.keep = Millis(50);
        options.keep_failure = Millis(50);
        options.wait_before_stale = Millis(50);
        options.lookup = [server = server_](const std::string&) { return server->look_up(); };
        return options;
    }

    std::shared_ptr<Server> server_ = std::make_shared<Server>();
};

std::string text_of(const Result<std::vector<SocketAddress>>& found) {
    if (!found.ok()) {
        return std::string(to_string(found.error().code()));
    }
    std::string text;
    for (const SocketAddress& each : *found) {
        text += (text.empty() ? "" : " ") + each.to_string();
    }
    return text;
}

TEST_F(ResolverTest, AsksNobodyForAddressesAndLocalhost) {
    Resolver resolver(options());
    server_->set(&Server::hangs, true);
    EXPECT_EQ(text_of(resolver.resolve("192.0.2.1", 80, soon())), "192.0.2.1:80");
    EXPECT_EQ(text_of(resolver.resolve("2001:db8::1", 80, soon())), "[2001:db8::1]:80");
    EXPECT_EQ(text_of(resolver.resolve("localhost", 8085, soon())), "127.0.0.1:8085 [::1]:8085");
    EXPECT_EQ(resolver.stats().lookups, 0U);
}

TEST_F(ResolverTest, KeepsAnAnswerForAWhile) {
    ResolverOptions longer = options();
    longer.keep = Millis(60'000);
    Resolver resolver(longer);
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "192.0.2.7:80");
    EXPECT_EQ(text_of(resolver.resolve("a.test", 81, soon())), "192.0.2.7:81");
    EXPECT_EQ(resolver.stats().lookups, 1U);
    Resolver forgetful(options());
    EXPECT_TRUE(eventually([&] {
        return forgetful.resolve("a.test", 80, soon()).ok() && forgetful.stats().lookups == 2;
    }));
}

TEST_F(ResolverTest, KeepsAFailureForAShortWhile) {
    server_->set(&Server::unknown, true);
    ResolverOptions longer = options();
    longer.keep_failure = Millis(60'000);
    Resolver resolver(longer);
    Resolver forgetful(options());
    EXPECT_EQ(text_of(forgetful.resolve("a.test", 80, soon())), "not_found");
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "not_found");
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "not_found");
    EXPECT_EQ(resolver.stats().lookups, 1U);
    server_->set(&Server::unknown, false);
    EXPECT_TRUE(eventually([&] { return forgetful.resolve("a.test", 80, soon()).ok(); }));
}

TEST_F(ResolverTest, GivesUpAtTheDeadlineThoughTheLookupHangs) {
    server_->set(&Server::hangs, true);
    Resolver resolver(options());
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, Deadline::after(Millis(20)))), "timeout");
    EXPECT_EQ(resolver.stats().timeouts, 1U);
}

TEST_F(ResolverTest, AsksOnceForManyWhoWait) {
    server_->set(&Server::hangs, true);
    Resolver resolver(options());
    int answered = 0;
    TaskGroup group;
    for (int i = 0; i < 20; i++) {
        ASSERT_FALSE(group.spawn("asks", StackSize::kNormal, [&] {
            answered += resolver.resolve("a.test", 80, soon()).ok() ? 1 : 0;
        }));
    }
    yield();
    server_->set(&Server::hangs, false);
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(answered, 20);
    EXPECT_EQ(resolver.stats().lookups, 1U);
}

TEST_F(ResolverTest, AnOldAnswerStandsInForASilentNameServer) {
    Resolver resolver(options());
    ASSERT_TRUE(resolver.resolve("a.test", 80, soon()).ok());
    ASSERT_FALSE(sleep_for(Millis(60)));
    server_->set(&Server::hangs, true);
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "192.0.2.7:80");
    EXPECT_EQ(resolver.stats().stale, 1U);
    server_->set(&Server::fails, true);
    server_->set(&Server::hangs, false);
    EXPECT_TRUE(eventually([&] { return resolver.stats().failures > 0; }));
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "192.0.2.7:80");
}

TEST_F(ResolverTest, AHangingNameDoesNotHoldUpAnother) {
    ResolverOptions with = options();
    with.lookup = [server = server_](const std::string& host) {
        return host == "dead.test" ? server->look_up() : answer_of("192.0.2.9");
    };
    server_->set(&Server::hangs, true);
    Resolver resolver(with);
    EXPECT_EQ(text_of(resolver.resolve("dead.test", 80, Deadline::after(Millis(10)))), "timeout");
    EXPECT_EQ(text_of(resolver.resolve("good.test", 80, soon())), "192.0.2.9:80");
}

TEST_F(ResolverTest, DoesNotWaitForAHangingThreadWhenItGoes) {
    server_->set(&Server::hangs, true);
    const MonoTime begun = MonoClock::now();
    {
        Resolver resolver(options());
        EXPECT_EQ(text_of(resolver.resolve("a.test", 80, Deadline::after(Millis(10)))), "timeout");
    }
    EXPECT_LT(MonoClock::now() - begun, Seconds(5));
    server_->set(&Server::hangs, false);
}

TEST_F(ResolverTest, RefusesMoreNamesThanItMayKeep) {
    ResolverOptions with = options();
    with.max_names = 3;
    server_->set(&Server::hangs, true);
    Resolver resolver(with);
    for (const char* name : {"a.test", "b.test", "c.test"}) {
        EXPECT_EQ(text_of(resolver.resolve(name, 80, Deadline::after(Millis(5)))), "timeout");
    }
    EXPECT_EQ(text_of(resolver.resolve("d.test", 80, soon())), "limit");
    server_->set(&Server::hangs, false);
    EXPECT_TRUE(eventually([&] { return resolver.resolve("d.test", 80, soon()).ok(); }));
}

TEST_F(ResolverTest, EndsWhenTheCoroutineIsInterrupted) {
    server_->set(&Server::hangs, true);
    Resolver resolver(options());
    std::string outcome;
    Coroutine asks = go([&] { outcome = text_of(resolver.resolve("a.test", 80, soon())); });
    yield();
    asks.interrupt();
    asks.join();
    EXPECT_EQ(outcome, "interrupted");
}

TEST_F(ResolverTest, GivesEveryAddressInTheOrderOfTheLookup) {
    ResolverOptions with = options();
    with.lookup = [](const std::string&) -> Result<std::vector<SocketAddress>> {
        return std::vector<SocketAddress>{SocketAddress::parse("[2001:db8::7]:0").value(),
                                          SocketAddress::parse("192.0.2.9:0").value(),
                                          SocketAddress::parse("192.0.2.8:0").value()};
    };
    Resolver resolver(with);
    EXPECT_EQ(text_of(resolver.resolve("a.test", 65535, soon())),
              "[2001:db8::7]:65535 192.0.2.9:65535 192.0.2.8:65535");
}

TEST_F(ResolverTest, AFailureWithoutAnOldAnswerKeepsItsReason) {
    server_->set(&Server::fails, true);
    Resolver resolver(options());
    const auto found = resolver.resolve("a.test", 80, soon());
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code(), ErrorCode::kSystem);
    EXPECT_EQ(found.error().message(), "the name server is ill");
    EXPECT_EQ(resolver.stats().failures, 1U);
    EXPECT_EQ(resolver.stats().stale, 0U);
}

TEST_F(ResolverTest, AnAnswerThatIsTooOldDoesNotStandIn) {
    ResolverOptions with = options();
    with.keep = Millis(1);
    with.keep_stale = Millis(1);
    Resolver resolver(with);
    ASSERT_TRUE(resolver.resolve("a.test", 80, soon()).ok());
    server_->set(&Server::fails, true);
    ASSERT_FALSE(sleep_for(Millis(5)));
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "system");
    EXPECT_EQ(resolver.stats().stale, 0U);
}

// The name server has spoken: the host is gone, and its old addresses may be somebody else's.
TEST_F(ResolverTest, ANameThatIsGoneHasNoOldAnswer) {
    ResolverOptions with = options();
    with.keep = Millis(1);
    with.keep_failure = Millis(1);
    with.wait_before_stale = Millis(60'000);
    Resolver resolver(with);
    ASSERT_TRUE(resolver.resolve("a.test", 80, soon()).ok());
    server_->set(&Server::unknown, true);
    ASSERT_FALSE(sleep_for(Millis(5)));
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "not_found");
    server_->set(&Server::fails, true);
    ASSERT_FALSE(sleep_for(Millis(5)));
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "system");
    EXPECT_EQ(resolver.stats().stale, 0U);
}

TEST_F(ResolverTest, AnAnswerThatComesTooLateServesTheNext) {
    ResolverOptions with = options();
    with.keep = Millis(60'000);
    server_->set(&Server::hangs, true);
    Resolver resolver(with);
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, Deadline::after(Millis(5)))), "timeout");
    server_->set(&Server::hangs, false);
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "192.0.2.7:80");
    EXPECT_EQ(resolver.stats().lookups, 1U);
    EXPECT_EQ(resolver.stats().timeouts, 1U);
}

TEST_F(ResolverTest, OneWhoLeavesTakesTheAnswerFromNobody) {
    server_->set(&Server::hangs, true);
    Resolver resolver(options());
    std::string stays;
    std::string leaves;
    std::string hurries;
    Coroutine first = go([&] { leaves = text_of(resolver.resolve("a.test", 80, soon())); });
    Coroutine second = go([&] { stays = text_of(resolver.resolve("a.test", 81, soon())); });
    Coroutine third =
        go([&] { hurries = text_of(resolver.resolve("a.test", 82, Deadline::after(Millis(5)))); });
    yield();
    first.interrupt();
    first.join();
    third.join();
    server_->set(&Server::hangs, false);
    second.join();
    EXPECT_EQ(leaves, "interrupted");
    EXPECT_EQ(hurries, "timeout");
    EXPECT_EQ(stays, "192.0.2.7:81");
    EXPECT_EQ(resolver.stats().lookups, 1U);
}

TEST_F(ResolverTest, LooksUpNoMoreNamesAtOnceThanItHasThreads) {
    ResolverOptions with = options();
    with.threads = 2;
    server_->set(&Server::hangs, true);
    Resolver resolver(with);
    int answered = 0;
    TaskGroup group;
    for (const char* name : {"a.test", "b.test", "c.test", "d.test", "e.test"}) {
        ASSERT_FALSE(group.spawn("asks", StackSize::kNormal, [&, name] {
            answered += resolver.resolve(name, 80, soon()).ok() ? 1 : 0;
        }));
    }
    const auto asked = [this] {
        const std::lock_guard lock(server_->mutex);
        return server_->asked;
    };
    EXPECT_TRUE(eventually([&] { return asked() == 2; }));
    ASSERT_FALSE(sleep_for(Millis(20)));  // a third one would show
    EXPECT_EQ(asked(), 2);
    server_->set(&Server::hangs, false);
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(answered, 5) << "those that had to wait for a thread are asked, too";
}

TEST_F(ResolverTest, AKnownNameIsNotForgottenForANewOne) {
    ResolverOptions with = options();
    with.keep = Millis(60'000);
    with.max_names = 2;
    Resolver resolver(with);
    ASSERT_TRUE(resolver.resolve("a.test", 80, soon()).ok());
    ASSERT_TRUE(resolver.resolve("b.test", 80, soon()).ok());
    EXPECT_EQ(text_of(resolver.resolve("c.test", 80, soon())), "limit");
    EXPECT_EQ(resolver.stats().refused, 1U);
    EXPECT_TRUE(resolver.resolve("a.test", 80, soon()).ok());
    EXPECT_TRUE(resolver.resolve("192.0.2.1", 80, soon()).ok()) << "no name is needed for it";
    EXPECT_EQ(resolver.stats().lookups, 2U);
}

}  // namespace
}  // namespace weir::io
