#include "proto/sip/header_values.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/sip/core_headers.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/via.h"

namespace weir::sip {
namespace {

TEST(SipViaTest, ReadsAllParts) {
    const auto via =
        Via::parse("SIP / 2.0 / UDP  first.Example.com : 4000 ;ttl=16 ;branch=z9hG4bKa; rport");
    ASSERT_TRUE(via);
    EXPECT_EQ(via->transport, "UDP");
    EXPECT_EQ(via->host, "first.example.com");
    EXPECT_EQ(via->port, 4000);
    EXPECT_EQ(via->branch(), "z9hG4bKa");
    EXPECT_EQ(via->parameters.number("ttl", 255), 16U);
    EXPECT_TRUE(via->parameters.has("rport"));
    EXPECT_EQ(via->write(), "SIP/2.0/UDP first.example.com:4000;ttl=16;branch=z9hG4bKa;rport");
}

TEST(SipViaTest, ReadsAddressesOfVersionSix) {
    const auto via = Via::parse("SIP/2.0/TLS [2001:db8::9:1]:5061;received=[2001:db8::9:255]");
    ASSERT_TRUE(via);
    EXPECT_EQ(via->host, "[2001:db8::9:1]");
    EXPECT_EQ(via->port, 5061);
    EXPECT_EQ(via->parameters.get("received"), "[2001:db8::9:255]");
}

TEST(SipViaTest, KnowsABranchThatIsUnique) {
    EXPECT_TRUE(Via::parse("SIP/2.0/UDP h;branch=Z9hG4BKa")->has_unique_branch());
    EXPECT_FALSE(Via::parse("SIP/2.0/UDP h;branch=z9hG4bK")->has_unique_branch());
    EXPECT_FALSE(Via::parse("SIP/2.0/UDP h;branch=1")->has_unique_branch());
    EXPECT_FALSE(Via::parse("SIP/2.0/UDP h")->has_unique_branch());
}

TEST(SipViaTest, RefusesWhatIsMalformed) {
    for (const std::string_view text :
         {"", "SIP/2.0/UDP", "SIP/2.0/UDP ", "SIP/1.0/UDP h", "SIP/2.0 h", "SIP/2.0/U(P h",
          "SIP/2.0/UDP h:0", "SIP/2.0/UDP h;;a", "SIP/2.0/UDP 2001:db8::1"}) {
        EXPECT_FALSE(Via::parse(text)) << text;
    }
    http::Fields fields;
    for (size_t i = 0; i <= kMaxVias; i++) {
        fields.add("Via", "SIP/2.0/UDP h");
    }
    EXPECT_FALSE(Via::parse_all(fields));
}

TEST(SipViaTest, ReplacesOnlyTheNewest) {
    const http::Fields fields = {
        {"A", "b"}, {"Via", "SIP/2.0/UDP a, SIP/2.0/TCP b"}, {"via", "SIP/2.0/UDP c"}};
    const http::Fields out = with_top_via(fields, Via{"TLS", "x", 1, {}});
    EXPECT_EQ(out.get("Via"), "SIP/2.0/TLS x:1, SIP/2.0/TCP b");
    EXPECT_EQ(Via::parse_all(out)->size(), 3U);
}

TEST(NameAddrTest, ReadsItsForms) {
    const auto quoted = NameAddr::parse(R"("Bob \"B\", <x>" <sip:bob@h;lr>;tag=1;q=0.5)");
    ASSERT_TRUE(quoted);
    EXPECT_EQ(quoted->display, "Bob \"B\", <x>");
    EXPECT_EQ(quoted->uri, "sip:bob@h;lr");
    EXPECT_EQ(quoted->tag(), "1");
    EXPECT_EQ(NameAddr::parse(quoted->write()), quoted);
    const auto bare = NameAddr::parse("sip:bob@h;tag=1");
    ASSERT_TRUE(bare);
    EXPECT_EQ(bare->uri, "sip:bob@h");
    EXPECT_EQ(bare->tag(), "1");
    EXPECT_EQ(NameAddr::parse("caller<sip:caller@example.com>")->display, "caller");
    EXPECT_EQ(NameAddr::parse("A. G. Bell <sip:agb@h>")->display, "A. G. Bell");
    EXPECT_EQ(NameAddr::parse("<isbn:2983792873>")->uri, "isbn:2983792873");
    EXPECT_FALSE(NameAddr::parse("<isbn:2983792873>")->address());
}

TEST(NameAddrTest, ADisplayNameHasNoControlCharacters) {
    const auto address = NameAddr::parse("\"a\\\x07\tb\x7F\" <sip:bob@h>");
    ASSERT_TRUE(address);
    EXPECT_EQ(address->display, "ab");
    EXPECT_EQ(NameAddr::parse(address->write()), address);
}

TEST(NameAddrTest, RefusesWhatIsMalformed) {
    for (const std::string_view text :
         {"", "bob", "<sip:a@h", "\"x <sip:a@h>", "Bell, Alexander <sip:a@h>", "<>", "<sip:>",
          "sip:a@h?x=y", "<sip:a@h>x", "\"a\" b <sip:a@h>", "< sip:a@h>", "\"a\" sip:a@h", "*"}) {
        EXPECT_FALSE(NameAddr::parse(text)) << text;
    }
}

TEST(NameAddrTest, CutsListsOutsideOfQuotesAndBrackets) {
    const http::Fields fields = {
        {"Contact", R"("a, b" <sip:a@h>;q=1 , <sip:c,d@h>,, sip:e@h;q=0.1)"},
        {"contact", "<sip:f@h>"}};
    const auto all = NameAddr::parse_all(fields, "Contact");
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 4U);
    EXPECT_EQ((*all)[0].display, "a, b");
    EXPECT_EQ((*all)[1].uri, "sip:c,d@h");
    EXPECT_EQ((*all)[2].parameters.get("q"), "0.1");
    EXPECT_FALSE(split_list("\"a"));
    EXPECT_FALSE(split_list("<a"));
    EXPECT_FALSE(split_list("\"a\\"));
    EXPECT_TRUE(split_list("")->empty());
    std::string many;
    for (size_t i = 0; i <= kMaxListItems; i++) {
        many += "a,";
    }
    EXPECT_FALSE(split_list(many));
}

TEST(SipHeaderValuesTest, ReadsCSeq) {
    EXPECT_EQ(CSeq::parse("0009 INVITE"), (CSeq{9, Method::kInvite, "INVITE"}));
    EXPECT_EQ(CSeq::parse(" 2147483647\tX ")->write(), "2147483647 X");
    for (const std::string_view bad : {"", "1", "INVITE", "-1 INVITE", "2147483648 INVITE",
                                       "36893488147419103232 REGISTER", "1 IN VITE", "1 (a)"}) {
        EXPECT_FALSE(CSeq::parse(bad)) << bad;
    }
}

TEST(SipHeaderValuesTest, ReadsWhatAPrackAcknowledges) {
    const auto rack = RAck::parse("776656 1 INVITE");
    ASSERT_TRUE(rack);
    EXPECT_EQ(rack->rseq, 776656U);
    EXPECT_EQ(rack->cseq.method, Method::kInvite);
    EXPECT_EQ(rack->write(), "776656 1 INVITE");
    for (const std::string_view bad : {"", "0 1 INVITE", "1 INVITE", "4294967296 1 INVITE"}) {
        EXPECT_FALSE(RAck::parse(bad)) << bad;
    }
}

TEST(SipHeaderValuesTest, ReadsTimes) {
    EXPECT_EQ(parse_seconds("3600"), 3600U);
    EXPECT_EQ(parse_seconds("120 (I'm in a meeting)"), 120U);
    EXPECT_EQ(parse_seconds("18000;duration=3600"), 18000U);
    EXPECT_EQ(parse_seconds("99999999999999999999999"), UINT32_MAX);
    EXPECT_FALSE(parse_seconds("-1"));
    EXPECT_FALSE(parse_seconds("soon"));
    EXPECT_EQ(parse_max_forwards("0"), 0);
    EXPECT_FALSE(parse_max_forwards("300"));
    const auto expires = SessionExpires::parse("1800 ;refresher=UAS");
    ASSERT_TRUE(expires);
    EXPECT_EQ(expires->write(), "1800;refresher=uas");
    EXPECT_EQ(SessionExpires::parse("90;x=y")->refresher, SessionExpires::Refresher::kNone);
    EXPECT_FALSE(SessionExpires::parse(""));
}

TEST(SipHeaderValuesTest, ReadsOptionTags) {
    const http::Fields fields = {{"Require", "100rel, timer"}, {"require", "x,(,"}};
    EXPECT_EQ(option_tags(fields, "Require"), (std::vector<std::string>{"100rel", "timer", "x"}));
    EXPECT_TRUE(has_option(fields, "Require", "TIMER"));
}

Request request_with(const http::Fields& changed) {
    Request request;
    request.method = Method::kOptions;
    request.method_name = "OPTIONS";
    request.headers = {{"Via", "SIP/2.0/UDP h;branch=z9hG4bKa"},
                       {"From", "<sip:a@h>;tag=1"},
                       {"To", "<sip:b@h>"},
                       {"Call-ID", "x"},
                       {"CSeq", "1 OPTIONS"}};
    for (const http::Field& field : changed) {
        request.headers.set(field.name, field.value);
    }
    return request;
}

TEST(SipCoreHeadersTest, ReadsWhatEveryMessageHas) {
    std::string_view reason;
    const auto core = read_core_headers(request_with({}), reason);
    ASSERT_TRUE(core) << reason;
    EXPECT_EQ(core->via.host, "h");
    EXPECT_EQ(core->from.tag(), "1");
    EXPECT_EQ(core->call_id, "x");
    EXPECT_EQ(core->max_forwards, 70);
}

TEST(SipCoreHeadersTest, SaysWhatIsMissing) {
    std::string_view reason;
    for (const http::Field& field :
         {http::Field{"Via", ""}, http::Field{"From", "x"}, http::Field{"To", ""},
          http::Field{"Call-ID", ""}, http::Field{"Call-ID", "a b"}, http::Field{"CSeq", "1"},
          http::Field{"CSeq", "1 INVITE"}, http::Field{"Max-Forwards", "300"},
          http::Field{"Call-ID", std::string(kMaxCallIdBytes + 1, 'a')},
          http::Field{"To", "<sip:a@h>;tag=" + std::string(kMaxTagBytes + 1, 'a')}}) {
        reason = {};
        EXPECT_FALSE(read_core_headers(request_with({field}), reason)) << field.name;
        EXPECT_FALSE(reason.empty());
    }
    Request twice = request_with({});
    twice.headers.add("CSeq", "1 OPTIONS");
    EXPECT_FALSE(read_core_headers(twice, reason));
}

TEST(SipCoreHeadersTest, MakesAResponse) {
    const Response response = make_response(request_with({}), 180, {}, "tag");
    EXPECT_EQ(write(response),
              "SIP/2.0 180 Ringing\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKa\r\n"
              "From: <sip:a@h>;tag=1\r\nTo: <sip:b@h>;tag=tag\r\nCall-ID: x\r\n"
              "CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(make_response(request_with({{"To", "<sip:b@h>;tag=2"}}), 200, {}, "tag").header("To"),
              "<sip:b@h>;tag=2");
}

}  // namespace
}  // namespace weir::sip
