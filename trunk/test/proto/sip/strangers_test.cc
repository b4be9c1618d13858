// What callers get that have proven nothing: bytes out by bytes in, and what is kept of them.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/path_budget.h"

#include "test/proto/sip/agent_pair.h"

namespace weir::sip {
namespace {

constexpr std::string_view kChallenge =
    "Digest realm=\"weir\", nonce=\"0000000000000064d41d8cd98f00b204e9800998ecf8427e\", "
    "algorithm=SHA-256, qop=\"auth\"";

class StrangersTest : public testing::Test {
  protected:
    explicit StrangersTest(TransactionOptions options = {}) : layer(options, random) {}

    void receive(const std::string& text) {
        Parsed parsed = parse_datagram(as_bytes(text));
        if (parsed.kind == Parsed::Kind::kMessage) {
            layer.on_message(now, std::move(parsed.message), flow, parsed.bytes);
        } else {
            layer.on_malformed(parsed, flow);
        }
        in += text.size();
        drain();
    }

    void drain() {
        while (auto each = layer.poll_transmit()) {
            out += each->bytes.size();
            sent.push_back(std::move(each->bytes));
        }
        while (auto each = layer.poll_event()) {
            if (each->kind == TransactionEvent::Kind::kRequest) {
                last = each->id;
            }
        }
    }

    void refuse(int status) {
        Response response = layer.make_response(last, status);
        response.headers.add("Server", "Weir");
        if (status == 401) {
            response.headers.add("WWW-Authenticate", std::string(kChallenge));
            response.headers.add("WWW-Authenticate", std::string(kChallenge));
        } else if (status == 405 || status == 200) {
            response.headers.add("Allow", std::string(kAllow));
            response.headers.add("Supported", std::string(kSupported));
        }
        EXPECT_TRUE(layer.respond(now, last, response));
        drain();
    }

    void pass(Millis length) {
        const MonoTime end = now + length;
        while (layer.next_timeout() && *layer.next_timeout() <= end) {
            now = *layer.next_timeout();
            layer.handle_timeout(now);
            drain();
        }
        now = end;
    }

    // As phones write them.
    static std::string request(std::string_view method, std::string_view branch = "z9hG4bK8a1c") {
        return fmt::format(
            "{0} sip:100@203.0.113.1 SIP/2.0\r\n"
            "Via: SIP/2.0/UDP 192.0.2.1:5070;rport;branch={1}\r\nMax-Forwards: 70\r\n"
            "From: \"Alice\" <sip:alice@203.0.113.1>;tag=4f1a6c\r\nTo: <sip:100@203.0.113.1>\r\n"
            "Call-ID: 3848276298220188511@192.0.2.1\r\nCSeq: 1 {0}\r\n"
            "Contact: <sip:alice@192.0.2.1:5070>\r\nContent-Length: 0\r\n\r\n",
            method, branch);
    }

    // With nothing that it could do without.
    static std::string tiny(std::string_view method) {
        return fmt::format(
            "{0} sip:a SIP/2.0\r\nv:SIP/2.0/UDP a;branch=z9hG4bK1\r\nf:<sip:a>;tag=1\r\n"
            "t:<sip:a>\r\ni:a\r\nCSeq:1 {0}\r\n\r\n",
            method);
    }

    test::CountingRandom random;
    Transactions layer;
    MonoTime now{Seconds(100)};
    Flow flow{Transport::kUdp, 1, *NetAddress::parse("198.51.100.7:4000"),
              *NetAddress::parse("203.0.113.1:5060")};
    TransactionId last = 0;
    size_t in = 0;
    size_t out = 0;
    std::vector<std::string> sent;
};

TEST_F(StrangersTest, EveryRefusalIsSentOnceAndLeavesNothing) {
    for (const std::string_view method : {"INVITE", "REGISTER", "OPTIONS", "MESSAGE"}) {
        for (const int status : {400, 401, 403, 404, 405, 480, 483, 488, 500, 503, 603}) {
            SCOPED_TRACE(fmt::format("{} {}", method, status));
            in = out = 0;
            sent.clear();
            receive(request(method));
            refuse(status);
            EXPECT_EQ(sent.size(), 1U);
            EXPECT_EQ(layer.size(), 0U);
            EXPECT_EQ(layer.held_bytes(), 0U);
            pass(Seconds(40));
            EXPECT_EQ(sent.size(), 1U) << "again by a timer";
            EXPECT_LE(out, kUnprovenFactor * in);
            EXPECT_FALSE(layer.next_timeout());
        }
    }
}

TEST_F(StrangersTest, OptionsAreAnsweredOnce) {
    receive(request("OPTIONS"));
    refuse(200);
    pass(Seconds(40));
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(StrangersTest, ARequestThatComesAgainGetsTheSameAnswer) {
    receive(request("INVITE"));
    refuse(401);
    receive(request("INVITE"));
    refuse(401);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0], sent[1]) << "RFC 3261 section 8.2.7: the tag of To, too";
}

TEST_F(StrangersTest, TheTagSaysNothingAboutThatOfAnotherAddress) {
    receive(request("INVITE"));
    const std::string tag(layer.local_tag(last));
    refuse(404);
    flow.remote = *NetAddress::parse("198.51.100.8:4000");
    receive(request("INVITE"));
    EXPECT_NE(layer.local_tag(last), tag);
    refuse(404);
}

TEST_F(StrangersTest, NoAnswerIsMoreThanThreeTimesWhatCame) {
    for (const std::string_view method : {"INVITE", "REGISTER", "OPTIONS"}) {
        for (const int status : {200, 401, 404, 405}) {
            if (method == "INVITE" && status == 200) {
                continue;
            }
            SCOPED_TRACE(fmt::format("{} {}", method, status));
            in = out = 0;
            sent.clear();
            receive(tiny(method));
            refuse(status);
            EXPECT_LE(out, kUnprovenFactor * in);
            const bool fits =
                status != 401 || method != "INVITE";  // a phone's is ten times as long
            EXPECT_EQ(sent.size(), fits ? 1U : 0U) << "what it can do without is left out";
        }
    }
    for (const std::string_view bad :
         {"X a SIP/2.0\r\nv:SIP/2.0/UDP a\r\n\r\n",
          "INVITE sip:a SIP/7.0\r\nv:SIP/2.0/UDP a\r\n\r\n",
          "CANCEL sip:a SIP/2.0\r\nv:SIP/2.0/UDP a\r\nf:<sip:a>\r\nt:<sip:a>\r\ni:a\r\n"
          "CSeq:1 CANCEL\r\n\r\n"}) {
        in = out = 0;
        receive(std::string(bad));
        EXPECT_LE(out, kUnprovenFactor * in) << bad;
    }
}

TEST_F(StrangersTest, ACallerThatWasToldToWaitGetsItsRefusalAgainWithinTheSameBytes) {
    receive(request("INVITE"));
    pass(Millis(300));
    ASSERT_EQ(sent.size(), 1U) << "100 (Trying)";
    refuse(480);
    pass(Seconds(40));
    EXPECT_GT(sent.size(), 2U) << "its INVITE does not come again";
    EXPECT_LE(out, kUnprovenFactor * in);
    EXPECT_GT(layer.held_back(), 0U);
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(StrangersTest, NobodyIsToldToWaitWhereTheRefusalWouldHaveNoRoom) {
    receive(tiny("INVITE"));
    pass(Millis(300));
    EXPECT_TRUE(sent.empty());
    refuse(404);
    EXPECT_EQ(sent.size(), 1U);
}

TEST_F(StrangersTest, AnAnsweredCallThatNobodyAcknowledgesLeavesRoomForItsBye) {
    receive(request("INVITE"));
    layer.respond(now, last, 200);
    for (int i = 0; i < 10; i++) {
        layer.respond_again(last);
    }
    drain();
    EXPECT_GT(sent.size(), 1U);
    EXPECT_LT(sent.size(), 5U);
    Request bye;
    bye.method = Method::kBye;
    bye.uri = "sip:alice@192.0.2.1:5070";
    bye.headers = {{"From", "<sip:100@203.0.113.1>;tag=1"},
                   {"To", "<sip:alice@203.0.113.1>;tag=2"},
                   {"Call-ID", "x"},
                   {"CSeq", "1 BYE"}};
    EXPECT_TRUE(layer.send_once(last, bye));
    drain();
    EXPECT_EQ(sent.back().substr(0, 4), "BYE ");
    EXPECT_LE(out, kUnprovenFactor * in);
    pass(Seconds(40));
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(StrangersTest, WhoHasProvenItsAddressGetsEverythingAgain) {
    receive(request("INVITE"));
    layer.prove(last);
    EXPECT_EQ(layer.strangers(), 0U);
    refuse(486);
    pass(Seconds(40));
    EXPECT_EQ(sent.size(), 11U);
}

TEST_F(StrangersTest, ARepetitionFromElsewhereIsNotWhatCameFromThere) {
    receive(request("INVITE"));
    refuse(100);
    const Flow victim = flow;
    flow.remote = *NetAddress::parse("198.51.100.8:4000");
    const size_t before = in;
    for (int i = 0; i < 50; i++) {
        receive(request("INVITE"));
    }
    flow = victim;
    EXPECT_LE(out, kUnprovenFactor * before);
}

class ReliableStrangersTest : public StrangersTest {
  protected:
    ReliableStrangersTest() { flow.transport = Transport::kTcp; }
};

TEST_F(ReliableStrangersTest, TheHandshakeHasProvenTheAddress) {
    receive(tiny("OPTIONS"));
    EXPECT_EQ(layer.strangers(), 0U);
    refuse(405);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_NE(sent[0].find("Allow: "), std::string::npos) << "nothing is left out";
}

class CrowdedStrangersTest : public StrangersTest {
  protected:
    CrowdedStrangersTest() : StrangersTest({.max_strangers = 20}) {}
};

TEST_F(CrowdedStrangersTest, RefusalsAreKeptForFew) {
    for (int i = 0; i < 1000; i++) {
        receive(request("INVITE", fmt::format("z9hG4bK{}", i)));
        refuse(180);
        refuse(480);
    }
    EXPECT_LE(layer.size(), 11U);
    EXPECT_EQ(sent.size(), 2000U);
}

// ---- a whole user agent ----

class StrangeCallersTest : public testing::Test, public AgentPair {
  protected:
    StrangeCallersTest() { proves = false; }

    CallTarget phone() const {
        return target(
            "v=0\r\no=- 1 1 IN IP4 203.0.113.1\r\ns=-\r\nc=IN IP4 203.0.113.1\r\nt=0 0\r\n"
            "m=audio 40000 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\n"
            "a=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n");
    }
};

TEST_F(StrangeCallersTest, AForgedCallThatIsAnsweredGetsThreeTimesItsBytesAtMost) {
    size_t came = 0;
    size_t sent = 0;
    way = [&](std::string& each) {  // one INVITE, and the victim of the forged address is silent
        if (each.starts_with("INVITE")) {
            const bool first = std::exchange(came, each.size()) == 0;
            return first;
        }
        sent += each.size();
        return false;
    };
    alice.call(now, phone());
    settle();
    const CallEvent invitation = at_bob();
    ASSERT_EQ(invitation.kind, CallEvent::Kind::kInvited);
    bob.accept(now, invitation.call, invitation.sdp);
    pass(Seconds(60));
    EXPECT_GT(sent, 0U);
    EXPECT_LE(sent, kUnprovenFactor * came);
    EXPECT_EQ(bob.calls(), 0U);
    EXPECT_EQ(bob.transactions().size(), 0U);
    EXPECT_EQ(at_bob().kind, CallEvent::Kind::kEnded);
}

TEST_F(StrangeCallersTest, TheAckProvesTheCaller) {
    const auto [a, b] = establish(phone().sdp, phone().sdp);
    EXPECT_EQ(bob.transactions().strangers(), 0U);
    way = [](std::string& each) { return !each.starts_with("BYE"); };
    bob.hang_up(now, b);
    pass(Seconds(40));
    EXPECT_EQ(bob.calls(), 0U);
}

TEST_F(StrangeCallersTest, ARequestOfTheCallFromElsewhereIsAnsweredThreefoldAtMost) {
    const auto [a, b] = establish(phone().sdp, phone().sdp);
    carried.clear();
    alice.offer(now, a, phone().sdp);
    const std::string invite = alice.poll_transmit()->bytes;
    Flow victim = flow_to_alice();
    victim.remote = *NetAddress::parse("198.51.100.9:5060");
    bob.on_parsed(now, parse_datagram(as_bytes(invite)), victim);
    settle();
    EXPECT_EQ(at_bob().kind, CallEvent::Kind::kOffer);
    size_t sent = 0;
    way = [&](std::string& each) {
        sent += each.starts_with("SIP/2.0") ? each.size() : 0;
        return false;
    };
    bob.answer_offer(now, b, phone().sdp);
    pass(Seconds(20));
    EXPECT_GT(sent, 0U);
    EXPECT_LE(sent, kUnprovenFactor * invite.size());
}

TEST_F(StrangeCallersTest, ACallIsAskedWhetherItIsThere) {
    const auto [a, b] = establish(phone().sdp, phone().sdp);
    const MonoTime before = bob.heard(b);
    pass(Seconds(30));
    EXPECT_EQ(bob.heard(b), before);
    EXPECT_TRUE(bob.ask(now, b));
    EXPECT_FALSE(bob.ask(now, b)) << "it is asked already";
    settle();
    EXPECT_EQ(bob.heard(b), now);
    EXPECT_EQ(count("OPTIONS"), 1U);
    alice.on_flow_failed(now, flow_to_bob());
    way = [](std::string&) { return false; };
    EXPECT_TRUE(bob.ask(now, b));
    pass(Seconds(40));
    EXPECT_LT(bob.heard(b), now);
    EXPECT_EQ(bob.calls(), 1U) << "that is for its owner to decide";
}

TEST_F(StrangeCallersTest, ARefusedCallIsForgottenAtOnce) {
    alice.call(now, phone());
    settle();
    EXPECT_EQ(bob.transactions().size(), 1U);
    bob.reject(now, at_bob().call, 401, {{"WWW-Authenticate", std::string(kChallenge)}});
    settle();
    EXPECT_EQ(bob.transactions().size(), 0U);
    EXPECT_EQ(bob.calls(), 0U);
    EXPECT_EQ(count("SIP/2.0 401"), 1U);
    EXPECT_EQ(count("ACK"), 1U);
}

}  // namespace
}  // namespace weir::sip
