#include <vector>

#include <gtest/gtest.h>

#include "test/proto/ice/agent_fixture.h"

namespace weir::ice {
namespace {

using Type = Event::Type;

using Types = std::vector<Type>;

TEST_F(LiteAgentTest, AnswersAValidCheckWithTheAddressThatItSees) {
    for (const Path& from : {kWifi, Path{*NetAddress::parse("[2001:db8::7]:6000"), 0}}) {
        EXPECT_EQ(receive(check(), from), Verdict::kAccepted);
        stun::MessageView view = answer();
        EXPECT_EQ(view.message_class, stun::MessageClass::kSuccess);
        EXPECT_EQ(view.transaction[5], 7);
        EXPECT_EQ(view.xor_mapped_address, from.remote);
        EXPECT_TRUE(view.check_integrity(credentials_.key()));
        EXPECT_FALSE(view.has_integrity_sha256());
    }
}

TEST_F(LiteAgentTest, AnswersInTheStrengthOfTheRequest) {
    Check strong = check();
    strong.sha256 = true;
    EXPECT_EQ(receive(strong, kWifi), Verdict::kAccepted);
    EXPECT_TRUE(answer().has_integrity_sha256());
    EXPECT_TRUE(answer().check_integrity(credentials_.key()));
}

TEST_F(LiteAgentTest, ConnectsWithTheFirstNomination) {
    EXPECT_EQ(agent_->selected(), nullptr);
    receive(check(), kWifi);
    EXPECT_EQ(events(), Types{Type::kPathAdded});
    EXPECT_EQ(agent_->state(), State::kWaiting);
    EXPECT_EQ(selected(), kWifi.remote);  // where an answer of DTLS may go
    receive(check().nominating(), kWifi);
    EXPECT_EQ(events_.back().path, kWifi);
    EXPECT_EQ(events(), Types{Type::kConnected});
    EXPECT_EQ(agent_->state(), State::kConnected);
    receive(check().nominating(), kWifi);  // a retransmission changes nothing
    EXPECT_EQ(events(), Types{});
    EXPECT_EQ(agent_->arrivals().nominations, 2U);
}

TEST_F(LiteAgentTest, TakesAFirstCheckThatNominatesAtOnce) {
    receive(check().nominating(), kWifi);
    EXPECT_EQ(events(), (Types{Type::kPathAdded, Type::kConnected}));
}

TEST_F(LiteAgentTest, TakesChecksWithoutFingerprintOrPriority) {
    Check bare = check();
    bare.fingerprint = false;
    bare.priority.reset();
    EXPECT_EQ(receive(bare, kWifi), Verdict::kAccepted);
}

TEST_F(LiteAgentTest, RefusesAWrongPasswordAndCreatesNothing) {
    Check wrong = check().nominating();
    wrong.password[3] ^= 1;
    EXPECT_EQ(receive(wrong, kWifi), Verdict::kWrongPassword);
    EXPECT_EQ(answer().error_code, stun::kUnauthenticated);
    EXPECT_FALSE(answer().has_integrity());
    EXPECT_LT(answer_.size(), wrong.bytes().size()) << "would amplify";
    EXPECT_EQ(agent_->path_count(), 0U);
    EXPECT_EQ(agent_->selected(), nullptr);
    EXPECT_EQ(events(), Types{});
    EXPECT_EQ(agent_->arrivals().wrong_password, 1U);
}

TEST_F(LiteAgentTest, RefusesUserNamesOfOthers) {
    for (const char* name : {"other123:peer", "x", ":", ":peer", "peer:"}) {
        Check other = check();
        other.username = name;
        EXPECT_EQ(receive(other, kWifi), Verdict::kUnknownUser) << name;
        EXPECT_EQ(answer().error_code, stun::kUnauthenticated);
    }
    Check no_colon = check();
    no_colon.username = credentials_.ufrag_text();
    EXPECT_EQ(receive(no_colon, kWifi), Verdict::kUnknownUser);
    EXPECT_EQ(agent_->path_count(), 0U);
}

TEST_F(LiteAgentTest, RefusesRequestsWithoutCredentials) {
    Check no_name = check();
    no_name.username.clear();
    Check no_integrity = check();
    no_integrity.integrity = false;
    for (const Check& bad : {no_name, no_integrity}) {
        EXPECT_EQ(receive(bad, kWifi), Verdict::kUnauthenticated);
        EXPECT_EQ(answer().error_code, stun::kBadRequest);
    }
    EXPECT_EQ(agent_->path_count(), 0U);
}

TEST_F(LiteAgentTest, StopsAnsweringAFloodUntilAValidCheckComes) {
    Check wrong = check();
    wrong.password = "wrong";
    for (int i = 0; i < 1000; i++) {
        EXPECT_EQ(receive(wrong, path_number(static_cast<uint16_t>(1000 + i))),
                  Verdict::kWrongPassword);
        EXPECT_EQ(answer_.empty(), i >= kMaxRejections) << i;
    }
    EXPECT_EQ(agent_->arrivals().wrong_password, 1000U);
    EXPECT_EQ(agent_->path_count(), 0U);
    receive(check(), kWifi);
    EXPECT_FALSE(answer_.empty());
    receive(wrong, kMobile);
    EXPECT_FALSE(answer_.empty());
}

TEST_F(LiteAgentTest, TellsAPeerInTheWrongRole) {
    Check controlled = check().nominating();
    controlled.controlled = true;
    EXPECT_EQ(receive(controlled, kWifi), Verdict::kRoleConflict);
    EXPECT_EQ(answer().error_code, stun::kRoleConflict);
    EXPECT_TRUE(answer().check_integrity(credentials_.key()));
    EXPECT_EQ(agent_->path_count(), 0U);
}

TEST_F(LiteAgentTest, NamesAnAttributeThatItDoesNotUnderstand) {
    Check strange = check();
    strange.extra_attribute = 0x0077;
    EXPECT_EQ(receive(strange, kWifi), Verdict::kUnknownAttribute);
    EXPECT_EQ(answer().error_code, stun::kUnknownAttribute);
    EXPECT_TRUE(answer().check_integrity(credentials_.key()));
    EXPECT_EQ(answer_[28], 0x00);  // UNKNOWN-ATTRIBUTES behind the header and ERROR-CODE
    EXPECT_EQ(answer_[29], 0x0A);
    EXPECT_EQ(answer_[33], 0x77);
    strange.extra_attribute = 0xC057;  // this one may be ignored
    EXPECT_EQ(receive(strange, kWifi), Verdict::kAccepted);
}

TEST_F(LiteAgentTest, AsksForCredentialsBeforeItTalksOfAttributes) {
    Check strange = check();
    strange.extra_attribute = 0x0077;
    strange.password = "wrong";
    EXPECT_EQ(receive(strange, kWifi), Verdict::kWrongPassword);
}

TEST_F(LiteAgentTest, IgnoresWhatIsNoRequest) {
    std::array<uint8_t, 100> out{};
    for (stun::MessageClass c : {stun::MessageClass::kIndication, stun::MessageClass::kSuccess,
                                 stun::MessageClass::kError}) {
        stun::MessageWriter writer(out, c, stun::kBinding, {});
        EXPECT_EQ(receive({writer.message().begin(), writer.message().end()}, kWifi),
                  Verdict::kIgnored);
        EXPECT_TRUE(answer_.empty());
    }
    stun::MessageWriter allocate(out, stun::MessageClass::kRequest, 3, {});
    EXPECT_EQ(receive({allocate.message().begin(), allocate.message().end()}, kWifi),
              Verdict::kIgnored);
}

TEST_F(LiteAgentTest, CountsGarbage) {
    Bytes bytes = check().bytes();
    bytes[30] ^= 1;
    EXPECT_EQ(receive(bytes, kWifi), Verdict::kBadFingerprint);
    bytes.pop_back();
    EXPECT_EQ(receive(bytes, kWifi), Verdict::kNotStun);
    EXPECT_EQ(receive(Bytes(), kWifi), Verdict::kNotStun);
    EXPECT_EQ(agent_->arrivals().malformed, 3U);
}

TEST_F(LiteAgentTest, FitsEachAnswerIntoItsBuffer) {
    Path v6{*NetAddress::parse("[2001:db8::7]:6000"), 0};
    Check largest = check();
    largest.sha256 = true;
    receive(largest, v6);
    EXPECT_EQ(answer_.size(), 20U + 24 + 36 + 8);
    // 420 with as many types as are named.
    Bytes bytes = Bytes(kMaxResponseBytes);
    stun::MessageWriter writer(bytes, stun::MessageClass::kError, 1, {});
    writer.error_code(420, "").unknown_attributes(std::array<uint16_t, 8>());
    writer.integrity_sha256(credentials_.key()).fingerprint();
    EXPECT_GT(writer.size(), 0U);
}

TEST_F(LiteAgentTest, FollowsThePeerToAnotherAddress) {
    receive(check().nominating(), kWifi);
    pass(Seconds(3));
    events();
    receive(check(), kMobile);  // probing alone moves nothing
    EXPECT_EQ(selected(), kWifi.remote);
    receive(check().nominating(), kMobile);
    EXPECT_EQ(selected(), kMobile.remote);
    EXPECT_EQ(events(), (Types{Type::kPathAdded, Type::kPathSelected}));
    receive(check(), kWifi);  // the old one is still checked for a while
    EXPECT_EQ(selected(), kMobile.remote);
    EXPECT_EQ(agent_->path_count(), 2U);
}

TEST_F(LiteAgentTest, KeepsThePathOfHigherPriorityWhileAllAreNominated) {
    // Aggressive nomination: every check nominates. UDP is better than TCP.
    Check udp = check().nominating().with_priority(2000);
    Check tcp = check().nominating().with_priority(1000);
    receive(tcp, kTcp);
    EXPECT_EQ(selected(), kTcp.remote);
    receive(udp, kWifi);
    EXPECT_EQ(selected(), kWifi.remote);
    pass(Millis(50));
    receive(tcp, kTcp);
    EXPECT_EQ(selected(), kWifi.remote);
    pass(Millis(100));
    receive(udp, kWifi);
    pass(Seconds(2));
    EXPECT_EQ(selected(), kWifi.remote);
}

TEST_F(LiteAgentTest, MovesToALowerPriorityOnceTheBetterPathIsNominatedNoMore) {
    receive(check().nominating().with_priority(2000), kWifi);
    pass(Millis(100));
    receive(check().nominating().with_priority(1000), kMobile);
    EXPECT_EQ(selected(), kWifi.remote);
    events();
    pass(Millis(399));
    EXPECT_EQ(selected(), kWifi.remote);
    pass(Millis(1));
    EXPECT_EQ(selected(), kMobile.remote);
    EXPECT_EQ(events(), Types{Type::kPathSelected});
    pass(Seconds(5));
    EXPECT_EQ(selected(), kMobile.remote);
}

TEST_F(LiteAgentTest, FollowsTheHighestNumberWhereNominationsAreNumbered) {
    receive(check().nominating().numbered(1), kWifi);
    receive(check().nominating().numbered(2).with_priority(1), kMobile);
    EXPECT_EQ(selected(), kMobile.remote);
    receive(check().nominating().numbered(1), kWifi);  // overtaken on the way
    EXPECT_EQ(selected(), kMobile.remote);
    receive(check().nominating(), kMobile);  // the number is left out once it was acknowledged
    receive(check().nominating(), kWifi);
    pass(Seconds(2));
    EXPECT_EQ(selected(), kMobile.remote);
    receive(check().numbered(3), kWifi);
    EXPECT_EQ(selected(), kWifi.remote);
}

TEST_F(LiteAgentTest, BoundsTheNumberOfPaths) {
    receive(check().nominating(), kWifi);
    events();
    for (uint16_t port = 1; port <= 100; port++) {
        now_ += Millis(1);
        EXPECT_EQ(receive(check(), path_number(port)), Verdict::kAccepted);
        EXPECT_LE(agent_->path_count(), kMaxPaths);
    }
    EXPECT_EQ(selected(), kWifi.remote) << "the selected path never makes room";
    EXPECT_EQ(agent_->arrivals().evicted_paths, 100 - (kMaxPaths - 1));
    // What was added and not removed is what there is: the owner's table does not grow.
    int known = 1;
    for (Type type : events()) {
        known += type == Type::kPathAdded ? 1 : type == Type::kPathRemoved ? -1 : 0;
    }
    EXPECT_EQ(known, static_cast<int>(kMaxPaths));
}

TEST_F(LiteAgentTest, FailsWhenNothingIsNominatedInTime) {
    receive(check(), kWifi);
    pass(Millis(29'999));
    EXPECT_EQ(agent_->state(), State::kWaiting);
    events();
    pass(Millis(1));
    EXPECT_EQ(agent_->state(), State::kFailed);
    EXPECT_EQ(events(), (Types{Type::kPathRemoved, Type::kFailed}));
    EXPECT_FALSE(agent_->next_timeout());
    EXPECT_EQ(receive(check(), kWifi), Verdict::kClosed);
    EXPECT_TRUE(answer_.empty());
    EXPECT_EQ(events(), Types{});
}

TEST_F(LiteAgentTest, ExpiresWithTheConsentOfThePeer) {
    receive(check().nominating(), kWifi);
    for (int i = 0; i < 100; i++) {
        pass(Seconds(5));
        receive(check(), kWifi);
    }
    pass(Millis(29'999));
    EXPECT_EQ(agent_->state(), State::kConnected);
    events();
    pass(Millis(1));
    EXPECT_EQ(agent_->state(), State::kExpired);
    EXPECT_EQ(agent_->selected(), nullptr);
    EXPECT_EQ(agent_->path_count(), 0U);
    EXPECT_EQ(events(), (Types{Type::kPathRemoved, Type::kExpired}));
}

TEST_F(LiteAgentTest, TakesItsTimesFromTheOptions) {
    restart_agent({.connect_timeout = Seconds(1), .consent_timeout = Seconds(2)});
    pass(Seconds(1));
    EXPECT_EQ(agent_->state(), State::kFailed);
    restart_agent({.connect_timeout = Seconds(1), .consent_timeout = Seconds(2)});
    receive(check().nominating(), kWifi);
    pass(Millis(1999));
    EXPECT_EQ(agent_->state(), State::kConnected);
    pass(Millis(1));
    EXPECT_EQ(agent_->state(), State::kExpired);
}

TEST_F(LiteAgentTest, UnauthenticTrafficIsNoConsent) {
    receive(check().nominating(), kWifi);
    Check wrong = check();
    wrong.password = "wrong";
    for (int i = 0; i < 29; i++) {
        pass(Seconds(1));
        receive(wrong, kWifi);
    }
    pass(Seconds(1));
    EXPECT_EQ(agent_->state(), State::kExpired);
}

TEST_F(LiteAgentTest, LeavesAPathWithoutConsentForOneThatHasIt) {
    receive(check().nominating(), kWifi);
    receive(check().with_priority(1), path_number(1));
    receive(check().with_priority(2), path_number(2));
    for (int i = 0; i < 5; i++) {
        pass(Seconds(5));
        receive(check().with_priority(1), path_number(1));
        receive(check().with_priority(2), path_number(2));
    }
    events();
    EXPECT_EQ(selected(), kWifi.remote);
    pass(Seconds(5));
    EXPECT_EQ(selected(), path_number(2).remote);
    EXPECT_EQ(events(), (Types{Type::kPathRemoved, Type::kPathSelected}));
    EXPECT_EQ(agent_->state(), State::kConnected);
}

TEST_F(LiteAgentTest, LosesThePathsOfAClosedConnection) {
    receive(check().nominating(), kTcp);
    receive(check().with_priority(1), kWifi);
    events();
    agent_->forget_link(kTcp.link);
    drain();
    EXPECT_EQ(events(), (Types{Type::kPathRemoved, Type::kPathSelected}));
    EXPECT_EQ(selected(), kWifi.remote);
    agent_->forget_link(kWifi.link);
    drain();
    EXPECT_EQ(events(), Types{Type::kPathRemoved});
    EXPECT_EQ(agent_->selected(), nullptr);
    EXPECT_EQ(agent_->state(), State::kConnected);
    receive(check().nominating(), kTcp);  // it comes back in time
    EXPECT_EQ(events(), (Types{Type::kPathAdded, Type::kPathSelected}));
    agent_->forget_link(kTcp.link);
    pass(Seconds(30));
    EXPECT_EQ(agent_->state(), State::kExpired);
}

TEST_F(LiteAgentTest, DistinguishesTheSocketsOfOneAddress) {
    receive(check().nominating(), kWifi);
    Path other_link{kWifi.remote, 5};
    receive(check(), other_link);
    EXPECT_EQ(agent_->path_count(), 2U);
    agent_->forget_link(5);
    EXPECT_EQ(agent_->path_count(), 1U);
    EXPECT_EQ(*agent_->selected(), kWifi);
}

class IceRestartTest : public LiteAgentTest {
  protected:
    IceRestartTest() {
        receive(check().nominating(), kWifi);
        events();
        old_ = credentials_;
    }

    // The server has new credentials; the peer may not know them yet.
    void restart() {
        old_ = credentials_;
        credentials_ = Credentials::make(random_);
        peer_.password[0] ^= 1;
        agent_->restart(credentials_, peer_);
        drain();
    }

    Check old_check() const { return Check::with(old_); }

    Credentials old_;
};

TEST_F(IceRestartTest, BothGenerationsAreValidForAWhile) {
    restart();
    EXPECT_EQ(agent_->credentials(), credentials_);
    EXPECT_EQ(agent_->previous_ufrag(), old_.ufrag_text());
    EXPECT_EQ(receive(old_check(), kWifi), Verdict::kAccepted);
    EXPECT_TRUE(answer().check_integrity(old_.key()));
    EXPECT_EQ(receive(check(), kWifi), Verdict::kAccepted);
    EXPECT_TRUE(answer().check_integrity(credentials_.key()));
    EXPECT_EQ(receive(old_check(), kWifi), Verdict::kAccepted);
    EXPECT_EQ(events(), Types{});
    pass(Millis(14'999));
    EXPECT_EQ(receive(old_check(), kWifi), Verdict::kAccepted);
    pass(Millis(1));
    ASSERT_EQ(events_.size(), 1U);
    EXPECT_EQ(events_[0].type, Type::kGenerationEnded);
    EXPECT_EQ(events_[0].ufrag_text(), old_.ufrag_text());
    EXPECT_EQ(receive(old_check(), kWifi), Verdict::kUnknownUser);
    EXPECT_EQ(receive(check(), kWifi), Verdict::kAccepted);
    EXPECT_EQ(agent_->previous_ufrag(), "");
}

TEST_F(IceRestartTest, TheOldGenerationStaysUntilThePeerUsesTheNewOne) {
    restart();
    for (int i = 0; i < 20; i++) {
        pass(Seconds(5));
        EXPECT_EQ(receive(old_check(), kWifi), Verdict::kAccepted);
    }
    EXPECT_EQ(agent_->state(), State::kConnected);
}

TEST_F(IceRestartTest, MediaStaysUntilTheNewGenerationNominates) {
    restart();
    receive(check(), kMobile);
    receive(check(), kWifi);
    EXPECT_EQ(selected(), kWifi.remote);
    receive(old_check().nominating(), kMobile);
    EXPECT_EQ(selected(), kWifi.remote) << "an old nomination of a path that has new checks";
    events();
    receive(check().nominating().with_priority(1), kMobile);
    pass(Seconds(1));
    EXPECT_EQ(selected(), kMobile.remote);
    EXPECT_EQ(events(), Types{Type::kPathSelected});
    receive(old_check().nominating(), kWifi);
    pass(Seconds(1));
    EXPECT_EQ(selected(), kMobile.remote) << "old nominations count no more";
}

TEST_F(IceRestartTest, ANewGenerationWinsAtOnceOverAnOldOne) {
    restart();
    receive(check().nominating().with_priority(1), kMobile);
    EXPECT_EQ(selected(), kMobile.remote);
}

TEST_F(IceRestartTest, NumbersOfNominationsBeginAnew) {
    receive(check().nominating().numbered(9), kWifi);
    restart();
    receive(check().nominating().numbered(1), kWifi);
    receive(check().nominating().numbered(2), kMobile);
    EXPECT_EQ(selected(), kMobile.remote);
}

TEST_F(IceRestartTest, ASecondRestartEndsTheFirstGeneration) {
    Credentials first = credentials_;
    restart();
    receive(check(), kWifi);
    restart();
    ASSERT_EQ(events_.size(), 1U);
    EXPECT_EQ(events_[0].type, Type::kGenerationEnded);
    EXPECT_EQ(events_[0].ufrag_text(), first.ufrag_text());
    EXPECT_EQ(receive(Check::with(first), kWifi), Verdict::kUnknownUser);
    EXPECT_EQ(receive(old_check(), kWifi), Verdict::kAccepted);
    EXPECT_EQ(receive(check(), kWifi), Verdict::kAccepted);
}

TEST_F(IceRestartTest, ARepeatedRestartKeepsTheGenerationThatThePeerUses) {
    Credentials used = credentials_;
    restart();
    Credentials lost = credentials_;  // the answer never reached the peer
    restart();
    ASSERT_EQ(events_.size(), 1U);
    EXPECT_EQ(events_[0].ufrag_text(), lost.ufrag_text());
    EXPECT_EQ(receive(Check::with(used), kWifi), Verdict::kAccepted);
    EXPECT_EQ(receive(Check::with(lost), kWifi), Verdict::kUnknownUser);
    EXPECT_EQ(receive(check(), kWifi), Verdict::kAccepted);
}

TEST_F(IceRestartTest, ManyRestartsLeaveNothingBehind) {
    for (int i = 0; i < 600; i++) {  // the counter of generations wraps at 256
        restart();
        receive(check().nominating(), i % 2 == 0 ? kMobile : kWifi);
        ASSERT_EQ(selected(), (i % 2 == 0 ? kMobile : kWifi).remote) << i;
        pass(Seconds(1));
    }
    EXPECT_EQ(agent_->path_count(), 2U);
}

// A peer with two addresses over a network that loses and repeats, for an hour: it is never cut off
// while it lives, and gone in time when it does not.
TEST_F(LiteAgentTest, LivesThroughALossyHourAndEndsInTime) {
    SeededRandom network(42);
    for (int second = 0; second < 3600; second++) {
        // The peer changes its network every ten minutes and checks every 2.5 s, with retries.
        const Path& path = second / 600 % 2 == 0 ? kWifi : kMobile;
        for (int attempt = 0; second % 5 < 2 && attempt < 3; attempt++) {
            if (!network.chance(20)) {
                receive(check().nominating(), path);
            }
            if (network.chance(10)) {
                receive(check().nominating(), path);
            }
        }
        pass(Seconds(1));
        timeouts_ = 0;
        ASSERT_EQ(agent_->state(), State::kConnected) << second;
        if (second % 600 > 60) {
            ASSERT_EQ(selected(), path.remote) << second;
            ASSERT_EQ(agent_->path_count(), 1U);
        }
    }
    pass(Seconds(30));
    EXPECT_EQ(agent_->state(), State::kExpired);
}

TEST_F(LiteAgentTest, SaysWhatArrivedAndWhatToCheck) {
    EXPECT_NE(describe_arrivals(*agent_).find("no check arrived"), std::string::npos);
    Check wrong = check();
    wrong.password = "wrong";
    receive(wrong, kWifi);
    std::string text = describe_arrivals(*agent_);
    EXPECT_NE(text.find("last packet from 198.51.100.7:50000"), std::string::npos) << text;
    EXPECT_NE(text.find("1 with a wrong password"), std::string::npos) << text;
    receive(check(), kMobile);
    text = describe_arrivals(*agent_);
    EXPECT_NE(text.find("1 valid checks, none with a nomination"), std::string::npos) << text;
    EXPECT_EQ(text.find(credentials_.password_text()), std::string::npos);
    receive(check().nominating(), kMobile);
    EXPECT_NE(describe_arrivals(*agent_).find("1 with a nomination"), std::string::npos);
}

TEST_F(LiteAgentTest, IsCountedAndSmall) {
    uint64_t live = find_object_class("ice_agent")->live();
    LiteAgent other(now_, {}, credentials_, peer_, random_);
    EXPECT_EQ(find_object_class("ice_agent")->live(), live + 1);
    EXPECT_LE(sizeof(LiteAgent), 1536U);
    RecordProperty("bytes", static_cast<int>(sizeof(LiteAgent)));
}

}  // namespace
}  // namespace weir::ice
