#include "config/value.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace weir::config {
namespace {

struct Parsed {
    std::optional<Value> value;
    std::string errors;
};

// The value of the one statement in `text`.
Parsed parse(std::string_view text, Context context) {
    DiagnosticSink sink("c/f");
    std::vector<Statement> statements = parse_statements(text, is_directive_name, sink);
    const Directive* directive = find_directive(statements.at(0).name.text, context);
    Parsed parsed;
    parsed.value = parse_value(*directive, statements[0], {"c/f", "c"}, sink);
    parsed.errors = to_string(sink.take());
    EXPECT_EQ(parsed.value.has_value(), parsed.errors.empty()) << parsed.errors;
    return parsed;
}

uint64_t number(std::string_view text, Context context = kGlobalContext) {
    Parsed parsed = parse(text, context);
    EXPECT_TRUE(parsed.value) << parsed.errors;
    return parsed.value ? parsed.value->number : UINT64_MAX;
}

TEST(ValueTest, ReadsDurationsWithAndWithoutUnit) {
    EXPECT_EQ(number("queue_length 10s;", kPlayContext), 10'000u);
    EXPECT_EQ(number("queue_length 10;", kPlayContext), 10'000u)
        << "a bare number counts seconds here";
    EXPECT_EQ(number("queue_length 2M;", kPlayContext), 120'000u);
    EXPECT_EQ(number("wait_publisher 1h;", kPlayContext), 3'600'000u);
    EXPECT_EQ(number("mw_latency 350ms;", kPlayContext), 350u);
    EXPECT_EQ(number("mw_latency 350;", kPlayContext), 350u) << "and milliseconds here, as in SRS";
    EXPECT_EQ(number("mw_latency 0;", kPlayContext), 0u);
}

TEST(ValueTest, ReadsIceServers) {
    const Parsed stun = parse("ice_server stun:stun.example.net:3478;", kRtcServerContext);
    ASSERT_TRUE(stun.value);
    EXPECT_EQ(stun.value->ice_server, (IceServerConfig{"stun:stun.example.net:3478", "", ""}));
    const Parsed turn =
        parse("ice_server turn:t.example?transport=udp me \"pass word\";", kRtcServerContext);
    ASSERT_TRUE(turn.value);
    EXPECT_EQ(turn.value->ice_server,
              (IceServerConfig{"turn:t.example?transport=udp", "me", "pass word"}));
    for (const char* wrong :
         {"ice_server;", "ice_server http://x;", "ice_server stun:;", "ice_server \"stun:a b\";",
          "ice_server \"stun:a>b\";", "ice_server stun:a user password;", "ice_server turn:a;",
          "ice_server turn:a user;", "ice_server turn:a user password more;"}) {
        EXPECT_FALSE(parse(wrong, kRtcServerContext).value) << wrong;
    }
}

TEST(ValueTest, ReadsSizesInPowersOf1024) {
    EXPECT_EQ(number("queue_size 16m;", kPlayContext), 16u << 20);
    EXPECT_EQ(number("queue_size 300000;", kPlayContext), 300000u);
    EXPECT_EQ(number("queue_size 512K;", kPlayContext), 512u << 10);
    EXPECT_EQ(number("gop_cache_max_size 1g;", kPlayContext), 1u << 30);
}

TEST(ValueTest, TakesTheSpecialWordBesidesTheRange) {
    EXPECT_TRUE(parse("mw_latency auto;", kPlayContext).value->special);
    EXPECT_FALSE(parse("mw_latency 0;", kPlayContext).value->special);
    EXPECT_EQ(number("send_buffer 0;", kVhostContext), 0u);
    EXPECT_EQ(parse("mw_latency aut;", kPlayContext).errors,
              "c/f:1:12: found 'aut', expected auto or a duration from 0 to 5s (with ms, s, m or "
              "h; a bare number counts "
              "milliseconds); did you mean 'auto'?\n");
}

TEST(ValueTest, ChecksRangesInclusively) {
    EXPECT_EQ(number("chunk_size 128;"), 128u);
    EXPECT_EQ(number("chunk_size 16777215;"), 16777215u);
    EXPECT_FALSE(parse("chunk_size 127;", kGlobalContext).value);
    EXPECT_FALSE(parse("chunk_size 16777216;", kGlobalContext).value);
    EXPECT_FALSE(parse("normal_timeout 20;", kPublishContext).value)
        << "20 ms is not what anybody means";
}

TEST(ValueTest, RefusesBrokenNumbersWithoutOverflow) {
    for (std::string_view bad :
         {"abc", "-1", "+1", "1.5", "0x80", "128k", "99999999999999999999", "''"}) {
        EXPECT_FALSE(parse("chunk_size " + std::string(bad) + ";", kGlobalContext).value) << bad;
    }
    for (std::string_view bad :
         {"10x", "s", "10 s", "18446744073709551615h", "5124095576030431h", "10ss"}) {
        EXPECT_FALSE(parse("queue_length " + std::string(bad) + ";", kPlayContext).value) << bad;
    }
}

TEST(ValueTest, ReadsChoicesAndFlags) {
    EXPECT_EQ(number("enabled on;", kVhostContext), 1u);
    EXPECT_EQ(number("enabled off;", kVhostContext), 0u);
    EXPECT_EQ(number("publish_conflict takeover;"), 1u);
    EXPECT_EQ(parse("publish_conflict takover;", kGlobalContext).errors,
              "c/f:1:18: found 'takover', expected refuse or takeover; did you mean 'takeover'?\n");
    EXPECT_EQ(parse("enabled yes;", kVhostContext).errors,
              "c/f:1:9: found 'yes', expected on or off\n");
}

TEST(ValueTest, ChecksTheNumberOfValues) {
    EXPECT_EQ(parse("chunk_size;", kGlobalContext).errors,
              "c/f:1:11: found no value for chunk_size, expected a number from 128 to 16777215\n");
    EXPECT_EQ(parse("chunk_size 200 300;", kGlobalContext).errors,
              "c/f:1:16: found '300', expected ';' (chunk_size takes one value)\n");
    EXPECT_EQ(parse("deny play;", kSecurityContext).errors,
              "c/f:1:10: found only one value for deny, expected publish or play, and an address, "
              "ADDRESS/BITS or all\n");
    EXPECT_EQ(parse("play x { }", kGlobalContext).errors,
              "c/f:1:6: found 'x', expected '{' (play takes no value)\n");
}

TEST(ValueTest, ResolvesPathsAgainstTheFolderOfTheFile) {
    EXPECT_EQ(parse("dir ../objs/www;", kHttpServerContext).value->text, "objs/www");
    EXPECT_EQ(parse("dir www;", kHttpServerContext).value->text, "c/www");
    EXPECT_EQ(parse("dir /srv/./www;", kHttpServerContext).value->text, "/srv/www");
    EXPECT_EQ(parse("dir \"a b\";", kHttpServerContext).value->text, "c/a b");
    EXPECT_FALSE(parse("dir '';", kHttpServerContext).value);
}

TEST(ValueTest, TakesNamesOfVhosts) {
    EXPECT_EQ(parse("vhost Live.Example.COM { }", kGlobalContext).value->text, "live.example.com");
    EXPECT_EQ(parse("vhost __defaultVhost__ { }", kGlobalContext).value->text, "__defaultVhost__");
    EXPECT_FALSE(parse("vhost 'a b' { }", kGlobalContext).value);
    EXPECT_FALSE(parse("vhost '' { }", kGlobalContext).value);
    EXPECT_FALSE(parse("vhost " + std::string(256, 'a') + " { }", kGlobalContext).value);
}

TEST(ValueTest, ReportsEveryWrongListenAddress) {
    Parsed parsed = parse("listen 1935 70000 [::1] 10.0.0.1:80;", kGlobalContext);
    EXPECT_EQ(parsed.errors,
              "c/f:1:13: found '70000', expected PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT\n"
              "c/f:1:19: found '[::1]', expected PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT\n");
}

TEST(ValueTest, SaysWhereAListenAddressComesFrom) {
    EXPECT_EQ(parse("listen 1;", kGlobalContext).value->addresses.at(0).origin, "listen in c/f:1");
    EXPECT_EQ(parse("listen 1;", kHttpApiContext).value->addresses.at(0).origin,
              "http_api listen in c/f:1");
    EXPECT_EQ(
        default_value(*find_directive("listen", kHttpServerContext), {}).addresses.at(0).origin,
        "http_server listen (default)");
}

TEST(ValueTest, ReadsCoresAndRangesOfCores) {
    Value value = *parse("cpu_affinity 5 0-2 1;", kGlobalContext).value;
    EXPECT_EQ(value.cores.numbers(), (std::vector<uint16_t>{0, 1, 2, 5}));
    EXPECT_EQ(value.cores.ranges.at(1).line, 1u);
    EXPECT_EQ(value.cores.ranges.at(1).column, 16u);
    EXPECT_TRUE(parse("cpu_affinity 1023;", kGlobalContext).value);
    for (std::string_view bad : {"1024", "2-1", "-1", "1-", "a", "0,1", "0x1", "1-2-3", "''"}) {
        EXPECT_FALSE(parse("cpu_affinity " + std::string(bad) + ";", kGlobalContext).value) << bad;
    }
    EXPECT_EQ(parse("worker_cpu_affinity 0 all;", kGlobalContext).errors,
              "c/f:1:23: found 'all', expected core numbers from 0 to 1023, as in 1 or 0 2-3\n");
}

TEST(ValueTest, ReadsAccessRules) {
    Value deny = *parse("deny play 2001:db8::/32;", kSecurityContext).value;
    EXPECT_EQ(deny.rule, (AccessRule{false, Action::kPlay, IpNetwork::parse("2001:db8::/32")}));
    Value allow = *parse("allow publish all;", kSecurityContext).value;
    EXPECT_EQ(allow.rule, (AccessRule{true, Action::kPublish, std::nullopt}));
}

TEST(ValueTest, RefusesBrokenAccessRules) {
    EXPECT_EQ(parse("allow publsh nowhere;", kSecurityContext).errors,
              "c/f:1:7: found 'publsh', expected publish or play; did you mean 'publish'?\n"
              "c/f:1:14: found 'nowhere', expected an IPv4 or IPv6 address, ADDRESS/BITS (up to "
              "/32 and /128) or all\n");
    EXPECT_EQ(
        parse("allow publish 10.1.2.3/8;", kSecurityContext).errors,
        "c/f:1:15: found '10.1.2.3/8', expected the network 10.0.0.0/8 or the address 10.1.2.3\n");
}

TEST(ParseListenTest, BringsEveryFormIntoOne) {
    EXPECT_EQ(parse_listen("1935"), "[::]:1935");
    EXPECT_EQ(parse_listen(":1935"), "[::]:1935");
    EXPECT_EQ(parse_listen("*:1935"), "[::]:1935");
    EXPECT_EQ(parse_listen("127.0.0.1:1935"), "127.0.0.1:1935");
    EXPECT_EQ(parse_listen("localhost:1935"), "127.0.0.1:1935");
    EXPECT_EQ(parse_listen("[2001:DB8::0:1]:80"), "[2001:db8::1]:80");
    EXPECT_EQ(parse_listen("[::ffff:10.0.0.1]:80"), "10.0.0.1:80");
    EXPECT_EQ(parse_listen("0"), "[::]:0");
}

TEST(ParseListenTest, RefusesWhatIsNoAddressWithPort) {
    for (std::string_view bad :
         {"", ":", "65536", "-1", "127.0.0.1", "127.0.0.1:", "::1:80", "[::1]", "[::1:80",
          "[127.0.0.1]:80", "example.com:80", "[fe80::1%eth0]:80", "80 ", "[]:80"}) {
        EXPECT_FALSE(parse_listen(bad)) << bad;
    }
}

TEST(ListenOverlapsTest, KnowsThatAWildcardTakesAllOfItsPort) {
    EXPECT_TRUE(listen_overlaps("[::]:80", "[::]:80"));
    EXPECT_TRUE(listen_overlaps("[::]:80", "127.0.0.1:80"));
    EXPECT_TRUE(listen_overlaps("127.0.0.1:80", "[::]:80"));
    EXPECT_TRUE(listen_overlaps("0.0.0.0:80", "127.0.0.1:80"));
    EXPECT_FALSE(listen_overlaps("0.0.0.0:80", "[::1]:80"));
    EXPECT_FALSE(listen_overlaps("127.0.0.1:80", "127.0.0.2:80"));
    EXPECT_FALSE(listen_overlaps("[::]:80", "[::]:81"));
    EXPECT_FALSE(listen_overlaps("[::]:0", "[::]:0")) << "the system chooses two different ones";
}

}  // namespace
}  // namespace weir::config
