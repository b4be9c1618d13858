// Calls between two phones of the registrar.
#include "session/sip/sip_bridge.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/sip/sip_server.h"

#include "test/session/fake_hooks.h"
#include "test/session/sip/sip_phone.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::Not;
using Kind = sip::CallEvent::Kind;

class SipBridgeTest : public World {
  protected:
    SipBridgeTest() : SipBridgeTest(false) {}

    explicit SipBridgeTest(bool hooks) {
        SipServerOptions options;
        options.users = {{"alice", "secret"}, {"bob", "geheim"}};
        options.extensions.push_back({"202", "bob"});
        server_ = std::make_unique<SipServer>(hooks ? hooked_ : services_, std::move(options));
        auto socket = SipPhone::udp_socket();
        address_ = socket->local().net_address();
        EXPECT_FALSE(server_->wires().serve(std::move(socket)));
        alice_ = std::make_unique<SipPhone>(address_);
        bob_ = std::make_unique<SipPhone>(address_);
    }

    ~SipBridgeTest() override {
        const Error failed = server_->stop(io::soon());
        EXPECT_FALSE(failed) << failed.to_string();
        fanout_.stop(io::soon());
        server_.reset();
    }

    // Both turn until that has come to one of them.
    bool waits(SipPhone& phone, Kind kind) {
        return io::eventually([&] {
            alice_->turn();
            bob_->turn();
            return phone.has(kind);
        });
    }

    void ring(const std::string& number = "bob") {
        ASSERT_TRUE(bob_->registers("bob", "geheim"));
        alice_->call("sip:" + number + "@127.0.0.1", "alice", "secret");
        ASSERT_TRUE(waits(*bob_, Kind::kInvited));
    }

    void connect() {
        ring();
        offer_ = bob_->last.sdp;
        ASSERT_TRUE(bob_->accept());
        ASSERT_TRUE(waits(*alice_, Kind::kAnswered));
        answer_ = alice_->last.sdp;
        ASSERT_TRUE(waits(*bob_, Kind::kConfirmed));
    }

    SipCallFacts facts() const {
        SipCallFacts facts;
        server_->for_each_call([&](const SipParty& call) { facts = call.facts(MonoClock::now()); });
        return facts;
    }

    bool is_quiet() {
        return io::eventually([&] {
            alice_->turn();
            bob_->turn();
            return server_->calls() == 0;
        });
    }

    FakeHooks hooks_;
    net::Services hooked_{registry_, fanout_, clients_, connections_, policy_, limits_, hooks_};
    std::unique_ptr<SipServer> server_;
    NetAddress address_;
    std::unique_ptr<SipPhone> alice_;
    std::unique_ptr<SipPhone> bob_;
    std::string offer_;   // as bob has it
    std::string answer_;  // as alice has it
};

TEST_F(SipBridgeTest, TwoPhonesHearEachOther) {
    connect();
    EXPECT_EQ(facts().direction, "bridge");
    EXPECT_EQ(facts().state, "answered");
    EXPECT_EQ(facts().user, "alice");
    const NetAddress to_alice = SipPhone::audio_of(offer_);
    const NetAddress to_bob = SipPhone::audio_of(answer_);
    EXPECT_NE(to_alice, alice_->media_address());
    EXPECT_NE(to_bob, bob_->media_address());
    uint16_t sequence = 0;
    Bytes at_bob;
    Bytes at_alice;
    EXPECT_TRUE(io::eventually([&] {
        alice_->say(to_bob, sequence, 0x11);
        bob_->say(to_alice, sequence++, 0x22);
        at_bob = at_bob.empty() ? bob_->hear() : at_bob;
        at_alice = at_alice.empty() ? alice_->hear() : at_alice;
        return !at_bob.empty() && !at_alice.empty();
    }));
    EXPECT_EQ(at_bob.back(), 0x11);
    EXPECT_EQ(at_alice.back(), 0x22);
    EXPECT_EQ(server_->counters().bridged, 1U);
    alice_->hang_up();
    EXPECT_TRUE(waits(*bob_, Kind::kEnded));
    EXPECT_TRUE(is_quiet());
}

TEST_F(SipBridgeTest, TheCalleeSeesWhoCallsAndNotWhere) {
    ring("202");
    EXPECT_THAT(std::string(bob_->last.request.header("From")), HasSubstr("sip:alice@127.0.0.1"));
    EXPECT_THAT(bob_->last.sdp,
                Not(HasSubstr(fmt::format("m=audio {}", alice_->media_address().port()))));
    EXPECT_EQ(bob_->last.request.header("Max-Forwards"), "69");
}

TEST_F(SipBridgeTest, RingingAndTheCalleesHangUpArePassedOn) {
    ring();
    bob_->ring();
    ASSERT_TRUE(waits(*alice_, Kind::kProgress));
    EXPECT_EQ(alice_->last.status, 180);
    EXPECT_EQ(facts().state, "ringing");
    ASSERT_TRUE(bob_->accept());
    ASSERT_TRUE(waits(*alice_, Kind::kAnswered));
    ASSERT_TRUE(waits(*bob_, Kind::kConfirmed));
    bob_->hang_up();
    EXPECT_TRUE(waits(*alice_, Kind::kEnded));
    EXPECT_TRUE(is_quiet());
}

TEST_F(SipBridgeTest, ABusyPhoneIsBusyForTheCaller) {
    ring();
    bob_->reject(486);
    ASSERT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 486);
    EXPECT_TRUE(is_quiet());
    std::string reason;
    server_->for_each_ended(MonoClock::now(),
                            [&](const SipCallFacts& ended) { reason = ended.reason; });
    EXPECT_EQ(reason, "busy");
}

TEST_F(SipBridgeTest, WhoIsNotRegisteredIsUnavailable) {
    alice_->call("sip:bob@127.0.0.1", "alice", "secret");
    ASSERT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 480);
    EXPECT_TRUE(is_quiet());
}

TEST_F(SipBridgeTest, TheCallerGivesUp) {
    ring();
    bob_->ring();
    ASSERT_TRUE(waits(*alice_, Kind::kProgress));
    alice_->hang_up();
    EXPECT_TRUE(waits(*bob_, Kind::kCancelled));
    EXPECT_TRUE(is_quiet());
}

TEST_F(SipBridgeTest, HoldIsPassedOn) {
    connect();
    alice_->offer(sdp::Direction::kSendOnly);
    ASSERT_TRUE(waits(*bob_, Kind::kOffer));
    EXPECT_THAT(bob_->last.sdp, HasSubstr("a=sendonly"));
    bob_->answer_offer(bob_->last.sdp);
    ASSERT_TRUE(waits(*alice_, Kind::kOfferAnswered));
    EXPECT_THAT(alice_->last.sdp, HasSubstr("a=recvonly"));
    EXPECT_TRUE(facts().held);
    alice_->offer(sdp::Direction::kSendRecv);
    ASSERT_TRUE(waits(*bob_, Kind::kOffer));
    bob_->answer_offer(bob_->last.sdp);
    ASSERT_TRUE(waits(*alice_, Kind::kOfferAnswered));
    EXPECT_FALSE(facts().held);
}

TEST_F(SipBridgeTest, NoCommonCodecIsARefusal) {
    bob_->codec = media::Codec::kG711A;
    ring();
    EXPECT_FALSE(bob_->accept());
    bob_->reject(488);
    ASSERT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 488);
}

TEST_F(SipBridgeTest, TheOperatorEndsACallAndStoppingEndsAll) {
    connect();
    std::string name;
    server_->for_each_call([&](const SipParty& call) { name = call.name(); });
    server_->find(name)->hang_up(net::EndClass::kKicked, "by the test");
    EXPECT_TRUE(waits(*alice_, Kind::kEnded));
    EXPECT_TRUE(waits(*bob_, Kind::kEnded));
    EXPECT_TRUE(is_quiet());
    connect();  // for the destructor
}

TEST_F(SipBridgeTest, StrangersAreNotRelayed) {
    connect();
    const auto stranger = io::UdpSocket::bind(*io::SocketAddress::parse("127.0.0.2:0"), {});
    ASSERT_TRUE(stranger.ok());
    const Bytes bytes(40, 0x80);
    EXPECT_TRUE(io::eventually([&] {
        (void)(*stranger)->send({SipPhone::audio_of(answer_), {}}, bytes);
        return facts().strangers > 0;
    }));
    EXPECT_TRUE(bob_->hear().empty());
}

class SipHooksTest : public SipBridgeTest {
  protected:
    SipHooksTest() : SipBridgeTest(true) {}
};

TEST_F(SipHooksTest, ACallBetweenPhonesIsAskedAboutAndItsEndToldOnce) {
    connect();
    EXPECT_EQ(hooks_.asked, (Told{"on_call sip/ "}));
    bob_->hang_up();
    EXPECT_TRUE(waits(*alice_, Kind::kEnded));
    EXPECT_TRUE(is_quiet());
    EXPECT_EQ(hooks_.told, (Told{"+on_call", "-on_call peer_closed"}));
}

TEST_F(SipHooksTest, ARefusedCallDoesNotRing) {
    hooks_.refused[net::HookAction::kCall] = ErrorCode::kDenied;
    ASSERT_TRUE(bob_->registers("bob", "geheim"));
    alice_->call("sip:bob@127.0.0.1", "alice", "secret");
    ASSERT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 403);
    EXPECT_FALSE(bob_->has(Kind::kInvited));
    EXPECT_TRUE(is_quiet());
    EXPECT_TRUE(hooks_.told.empty());
}

TEST_F(SipHooksTest, ACallToAStreamIsAskedAboutBeforeItsStreams) {
    policy_.play.pump.wait_publisher = Millis(50);
    alice_->call("sip:live%2Fstage@127.0.0.1", "alice", "secret");
    ASSERT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_EQ(alice_->last.status, 480);
    EXPECT_TRUE(is_quiet());
    ASSERT_EQ(hooks_.asked.size(), 3U);
    EXPECT_EQ(hooks_.asked[0], "on_call live/stage ");
    EXPECT_EQ(hooks_.told.size(), 6U);  // each allowed, and each ended
}

TEST_F(SipHooksTest, ACallThatIsGivenUpWhileTheHookIsAskedLeavesNothing) {
    hooks_.held[net::HookAction::kCall] = true;
    ASSERT_TRUE(bob_->registers("bob", "geheim"));
    alice_->call("sip:bob@127.0.0.1", "alice", "secret");
    EXPECT_TRUE(io::eventually([&] {
        alice_->turn();
        return !hooks_.asked.empty();
    }));
    alice_->hang_up();
    EXPECT_TRUE(waits(*alice_, Kind::kFailed));
    EXPECT_TRUE(io::eventually([&] {  // its CANCEL is there
        alice_->turn();
        return facts().state == "failed";
    }));
    hooks_.held.clear();
    EXPECT_TRUE(is_quiet());
    EXPECT_EQ(hooks_.told.size(), 2U);
    EXPECT_FALSE(bob_->has(Kind::kInvited));
}

}  // namespace
}  // namespace weir::session
