#include "proto/sip/dialog.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/sip/session_timer.h"

namespace weir::sip {
namespace {

const Flow kFlow{Transport::kUdp, 1, *NetAddress::parse("198.51.100.1:5062"),
                 *NetAddress::parse("203.0.113.1:5060")};

Dialog callee(const http::Fields& more, std::string_view contact = "<sip:a@198.51.100.1:5062>") {
    Request request;
    request.method = Method::kInvite;
    request.method_name = "INVITE";
    request.uri = "sip:b@h";
    request.headers = {{"Via", "SIP/2.0/UDP h;branch=z9hG4bKa"},
                       {"From", "\"A\" <sip:a@h>;tag=1"},
                       {"To", "<sip:b@h>"},
                       {"Call-ID", "x"},
                       {"CSeq", "10 INVITE"},
                       {"Contact", std::string(contact)}};
    for (const http::Field& field : more) {
        request.headers.add(field.name, field.value);
    }
    std::string_view reason;
    const auto core = read_core_headers(request, reason);
    return Dialog::as_callee(request, *core, "2", "<sip:us>", kFlow).value();
}

CoreHeaders numbered(uint32_t number) {
    CoreHeaders core;
    core.cseq.number = number;
    return core;
}

TEST(DialogTest, MakesRequestsToTheContact) {
    Dialog dialog = callee({});
    const Request bye = dialog.make_request(Method::kBye);
    EXPECT_EQ(write(bye),
              "BYE sip:a@198.51.100.1:5062 SIP/2.0\r\nFrom: <sip:b@h>;tag=2\r\n"
              "To: \"A\" <sip:a@h>;tag=1\r\nCall-ID: x\r\nCSeq: 1 BYE\r\n"
              "Content-Length: 0\r\n\r\n");
    EXPECT_EQ(dialog.make_request(Method::kInvite).header("CSeq"), "2 INVITE");
    EXPECT_EQ(dialog.make_ack(2).header("CSeq"), "2 ACK");
}

TEST(DialogTest, GoesOverLooseRoutes) {
    Dialog dialog = callee({{"Record-Route", "<sip:p1;lr>, <sip:p2;lr>"}});
    const Request request = dialog.make_request(Method::kInfo);
    EXPECT_EQ(request.uri, "sip:a@198.51.100.1:5062");
    EXPECT_EQ(write(request).find("Route: <sip:p1;lr>\r\nRoute: <sip:p2;lr>"),
              write(request).find("Route"));
}

// RFC 3261 §12.2.1.1
TEST(DialogTest, PutsTheTargetBehindStrictRoutes) {
    Dialog dialog = callee({{"Record-Route", "<sip:p1>, <sip:p2;lr>"}});
    const Request request = dialog.make_request(Method::kInfo);
    EXPECT_EQ(request.uri, "sip:p1");
    EXPECT_NE(write(request).find("Route: <sip:p2;lr>\r\nRoute: <sip:a@198.51.100.1:5062>\r\n"),
              std::string::npos);
}

TEST(DialogTest, GoesBackOverTheRoutesOfItsInvite) {
    Response response;
    response.headers = {{"Via", "SIP/2.0/UDP h;branch=z9hG4bKa"},
                        {"From", "<sip:a@h>;tag=1"},
                        {"To", "<sip:b@h>;tag=2"},
                        {"Call-ID", "x"},
                        {"CSeq", "10 INVITE"},
                        {"Contact", "<sip:b@198.51.100.1>"},
                        {"Record-Route", "<sip:p2;lr>, <sip:p1;lr>"}};
    std::string_view reason;
    const auto core = read_core_headers(response, reason);
    Dialog dialog = Dialog::as_caller(response, *core, "<sip:us>", kFlow).value();
    EXPECT_EQ(dialog.local_tag(), "1");
    EXPECT_EQ(dialog.remote_tag(), "2");
    const Request request = dialog.make_request(Method::kUpdate);
    EXPECT_EQ(request.header("Route"), "<sip:p1;lr>");
    EXPECT_EQ(request.header("CSeq"), "11 UPDATE");
    EXPECT_EQ(request.header("Contact"), "<sip:us>");
    response.headers.set("To", "<sip:b@h>");
    EXPECT_FALSE(Dialog::as_caller(response, *read_core_headers(response, reason), "", kFlow));
}

TEST(DialogTest, RefusesNumbersThatGoBack) {
    Dialog dialog = callee({});
    EXPECT_TRUE(dialog.on_request(numbered(11)));
    EXPECT_TRUE(dialog.on_request(numbered(20)));
    EXPECT_FALSE(dialog.on_request(numbered(19)));
}

TEST(DialogTest, FollowsANewContact) {
    Dialog dialog = callee({});
    Request update;
    update.headers = {{"Contact", "<sip:new@198.51.100.1:7000>"}};
    dialog.refresh_target(update);
    EXPECT_EQ(dialog.make_request(Method::kBye).uri, "sip:new@198.51.100.1:7000");
    EXPECT_EQ(dialog.flow().remote.port(), 7000);
    update.headers = {{"Contact", "nonsense"}};
    dialog.refresh_target(update);
    EXPECT_EQ(dialog.remote_target(), "sip:new@198.51.100.1:7000");
}

TEST(DialogFlowTest, GoesToAContactThatCanBeReached) {
    const auto to = [](std::string_view uri) { return requests_flow(kFlow, uri); };
    EXPECT_EQ(to("sip:a@198.51.100.1:5070").remote.to_string(), "198.51.100.1:5070");
    EXPECT_EQ(to("sip:a@192.0.2.9").remote.to_string(), "192.0.2.9:5060");
    EXPECT_EQ(to("sip:a@192.168.1.2:5060"), kFlow);  // behind a NAT
    EXPECT_EQ(to("sip:a@10.0.0.1"), kFlow);
    EXPECT_EQ(to("sip:a@name.example"), kFlow);
    EXPECT_EQ(to("sip:a@[2001:db8::1]"), kFlow);
    EXPECT_EQ(to("sip:a@0.0.0.0"), kFlow);
    EXPECT_EQ(to("sip:a@239.1.1.1"), kFlow) << "a group";
    EXPECT_EQ(to("sip:a@255.255.255.255"), kFlow);
    EXPECT_EQ(to("nonsense"), kFlow);
    const Flow tcp = to("sip:a@192.0.2.9;transport=tcp");
    EXPECT_EQ(tcp.transport, Transport::kTcp);
    EXPECT_EQ(tcp.connection, 0U);
    Flow connection = kFlow;
    connection.transport = Transport::kTls;
    EXPECT_EQ(requests_flow(connection, "sip:a@192.0.2.9"), connection);
}

TEST(DialogFlowTest, NamesTheLocalAddress) {
    EXPECT_EQ(make_contact("a b", kFlow), "<sip:a%20b@203.0.113.1:5060>");
    Flow six = kFlow;
    six.transport = Transport::kTls;
    six.local = *NetAddress::parse("[2001:db8::1]:5061");
    EXPECT_EQ(make_contact("", six), "<sip:[2001:db8::1]:5061;transport=tls>");
}

// ---- RFC 4028 ----

TEST(SessionTimerTest, AgreesOnTimeAndRole) {
    const auto answer = [](const http::Fields& request) {
        const SessionAnswer out = answer_session(request, Seconds(1800), Seconds(90));
        return out.too_small ? "422" : out.expires.write() + (out.require ? " require" : "");
    };
    EXPECT_EQ(answer({}), "1800;refresher=uas");
    EXPECT_EQ(answer({{"Session-Expires", "600"}}), "600;refresher=uas");
    EXPECT_EQ(answer({{"Session-Expires", "600"}, {"Supported", "timer"}}),
              "600;refresher=uac require");
    EXPECT_EQ(answer({{"Session-Expires", "600;refresher=uas"}, {"Supported", "timer"}}),
              "600;refresher=uas");
    EXPECT_EQ(answer({{"Session-Expires", "80"}, {"Supported", "timer"}}), "422");
    EXPECT_EQ(answer({{"Session-Expires", "80"}}), "90;refresher=uas");
    EXPECT_EQ(answer({{"Session-Expires", "9000"}, {"Min-SE", "4000"}, {"Supported", "timer"}}),
              "4000;refresher=uac require");
}

TEST(SessionTimerTest, RefreshesAtHalfOfTheTime) {
    SessionTimer timer;
    const MonoTime start{Seconds(7)};
    timer.start(start, 100, true);
    EXPECT_EQ(timer.next(), start + Seconds(50));
    EXPECT_EQ(timer.due(start + Seconds(49)), SessionTimer::Due::kNothing);
    EXPECT_EQ(timer.due(start + Seconds(50)), SessionTimer::Due::kRefresh);
    EXPECT_EQ(timer.due(start + Seconds(50)), SessionTimer::Due::kNothing);
    EXPECT_EQ(timer.due(start + Seconds(100)), SessionTimer::Due::kExpired);
    EXPECT_FALSE(timer.running());
}

TEST(SessionTimerTest, WaitsForTheOtherSide) {
    SessionTimer timer;
    const MonoTime start{Seconds(7)};
    timer.start(start, 90, false);
    EXPECT_EQ(timer.next(), start + Seconds(60));
    timer.start(start, 1800, false);
    EXPECT_EQ(timer.next(), start + Seconds(1768));
}

}  // namespace
}  // namespace weir::sip
