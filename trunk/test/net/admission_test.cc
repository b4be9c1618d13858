// The order in which somebody is let in, what a refusal at each step leaves behind, and what may
// change while a hook server is asked.
#include "net/admission.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "net/client_table.h"
#include "net/fanout.h"
#include "net/hooks.h"
#include "net/limits.h"
#include "net/private_streams.h"
#include "stream/publisher.h"
#include "stream/registry.h"
#include "stream/stream.h"

#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Calls = std::vector<std::string>;

class RecordingPolicy final : public Policy {
  public:
    explicit RecordingPolicy(Calls& calls) : calls_(calls) {}

    stream::StreamKey key_of(std::string_view vhost,
                             std::string_view app,
                             std::string_view name) const override {
        return {vhost == gone_vhost ? "other" : std::string(vhost), std::string(app),
                std::string(name)};
    }

    Result<PublishRules> may_publish(const AccessRequest& request) const override {
        calls_.emplace_back("policy");
        token = request.token;
        return closed ? Result<PublishRules>(make_error(ErrorCode::kDenied, "closed"))
                      : Result<PublishRules>(publish);
    }

    Result<PlayRules> may_play(const AccessRequest& request) const override {
        calls_.emplace_back("policy");
        token = request.token;
        return closed ? Result<PlayRules>(make_error(ErrorCode::kDenied, "closed"))
                      : Result<PlayRules>(play);
    }

    bool closed = false;
    std::string gone_vhost;
    PublishRules publish;
    PlayRules play;
    mutable std::string token;

  private:
    Calls& calls_;
};

class RecordingHooks final : public Hooks {
  public:
    RecordingHooks(Calls& calls, ClientTable& clients) : calls_(calls), clients_(clients) {}

    bool wants(HookAction, const stream::StreamKey&) const override { return wanted; }

    Result<HookTicket> ask(const Client& client,
                           const HookRequestView& what,
                           io::TcpStream* peer) override {
        calls_.push_back(fmt::format("hook {}", to_string(what.action)));
        asked = fmt::format("{} {}/{}/{} {} {} {}", client.ip(), what.vhost, what.app, what.stream,
                            what.param, what.tc_url, what.page_url);
        listed = clients_.find(client.id()) == &client;
        if (meanwhile) {
            meanwhile();
        }
        if (peer != nullptr && peer->hangup()) {
            return make_error(ErrorCode::kClosed, "the client hung up");
        }
        if (answer != ErrorCode::kOk) {
            return make_error(answer, "the hook says no");
        }
        return HookTicket(std::make_unique<Record>(calls_));
    }

    bool wanted = false;
    ErrorCode answer = ErrorCode::kOk;
    std::function<void()> meanwhile;
    std::string asked;
    bool listed = false;

  private:
    class Record final : public HookTicket::Record {
      public:
        explicit Record(Calls& calls) : calls_(calls) {}

        void end(const Client&, EndClass why, std::string_view) override {
            calls_.push_back(fmt::format("end {}", to_string(why)));
        }

      private:
        Calls& calls_;
    };

    Calls& calls_;
    ClientTable& clients_;
};

class RecordingClaims final : public Claims {
  public:
    explicit RecordingClaims(Calls& calls) : calls_(calls) {}

    Error claim(const stream::StreamKey& key, stream::PublishConflict conflict) override {
        calls_.push_back(
            fmt::format("claim {}{}", key.name,
                        conflict == stream::PublishConflict::kTakeover ? " takeover" : ""));
        if (meanwhile) {
            meanwhile();
        }
        if (answer != ErrorCode::kOk) {
            return make_error(answer, "another node has it");
        }
        held++;
        return {};
    }

    void give_up(const stream::StreamKey&) override { held--; }

    std::optional<uint64_t> epoch(const stream::StreamKey&) const override { return std::nullopt; }

    ErrorCode answer = ErrorCode::kOk;
    std::function<void()> meanwhile;
    int held = 0;

  private:
    Calls& calls_;
};

class SomePublisher final : public stream::Publisher {
  public:
    bool relay = false;

    std::string_view relayed_from() const override { return relay ? "media-2" : ""; }

    std::string describe() const override { return "somebody else"; }

    std::string_view client_id() const override { return "other"; }

    void on_taken_over() override {}
};

class AdmissionTest : public testing::Test {
  protected:
    AdmissionTest() {
        lines().clear();
        log::set_sink([](log::Level, std::string_view line) { lines().emplace_back(line); });
    }

    ~AdmissionTest() override {
        if (holds_) {
            leave();
        }
        EXPECT_EQ(clients_.size(), 0U);
        EXPECT_EQ(registry_.size(), 0U);
        EXPECT_EQ(limits_.addresses(), 0U) << "every place was given back";
        EXPECT_EQ(limits_.players(key_), 0U);
        log::set_sink(nullptr);
    }

    static std::vector<std::string>& lines() {
        static std::vector<std::string> instance;
        return instance;
    }

    NewcomerView newcomer() {
        return {.access = {.key = key_,
                           .peer = peer_,
                           .token = "s3cret",
                           .transport = "toy",
                           .query = "user=7"},
                .tc_url = "toy://host/live/a",
                .takes_address_place = true,
                .check =
                    [this] {
                        calls_.emplace_back("check");
                        return no_check ? make_error(ErrorCode::kDenied, "no") : Error();
                    },
                .before_hook =
                    [this] {
                        calls_.push_back(fmt::format("before_hook places={}",
                                                     limits_.addresses() + limits_.players(key_)));
                        return no_room ? make_error(ErrorCode::kLimit, "no room") : Error();
                    }};
    }

    void hold_name() {
        stream::Stream& stream = registry_.get_or_create(key_, {}, MonoClock::now());
        EXPECT_FALSE(stream.start_publish(holder_, {}, MonoClock::now()));
        holds_ = true;
    }

    void leave() {
        stream::Stream& stream = *registry_.find(key_);
        stream.end_publish(holder_, MonoClock::now());
        registry_.release(stream);
        holds_ = false;
    }

    // The code with which it was refused; kOk: let in, and gone again.
    ErrorCode publish() { return code_of(admission_.publish(newcomer())); }

    ErrorCode play() { return code_of(admission_.play(newcomer())); }

    template <typename Made>
    static ErrorCode code_of(const Result<Made>& made) {
        return made.ok() ? ErrorCode::kOk : made.error().code();
    }

    Calls calls_;
    bool no_check = false;
    bool no_room = false;
    stream::StreamKey key_{"v", "live", "a"};
    io::SocketAddress peer_ = io::SocketAddress::parse("203.0.113.9:1000").value();
    RecordingPolicy policy_{calls_};
    stream::Registry registry_;
    Fanout fanout_{registry_};
    ClientTable clients_;
    ConnectionBudget connections_{10};
    Limits limits_;
    RecordingHooks hooks_{calls_, clients_};
    Services services_{registry_, fanout_, clients_, connections_, policy_, limits_, hooks_};
    Admission admission_{services_};
    SomePublisher holder_;
    bool holds_ = false;
};

// ---- a cluster ----

class AdmissionInAClusterTest : public AdmissionTest {
  protected:
    ~AdmissionInAClusterTest() override {
        EXPECT_EQ(claims_.held, 0) << "every claim was given up";
    }

    static Services with(Services services, Claims& claims) {
        services.claims = &claims;
        return services;
    }

    RecordingClaims claims_{calls_};
    Admission in_cluster_{with(services_, claims_)};
};

TEST_F(AdmissionInAClusterTest, ANameIsClaimedBehindTheHooksAndThenThePolicyIsAskedAgain) {
    hooks_.wanted = true;
    Result<AdmittedPublisher> made = in_cluster_.publish(newcomer());
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=1", "hook on_publish",
                                    "policy", "check", "claim a", "policy", "check"));
    EXPECT_EQ(claims_.held, 1);
    made->client.reset();
    EXPECT_EQ(claims_.held, 0) << "the client held it";
}

TEST_F(AdmissionInAClusterTest, WhoHasARowKeepsTheClaimForTheTurn) {
    Client client(clients_, "toy", "203.0.113.9");
    NewcomerView who = newcomer();
    who.client = &client;
    who.takes_address_place = false;
    {
        const Result<AdmittedPublisher> made = in_cluster_.publish(who);
        ASSERT_TRUE(made.ok());
        EXPECT_EQ(claims_.held, 1);
    }
    EXPECT_EQ(claims_.held, 0);
}

TEST_F(AdmissionInAClusterTest, WhoIsRefusedByAHookClaimsNothing) {
    hooks_.wanted = true;
    hooks_.answer = ErrorCode::kDenied;
    policy_.publish.conflict = stream::PublishConflict::kTakeover;
    EXPECT_EQ(code_of(in_cluster_.publish(newcomer())), ErrorCode::kDenied);
    EXPECT_THAT(calls_, testing::Not(testing::Contains(HasSubstr("claim"))));
}

TEST_F(AdmissionInAClusterTest, WhoseNameAnotherNodeHasIsRefused) {
    hooks_.wanted = true;
    claims_.answer = ErrorCode::kBusy;
    EXPECT_EQ(code_of(in_cluster_.publish(newcomer())), ErrorCode::kBusy);
    EXPECT_EQ(calls_.back(), "end refused") << "the hook that had allowed is told";
}

TEST_F(AdmissionInAClusterTest, AClaimIsGivenUpWhereThePolicyHasChangedMeanwhile) {
    claims_.meanwhile = [this] { policy_.closed = true; };
    EXPECT_EQ(code_of(in_cluster_.publish(newcomer())), ErrorCode::kDenied);
    EXPECT_EQ(claims_.held, 0);
}

TEST_F(AdmissionInAClusterTest, ANameThatIsBusyHereIsNotAskedFor) {
    hold_name();
    EXPECT_EQ(code_of(in_cluster_.publish(newcomer())), ErrorCode::kBusy);
    EXPECT_THAT(calls_, testing::Not(testing::Contains("claim a")));
}

TEST_F(AdmissionInAClusterTest, WhatIsRelayedIsInNobodysWay) {
    hold_name();
    EXPECT_EQ(code_of(in_cluster_.publish(newcomer())), ErrorCode::kBusy) << "published here";
    holder_.relay = true;
    EXPECT_EQ(code_of(in_cluster_.publish(newcomer())), ErrorCode::kOk);
    EXPECT_THAT(calls_, testing::Contains("claim a"));
}

TEST_F(AdmissionInAClusterTest, PlayersClaimNothing) {
    EXPECT_EQ(code_of(in_cluster_.play(newcomer())), ErrorCode::kOk);
    EXPECT_THAT(calls_, testing::Not(testing::Contains("claim a")));
}

// ---- the order ----

TEST_F(AdmissionTest, APlayerIsAskedForInOrderAndHasItsRowAndPlaces) {
    Result<AdmittedPlayer> made = admission_.play(newcomer());
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=2"));
    EXPECT_EQ(policy_.token, "s3cret");
    ASSERT_EQ(clients_.size(), 1U);
    EXPECT_EQ(made->client->key, key_);
    EXPECT_EQ(made->client->ip(), "203.0.113.9");
    EXPECT_STREQ(made->client->transport(), "toy");
    EXPECT_EQ(limits_.players(key_), 1U);
    EXPECT_EQ(limits_.connections_of(peer_), 1U);
    made->client.reset();
    EXPECT_EQ(limits_.players(key_), 0U) << "the client held its places";
    EXPECT_EQ(limits_.connections_of(peer_), 0U);
    EXPECT_THAT(lines(), IsEmpty()) << "it is the protocol that says when it begins";
}

TEST_F(AdmissionTest, APublisherTakesNoPlaceAmongThePlayers) {
    Result<AdmittedPublisher> made = admission_.publish(newcomer());
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=1"));
    EXPECT_EQ(limits_.players(key_), 0U);
}

TEST_F(AdmissionTest, AHookIsAskedBehindAllElseAndThenThePolicyAgain) {
    hooks_.wanted = true;
    Result<AdmittedPlayer> made = admission_.play(newcomer());
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=2", "hook on_play",
                                    "policy", "check"));
    EXPECT_EQ(hooks_.asked, "203.0.113.9 v/live/a user=7&key=s3cret toy://host/live/a ");
    EXPECT_TRUE(hooks_.listed) << "who waits for a hook can be seen, and kicked";
    made->client.reset();
    EXPECT_EQ(calls_.back(), "end refused");
}

TEST_F(AdmissionTest, APublishersTicketIsToldTheEndOnce) {
    hooks_.wanted = true;
    Result<AdmittedPublisher> made = admission_.publish(newcomer());
    ASSERT_TRUE(made.ok());
    made->client->tell_end(EndClass::kPeerClosed, "");
    made->client.reset();
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=1", "hook on_publish",
                                    "policy", "check", "end peer_closed"));
}

TEST_F(AdmissionTest, AClientWithARowKeepsItAndTheTurnGetsPlaceAndTicket) {
    hooks_.wanted = true;
    Client client(clients_, "toy", "203.0.113.9");
    client.kick = [] {};
    NewcomerView who = newcomer();
    who.client = &client;
    who.takes_address_place = false;
    {
        Result<AdmittedPlayer> made = admission_.play(who);
        ASSERT_TRUE(made.ok());
        EXPECT_EQ(made->client, nullptr);
        EXPECT_EQ(clients_.size(), 1U);
        EXPECT_TRUE(client.kick) << "its own";
        EXPECT_FALSE(client.turn_ticket);
        EXPECT_TRUE(made->ticket);
        made->ticket.end(client, EndClass::kPeerClosed, "");
        EXPECT_EQ(limits_.players(key_), 1U);
        EXPECT_EQ(limits_.addresses(), 0U);
    }
    EXPECT_EQ(limits_.players(key_), 0U);
}

TEST_F(AdmissionTest, AQuestionThatDoesNotBeginGetsNoRow) {
    NewcomerView who = newcomer();
    who.begins = false;
    const Result<AdmittedPlayer> made = admission_.play(who);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->client, nullptr);
    EXPECT_EQ(clients_.total(), 0U);
}

// ---- refused at each step ----

TEST_F(AdmissionTest, RefusedByThePolicyNothingElseIsAsked) {
    policy_.closed = true;
    hooks_.wanted = true;
    EXPECT_EQ(publish(), ErrorCode::kDenied);
    EXPECT_EQ(play(), ErrorCode::kDenied);
    EXPECT_THAT(calls_, ElementsAre("policy", "policy"));
    EXPECT_EQ(clients_.total(), 0U);
}

TEST_F(AdmissionTest, APrivateStreamHasItsKeyInPlaceOfThePolicy) {
    PrivateStreams all;
    services_.private_streams = &all;
    Admission admission(services_);
    {
        const PrivateStreams::Place right = all.add(key_, "s3cret");
        policy_.closed = true;
        EXPECT_EQ(code_of(admission.publish(newcomer())), ErrorCode::kOk);
        calls_.clear();
        NewcomerView viewer = newcomer();
        viewer.may_wait = false;
        EXPECT_EQ(code_of(admission.play(viewer)), ErrorCode::kNotFound) << "nobody publishes it";
        EXPECT_THAT(calls_, testing::Not(testing::Contains("policy")));
        policy_.closed = false;
        for (const std::string_view wrong : {"", "s3cre", "s3cret "}) {
            viewer.access.token = wrong;
            EXPECT_EQ(code_of(admission.play(viewer)), ErrorCode::kDenied);
            EXPECT_EQ(code_of(admission.publish(viewer)), ErrorCode::kDenied);
        }
        EXPECT_EQ(limits_.refused(Refusal::kKeyMissing), 2U);
        EXPECT_EQ(limits_.refused(Refusal::kKeyWrong), 4U);
        viewer.has_line = true;
        EXPECT_EQ(code_of(admission.publish(viewer)), ErrorCode::kOk) << "its other end";
    }
    EXPECT_FALSE(all.has(key_));
    policy_.closed = true;
    EXPECT_EQ(code_of(admission.publish(newcomer())), ErrorCode::kDenied)
        << "a stream as any other";
}

TEST_F(AdmissionTest, RefusedByTheProtocolBeforeAPlaceIsTaken) {
    no_check = true;
    hooks_.wanted = true;
    limits_.set_connections_per_address(1);
    EXPECT_EQ(publish(), ErrorCode::kDenied);
    EXPECT_EQ(play(), ErrorCode::kDenied);
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "policy", "check"));
}

TEST_F(AdmissionTest, RefusedWithoutAPlaceOfItsAddress) {
    hooks_.wanted = true;
    limits_.set_connections_per_address(1);
    const auto other = limits_.enter(peer_);
    EXPECT_EQ(publish(), ErrorCode::kFull);
    EXPECT_EQ(play(), ErrorCode::kFull);
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "policy", "check"));
}

TEST_F(AdmissionTest, RefusedWithoutAPlaceAmongThePlayers) {
    hooks_.wanted = true;
    policy_.play.max_players = 1;
    const auto other = limits_.enter_player(key_, 1);
    EXPECT_EQ(play(), ErrorCode::kFull);
    EXPECT_THAT(calls_, ElementsAre("policy", "check"));
    EXPECT_EQ(limits_.addresses(), 0U) << "the other place was given back";
}

TEST_F(AdmissionTest, RefusedBeforeTheHook) {
    hooks_.wanted = true;
    no_room = true;
    EXPECT_EQ(publish(), ErrorCode::kLimit);
    EXPECT_EQ(play(), ErrorCode::kLimit);
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=1", "policy", "check",
                                    "before_hook places=2"));
}

TEST_F(AdmissionTest, ABusyNameIsNotAskedFor) {
    hooks_.wanted = true;
    hold_name();
    EXPECT_EQ(publish(), ErrorCode::kBusy);
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=1"));
    EXPECT_THAT(lines().back(), HasSubstr("(by somebody else for 0 s)"));
    policy_.publish.conflict = stream::PublishConflict::kTakeover;
    EXPECT_EQ(publish(), ErrorCode::kOk);
}

TEST_F(AdmissionTest, RefusedByTheHookEverythingIsGivenBack) {
    hooks_.wanted = true;
    for (const ErrorCode code :
         {ErrorCode::kDenied, ErrorCode::kTimeout, ErrorCode::kInterrupted}) {
        hooks_.answer = code;
        EXPECT_EQ(publish(), code);
        EXPECT_EQ(play(), code);
        EXPECT_EQ(limits_.addresses() + limits_.players(key_) + clients_.size(), 0U);
    }
    EXPECT_THAT(calls_, testing::Not(testing::Contains(testing::StartsWith("end"))))
        << "nothing was allowed, so nothing ends";
}

TEST_F(AdmissionTest, AStreamThatIsNotThereIsLookedForBehindTheHook) {
    hooks_.wanted = true;
    policy_.play.pump.wait_publisher = Millis(0);
    EXPECT_EQ(play(), ErrorCode::kNotFound);
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=2", "hook on_play",
                                    "policy", "check", "end no_publisher"));
    hooks_.meanwhile = [this] { hold_name(); };
    EXPECT_EQ(play(), ErrorCode::kOk) << "the hook has brought it";
}

TEST_F(AdmissionTest, WhoCannotWaitIsToldAtOnce) {
    NewcomerView who = newcomer();
    EXPECT_EQ(code_of(admission_.play(who)), ErrorCode::kOk);
    who.may_wait = false;
    EXPECT_EQ(code_of(admission_.play(who)), ErrorCode::kNotFound);
    hold_name();
    EXPECT_EQ(code_of(admission_.play(who)), ErrorCode::kOk);
}

// ---- while a hook is asked ----

TEST_F(AdmissionTest, ANewPolicyHoldsForWhoWaitedForAHook) {
    hooks_.wanted = true;
    hooks_.meanwhile = [this] { policy_.closed = true; };
    EXPECT_EQ(publish(), ErrorCode::kDenied);
    EXPECT_THAT(calls_, ElementsAre("policy", "check", "before_hook places=1", "hook on_publish",
                                    "policy", "end refused"));
    policy_.closed = false;
    hooks_.meanwhile = [this] { policy_.play.max_players = 77; };
    const Result<AdmittedPlayer> made = admission_.play(newcomer());
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->rules.max_players, 77U) << "the rules are those of now";
}

TEST_F(AdmissionTest, WhatTheProtocolHasAgainstItIsAskedAgain) {
    hooks_.wanted = true;
    hooks_.meanwhile = [this] { no_check = true; };
    EXPECT_EQ(play(), ErrorCode::kDenied);
    EXPECT_EQ(calls_.back(), "end refused");
}

TEST_F(AdmissionTest, OfTwoThatAskForANameTheFasterOneHasIt) {
    hooks_.wanted = true;
    hooks_.meanwhile = [this] { hold_name(); };
    EXPECT_EQ(publish(), ErrorCode::kBusy);
    EXPECT_EQ(calls_.back(), "end refused");
}

TEST_F(AdmissionTest, AVhostThatWasTakenAwayMeanwhileIsNoOther) {
    hooks_.wanted = true;
    hooks_.meanwhile = [this] { policy_.gone_vhost = "v"; };
    EXPECT_EQ(publish(), ErrorCode::kDenied);
    EXPECT_EQ(calls_.back(), "end refused");
}

TEST_F(AdmissionTest, AClientThatLeavesMeanwhileIsForgottenWithoutALine) {
    hooks_.wanted = true;
    io::LoopbackPair pair = io::loopback_pair();
    NewcomerView who = newcomer();
    who.connection = pair.server.get();
    hooks_.meanwhile = [&] {
        pair.client->close();
        EXPECT_TRUE(io::eventually([&] { return pair.server->hangup(); }));
    };
    EXPECT_EQ(code_of(admission_.play(who)), ErrorCode::kClosed);
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(AdmissionTest, AKickEndsTheConnectionOfWhoWaits) {
    hooks_.wanted = true;
    io::LoopbackPair pair = io::loopback_pair();
    NewcomerView who = newcomer();
    who.connection = pair.server.get();
    hooks_.meanwhile = [&] {
        clients_.for_each([](Client& client) { client.kick(); });
        EXPECT_TRUE(io::eventually([&] { return pair.server->hangup(); }));
    };
    EXPECT_EQ(code_of(admission_.publish(who)), ErrorCode::kClosed);
    hooks_.meanwhile = nullptr;
    io::LoopbackPair next = io::loopback_pair();
    who.connection = next.server.get();
    const Result<AdmittedPublisher> made = admission_.publish(who);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(made->client->kick) << "the connection may go to somebody else now";
}

// ---- the log ----

TEST_F(AdmissionTest, ARefusalIsOneLineASecond) {
    policy_.closed = true;
    EXPECT_EQ(play(), ErrorCode::kDenied);
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], HasSubstr("play refused stream=v/live/a transport=toy ip=203.0.113.9 "
                                      "code=denied: closed (0 more in the last second)"));
    EXPECT_EQ(publish(), ErrorCode::kDenied);
    EXPECT_EQ(lines().size(), 1U) << "at once again";
    EXPECT_THAT(lines()[0], testing::Not(HasSubstr("s3cret")));
}

TEST_F(AdmissionTest, TheBeginOfATurnIsLoggedTenTimesAConnection) {
    Client client(clients_, "toy", "203.0.113.9");
    for (uint32_t i = 0; i < kToldTurns + 5; i++) {
        begin_turn(client, ClientRole::kPublisher, key_, i == 0 ? " path=x" : "");
    }
    ASSERT_EQ(lines().size(), kToldTurns);
    EXPECT_THAT(lines()[0], testing::AllOf(HasSubstr(client.id()),
                                           testing::EndsWith("publish stream=v/live/a "
                                                             "transport=toy ip=203.0.113.9 "
                                                             "path=x")));
    EXPECT_EQ(client.role, ClientRole::kPublisher);
    EXPECT_EQ(client.key, key_);
}

}  // namespace
}  // namespace weir::net
