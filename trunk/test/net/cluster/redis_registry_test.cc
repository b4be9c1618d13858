// The registry of a node against a Redis of a few words. What real Redis makes of the scripts is
// shown by trunk/test/e2e/cluster/test_registry.py.
#include "net/cluster/redis_registry.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/resolver.h"

#include "test/net/redis/fake_redis.h"

namespace weir::net {
namespace {

using testing::HasSubstr;

constexpr std::string_view kBoot = "0123456789abcdef";
constexpr std::string_view kOther = "fedcba9876543210";

class SomePublisher final : public stream::Publisher {
  public:
    std::string describe() const override { return "somebody"; }

    std::string_view client_id() const override { return "p1"; }

    void on_taken_over() override { taken_over++; }

    int taken_over = 0;
};

class RedisRegistryTest : public testing::Test {
  protected:
    RedisRegistryTest() {
        answers_["beat"] = "*1\r\n:1\r\n";
        answers_["lookup"] = "*1\r\n:0\r\n";
    }

    ~RedisRegistryTest() override {
        server_.asleep = false;
        if (registry_) {
            registry_->stop(io::soon());
        }
    }

    void start(bool accept = true) {
        dialer_ = std::make_unique<RedisDialer>(http_, server_.url());
        RegistryOptions options;
        options.self = {"a", std::string(kBoot)};
        options.advertise = "http://10.0.0.1:8080";
        options.lease = Millis(500);
        options.accept_without_registry = accept;
        registry_ = std::make_unique<RedisRegistry>(*dialer_, streams_, system_random(), options);
        registry_->on_claimed_elsewhere = [this](const stream::StreamKey& key, uint64_t epoch) {
            elsewhere_ += fmt::format("{}@{} ", key.name, epoch);
        };
        registry_->on_origin_changed = [this](const stream::StreamKey& key) {
            changed_ += key.name + " ";
        };
        ASSERT_FALSE(registry_->start());
        ASSERT_TRUE(io::eventually(
            [this] { return registry_->status().up && registry_->status().lease && subscribed_; }));
    }

    std::string answer(const redis::Command& command, int) {
        if (command[0] == "SUBSCRIBE") {
            subscribed_ = true;
            return {};
        }
        if (command[0] == "SET" || command[0] == "DEL") {
            last_[command[0]] = command;
            return "+OK\r\n";
        }
        const std::map<std::string, std::string> names{
            {cluster::beat_script().digest, "beat"},
            {cluster::claim_script().digest, "claim"},
            {cluster::renew_script().digest, "renew"},
            {cluster::lookup_script().digest, "lookup"},
            {cluster::raise_script().digest, "raise"},
            {cluster::release_script().digest, "release"}};
        const auto name = command.size() > 1 ? names.find(command[1]) : names.end();
        if (name == names.end()) {
            return {};
        }
        asked_[name->second]++;
        last_[name->second] = command;
        return answers_[name->second];
    }

    static std::string claimed(bool won, std::string_view node, uint64_t epoch) {
        return fmt::format("*3\r\n:{}\r\n", won ? 1 : 0) + bulk(node) + bulk(std::to_string(epoch));
    }

    static std::string found(std::string_view node, uint64_t epoch, std::string_view url) {
        return "*3\r\n:1\r\n" + bulk(fmt::format("{} {} {} 1", node, kOther, epoch)) +
               bulk(fmt::format("{} {} - serving 0 0 -", kOther, url));
    }

    stream::Stream& publish() {
        stream::Stream& stream = streams_.get_or_create(key_, {}, MonoClock::now());
        EXPECT_FALSE(stream.start_publish(publisher_, {}, MonoClock::now()));
        return stream;
    }

    void end(stream::Stream& stream) {
        stream.end_publish(publisher_, MonoClock::now());
        streams_.release(stream);
    }

    ErrorCode code_of_find() {
        auto origin = registry_->find(key_, io::soon());
        return origin.ok() ? ErrorCode::kOk : origin.error().code();
    }

    std::map<std::string, std::string> answers_;
    std::map<std::string, int> asked_;
    std::map<std::string, redis::Command> last_;
    bool subscribed_ = false;
    std::string elsewhere_;
    std::string changed_;
    FakeRedis server_{[this](const redis::Command& command, int connection) {
        return answer(command, connection);
    }};
    io::Resolver resolver_;
    HttpClient http_{resolver_};
    stream::Registry streams_;
    std::unique_ptr<RedisDialer> dialer_;
    std::unique_ptr<RedisRegistry> registry_;
    SomePublisher publisher_;
    stream::StreamKey key_{"v", "live", "cam"};
};

// ---- what it pulls ----

class SomeRelay final : public stream::Publisher {
  public:
    std::string describe() const override { return "a relay"; }

    std::string_view client_id() const override { return "r1"; }

    std::string_view relayed_from() const override { return "b"; }

    void on_taken_over() override {}
};

TEST_F(RedisRegistryTest, SaysWhatItPullsAndNothingOfWhatIsPublishedHere) {
    start();
    stream::Stream& own = publish();
    SomeRelay relay;
    stream::Stream& pulled = streams_.get_or_create({"v", "live", "far"}, {}, MonoClock::now());
    ASSERT_FALSE(pulled.start_publish(relay, {}, MonoClock::now()));
    ASSERT_TRUE(io::eventually([this] { return last_.contains("SET"); }));
    EXPECT_THAT(last_["SET"],
                testing::ElementsAre("SET", "{weir}:r:a", std::string(kBoot) + " v/live/far", "PX",
                                     std::to_string(60'000)));
    pulled.end_publish(relay, MonoClock::now());
    streams_.release(pulled);
    EXPECT_FALSE(last_.contains("DEL")) << "not at once";
    ASSERT_TRUE(io::eventually([this] { return last_.contains("DEL"); }));
    EXPECT_THAT(last_["DEL"], testing::ElementsAre("DEL", "{weir}:r:a"));
    end(own);
}

// ---- claims ----

TEST_F(RedisRegistryTest, AClaimLastsAsLongAsItsPublisher) {
    answers_["claim"] = claimed(true, "a", 7);
    start();
    ASSERT_FALSE(registry_->claim(key_, stream::PublishConflict::kRefuse));
    EXPECT_EQ(registry_->epoch(key_), 7U);
    stream::Stream& stream = publish();
    registry_->give_up(key_);
    EXPECT_EQ(registry_->epoch(key_), 7U);
    end(stream);
    EXPECT_FALSE(registry_->epoch(key_));
    ASSERT_TRUE(io::eventually([this] { return asked_["release"] == 1; }));
    EXPECT_EQ(last_["release"].back(), "7");
}

TEST_F(RedisRegistryTest, ANameOfAnotherNodeIsBusy) {
    answers_["claim"] = claimed(false, "b", 7);
    start();
    const Error refused = registry_->claim(key_, stream::PublishConflict::kRefuse);
    EXPECT_EQ(refused.code(), ErrorCode::kBusy);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("another node of the cluster"));
    EXPECT_EQ(registry_->counts().refused, 1U);
    EXPECT_FALSE(registry_->epoch(key_));
}

TEST_F(RedisRegistryTest, AHigherEpochAtTheRegistryEndsThePublisher) {
    answers_["claim"] = claimed(true, "a", 7);
    answers_["renew"] = claimed(false, "b", 9);
    start();
    ASSERT_FALSE(registry_->claim(key_, stream::PublishConflict::kRefuse));
    stream::Stream& stream = publish();
    registry_->give_up(key_);
    answers_["beat"] = "*1\r\n:1\r\n";  // the lease was gone: all is renewed
    ASSERT_TRUE(io::eventually([this] { return publisher_.taken_over == 1; }));
    EXPECT_FALSE(stream.live());
    EXPECT_FALSE(registry_->epoch(key_));
    EXPECT_EQ(elsewhere_, "cam@9 ");
    EXPECT_EQ(registry_->counts().lost, 1U);
    streams_.release(stream);
}

TEST_F(RedisRegistryTest, WhoeverLostTheNameBeforePublishingIsEndedSoonAfter) {
    answers_["claim"] = claimed(true, "a", 7);
    answers_["renew"] = claimed(false, "b", 9);
    start();
    ASSERT_FALSE(registry_->claim(key_, stream::PublishConflict::kRefuse));
    ASSERT_TRUE(io::eventually([this] { return !registry_->epoch(key_); }));
    answers_["claim"] = claimed(false, "b", 9);
    stream::Stream& stream = publish();
    ASSERT_TRUE(io::eventually([this] { return publisher_.taken_over == 1; }));
    streams_.release(stream);
    registry_->give_up(key_);
}

TEST_F(RedisRegistryTest, WhileRedisIsAwayPublishersAreAcceptedAndClaimedLater) {
    answers_["claim"] = claimed(true, "a", 7);
    start();
    server_.asleep = true;
    const MonoTime begun = MonoClock::now();
    ASSERT_FALSE(registry_->claim(key_, stream::PublishConflict::kTakeover));
    EXPECT_LT(MonoClock::now() - begun, Seconds(8));
    EXPECT_TRUE(registry_->epoch(key_));
    EXPECT_EQ(registry_->status().provisional, 1U);
    stream::Stream& stream = publish();
    server_.asleep = false;
    ASSERT_TRUE(io::eventually([this] { return registry_->epoch(key_) == 7U; }));
    EXPECT_EQ(last_["claim"][6], "takeover");
    end(stream);
    registry_->give_up(key_);
}

TEST_F(RedisRegistryTest, OrTheyAreRefused) {
    start(false);
    server_.asleep = true;
    EXPECT_EQ(registry_->claim(key_, stream::PublishConflict::kRefuse).code(), ErrorCode::kTimeout);
    EXPECT_FALSE(registry_->epoch(key_));
    EXPECT_EQ(registry_->counts().unknown, 1U);
    server_.asleep = false;
    ASSERT_TRUE(io::eventually([this] { return asked_["release"] >= 1; }))
        << "it may have been claimed before Redis fell asleep";
}

TEST_F(RedisRegistryTest, WhatIsNoAnswerOfAScriptCountsAsUnknown) {
    answers_["claim"] = "-ERR user has no rights\r\n";
    start(false);
    EXPECT_EQ(registry_->claim(key_, stream::PublishConflict::kRefuse).code(), ErrorCode::kTimeout);
    EXPECT_EQ(registry_->counts().unreadable, 1U);
}

TEST_F(RedisRegistryTest, ANameThatIsTooLongIsRefused) {
    start();
    key_.name = std::string(3000, 'x');
    EXPECT_EQ(registry_->claim(key_, stream::PublishConflict::kRefuse).code(), ErrorCode::kDenied);
}

TEST_F(RedisRegistryTest, ANodeWhoseNameAnotherOneHasSaysSo) {
    start();
    answers_["beat"] = "*1\r\n:2\r\n";
    ASSERT_TRUE(io::eventually([this] { return registry_->status().name_taken; }));
    EXPECT_FALSE(registry_->status().lease);
    answers_["beat"] = "*1\r\n:0\r\n";
    ASSERT_TRUE(io::eventually([this] { return registry_->status().lease; }));
}

// ---- streams of other nodes ----

TEST_F(RedisRegistryTest, FindsAStreamAtItsNode) {
    answers_["lookup"] = found("b", 7, "http://10.0.0.2:8080");
    start();
    const auto origin = registry_->find(key_, io::soon());
    ASSERT_TRUE(origin.ok());
    EXPECT_EQ(origin->url.authority(), "10.0.0.2:8080");
    EXPECT_EQ(origin->node, "b");
    EXPECT_EQ(origin->epoch, 7U);
}

TEST_F(RedisRegistryTest, ManyWhoAskAtOnceMakeOneLookup) {
    answers_["lookup"] = found("b", 7, "http://10.0.0.2:8080");
    start();
    int good = 0;
    std::vector<io::Coroutine> viewers;
    for (int i = 0; i < 100; i++) {
        viewers.push_back(io::go([&] { good += code_of_find() == ErrorCode::kOk; }));
    }
    for (io::Coroutine& viewer : viewers) {
        viewer.join();
    }
    EXPECT_EQ(good, 100);
    EXPECT_EQ(asked_["lookup"], 1);
}

TEST_F(RedisRegistryTest, NobodyIsRememberedUntilAnEventSaysOtherwise) {
    start();
    EXPECT_EQ(code_of_find(), ErrorCode::kNotFound);
    EXPECT_EQ(code_of_find(), ErrorCode::kNotFound);
    EXPECT_EQ(asked_["lookup"], 1);
}

TEST_F(RedisRegistryTest, AnOlderClaimThanTheNewestThatWasSeenIsNobodys) {
    answers_["lookup"] = found("b", 9, "http://10.0.0.2:8080");
    start();
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
    answers_["lookup"] = found("c", 8, "http://10.0.0.3:8080");
    EXPECT_EQ(code_of_find(), ErrorCode::kNotFound);
    EXPECT_EQ(registry_->counts().epoch_conflicts, 1U);
    answers_["lookup"] = found("c", 10, "http://10.0.0.3:8080");
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
}

TEST_F(RedisRegistryTest, AnOlderClaimThatStaysTheOnlyOneIsRaised) {
    answers_["lookup"] = found("b", 9, "http://10.0.0.2:8080");
    answers_["raise"] = claimed(true, "c", 10);
    start();
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
    answers_["lookup"] = found("c", 8, "http://10.0.0.3:8080");
    const MonoTime began = MonoClock::now();
    while (asked_["raise"] == 0 && MonoClock::now() - began < 10 * RedisRegistry::kOlderWait) {
        EXPECT_EQ(code_of_find(), ErrorCode::kNotFound);
        ASSERT_FALSE(io::sleep_for(Millis(100)));
    }
    ASSERT_EQ(asked_["raise"], 1);
    EXPECT_GE(MonoClock::now() - began, RedisRegistry::kOlderWait)
        << "whoever has the newer one has time to renew it";
    const redis::Command& said = last_["raise"];
    EXPECT_EQ(std::vector<std::string>(said.begin() + 4, said.begin() + 8),
              (std::vector<std::string>{"c", std::string(kOther), "8", "10"}));
}

TEST_F(RedisRegistryTest, AClaimThatAnotherNodeHasRaisedIsRenewed) {
    answers_["claim"] = claimed(true, "a", 7);
    answers_["renew"] = claimed(true, "a", 9);
    start();
    ASSERT_FALSE(registry_->claim(key_, stream::PublishConflict::kRefuse));
    server_.publish(
        cluster::kEventChannel,
        cluster::Event{cluster::EventKind::kClaim, registry_text(key_), 9, "a"}.write());
    ASSERT_TRUE(io::eventually([this] { return registry_->epoch(key_) == 9; }));
    registry_->give_up(key_);
}

TEST_F(RedisRegistryTest, AnEpochFarInTheFutureShutsNobodyOut) {
    answers_["lookup"] = found("b", cluster::kMaxEpoch, "http://10.0.0.2:8080");
    start();
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
    answers_["lookup"] = found("c", 8, "http://10.0.0.3:8080");
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
}

TEST_F(RedisRegistryTest, AddressesThatOnlyThisMachineKnowsAreNotGiven) {
    start();
    uint64_t bad = 0;
    for (const char* url :
         {"http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080",
          "http://169.254.169.254", "http://0.0.0.0:80", "http://224.0.0.1", "http://127.1:80",
          "http://0x7f000001", "http://2130706433", "http://a.localhost"}) {
        answers_["lookup"] = found("b", 7, url);
        EXPECT_EQ(code_of_find(), ErrorCode::kNotFound) << url;
        EXPECT_GT(registry_->counts().unreadable, bad) << url;
        bad = registry_->counts().unreadable;
    }
}

TEST_F(RedisRegistryTest, WithoutRedisTheLastOneThatWasFoundIsGiven) {
    answers_["lookup"] = found("b", 7, "http://10.0.0.2:8080");
    start();
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
    server_.asleep = true;
    EXPECT_EQ(code_of_find(), ErrorCode::kOk);
    const auto origin = registry_->find(key_, io::soon());
    ASSERT_TRUE(origin.ok());
    registry_->note_failure(key_, *origin);
    EXPECT_EQ(code_of_find(), ErrorCode::kOk) << "there is nothing better";
    key_.name = "never seen";
    EXPECT_EQ(code_of_find(), ErrorCode::kTimeout);
    server_.asleep = false;
}

TEST_F(RedisRegistryTest, ItsOwnStreamsAreNotFoundElsewhere) {
    answers_["claim"] = claimed(true, "a", 7);
    answers_["lookup"] = found("a", 7, "http://10.0.0.1:8080");
    start();
    EXPECT_EQ(code_of_find(), ErrorCode::kNotFound);
    ASSERT_FALSE(registry_->claim(key_, stream::PublishConflict::kRefuse));
    EXPECT_EQ(code_of_find(), ErrorCode::kNotFound);
    EXPECT_EQ(asked_["lookup"], 1);
    registry_->give_up(key_);
}

}  // namespace
}  // namespace weir::net
