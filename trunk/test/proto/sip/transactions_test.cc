#include "proto/sip/transactions.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/object_count.h"

#include "test/support/counting_random.h"

namespace weir::sip {
namespace {

using Kind = TransactionEvent::Kind;

class TransactionsTest : public testing::Test {
  protected:
    explicit TransactionsTest(TransactionOptions options = {}) : layer(options, random) {}

    void receive(const std::string& text) {
        Parsed parsed = parse_datagram(as_bytes(text));
        ASSERT_EQ(parsed.kind, Parsed::Kind::kMessage) << text;
        layer.on_message(now, std::move(parsed.message), flow, parsed.bytes);
    }

    // What is sent, as its first lines; the whole of the last is in `last`.
    std::vector<std::string> sent() {
        std::vector<std::string> out;
        while (auto each = layer.poll_transmit()) {
            last = each->bytes;
            last_flow = each->flow;
            out.push_back(last.substr(0, last.find("\r\n")));
        }
        return out;
    }

    std::vector<TransactionEvent> events() {
        std::vector<TransactionEvent> out;
        while (auto each = layer.poll_event()) {
            out.push_back(std::move(*each));
        }
        return out;
    }

    // Of a peer that has proven nothing.
    TransactionId begin_stranger(const std::string& text) {
        receive(text);
        const std::vector<TransactionEvent> all = events();
        EXPECT_EQ(all.size(), 1U);
        return all.empty() || all[0].kind != Kind::kRequest ? 0 : all[0].id;
    }

    TransactionId begin(const std::string& text) {
        const TransactionId id = begin_stranger(text);
        layer.prove(id);
        return id;
    }

    // Times, in ms after now, at which something is sent until `length` has passed.
    std::vector<int64_t> times_of_sending(Millis length) {
        const MonoTime start = now;
        std::vector<int64_t> out;
        while (layer.next_timeout() && *layer.next_timeout() <= start + length) {
            now = *layer.next_timeout();
            layer.handle_timeout(now);
            for (size_t i = sent().size(); i > 0; i--) {
                out.push_back(std::chrono::duration_cast<Millis>(now - start).count());
            }
        }
        now = start + length;
        return out;
    }

    static std::string request(std::string_view method,
                               std::string_view branch = "z9hG4bKa",
                               std::string_view via = "SIP/2.0/UDP 192.0.2.1:5070;rport",
                               std::string_view to_tag = "") {
        return fmt::format(
            "{} sip:b@h SIP/2.0\r\nVia: {};branch={}\r\nFrom: <sip:a@h>;tag=1\r\n"
            "To: <sip:b@h>{}\r\nCall-ID: x\r\nCSeq: 1 {}\r\n\r\n",
            method, via, branch, to_tag, method);
    }

    TransactionId send(Method method) {
        Request out;
        out.method = method;
        out.method_name = to_string(method);
        out.uri = "sip:b@h";
        out.headers = {{"Route", "<sip:p;lr>"},
                       {"From", "<sip:a@h>;tag=1"},
                       {"To", "<sip:b@h>"},
                       {"Call-ID", "x"},
                       {"CSeq", fmt::format("7 {}", to_string(method))}};
        const TransactionId id = layer.send_request(now, std::move(out), flow, 42);
        sent();
        via = last.substr(last.find("Via: "));
        via = via.substr(0, via.find("\r\n"));
        return id;
    }

    void answer(int status, std::string_view method, std::string_view tag = "2") {
        receive(
            fmt::format("SIP/2.0 {} x\r\n{}\r\nFrom: <sip:a@h>;tag=1\r\n"
                        "To: <sip:b@h>;tag={}\r\nCall-ID: x\r\nCSeq: 7 {}\r\n\r\n",
                        status, via, tag, method));
    }

    test::CountingRandom random;
    Transactions layer;
    MonoTime now{Seconds(100)};
    Flow flow{Transport::kUdp, 1, *NetAddress::parse("198.51.100.7:4000"),
              *NetAddress::parse("203.0.113.1:5060")};
    std::string last;
    Flow last_flow;
    std::string via;
};

class ReliableTransactionsTest : public TransactionsTest {
  protected:
    ReliableTransactionsTest() { flow.transport = Transport::kTcp; }
};

using Times = std::vector<int64_t>;

// ---- server ----

TEST_F(TransactionsTest, AnswersTheSourceOfARequestWithRport) {
    const TransactionId id = begin(request("OPTIONS"));
    EXPECT_TRUE(layer.respond(now, id, 200));
    EXPECT_EQ(sent(), std::vector<std::string>{"SIP/2.0 200 OK"});
    EXPECT_EQ(last_flow.remote, flow.remote);
    EXPECT_NE(last.find("rport=4000"), std::string::npos) << last;
    EXPECT_NE(last.find("received=198.51.100.7"), std::string::npos) << last;
    EXPECT_NE(last.find("To: <sip:b@h>;tag="), std::string::npos) << last;
}

TEST_F(TransactionsTest, AnswersThePortOfTheViaWithoutRport) {
    const TransactionId id = begin(request("OPTIONS", "z9hG4bKa", "SIP/2.0/UDP h:5070"));
    layer.respond(now, id, 200);
    sent();
    EXPECT_EQ(last_flow.remote.to_string(), "198.51.100.7:5070");
    EXPECT_NE(last.find("received=198.51.100.7"), std::string::npos);
}

TEST_F(TransactionsTest, SendsTheLastAnswerToARepetition) {
    const TransactionId id = begin(request("OPTIONS"));
    receive(request("OPTIONS"));
    EXPECT_TRUE(sent().empty());
    layer.respond(now, id, 200);
    receive(request("OPTIONS"));
    EXPECT_EQ(sent().size(), 2U);
    EXPECT_TRUE(events().empty());
    EXPECT_FALSE(layer.respond(now, id, 404));
    times_of_sending(Millis(32'000));
    EXPECT_EQ(layer.size(), 0U);
    EXPECT_EQ(layer.held_bytes(), 0U);
}

TEST_F(TransactionsTest, TellsTransactionsByBranchSenderAndMethod) {
    EXPECT_NE(begin(request("OPTIONS")), 0U);
    EXPECT_NE(begin(request("OPTIONS", "z9hG4bKb")), 0U);
    EXPECT_NE(begin(request("OPTIONS", "z9hG4bKa", "SIP/2.0/UDP 192.0.2.2:5070")), 0U);
    EXPECT_NE(begin(request("MESSAGE")), 0U);
    receive(request("OPTIONS", "Z9HG4BKA"));
    EXPECT_TRUE(events().empty());
}

TEST_F(TransactionsTest, SendsTryingWhenTheUserIsSlow) {
    begin(request("INVITE"));
    EXPECT_EQ(times_of_sending(Millis(250)), Times{200});
    EXPECT_EQ(last.substr(0, 18), "SIP/2.0 100 Trying");
    EXPECT_EQ(last.find(";tag=", last.find("To:")), std::string::npos) << last;
    receive(request("INVITE"));
    EXPECT_EQ(sent().size(), 1U);
}

TEST_F(TransactionsTest, RepeatsARefusalUntilTheAckComes) {
    const TransactionId id = begin(request("INVITE"));
    layer.respond(now, id, 486);
    sent();
    EXPECT_EQ(times_of_sending(Millis(12'000)), (Times{500, 1500, 3500, 7500, 11500}));
    receive(request("ACK"));
    EXPECT_TRUE(events().empty());
    EXPECT_TRUE(times_of_sending(Millis(4999)).empty());
    EXPECT_EQ(layer.size(), 1U);
    times_of_sending(Millis(1));
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, StopsRepeatingARefusalThatNobodyAcknowledges) {
    layer.respond(now, begin(request("INVITE")), 486);
    times_of_sending(Millis(32'000));
    EXPECT_EQ(layer.size(), 0U);
    EXPECT_TRUE(events().empty());
}

TEST_F(TransactionsTest, LeavesTheRepetitionOfASuccessToItsUser) {
    const TransactionId id = begin(request("INVITE"));
    layer.respond(now, id, 200);
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_TRUE(times_of_sending(Millis(31'000)).empty());
    receive(request("INVITE"));
    EXPECT_TRUE(sent().empty());
    EXPECT_TRUE(layer.respond_again(id));
    EXPECT_EQ(sent().size(), 1U);
    receive(request("ACK", "z9hG4bKother"));
    const auto all = events();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Kind::kAck);
    times_of_sending(Millis(1000));
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, MatchesAgentsOfTheOldStandard) {
    const TransactionId id = begin(request("INVITE", "1"));
    EXPECT_NE(id, 0U);
    receive(request("INVITE", "1"));
    EXPECT_TRUE(events().empty());
    layer.respond(now, id, 404);
    receive(request("ACK", "1", "SIP/2.0/UDP 192.0.2.1:5070;rport", ";tag=9"));
    EXPECT_TRUE(events().empty());
    sent();
    EXPECT_TRUE(times_of_sending(Millis(2000)).empty());
}

TEST_F(TransactionsTest, CancelsAnInviteThatWaits) {
    const TransactionId id = begin(request("INVITE"));
    layer.set_user(id, 5);
    receive(request("CANCEL"));
    EXPECT_EQ(sent(), std::vector<std::string>{"SIP/2.0 200 OK"});
    EXPECT_NE(last.find("CSeq: 1 CANCEL"), std::string::npos);
    EXPECT_NE(last.find(fmt::format("tag={}", layer.local_tag(id))), std::string::npos);
    auto all = events();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Kind::kCancel);
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(all[0].user, 5U);
    layer.respond(now, id, 487);
    sent();
    receive(request("CANCEL"));  // after the final answer it changes nothing
    EXPECT_EQ(sent(), std::vector<std::string>{"SIP/2.0 200 OK"});
    EXPECT_TRUE(events().empty());
    receive(request("CANCEL", "z9hG4bKnone"));
    EXPECT_EQ(sent(), std::vector<std::string>{"SIP/2.0 481 Call/Transaction Does Not Exist"});
}

TEST_F(TransactionsTest, AnswersWhatItCannotUse) {
    receive("OPTIONS sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKa\r\n\r\n");
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_EQ(last.substr(0, 12), "SIP/2.0 400 ");
    receive("OPTIONS sip:b@h SIP/2.0\r\nTo: <sip:b@h>\r\n\r\n");  // nobody to answer
    receive("ACK sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKa\r\n\r\n");
    receive("SIP/2.0 200 OK\r\n\r\n");
    EXPECT_TRUE(sent().empty());
    const Parsed bad = parse_datagram(
        as_bytes("OPTIONS sip:b@h SIP/7.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKa\r\n\r\n"));
    layer.on_malformed(bad, flow);
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_EQ(last.substr(0, 12), "SIP/2.0 505 ");
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, ForgetsARequestThatItsUserDoesNotAnswer) {
    const TransactionId id = begin(request("OPTIONS"));
    times_of_sending(Millis(32'000));
    EXPECT_FALSE(layer.respond(now, id, 200));
    EXPECT_EQ(layer.size(), 0U);
}

class FewTransactionsTest : public TransactionsTest {
  protected:
    FewTransactionsTest() : TransactionsTest({.max_transactions = 2}) {}
};

TEST_F(FewTransactionsTest, RefusesWithoutStateWhatIsTooMuch) {
    begin(request("OPTIONS", "z9hG4bK1"));
    begin(request("OPTIONS", "z9hG4bK2"));
    receive(request("OPTIONS", "z9hG4bK3"));
    EXPECT_TRUE(events().empty());
    EXPECT_EQ(sent(), std::vector<std::string>{"SIP/2.0 503 Service Unavailable"});
    EXPECT_NE(last.find("Retry-After: 10"), std::string::npos);
    EXPECT_EQ(layer.size(), 2U);
    EXPECT_EQ(send(Method::kOptions), 0U);
}

TEST_F(FewTransactionsTest, ForgetsAnswersEarlyInAStorm) {
    layer.respond(now, begin(request("OPTIONS", "z9hG4bK1")), 200);
    layer.respond(now, begin(request("OPTIONS", "z9hG4bK2")), 200);
    sent();
    times_of_sending(Millis(4000));
    EXPECT_EQ(layer.size(), 1U);  // the second one, which came when half of the room was taken
    times_of_sending(Millis(28'000));
    EXPECT_EQ(layer.size(), 0U);
}

class HeavyTransactionsTest : public TransactionsTest {
  protected:
    HeavyTransactionsTest() : TransactionsTest({.max_bytes = 2000}) {}
};

TEST_F(HeavyTransactionsTest, CountsTheBytesThatItKeeps) {
    size_t begun = 0;
    for (int i = 0; i < 100; i++) {
        receive(request("OPTIONS", fmt::format("z9hG4bK{}", i)));
        begun += events().size();
    }
    EXPECT_GT(begun, 0U);
    EXPECT_LT(begun, 10U);
    EXPECT_LE(layer.held_bytes(), 4000U);
}

TEST_F(ReliableTransactionsTest, EndsAtOnceWhereNothingComesTwice) {
    layer.respond(now, begin(request("OPTIONS")), 200);
    EXPECT_EQ(layer.size(), 0U);
    const TransactionId id = begin(request("INVITE"));
    layer.respond(now, id, 404);
    sent();
    EXPECT_TRUE(times_of_sending(Millis(5000)).empty());
    receive(request("ACK"));
    EXPECT_EQ(layer.size(), 0U);
}

// ---- client ----

TEST_F(TransactionsTest, SendsARequestAgainUntilItsAnswer) {
    const TransactionId id = send(Method::kOptions);
    EXPECT_NE(id, 0U);
    EXPECT_EQ(last.substr(0, last.find(";branch")),
              "OPTIONS sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP 203.0.113.1:5060");
    EXPECT_NE(last.find(";rport\r\nMax-Forwards: 70\r\n"), std::string::npos) << last;
    EXPECT_EQ(times_of_sending(Millis(12'000)), (Times{500, 1500, 3500, 7500, 11500}));
    answer(200, "OPTIONS");
    auto all = events();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Kind::kResponse);
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(all[0].user, 42U);
    answer(200, "OPTIONS");
    EXPECT_TRUE(events().empty());
    EXPECT_TRUE(times_of_sending(Millis(5000)).empty());
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, GivesUpARequestWithoutAnswer) {
    const TransactionId id = send(Method::kInvite);
    EXPECT_EQ(times_of_sending(Millis(32'000)), (Times{500, 1500, 3500, 7500, 15500, 31500}));
    const auto all = events();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Kind::kTimeout);
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, WaitsForAnInviteThatRings) {
    send(Method::kInvite);
    answer(180, "INVITE");
    EXPECT_TRUE(times_of_sending(Millis(120'000)).empty());
    EXPECT_EQ(events().size(), 1U);
    EXPECT_EQ(layer.size(), 1U);
    times_of_sending(Seconds(600));
    EXPECT_EQ(events().size(), 1U);
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, AcknowledgesARefusalByItself) {
    send(Method::kInvite);
    answer(486, "INVITE");
    EXPECT_EQ(events().size(), 1U);
    EXPECT_EQ(sent(), std::vector<std::string>{"ACK sip:b@h SIP/2.0"});
    EXPECT_NE(last.find(via), std::string::npos);
    EXPECT_NE(last.find("To: <sip:b@h>;tag=2\r\n"), std::string::npos);
    EXPECT_NE(last.find("CSeq: 7 ACK\r\n"), std::string::npos);
    EXPECT_NE(last.find("Route: <sip:p;lr>\r\n"), std::string::npos);
    answer(486, "INVITE");
    EXPECT_TRUE(events().empty());
    EXPECT_EQ(sent().size(), 1U);
    times_of_sending(Millis(32'000));
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, PassesEverySuccessOfAnInvite) {
    send(Method::kInvite);
    answer(200, "INVITE", "2");
    answer(200, "INVITE", "2");
    answer(200, "INVITE", "3");
    answer(486, "INVITE", "4");
    EXPECT_EQ(events().size(), 3U);
    EXPECT_TRUE(sent().empty());
    times_of_sending(Millis(32'000));
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, CancelsOnlyAfterAProvisionalAnswer) {
    const TransactionId id = send(Method::kInvite);
    EXPECT_FALSE(layer.cancel(now, id));
    answer(180, "INVITE");
    EXPECT_TRUE(layer.cancel(now, id));
    EXPECT_FALSE(layer.cancel(now, id));
    EXPECT_EQ(sent(), std::vector<std::string>{"CANCEL sip:b@h SIP/2.0"});
    EXPECT_NE(last.find(via), std::string::npos);
    EXPECT_NE(last.find("CSeq: 7 CANCEL\r\n"), std::string::npos);
    EXPECT_EQ(times_of_sending(Millis(600)), Times{500});
    events();
    answer(200, "CANCEL");
    EXPECT_TRUE(events().empty());
    answer(487, "INVITE");
    EXPECT_EQ(events().size(), 1U);
}

TEST_F(TransactionsTest, EndsACancelledInviteWithoutAnswer) {
    const TransactionId id = send(Method::kInvite);
    answer(180, "INVITE");
    layer.cancel(now, id);
    events();
    times_of_sending(Millis(32'000));
    const auto all = events();
    ASSERT_EQ(all.size(), 1U);  // that of the CANCEL is silent
    EXPECT_EQ(all[0].kind, Kind::kTimeout);
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, IgnoresAnswersToNothing) {
    via = "Via: SIP/2.0/UDP 203.0.113.1:5060;branch=z9hG4bKnone";
    answer(200, "INVITE");
    EXPECT_TRUE(events().empty());
    EXPECT_TRUE(sent().empty());
}

TEST_F(ReliableTransactionsTest, TellsThatAConnectionIsGone) {
    const TransactionId id = send(Method::kInvite);
    EXPECT_TRUE(times_of_sending(Millis(20'000)).empty());
    Flow other = flow;
    other.connection = 2;
    layer.on_flow_failed(other);
    EXPECT_TRUE(events().empty());
    layer.on_flow_failed(flow);
    const auto all = events();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, Kind::kTransportFailed);
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(layer.size(), 0U);
}

TEST_F(TransactionsTest, LeavesNothingBehind) {
    const ObjectClass* const counted = find_object_class("sip_transaction");
    ASSERT_NE(counted, nullptr);
    for (int i = 0; i < 3000; i++) {
        const TransactionId id = begin(request("OPTIONS", fmt::format("z9hG4bK{}", i)));
        if (i % 2 == 0) {
            layer.respond(now, id, 200);
        }
        now += Millis(1);
    }
    events();
    sent();
    EXPECT_EQ(counted->live(), 3000U);
    times_of_sending(Millis(40'000));
    EXPECT_EQ(counted->live(), 0U);
    EXPECT_EQ(layer.held_bytes(), 0U);
    EXPECT_FALSE(layer.next_timeout());
}

}  // namespace
}  // namespace weir::sip
