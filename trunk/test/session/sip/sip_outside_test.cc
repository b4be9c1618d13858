// Calls of phones to a provider: who may, which numbers, how many at once.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/sip/sip_bridge.h"
#include "session/sip/sip_server.h"

#include "test/session/fake_hooks.h"
#include "test/session/sip/sip_phone.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using Kind = sip::CallEvent::Kind;

class SipOutsideTest : public World {
  protected:
    SipOutsideTest() {
        server_ = std::make_unique<SipServer>(hooked_, SipServerOptions());
        auto socket = SipPhone::udp_socket();
        address_ = socket->local().net_address();
        EXPECT_FALSE(server_->wires().serve(std::move(socket)));
        provider_ = std::make_unique<SipPhone>(address_);
        alice_ = std::make_unique<SipPhone>(address_);
        server_->reconfigure(options());
    }

    ~SipOutsideTest() override {
        const Error failed = server_->stop(io::soon());
        EXPECT_FALSE(failed) << failed.to_string();
        fanout_.stop(io::soon());
        server_.reset();
    }

    SipServerOptions options() const {
        SipServerOptions options;
        options.users = {{"alice", "secret"}, {"bob", "geheim"}};
        options.registrations.push_back({.user = "weir",
                                         .domain = "provider.test",
                                         .password = "very-secret",
                                         .servers = {provider_->address().to_string()}});
        options.outside.push_back({"00", "weir@provider.test", 1, 0, {}});
        options.outside.push_back({"0049", "weir@provider.test", 5, 1, {"bob"}});
        return options;
    }

    void turn() {
        alice_->turn();
        provider_->turn();
    }

    bool waits(SipPhone& phone, Kind kind) {
        return io::eventually([&] {
            turn();
            return phone.has(kind);
        });
    }

    bool is_quiet() {
        return io::eventually([&] {
            turn();
            return server_->calls() == 0;
        });
    }

    void register_server() {
        ASSERT_TRUE(io::eventually([&] {
            turn();
            return server_->trunks().registered() == 1;
        }));
    }

    void dial(SipPhone& phone,
              const std::string& number,
              const std::string& user = "alice",
              const std::string& password = "secret") {
        phone.call("sip:" + number + "@127.0.0.1", user, password);
    }

    int refusal(SipPhone& phone,
                const std::string& number,
                const std::string& user = "alice",
                const std::string& password = "secret") {
        dial(phone, number, user, password);
        EXPECT_TRUE(waits(phone, Kind::kFailed)) << number;
        return phone.last.status;
    }

    FakeHooks hooks_;
    net::Services hooked_{registry_, fanout_, clients_, connections_, policy_, limits_, hooks_};
    std::unique_ptr<SipServer> server_;
    NetAddress address_;
    std::unique_ptr<SipPhone> provider_;
    std::unique_ptr<SipPhone> alice_;
};

TEST_F(SipOutsideTest, AUsersPhoneCallsANumberOfTheProvider) {
    register_server();
    dial(*alice_, "001234");
    ASSERT_TRUE(waits(*provider_, Kind::kInvited));
    EXPECT_EQ(provider_->last.request.uri, "sip:001234@provider.test");
    EXPECT_THAT(std::string(provider_->last.request.header("From")),
                HasSubstr("sip:weir@provider.test"));
    EXPECT_THAT(std::string(provider_->last.request.header("Contact")), HasSubstr("sip:weir@"));
    ASSERT_TRUE(provider_->accept());
    ASSERT_TRUE(waits(*alice_, Kind::kAnswered));
    SipCallFacts facts;
    server_->for_each_call([&](const SipParty& call) { facts = call.facts(MonoClock::now()); });
    EXPECT_EQ(facts.direction, "bridge");
    EXPECT_EQ(facts.user, "alice");
    EXPECT_EQ(facts.trunk, "weir@provider.test");
    EXPECT_EQ(facts.to, "sip:001234@127.0.0.1");
    EXPECT_EQ(server_->counters().outside, 1U);
    EXPECT_EQ(hooks_.asked, (Told{"on_call sip/ "}));
    alice_->hang_up();
    EXPECT_TRUE(waits(*provider_, Kind::kEnded));
    EXPECT_TRUE(is_quiet());
    EXPECT_EQ(hooks_.told, (Told{"+on_call", "-on_call peer_closed"}));
}

TEST_F(SipOutsideTest, NoMoreThanTheRuleAllowsAtOnce) {
    register_server();
    dial(*alice_, "001");
    ASSERT_TRUE(waits(*provider_, Kind::kInvited));
    SipPhone other(address_);
    EXPECT_EQ(refusal(other, "002"), 503);
    EXPECT_EQ(server_->outside_calls("00"), 1U);
    EXPECT_EQ(server_->outside_calls("0049"), 0U);
    alice_->hang_up();
    EXPECT_TRUE(waits(*provider_, Kind::kCancelled));
    EXPECT_TRUE(is_quiet());
    EXPECT_EQ(server_->outside_calls("00"), 0U);
    dial(other, "003");
    EXPECT_TRUE(io::eventually([&] {
        other.turn();
        turn();
        return provider_->has(Kind::kInvited);
    }));
}

TEST_F(SipOutsideTest, TheLongestBeginningHoldsWithItsUsers) {
    register_server();
    EXPECT_EQ(refusal(*alice_, "004930"), 403);
    SipPhone bob(address_);
    dial(bob, "004930", "bob", "geheim");
    EXPECT_TRUE(io::eventually([&] {
        bob.turn();
        turn();
        return provider_->has(Kind::kInvited);
    }));
    EXPECT_EQ(provider_->last.request.uri, "sip:04930@provider.test");
    EXPECT_EQ(server_->outside_calls("0049"), 1U);
}

TEST_F(SipOutsideTest, OtherNumbersAndWhatIsNoNumberStayInside) {
    register_server();
    for (const char* number :
         {"112", "00a", "00*1", "00-1", "0", "001%3Bx=y", "00111111111111111111111111111111111"}) {
        EXPECT_EQ(refusal(*alice_, number), 404) << number;
    }
    EXPECT_EQ(server_->counters().outside, 0U);
    EXPECT_TRUE(hooks_.asked.empty());
}

TEST_F(SipOutsideTest, WhoHasShownNoPasswordCannotCallOutside) {
    SipServerOptions with_trunk = options();
    with_trunk.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
    server_->reconfigure(with_trunk);
    register_server();
    EXPECT_EQ(refusal(*alice_, "001234"), 403);  // an address of a trunk
    provider_->call("sip:001234@127.0.0.1");     // the provider itself
    ASSERT_TRUE(waits(*provider_, Kind::kFailed));
    EXPECT_EQ(provider_->last.status, 403);
    EXPECT_EQ(server_->counters().outside, 0U);
}

TEST_F(SipOutsideTest, AWrongPasswordIsNoUser) {
    register_server();
    EXPECT_EQ(refusal(*alice_, "001234", "alice", "wrong"), 401);
    EXPECT_EQ(server_->counters().outside, 0U);
}

TEST_F(SipOutsideTest, AHookMayRefuseIt) {
    hooks_.refused[net::HookAction::kCall] = ErrorCode::kDenied;
    register_server();
    EXPECT_EQ(refusal(*alice_, "001234"), 403);
    EXPECT_EQ(server_->counters().outside, 0U);
    EXPECT_FALSE(provider_->has(Kind::kInvited));
}

TEST_F(SipOutsideTest, ARuleThatIsGoneWhenTheHookHasAnsweredHoldsNoMore) {
    hooks_.held[net::HookAction::kCall] = true;
    register_server();
    dial(*alice_, "001234");
    EXPECT_TRUE(io::eventually([&] {
        turn();
        return !hooks_.asked.empty();
    }));
    SipServerOptions none = options();
    none.outside.clear();
    server_->reconfigure(none);
    hooks_.held.clear();
    EXPECT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 403);
    EXPECT_TRUE(is_quiet());
}

TEST_F(SipOutsideTest, WithoutTheProviderItIsUnavailable) {
    SipServerOptions unregistered = options();
    unregistered.outside[0].via = "nobody@provider.test";
    server_->reconfigure(unregistered);
    EXPECT_EQ(refusal(*alice_, "001234"), 480);
    EXPECT_TRUE(is_quiet());
}

TEST_F(SipOutsideTest, TheProvidersRefusalIsTheCallers) {
    register_server();
    dial(*alice_, "001234");
    ASSERT_TRUE(waits(*provider_, Kind::kInvited));
    provider_->reject(486);
    ASSERT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 486);
    EXPECT_TRUE(is_quiet());
}

}  // namespace
}  // namespace weir::session
