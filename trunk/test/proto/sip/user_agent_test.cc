#include "proto/sip/user_agent.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/object_count.h"
#include "proto/http/digest_auth.h"

#include "test/proto/sip/agent_pair.h"

namespace weir::sip {
namespace {

using Kind = CallEvent::Kind;

class UserAgentTest : public testing::Test, public AgentPair {
  protected:
    using AgentPair::AgentPair;

    void expect_nothing_left() {
        pass(Seconds(40));
        EXPECT_EQ(alice.calls(), 0U);
        EXPECT_EQ(bob.calls(), 0U);
        EXPECT_EQ(alice.transactions().size(), 0U);
        EXPECT_EQ(bob.transactions().size(), 0U);
        EXPECT_FALSE(alice.next_timeout());
        EXPECT_FALSE(bob.next_timeout());
    }

    // A message of nobody that is known, to bob.
    std::string say(std::string_view text) {
        bob.on_parsed(now, parse_datagram(as_bytes(text)), flow_to_alice());
        std::string out;
        while (auto each = bob.poll_transmit()) {
            out = each->bytes.substr(0, each->bytes.find("\r\n"));
            carried.push_back(each->bytes);
        }
        while (auto each = bob.poll_event()) {
            of_bob.push_back(std::move(*each));
        }
        return out;
    }

    static std::string request(std::string_view method,
                               std::string_view more = "",
                               std::string_view to_tag = "",
                               std::string_view uri = "sip:bob@h",
                               std::string_view branch = "z9hG4bKz") {
        return fmt::format(
            "{} {} SIP/2.0\r\nVia: SIP/2.0/UDP h;rport;branch={}{}\r\nFrom: <sip:x@h>;tag=1\r\n"
            "To: <sip:bob@h>{}\r\nCall-ID: z\r\nCSeq: 1 {}\r\nContact: <sip:x@h>\r\n{}\r\n",
            method, uri, branch, method, to_tag, method, more);
    }
};

TEST_F(UserAgentTest, CallsAndIsAnswered) {
    const CallId call = alice.call(now, target());
    EXPECT_NE(call, 0U);
    settle();
    CallEvent invited = at_bob();
    EXPECT_EQ(invited.kind, Kind::kInvited);
    EXPECT_EQ(invited.sdp, "offer");
    EXPECT_EQ(invited.request.uri, "sip:bob@203.0.113.2");
    EXPECT_TRUE(bob.ring(now, invited.call));
    settle();
    EXPECT_EQ(at_alice().status, 180);
    EXPECT_TRUE(bob.accept(now, invited.call, "answer"));
    EXPECT_FALSE(bob.accept(now, invited.call, "answer"));
    settle();
    CallEvent answered = at_alice();
    EXPECT_EQ(answered.kind, Kind::kAnswered);
    EXPECT_EQ(answered.call, call);
    EXPECT_EQ(answered.sdp, "answer");
    EXPECT_EQ(at_bob().kind, Kind::kConfirmed);
    EXPECT_TRUE(alice.hang_up(now, call));
    EXPECT_FALSE(alice.hang_up(now, call));
    settle();
    CallEvent ended = at_alice();
    EXPECT_EQ(ended.kind, Kind::kEnded);
    EXPECT_TRUE(ended.by_us);
    ended = at_bob();
    EXPECT_EQ(ended.kind, Kind::kEnded);
    EXPECT_EQ(ended.status, 0);
    EXPECT_FALSE(ended.by_us);
    expect_nothing_left();
}

TEST_F(UserAgentTest, IsHungUpByTheOneWhoWasCalled) {
    const auto [a, b] = establish();
    EXPECT_TRUE(bob.hang_up(now, b));
    settle();
    EXPECT_EQ(at_alice().kind, Kind::kEnded);
    EXPECT_EQ(at_bob().kind, Kind::kEnded);
    expect_nothing_left();
}

TEST_F(UserAgentTest, MakesAnOfferWhereTheCallerHasNone) {
    alice.call(now, target(""));
    settle();
    const CallEvent invited = at_bob();
    EXPECT_EQ(invited.sdp, "");
    bob.accept(now, invited.call, "late offer");
    settle();
    EXPECT_EQ(at_alice().sdp, "late offer");
    EXPECT_EQ(at_bob().kind, Kind::kConfirmed);
}

TEST_F(UserAgentTest, TakesTheAnswerOfALateOfferFromTheAck) {
    way = [](std::string& bytes) {
        if (bytes.starts_with("ACK ")) {
            const size_t at = bytes.find("Content-Length: 0");
            bytes.replace(at, bytes.size(),
                          "Content-Type: application/sdp\r\nContent-Length: 6\r\n\r\nanswer");
        }
        return true;
    };
    alice.call(now, target(""));
    settle();
    bob.accept(now, at_bob().call, "offer");
    settle();
    EXPECT_EQ(at_bob().sdp, "answer");
}

TEST_F(UserAgentTest, IsRefused) {
    alice.call(now, target());
    settle();
    const CallId call = at_bob().call;
    EXPECT_FALSE(bob.reject(now, call, 200));
    EXPECT_TRUE(bob.reject(now, call, 486, {{"Warning", "399 h \"x\""}}));
    settle();
    const CallEvent failed = at_alice();
    EXPECT_EQ(failed.kind, Kind::kFailed);
    EXPECT_EQ(failed.status, 486);
    EXPECT_EQ(failed.response.header("Warning"), "399 h \"x\"");
    EXPECT_EQ(at_bob().kind, Kind::kCancelled);
    expect_nothing_left();
}

TEST_F(UserAgentTest, TellsWhereARedirectGoes) {
    alice.call(now, target());
    settle();
    bob.reject(now, at_bob().call, 302, {{"Contact", "<sip:c@h>, <sip:d@h>;q=0.1"}});
    settle();
    const CallEvent failed = at_alice();
    EXPECT_EQ(failed.status, 302);
    EXPECT_EQ(failed.contacts, (std::vector<std::string>{"sip:c@h", "sip:d@h"}));
    EXPECT_EQ(count("INVITE"), 1U);
}

TEST_F(UserAgentTest, CancelsACallThatRings) {
    const CallId call = alice.call(now, target());
    settle();
    bob.ring(now, at_bob().call);
    settle();
    alice.hang_up(now, call);
    settle();
    EXPECT_EQ(at_alice().kind, Kind::kProgress);
    const CallEvent failed = at_alice();
    EXPECT_EQ(failed.kind, Kind::kFailed);
    EXPECT_EQ(failed.status, 487);
    const CallEvent cancelled = at_bob();
    EXPECT_EQ(cancelled.kind, Kind::kCancelled);
    EXPECT_EQ(cancelled.status, 487);
    EXPECT_EQ(count("CANCEL"), 1U);
    expect_nothing_left();
}

TEST_F(UserAgentTest, CancelsOnlyWhenTheOtherSideHasSaidSomething) {
    const CallId call = alice.call(now, target());
    alice.hang_up(now, call);
    settle();
    EXPECT_EQ(count("CANCEL"), 0U);
    pass(Millis(250));  // 100 (Trying) comes
    EXPECT_EQ(count("CANCEL"), 1U);
    EXPECT_EQ(at_bob().kind, Kind::kInvited);
    EXPECT_EQ(at_bob().kind, Kind::kCancelled);
    expect_nothing_left();
}

TEST_F(UserAgentTest, EndsACallWhoseAnswerCrossesTheCancel) {
    const CallId call = alice.call(now, target());
    settle();
    const CallId at = at_bob().call;
    bob.accept(now, at, "answer");
    alice.hang_up(now, call);
    settle();
    EXPECT_EQ(at_alice().kind, Kind::kFailed);
    EXPECT_EQ(at_alice().status, -1);
    EXPECT_EQ(count("ACK"), 1U);
    EXPECT_EQ(count("BYE"), 1U);
    EXPECT_EQ(at_bob().kind, Kind::kConfirmed);
    EXPECT_EQ(at_bob().kind, Kind::kEnded);
    expect_nothing_left();
}

TEST_F(UserAgentTest, KeepsTheFirstAnswerOfAForkedCall) {
    const CallId call = alice.call(now, target());
    std::string second;
    way = [&](std::string& bytes) {
        if (bytes.starts_with("SIP/2.0 200") && bytes.find("INVITE\r\n") != std::string::npos) {
            second = bytes;
        }
        return true;
    };
    settle();
    bob.accept(now, at_bob().call, "answer");
    settle();
    const size_t at = second.find(";tag=", second.find("To:")) + 5;
    second.replace(at, 4, "fork");
    alice.on_parsed(now, parse_datagram(as_bytes(second)), flow_to_bob());
    std::string ack = alice.poll_transmit()->bytes;
    std::string bye = alice.poll_transmit()->bytes;
    EXPECT_TRUE(ack.starts_with("ACK ")) << ack;
    EXPECT_TRUE(bye.starts_with("BYE ")) << bye;
    EXPECT_NE(ack.find("tag=fork"), std::string::npos);
    EXPECT_NE(bye.find("tag=fork"), std::string::npos);
    EXPECT_EQ(alice.calls(), 1U);
    EXPECT_FALSE(alice.call_id_text(call).empty());
}

TEST_F(UserAgentTest, RepeatsTheAnswerUntilTheAckComes) {
    int lost = 0;
    way = [&](std::string& bytes) { return !bytes.starts_with("ACK") || ++lost > 3; };
    alice.call(now, target());
    settle();
    bob.accept(now, at_bob().call, "answer");
    pass(Seconds(10));
    EXPECT_EQ(count("SIP/2.0 200 OK"), 4U);
    EXPECT_EQ(lost, 4);
    EXPECT_EQ(at_bob().kind, Kind::kConfirmed);
    EXPECT_EQ(at_alice().kind, Kind::kAnswered);
    EXPECT_TRUE(of_alice.empty());
}

TEST_F(UserAgentTest, EndsACallThatNobodyAcknowledges) {
    way = [&](std::string& bytes) { return !bytes.starts_with("ACK"); };
    alice.call(now, target());
    settle();
    bob.accept(now, at_bob().call, "answer");
    pass(Seconds(33));
    const CallEvent ended = at_bob();
    EXPECT_EQ(ended.kind, Kind::kEnded);
    EXPECT_EQ(ended.status, 408);
    EXPECT_EQ(at_alice().kind, Kind::kAnswered);
    EXPECT_EQ(at_alice().kind, Kind::kEnded);
    expect_nothing_left();
}

TEST_F(UserAgentTest, WaitsForTheAckBeforeItHangsUp) {
    bool through = false;
    way = [&](std::string& bytes) { return through || !bytes.starts_with("ACK"); };
    alice.call(now, target());
    settle();
    const CallId call = at_bob().call;
    bob.accept(now, call, "answer");
    settle();
    bob.hang_up(now, call);
    settle();
    EXPECT_EQ(at_bob().kind, Kind::kEnded);
    EXPECT_EQ(count("BYE"), 0U);
    through = true;
    pass(Seconds(1));
    EXPECT_EQ(count("BYE"), 1U);
    expect_nothing_left();
}

TEST_F(UserAgentTest, GivesUpACallThatNobodyAnswers) {
    way = [](std::string&) { return false; };
    alice.call(now, target());
    pass(Seconds(33));
    const CallEvent failed = at_alice();
    EXPECT_EQ(failed.kind, Kind::kFailed);
    EXPECT_EQ(failed.status, 408);
    expect_nothing_left();
}

TEST_F(UserAgentTest, GivesUpACallThatRingsTooLong) {
    alice.call(now, target());
    settle();
    bob.ring(now, at_bob().call);
    pass(Seconds(181));
    EXPECT_EQ(at_alice().kind, Kind::kProgress);
    EXPECT_EQ(at_alice().kind, Kind::kFailed);
    EXPECT_EQ(at_bob().kind, Kind::kCancelled);
    expect_nothing_left();
}

TEST_F(UserAgentTest, TellsThatTheOtherSideCannotBeReached) {
    transport = Transport::kTcp;
    alice.call(now, target());
    while (alice.poll_transmit()) {
    }
    alice.on_flow_failed(now, flow_to_bob());
    settle();
    EXPECT_EQ(at_alice().status, 503);
    EXPECT_EQ(alice.calls(), 0U);
}

// ---- login ----

class UserAgentLoginTest : public UserAgentTest {
  protected:
    // Bob asks for a password with this status.
    int ask(std::string user, std::string password, int status) {
        CallTarget to = target();
        to.login = {std::move(user), std::move(password)};
        alice.call(now, to);
        settle();
        const bool proxy = status == 407;
        int asked = 0;
        for (;;) {
            CallEvent invited = at_bob();
            if (invited.kind != Kind::kInvited) {
                return asked;
            }
            const std::string field(
                invited.request.header(proxy ? "Proxy-Authorization" : "Authorization"));
            const auto shown = http::parse_credentials(field);
            if (shown && http::verify(*shown, "weir", "secret", "INVITE")) {
                EXPECT_EQ(shown->uri, invited.request.uri);
                bob.accept(now, invited.call, "answer");
            } else {
                asked++;
                http::Challenge challenge;
                challenge.realm = "weir";
                challenge.nonce = "abc";
                challenge.qop_auth = true;
                bob.reject(
                    now, invited.call, status,
                    {{proxy ? "Proxy-Authenticate" : "WWW-Authenticate", http::write(challenge)}});
                settle();
                of_bob.erase(std::remove_if(of_bob.begin(), of_bob.end(),
                                            [](const CallEvent& each) {
                                                return each.kind == Kind::kCancelled;
                                            }),
                             of_bob.end());
            }
            settle();
        }
    }
};

TEST_F(UserAgentLoginTest, AnswersAChallengeOnce) {
    EXPECT_EQ(ask("alice", "secret", 401), 1);
    EXPECT_EQ(at_alice().kind, Kind::kAnswered);
    EXPECT_EQ(count("INVITE"), 2U);
}

TEST_F(UserAgentLoginTest, AnswersThatOfAProxy) {
    EXPECT_EQ(ask("alice", "secret", 407), 1);
    EXPECT_EQ(at_alice().kind, Kind::kAnswered);
}

TEST_F(UserAgentLoginTest, StopsAtAWrongPassword) {
    EXPECT_EQ(ask("alice", "wrong", 401), 2);
    const CallEvent failed = at_alice();
    EXPECT_EQ(failed.kind, Kind::kFailed);
    EXPECT_EQ(failed.status, 401);
}

TEST_F(UserAgentLoginTest, HasNothingToAnswerWith) {
    EXPECT_EQ(ask("", "", 401), 1);
    EXPECT_EQ(at_alice().status, 401);
}

// ---- within a call ----

TEST_F(UserAgentTest, OffersAndAnswersWithinACall) {
    const auto [a, b] = establish();
    EXPECT_TRUE(alice.offer(now, a, "hold"));
    EXPECT_FALSE(alice.offer(now, a, "twice"));
    settle();
    CallEvent offer = at_bob();
    EXPECT_EQ(offer.kind, Kind::kOffer);
    EXPECT_EQ(offer.sdp, "hold");
    EXPECT_TRUE(bob.answer_offer(now, b, "held"));
    EXPECT_FALSE(bob.answer_offer(now, b, "held"));
    settle();
    CallEvent answered = at_alice();
    EXPECT_EQ(answered.kind, Kind::kOfferAnswered);
    EXPECT_EQ(answered.sdp, "held");
    EXPECT_TRUE(bob.offer(now, b, "resume"));
    settle();
    EXPECT_EQ(at_alice().sdp, "resume");
    EXPECT_TRUE(alice.refuse_offer(now, a, 488));
    settle();
    CallEvent refused = at_bob();
    EXPECT_EQ(refused.kind, Kind::kOfferRefused);
    EXPECT_EQ(refused.status, 488);
    EXPECT_EQ(count("BYE"), 0U);
}

TEST_F(UserAgentTest, LetsOneOfTwoOffersThatMeetGoFirst) {
    const auto [a, b] = establish();
    alice.offer(now, a, "of alice");
    bob.offer(now, b, "of bob");
    settle();
    EXPECT_EQ(count("SIP/2.0 491"), 2U);
    int answered = 0;
    for (int i = 0; i < 50; i++) {
        pass(Millis(100));
        for (CallEvent event = at_alice(); event.status != -1; event = at_alice()) {
            answered += event.kind == Kind::kOfferAnswered ? 1 : 0;
            EXPECT_TRUE(event.kind != Kind::kOffer || alice.answer_offer(now, a, "yes"));
        }
        for (CallEvent event = at_bob(); event.status != -1; event = at_bob()) {
            answered += event.kind == Kind::kOfferAnswered ? 1 : 0;
            EXPECT_TRUE(event.kind != Kind::kOffer || bob.answer_offer(now, b, "yes"));
        }
    }
    EXPECT_EQ(answered, 2);
}

TEST_F(UserAgentTest, RefusesAnOfferThatItsOwnerForgets) {
    const auto [a, b] = establish();
    alice.offer(now, a, "hold");
    pass(Seconds(20));
    EXPECT_EQ(at_alice().kind, Kind::kOfferRefused);
    EXPECT_EQ(alice.calls(), 1U);
}

TEST_F(UserAgentTest, PassesInfo) {
    const auto [a, b] = establish();
    EXPECT_TRUE(alice.send_info(now, a, "application/dtmf-relay", "Signal=5\r\nDuration=160\r\n"));
    settle();
    const CallEvent info = at_bob();
    EXPECT_EQ(info.kind, Kind::kInfo);
    EXPECT_EQ(info.type, "application/dtmf-relay");
    EXPECT_EQ(info.body, "Signal=5\r\nDuration=160\r\n");
    EXPECT_TRUE(of_alice.empty());
}

TEST_F(UserAgentTest, EndsACallThatTheOtherSideDoesNotKnow) {
    const auto [a, b] = establish();
    way = [](std::string& bytes) { return !bytes.starts_with("BYE"); };
    bob.hang_up(now, b);
    pass(Seconds(33));
    EXPECT_EQ(bob.calls(), 0U);
    way = [](std::string&) { return true; };
    alice.send_info(now, a, "x/y", "z");
    settle();
    EXPECT_EQ(at_alice().status, 481);
    expect_nothing_left();
}

TEST_F(UserAgentTest, HangsUpWhileAnOfferIsUnderWay) {
    const auto [a, b] = establish();
    alice.offer(now, a, "hold");
    settle();
    EXPECT_TRUE(alice.hang_up(now, a));
    settle();
    EXPECT_EQ(at_bob().kind, Kind::kOffer);
    EXPECT_EQ(at_bob().kind, Kind::kEnded);
    EXPECT_FALSE(bob.answer_offer(now, b, "held"));
    EXPECT_EQ(at_alice().kind, Kind::kEnded);
    EXPECT_TRUE(of_alice.empty());
    expect_nothing_left();
}

TEST_F(UserAgentTest, TakesAnOfferByUpdate) {
    const auto [a, b] = establish();
    std::string update;
    way = [&](std::string& bytes) {
        if (bytes.starts_with("INVITE")) {
            for (size_t at = bytes.find("INVITE"); at != std::string::npos;
                 at = bytes.find("INVITE", at)) {
                const bool used = at == 0 || bytes.compare(at - 2, 2, "1 ") == 0 ||
                                  bytes.compare(at - 2, 2, "2 ") == 0;
                bytes.replace(at, 6, used ? "UPDATE" : "invite");
            }
            update = bytes;
        }
        return true;
    };
    alice.offer(now, a, "hold");
    settle();
    ASSERT_TRUE(update.starts_with("UPDATE")) << update;
    EXPECT_EQ(at_bob().sdp, "hold");
    EXPECT_TRUE(bob.answer_offer(now, b, "held"));
    settle();
    EXPECT_NE(carried.back().find("held"), std::string::npos);
    EXPECT_NE(carried.back().find("UPDATE"), std::string::npos);
}

// ---- session timers ----

TEST_F(UserAgentTest, RefreshesASessionByUpdate) {
    establish();
    pass(Seconds(4000));
    EXPECT_EQ(count("UPDATE"), 4U);
    EXPECT_EQ(alice.calls(), 1U);
    EXPECT_EQ(bob.calls(), 1U);
    EXPECT_TRUE(of_alice.empty());
}

TEST_F(UserAgentTest, RefreshesByInviteWhereThereIsNoUpdate) {
    way = [](std::string& bytes) {
        if (const size_t at = bytes.find("UPDATE, "); at != std::string::npos) {
            bytes.erase(at, 8);
        }
        return true;
    };
    const auto [a, b] = establish();
    for (int i = 0; i < 100; i++) {
        pass(Seconds(20));
        while (!of_bob.empty()) {
            EXPECT_EQ(of_bob[0].sdp, "offer");
            bob.answer_offer(now, b, "answer");
            of_bob.pop_front();
        }
    }
    EXPECT_EQ(count("INVITE"), 3U);
    EXPECT_EQ(alice.calls(), 1U);
}

TEST_F(UserAgentTest, EndsASessionThatNobodyRefreshes) {
    establish();
    way = [](std::string&) { return false; };
    pass(Seconds(1000));
    EXPECT_EQ(at_alice().kind, Kind::kEnded);  // its UPDATE has no answer
    EXPECT_EQ(bob.calls(), 1U);
    pass(Seconds(900));
    const CallEvent ended = at_bob();
    EXPECT_EQ(ended.kind, Kind::kEnded);
    EXPECT_EQ(ended.status, 408);
    expect_nothing_left();
}

class ShortSessionTest : public UserAgentTest {
  protected:
    ShortSessionTest()
        : UserAgentTest(with_session(Seconds(100), Seconds(90)),
                        with_session(Seconds(1800), Seconds(300))) {}

    static UserAgentOptions with_session(Seconds expires, Seconds minimum) {
        UserAgentOptions out;
        out.session_expires = expires;
        out.min_session = minimum;
        return out;
    }
};

TEST_F(ShortSessionTest, TakesALongerTimeWhereItMust) {
    alice.call(now, target());
    settle();
    EXPECT_EQ(count("SIP/2.0 422"), 1U);
    EXPECT_EQ(count("INVITE"), 2U);
    EXPECT_EQ(at_bob().kind, Kind::kInvited);
}

// ---- reliable provisional answers ----

class ReliableProvisionalTest : public UserAgentTest {
  protected:
    ReliableProvisionalTest() {
        way = [this](std::string& bytes) {
            if (bytes.starts_with("INVITE")) {
                bytes.insert(bytes.find("Supported:"), "Require: 100rel\r\n");
            }
            return !lose || !bytes.starts_with(*lose);
        };
    }

    std::optional<std::string> lose;
};

TEST_F(ReliableProvisionalTest, AcknowledgesByPrack) {
    alice.call(now, target());
    settle();
    const CallId call = at_bob().call;
    EXPECT_TRUE(bob.ring(now, call, 183, "early"));
    EXPECT_FALSE(bob.ring(now, call, 180));  // one at a time
    settle();
    EXPECT_EQ(at_alice().sdp, "early");
    EXPECT_EQ(count("PRACK"), 1U);
    EXPECT_TRUE(bob.ring(now, call, 180));
    settle();
    EXPECT_EQ(at_alice().status, 180);
    EXPECT_EQ(count("PRACK"), 2U);
    bob.accept(now, call, "early");
    settle();
    EXPECT_EQ(at_alice().kind, Kind::kAnswered);
    EXPECT_EQ(at_bob().kind, Kind::kConfirmed);
}

TEST_F(ReliableProvisionalTest, HoldsTheAnswerBackUntilThePrack) {
    alice.call(now, target());
    settle();
    const CallId call = at_bob().call;
    lose = "PRACK";
    bob.ring(now, call, 180);
    settle();
    EXPECT_TRUE(bob.accept(now, call, "answer"));
    settle();
    EXPECT_EQ(at_alice().status, 180);
    EXPECT_TRUE(of_alice.empty());
    lose.reset();
    pass(Seconds(1));
    EXPECT_EQ(at_alice().kind, Kind::kAnswered);
}

TEST_F(ReliableProvisionalTest, EndsTheCallWithoutPrack) {
    alice.call(now, target());
    settle();
    lose = "PRACK";
    bob.ring(now, at_bob().call, 180);
    pass(Seconds(33));
    EXPECT_EQ(at_bob().status, 504);
    lose.reset();
    expect_nothing_left();
}

// ---- strangers ----

TEST_F(UserAgentTest, RefusesWhatBelongsToNoCall) {
    for (const std::string_view method : {"BYE", "INFO", "UPDATE", "PRACK"}) {
        EXPECT_EQ(say(request(method)).substr(8, 3), "481") << method;
    }
    EXPECT_EQ(say(request("INVITE", "", ";tag=unknown")).substr(8, 3), "481");
    EXPECT_EQ(say(request("REFER")).substr(8, 3), "603");
    EXPECT_EQ(say(request("NOTIFY")).substr(8, 3), "489");
    EXPECT_EQ(say(request("BREW")).substr(8, 3), "501");
    EXPECT_EQ(say(request("CANCEL")).substr(8, 3), "481");
    EXPECT_EQ(say(request("ACK")), "");
    EXPECT_EQ(say(request("INVITE", "", "", "unknown:x", "z9hG4bK1")).substr(8, 3), "416");
    EXPECT_EQ(say(request("INVITE", "", "", "sip:a@h?Route=x", "z9hG4bK2")).substr(8, 3), "400");
    EXPECT_EQ(say(request("INVITE", "Require: magic\r\n", "", "sip:a@h", "z9hG4bK3")).substr(8, 3),
              "420");
    EXPECT_EQ(say(request("INVITE", "Content-Type: text/plain\r\n\r\nx", "", "sip:a@h", "z9hG4bK4"))
                  .substr(8, 3),
              "415");
    EXPECT_TRUE(of_bob.empty());
    EXPECT_EQ(bob.calls(), 0U);
}

TEST_F(UserAgentTest, DoesNotLetAStrangerEndACall) {
    establish();
    std::string invite = carried[0];
    const std::string id = invite.substr(invite.find("Call-ID: ") + 9, 20);
    std::string ok;
    for (const std::string& each : carried) {
        ok = each.starts_with("SIP/2.0 200") ? each : ok;
    }
    const size_t at = ok.find(";tag=", ok.find("To:")) + 5;
    const std::string tag = ok.substr(at, ok.find("\r\n", at) - at);
    std::string bye = request("BYE", "", ";tag=" + tag);
    bye.replace(bye.find("Call-ID: z"), 10, "Call-ID: " + id);
    EXPECT_EQ(say(bye).substr(8, 3), "481");
    EXPECT_EQ(bob.calls(), 1U);
    EXPECT_TRUE(of_bob.empty());
}

TEST_F(UserAgentTest, AnswersOtherRequestsWithinACall) {
    establish();
    const Parsed invite = parse_datagram(as_bytes(carried[0]));
    const Parsed ack = parse_datagram(as_bytes(carried.back()));
    const auto ask = [&](std::string_view method, int number) {
        const auto& first = std::get<Request>(invite.message);
        const auto& last = std::get<Request>(ack.message);
        return say(fmt::format("{} sip:bob@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK{}\r\n"
                               "From: {}\r\nTo: {}\r\nCall-ID: {}\r\nCSeq: {} {}\r\n\r\n",
                               method, number, first.header("From"), last.header("To"),
                               first.header("Call-ID"), number, method))
            .substr(8, 3);
    };
    EXPECT_EQ(ask("REFER", 10), "603");
    EXPECT_EQ(ask("OPTIONS", 11), "200");
    EXPECT_EQ(ask("NOTIFY", 12), "489");
    EXPECT_EQ(ask("MESSAGE", 13), "405");
    EXPECT_EQ(ask("PRACK", 14), "481");
    EXPECT_EQ(ask("INFO", 9), "500");  // an old number
    EXPECT_TRUE(of_bob.empty());
    EXPECT_EQ(ask("BYE", 15), "200");
    EXPECT_EQ(at_bob().kind, Kind::kEnded);
    EXPECT_EQ(bob.calls(), 0U);
}

TEST_F(UserAgentTest, CallsOverTcpWithoutRepetitions) {
    transport = Transport::kTcp;
    const auto [a, b] = establish();
    EXPECT_NE(carried[0].find("Via: SIP/2.0/TCP 203.0.113.1:5060;"), std::string::npos);
    EXPECT_NE(carried[0].find("Contact: <sip:alice@203.0.113.1:5060;transport=tcp>"),
              std::string::npos);
    const size_t before = carried.size();
    pass(Seconds(60));
    EXPECT_EQ(carried.size(), before);
    alice.hang_up(now, a);
    settle();
    EXPECT_EQ(carried.size(), before + 2);
    expect_nothing_left();
}

TEST_F(UserAgentTest, EndsACallOverAConnectionThatIsGone) {
    transport = Transport::kTcp;
    const auto [a, b] = establish();
    alice.on_flow_failed(now, flow_to_bob());
    EXPECT_EQ(alice.calls(), 1U);  // another connection may be made
    alice.hang_up(now, a);
    while (alice.poll_transmit()) {
    }
    alice.on_flow_failed(now, flow_to_bob());
    EXPECT_EQ(alice.calls(), 0U);
}

TEST_F(UserAgentTest, SeesTheSameInviteOnTwoWays) {
    EXPECT_EQ(say(request("INVITE", "", "", "sip:a@h", "z9hG4bK1")), "");
    EXPECT_EQ(say(request("INVITE", "", "", "sip:a@h", "z9hG4bK2")).substr(8, 3), "482");
    EXPECT_EQ(of_bob.size(), 1U);
}

TEST_F(UserAgentTest, GivesOtherRequestsToItsOwner) {
    say(request("REGISTER"));
    CallEvent asked = at_bob();
    EXPECT_EQ(asked.kind, Kind::kRequest);
    EXPECT_EQ(asked.request.method, Method::kRegister);
    EXPECT_TRUE(bob.respond(now, asked.transaction, 200, {{"Expires", "60"}}));
    EXPECT_TRUE(bob.poll_transmit()->bytes.starts_with("SIP/2.0 200 OK"));
}

TEST_F(UserAgentTest, SendsRequestsOfItsOwner) {
    Request options;
    options.method = Method::kOptions;
    options.method_name = "OPTIONS";
    options.uri = "sip:bob@h";
    options.headers = {
        {"From", "<sip:a@h>;tag=1"}, {"To", "<sip:b@h>"}, {"Call-ID", "x"}, {"CSeq", "1 OPTIONS"}};
    EXPECT_TRUE(alice.send_request(now, options, flow_to_bob(), 77));
    settle();
    bob.respond(now, at_bob().transaction, 404);
    settle();
    CallEvent response = at_alice();
    EXPECT_EQ(response.kind, Kind::kResponse);
    EXPECT_EQ(response.user, 77U);
    EXPECT_EQ(response.status, 404);
    way = [](std::string&) { return false; };
    alice.send_request(now, options, flow_to_bob(), 78);
    pass(Seconds(33));
    response = at_alice();
    EXPECT_EQ(response.kind, Kind::kRequestFailed);
    EXPECT_EQ(response.user, 78U);
}

class FewCallsTest : public UserAgentTest {
  protected:
    FewCallsTest() : UserAgentTest(one_call(), one_call()) {}

    static UserAgentOptions one_call() {
        UserAgentOptions out;
        out.max_calls = 1;
        return out;
    }
};

TEST_F(FewCallsTest, RefusesMoreCalls) {
    EXPECT_EQ(say(request("INVITE", "", "", "sip:a@h", "z9hG4bK1")), "");
    std::string other = request("INVITE", "", "", "sip:a@h", "z9hG4bK2");
    other.replace(other.find("Call-ID: z"), 10, "Call-ID: y");
    EXPECT_EQ(say(other).substr(8, 3), "503");
    EXPECT_NE(alice.call(now, target()), 0U);
    EXPECT_EQ(alice.call(now, target()), 0U);
}

// Each message has one chance in three to be lost.
TEST_F(UserAgentTest, SurvivesLoss) {
    uint32_t seed = 1;
    way = [&](std::string&) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 16U) % 3 != 0;
    };
    int answered = 0;
    for (int i = 0; i < 30; i++) {
        const CallId a = alice.call(now, target());
        pass(Seconds(5));
        while (!of_bob.empty()) {
            bob.accept(now, of_bob.front().call, "answer");
            of_bob.pop_front();
        }
        pass(Seconds(10));
        while (!of_alice.empty()) {
            answered += of_alice.front().kind == Kind::kAnswered ? 1 : 0;
            of_alice.pop_front();
        }
        alice.hang_up(now, a);
        pass(Seconds(40));
    }
    EXPECT_GT(answered, 20);
    way = [](std::string&) { return true; };
    pass(Seconds(2000));
    expect_nothing_left();
    EXPECT_EQ(find_object_class("sip_call")->live(), 0U);
}

}  // namespace
}  // namespace weir::sip
