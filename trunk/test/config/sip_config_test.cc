#include "config/sip_config.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/settings.h"

#include "test/config/test_config.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
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

TEST(SipConfigTest, WhatIsWrongIsRefused) {
    for (const char* line :
         {"register weir@pbx.example.com;", "register sip:pbx.example.com;",
          "register sip:a:secret@pbx.example.com;", "register sip:a@pbx.example.com:5070;",
          "register sip:a@pbx.example.com { password a; password b; }",
          "register sip:a@pbx.example.com { realm x; }", "allow_calls;", "allow_calls *;",
          "allow_calls bad_name!;", "extension 201;", "register sip:a@b.test { expires 1s; }",
          "rtmp_lines;", "rtmp_lines sip:example.com;", "rtmp_lines example.com:0x1;"}) {
        EXPECT_FALSE(is_good(std::string("sip_server { ") + line + " }")) << line;
    }
}

}  // namespace
}  // namespace weir::config
