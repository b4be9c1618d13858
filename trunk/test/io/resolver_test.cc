#include "io/resolver.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

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
    Resolver resolver(options());
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "192.0.2.7:80");
    EXPECT_EQ(text_of(resolver.resolve("a.test", 81, soon())), "192.0.2.7:81");
    EXPECT_EQ(resolver.stats().lookups, 1U);
    EXPECT_TRUE(eventually([&] {
        return resolver.resolve("a.test", 80, soon()).ok() && resolver.stats().lookups == 2;
    }));
}

TEST_F(ResolverTest, KeepsAFailureForAShortWhile) {
    server_->set(&Server::unknown, true);
    Resolver resolver(options());
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "not_found");
    EXPECT_EQ(text_of(resolver.resolve("a.test", 80, soon())), "not_found");
    EXPECT_EQ(resolver.stats().lookups, 1U);
    server_->set(&Server::unknown, false);
    EXPECT_TRUE(eventually([&] { return resolver.resolve("a.test", 80, soon()).ok(); }));
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

}  // namespace
}  // namespace weir::io
