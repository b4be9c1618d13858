// The torture messages of RFC 4475 and RFC 5118, by their sections: what a user agent makes of
// each. The messages are written anew after what the sections describe; LF stands for CR LF here.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/sip/user_agent.h"

#include "test/support/counting_random.h"

namespace weir::sip {
namespace {

constexpr int kSilence = 0;
constexpr int kToOwner = 1;  // it became an event: invited, or a request of the owner

struct Case {
    std::string_view section;
    std::string text;
    int outcome;  // the status of the answer, kSilence or kToOwner
};

std::string wire(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c == '\n' ? "\r\n" : std::string(1, c);
    }
    return out;
}

// kToOwner before an answer: an INVITE that is answered later.
int outcome_of(const std::string& datagram) {
    test::CountingRandom random;
    UserAgent agent({}, random);
    const Flow flow{Transport::kUdp, 1, *NetAddress::parse("192.0.2.9:5060"),
                    *NetAddress::parse("203.0.113.1:5060")};
    agent.on_parsed(MonoTime(Seconds(1)), parse_datagram(as_bytes(datagram)), flow);
    if (agent.poll_event()) {
        return kToOwner;
    }
    const std::optional<Transmit> answer = agent.poll_transmit();
    return answer ? std::stoi(answer->bytes.substr(8, 3)) : kSilence;
}

void check(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
        EXPECT_EQ(outcome_of(wire(each.text)), each.outcome) << each.section << "\n" << each.text;
    }
}

// A request that has nothing special; `line` and `more` are what the section is about.
std::string options(std::string_view line, std::string_view more) {
    return std::string(line) + "\nMax-Forwards: 70\nCall-ID: t.1@example.org\n" +
           std::string(more) + "Content-Length: 0\n\n";
}

const std::string kRest =
    "To: <sip:user@example.com>\nFrom: <sip:caller@example.org>;tag=938\n"
    "Via: SIP/2.0/UDP host1.example.com;branch=z9hG4bKkdj\n";
const std::string kOptions = "CSeq: 93 OPTIONS\n" + kRest;
const std::string kInvite = "CSeq: 8 INVITE\nContact: <sip:caller@host5.example.net>\n" + kRest;
const std::string kRegister = "CSeq: 9 REGISTER\n" + kRest;
const std::string kOptionsLine = "OPTIONS sip:user@example.com SIP/2.0";
const std::string kInviteLine = "INVITE sip:user@example.com SIP/2.0";
const std::string kRegisterLine = "REGISTER sip:example.com SIP/2.0";

TEST(SipTortureTest, TakesWhatIsValid) {
    std::string vias;
    for (int i = 34; i > 0; i--) {
        vias += (i % 2 == 0 ? "v: SIP/2.0/TCP sip" : "ViA: SIP/2.0/TCP sip") + std::to_string(i) +
                ".example.com;branch=z9hG4bK" + std::to_string(i) + "\n";
    }
    const std::string nul(1, '\0');
    check({
        {"4475 3.1.1.1 a short tortuous INVITE",
         "INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0\n"
         "TO :\n sip:vivekg@chair-dnrc.example.com ;   tag    = \n"
         "from   : \"J Rosenberg \\\\\\\"\"       <sip:jdrosen@example.com>\n  ;\n  tag = 98asjd8\n"
         "MaX-fOrWaRdS: 0068\nCall-ID: wsinv.ndaksdj@192.0.2.1\nContent-Length   : 6\n"
         "cseq: 0009\n  INVITE\nVia  : SIP  /   2.0\n /UDP\n    192.0.2.2;branch=390skdjuw\n"
         "s :\nNewFangledHeader:   newfangled value\n continued newfangled value\n"
         "UnknownHeaderWithUnusualValue: ;;,,;;,;\nContent-Type: application/sdp\n"
         "Route:\n <sip:services.example.com;lr;unknownwith=value;unknown-no-value>\n"
         "v:  SIP  / 2.0  / TCP     spindle.example.com   ;\n  branch  =   z9hG4bK9ikj8  ,\n"
         " SIP  /    2.0   / UDP  192.168.255.111   ; branch=\n z9hG4bK30239\n"
         "m:\"Quoted string \\\"\\\"\" <sip:jdrosen@example.com> ; newparam =\n      newvalue ;\n"
         "  secondparam ; q = 0.33\n\nv=0\n\n",
         kToOwner},
        {"4475 3.1.1.2 the widest range of valid characters",
         "!interesting-Method0123456789_*+`.%indeed'~ "
         "sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too."
         "(doesn't-it)@example.com SIP/2.0\n"
         "Via: SIP/2.0/TCP host1.example.com;branch=z9hG4bK-.!%66*_+`'~\n"
         "To: \"BEL:\\\x07 NUL:\\" +
             nul +
             " DEL:\\\x7F\" <sip:1_unusual.URI@example.com>\n"
             "From: token1~` token2'+_ token3*%!.- <sip:mundane@example.com>"
             ";fromParam''~+*_!.-%=\"\xD1\x80\xD0\xB0\";tag=_token~1'+`*%!-.\n"
             "Call-ID: intmeth.word%ZK-!.*_+'@word`~)(><:\\/\"][?}{\n"
             "CSeq: 139122385 !interesting-Method0123456789_*+`.%indeed'~\nMax-Forwards: 255\n\n",
         501},
        {"4475 3.1.1.3 escapes in a URI",
         options("INVITE sip:sips%3Auser%40example.com@example.net SIP/2.0", kInvite), kToOwner},
        {"4475 3.1.1.4 an escaped NUL",
         options("REGISTER sip:example.com SIP/2.0",
                 kRegister + "Contact: <sip:%00@host5.example.com>\n"),
         kToOwner},
        {"4475 3.1.1.5 a percent sign that escapes nothing",
         options(
             "RE%47IST%45R sip:registrar.example.com SIP/2.0",
             "CSeq: 29344 RE%47IST%45R\n" + kRest + "Contact: <sip:alias1@host1.example.com>\n"),
         501},
        {"4475 3.1.1.6 no blank between a name and its URI",
         options(kOptionsLine,
                 "CSeq: 60 OPTIONS\nTo: sip:user@example.com\nFrom: caller<sip:caller@example.com>"
                 ";tag=323\nVia: SIP/2.0/UDP host1.example.com;branch=z9hG4bKkdjuw\n"),
         kToOwner},
        {"4475 3.1.1.7 long values",
         options(
             "INVITE sip:user@example.com SIP/2.0",
             "CSeq: 3882 INVITE\nContact: <sip:caller@example.net>\nTo: \"I have a user name of " +
                 std::string(400, 'e') + "\" <sip:user@example.com:6000;unknownparam1=" +
                 std::string(200, 'v') + ";longparam=short;verylongonewithnovalue" +
                 std::string(60, 'x') + ">\nF: <sip:" + std::string(300, 'a') +
                 "@example.net>;tag=12" + std::string(100, '9') + "\n" + vias),
         kToOwner},
        {"4475 3.1.1.8 octets behind the message",
         options(kRegisterLine, kRegister) + "INVITE sip:joe@example.com SIP/2.0\nt: x\n\n",
         kToOwner},
        {"4475 3.1.1.9 parameters in the user",
         options("OPTIONS sip:user;par=u%40example.net@example.com SIP/2.0", kOptions), kToOwner},
        {"4475 3.1.1.10 transports of Via",
         options(kOptionsLine, kOptions + "Via: SIP/2.0/SCTP host2.example.com;branch=z9hG4bKa\n"
                                          "Via: SIP/2.0/TLS t1.example.com;branch=z9hG4bKb\n"
                                          "Via: SIP/2.0/UNKNOWN t2.example.com;branch=z9hG4bKc\n"),
         kToOwner},
        {"4475 3.1.1.12 a reason in UTF-8: a response to nothing",
         "SIP/2.0 200 = 2**3 * 5**2 \xD0\xBD\xD0\xBE\n" + kInvite + "Call-ID: x\n\n", kSilence},
        {"4475 3.1.1.13 an empty reason", "SIP/2.0 100 \n" + kInvite + "Call-ID: x\n\n", kSilence},
    });
}

TEST(SipTortureTest, RefusesWhatIsInvalid) {
    const std::string from = "From: <sip:caller@example.org>;tag=938\n";
    const std::string via = "Via: SIP/2.0/UDP host1.example.com;branch=z9hG4bKkdj\n";
    check({
        {"4475 3.1.2.1 extra separators",
         options(kInviteLine, "CSeq: 8 INVITE\nTo: sip:j@x\n" + from +
                                  "Contact: \"Joe\" <sip:joe@example.org>;;;;\n"
                                  "Via: SIP/2.0/UDP 192.0.2.15;;,;,,\n"),
         kSilence},  // its Via tells nobody where to answer
        {"4475 3.1.2.1 the same with a Via that can be used",
         options(kInviteLine, "CSeq: 8 INVITE\nTo: sip:j@x\n" + from + via +
                                  "Contact: \"Joe\" <sip:joe@example.org>;;;;\n"),
         400},
        {"4475 3.1.2.2 a body shorter than its length",
         kInviteLine + "\nCall-ID: x\n" + kInvite + "Content-Length: 9999\n\nv=0\n", 400},
        {"4475 3.1.2.3 a negative length",
         kInviteLine + "\nCall-ID: x\n" + kInvite + "Content-Length: -999\n\nv=0\n", 400},
        {"4475 3.1.2.4 numbers that are too large",
         options(kRegisterLine, "CSeq: 36893488147419103232 REGISTER\n" + kRest), 400},
        {"4475 3.1.2.4 hops that are too many",
         kRegisterLine + "\nMax-Forwards: 300\nCall-ID: x\n" + kRegister + "\n", 400},
        {"4475 3.1.2.5 such numbers in a response",
         "SIP/2.0 503 Service Unavailable\nCall-ID: x\nCSeq: 9292394834772304023312 OPTIONS\n" +
             kRest + "\n",
         kSilence},
        {"4475 3.1.2.6 a quote that nothing closes",
         options(kInviteLine,
                 "CSeq: 8 INVITE\nTo: \"Mr. J. User <sip:j.user@example.com>\n" + from + via),
         400},
        {"4475 3.1.2.7 <> around the Request-URI",
         options("INVITE <sip:user@example.com> SIP/2.0", kInvite), 400},
        {"4475 3.1.2.8 a blank in the Request-URI",
         options("INVITE sip:user@example.com; lr SIP/2.0", kInvite), 400},
        {"4475 3.1.2.9 two blanks in the request line",
         options("INVITE  sip:user@example.com  SIP/2.0", kInvite), 400},
        {"4475 3.1.2.11 headers in the Request-URI",
         options("INVITE sip:user@example.com?Route=%3Csip:example.com%3E SIP/2.0", kInvite), 400},
        {"4475 3.1.2.14 blanks within <>",
         options(kOptionsLine,
                 "CSeq: 8 OPTIONS\nTo: \"Watson, Thomas\" < sip:t@example.org >\n" + from + via),
         400},
        {"4475 3.1.2.15 a comma in a name without quotes",
         options(kOptionsLine, "CSeq: 8 OPTIONS\nTo: sip:t@x\n" + via +
                                   "From: Bell, Alexander <sip:a.g.bell@example.com>;tag=43\n"),
         400},
        {"4475 3.1.2.16 an unknown version",
         options("OPTIONS sip:t.watson@example.org SIP/7.0", kOptions), 505},
        {"4475 3.1.2.17 CSeq names another method",
         options(kOptionsLine, "CSeq: 8 INVITE\n" + kRest), 400},
        {"4475 3.1.2.18 the same with an unknown method",
         options("NEWMETHOD sip:user@example.com SIP/2.0", "CSeq: 8 INVITE\n" + kRest), 400},
        {"4475 3.1.2.19 a status that is too large",
         "SIP/2.0 4294967301 better not break the receiver\n" + kInvite + "Call-ID: x\n\n",
         kSilence},
    });
}

TEST(SipTortureTest, ToleratesWhatDoesNoHarm) {
    check({
        {"4475 3.1.2.10 blanks at the end of the request line",
         options(kOptionsLine + "  ", kOptions), kToOwner},
        {"4475 3.1.2.12 a date of no known zone",
         options(kInviteLine, kInvite + "Date: Fri, 01 Jan 2010 16:00:00 EST\n"), kToOwner},
    });
}

TEST(SipTortureTest, AnswersByTheRulesOfTransactionsAndMethods) {
    check({
        {"4475 3.2.1 a branch that is nothing but its magic",
         options(kOptionsLine,
                 "CSeq: 8 OPTIONS\nTo: sip:u@x\nFrom: <sip:c@x>;tag=3\n"
                 "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK\n"),
         kToOwner},
        {"4475 3.3.1 required fields are missing",
         "INVITE sip:user@example.com SIP/2.0\nCSeq: 193942 INVITE\n"
         "Via: SIP/2.0/UDP 192.0.2.95;branch=z9hG4bKkdj.insuf\nContent-Type: "
         "application/sdp\n\nv=0",
         400},
        {"4475 3.3.2 an unknown scheme",
         options("OPTIONS nobodyKnowsThisScheme:totallyopaquecontent SIP/2.0", kOptions), 416},
        {"4475 3.3.3 a known scheme of something else",
         options("OPTIONS soap.beep://192.0.2.103:3002 SIP/2.0", kOptions), 416},
        {"4475 3.3.4 unknown schemes in From and To",
         options(kRegisterLine,
                 "CSeq: 3 REGISTER\nTo: isbn:2983792873\nFrom: <http://www.example.com>;tag=32\n"
                 "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKa\n"),
         kToOwner},
        {"4475 3.3.5 an unknown extension is required",
         options(kOptionsLine,
                 kOptions + "Require: nothingSupportsThis, nothingSupportsThisEither\n"),
         420},
        {"4475 3.3.6 an unknown type of body",
         kInviteLine + "\nCall-ID: x\n" + kInvite +
             "Content-Type: application/unknownformat\nContent-Length: 3\n\nabc",
         415},
        {"4475 3.3.7 an unknown scheme of authorization",
         options(kRegisterLine,
                 kRegister + "Authorization: NoOneKnowsThisScheme opaque-data=here\n"),
         kToOwner},
        {"4475 3.3.8 several values where one may be",
         kInviteLine + "\nCall-ID: x\nCall-ID: y\nCSeq: 5 INVITE\n" + kInvite + "\n", 400},
        {"4475 3.3.9 several lengths",
         kOptionsLine + "\nCall-ID: x\n" + kOptions + "Content-Length: 13\nl: 5\n\nabcdefghijklm",
         400},
        {"4475 3.3.10 a response with the Via of a broadcast",
         "SIP/2.0 200 OK\nCall-ID: x\nCSeq: 8 INVITE\nTo: sip:u@x;tag=1\nFrom: sip:c@x;tag=3\n"
         "Via: SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1324923\n"
         "Via: SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK1saber23\n\n",
         kSilence},
        {"4475 3.3.11 no hops are left, but we are the end of the way",
         kOptionsLine + "\nMax-Forwards: 0\nCall-ID: x\n" + kOptions + "\n", kToOwner},
        {"4475 3.3.12 a parameter of Contact",
         options(kRegisterLine,
                 kRegister + "Contact: sip:+19725552222@gw1.example.net;unknownparam\n"),
         kToOwner},
        {"4475 3.3.13 a parameter of its URI",
         options(kRegisterLine,
                 kRegister + "Contact: <sip:+19725552222@gw1.example.net;unknownparam>\n"),
         kToOwner},
        {"4475 3.4.1 an INVITE of RFC 2543",
         "INVITE sip:UserB@example.com SIP/2.0\nVia: SIP/2.0/UDP iftgw.example.com\n"
         "From: <sip:+13035551111@ift.client.example.net;user=phone>\n"
         "Record-Route: <sip:UserB@example.com;maddr=ss1.example.com>\nTo: sip:+16505552222@x\n"
         "Call-ID: inv2543.1717@ift.client.example.com\nCSeq: 56 INVITE\n"
         "Contact: <sip:c@x>\nContent-Type: application/sdp\n\nv=0\n",
         kToOwner},
    });
}

TEST(SipTortureTest, ReadsAddressesOfVersionSix) {
    const std::string rest =
        "CSeq: 98176 REGISTER\nTo: sip:user@example.com\nFrom: sip:user@example.com;tag=81x2\n";
    const std::string via = "Via: SIP/2.0/UDP [2001:db8::9:1];branch=z9hG4bKas3-111\n";
    check({
        {"5118 4.1 a reference in the Request-URI",
         options("REGISTER sip:[2001:db8::10] SIP/2.0",
                 rest + via + "Contact: \"Caller\" <sip:caller@[2001:db8::1]>\n"),
         kToOwner},
        {"5118 4.2 no brackets", options("REGISTER sip:2001:db8::10 SIP/2.0", rest + via), 400},
        {"5118 4.3 a port within the brackets",
         options("REGISTER sip:[2001:db8::10:5070] SIP/2.0", rest + via), kToOwner},
        {"5118 4.4 a port behind them",
         options("REGISTER sip:[2001:db8::10]:5070 SIP/2.0", rest + via), kToOwner},
        {"5118 4.5 received with and without brackets",
         options("OPTIONS sip:user@[2001:db8::10] SIP/2.0",
                 "CSeq: 1 OPTIONS\nTo: sip:u@x\nFrom: sip:u@x;tag=1\n"
                 "Via: SIP/2.0/UDP [2001:db8::9:1];received=[2001:db8::9:255];branch=z9hG4bKa\n"
                 "Via: SIP/2.0/UDP [2001:db8::9:2];received=2001:db8::9:255;branch=z9hG4bKb\n"),
         kToOwner},
        {"5118 4.8 several addresses",
         options("INVITE sip:user@[2001:db8::10] SIP/2.0",
                 "CSeq: 1 INVITE\nTo: sip:user@[2001:db8::10]\nFrom: sip:user@example.com;tag=1\n"
                 "Contact: \"Caller\" <sip:caller@[2001:db8::20]>\n" +
                     via + "Via: SIP/2.0/TCP 192.0.2.1;branch=z9hG4bKb\n"),
         kToOwner},
        {"5118 4.10 a mapped address",
         options("OPTIONS sip:user@example.com SIP/2.0",
                 "CSeq: 1 OPTIONS\nTo: sip:u@x\nFrom: sip:u@[::ffff:192.0.2.2];tag=1\n"
                 "Via: SIP/2.0/UDP [::ffff:192.0.2.2]:5080;branch=z9hG4bKa\n"),
         kToOwner},
    });
}

}  // namespace
}  // namespace weir::sip
