#include "config/sip_config.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/config_warnings.h"
#include "config/settings.h"

#include "test/config/test_config.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

bool is_good(std::string_view text) {
    return parse_config(text, "/nowhere/t.conf").ok();
}

TEST(SipConfigTest, ARegistrationHasItsServersAndItsNumbers) {
    const Config config = config_of(
        "sip_server { register sip:weir@pbx.example.com { login w1; password very-secret; "
        "backup 10.0.0.6 \"sip:10.0.0.7;transport=tcp\"; expires 120s; dial 300 live/stage; "
        "dial 301 live/other talk/desk; } }");
    const auto& all = config.sip_server.registrations;
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].user, "weir");
    EXPECT_EQ(all[0].domain, "pbx.example.com");
    EXPECT_EQ(all[0].login, "w1");
    ASSERT_TRUE(all[0].password);
    EXPECT_EQ(all[0].password->text, "very-secret");
    EXPECT_THAT(all[0].servers,
                ElementsAre("pbx.example.com", "10.0.0.6", "sip:10.0.0.7;transport=tcp"));
    EXPECT_EQ(all[0].expires, Seconds(120));
    ASSERT_EQ(all[0].dial.size(), 2U);
    EXPECT_EQ(all[0].dial[1].publish, "talk/desk");
    EXPECT_TRUE(config.sip_server.dial.empty());
}

TEST(SipConfigTest, ThePasswordOfARegistrationIsNotShown) {
    const Config config =
        config_of("sip_server { register sip:weir@pbx.example.com { password very-secret; } }");
    for (const Setting& setting : config.settings.list) {
        EXPECT_THAT(setting.shown, Not(HasSubstr("very-secret"))) << setting.key;
    }
}

TEST(SipConfigTest, AProxyGoesBeforeBackups) {
    const Config config = config_of(
        "sip_server { register sip:weir@pbx.example.com { proxy 10.0.0.5:5070; backup 10.0.0.6; } "
        "register sip:b@other.example.com; }");
    const auto& all = config.sip_server.registrations;
    ASSERT_EQ(all.size(), 2U);
    EXPECT_THAT(all[0].servers, ElementsAre("10.0.0.5:5070", "10.0.0.6"));
    EXPECT_FALSE(all[0].password);
    EXPECT_TRUE(all[1].servers.empty());
    EXPECT_EQ(all[1].expires, Seconds(300));
}

TEST(SipConfigTest, CallsAreAllowedToNetworksAndNames) {
    const Config config = config_of(
        "sip_server { allow_calls 192.0.2.0/24 Example.com *.example.org; "
        "extension 201 alice; }");
    EXPECT_THAT(config.sip_server.call_hosts, ElementsAre("example.com", "*.example.org"));
    EXPECT_EQ(config.sip_server.call_networks.size(), 1U);
    ASSERT_EQ(config.sip_server.extensions.size(), 1U);
    EXPECT_EQ(config.sip_server.extensions[0].user, "alice");
    EXPECT_TRUE(config_of("sip_server { }").sip_server.call_hosts.empty());
}

TEST(SipConfigTest, LinesAreOfDomains) {
    const Config config =
        config_of("sip_server { rtmp_lines Example.com 127.0.0.1:5060; rtmp_lines [::1]:5070; }");
    EXPECT_THAT(config.sip_server.line_domains,
                ElementsAre("example.com", "127.0.0.1:5060", "[::1]:5070"));
    EXPECT_TRUE(config_of("sip_server { }").sip_server.line_domains.empty());
}

TEST(SipConfigTest, NumbersOutsideHaveALimitAndPerhapsUsers) {
    const Config config = config_of(
        "sip_server { register sip:weir@pbx.example.com; outside 00 via weir@pbx.example.com; "
        "outside +49 via weir@pbx.example.com max_calls 7 strip 1 users alice bob; }");
    const auto& all = config.sip_server.outside;
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].prefix, "00");
    EXPECT_EQ(all[0].via, "weir@pbx.example.com");
    EXPECT_EQ(all[0].max_calls, 2U);
    EXPECT_EQ(all[0].strip, 0U);
    EXPECT_TRUE(all[0].users.empty());
    EXPECT_EQ(all[1].prefix, "+49");
    EXPECT_EQ(all[1].max_calls, 7U);
    EXPECT_EQ(all[1].strip, 1U);
    EXPECT_THAT(all[1].users, ElementsAre("alice", "bob"));
    EXPECT_TRUE(config_of("sip_server { }").sip_server.outside.empty());
    EXPECT_THAT(config_warnings(config), IsEmpty());
    EXPECT_THAT(config_warnings(config_of("sip_server { outside 00 via a@b.test; }")),
                ElementsAre(HasSubstr("which no line of register names")));
}

TEST(SipConfigTest, WhatIsWrongIsRefused) {
    for (const char* line : {"register weir@pbx.example.com;",
                             "register sip:pbx.example.com;",
                             "register sip:a:secret@pbx.example.com;",
                             "register sip:a@pbx.example.com:5070;",
                             "register sip:a@pbx.example.com { password a; password b; }",
                             "register sip:a@pbx.example.com { realm x; }",
                             "allow_calls;",
                             "allow_calls *;",
                             "allow_calls bad_name!;",
                             "extension 201;",
                             "register sip:a@b.test { expires 1s; }",
                             "outside 00;",
                             "outside 00 by a@b.test;",
                             "outside 0a via a@b.test;",
                             "outside 00 via b.test;",
                             "outside 00 via a@b.test max_calls 0;",
                             "outside 00 via a@b.test max_calls;",
                             "outside 00 via a@b.test users;",
                             "outside 00 via a@b.test strip x;",
                             "outside 00 via a@b.test users alice;bob;",
                             "outside '' via a@b.test;",
                             "timer_t1 1ms;",
                             "rtmp_lines;",
                             "rtmp_lines sip:example.com;",
                             "rtmp_lines example.com:0x1;"}) {
        EXPECT_FALSE(is_good(std::string("sip_server { ") + line + " }")) << line;
    }
}

}  // namespace
}  // namespace weir::config
