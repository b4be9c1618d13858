#include "app/run/page_security.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/app/access/test_config.h"

namespace weir::app {
namespace {

std::string field(std::string_view text, std::string_view name) {
    return std::string(frame_fields(config_of(text).http_server).get(name).value_or(""));
}

std::string hsts(std::string_view text, std::string_view host = "media.example.org") {
    return hsts_value(
        config_of(fmt::format("ssl_certificate c.pem; ssl_certificate_key k.pem; {}", text)), host);
}

TEST(PageSecurityTest, SaysWhoMayFrameThePages) {
    constexpr std::string_view kPolicy = "Content-Security-Policy";
    constexpr std::string_view kOld = "X-Frame-Options";
    EXPECT_EQ(field("", kPolicy), "frame-ancestors 'self'");
    EXPECT_EQ(field("", kOld), "SAMEORIGIN");
    constexpr std::string_view kSites =
        "http_server { frame_ancestors 'self' https://example.org; frame_ancestors "
        "https://*.example.net:8443; }";
    EXPECT_EQ(field(kSites, kPolicy),
              "frame-ancestors 'self' https://example.org https://*.example.net:8443");
    EXPECT_EQ(field(kSites, kOld), "") << "it would forbid what is allowed";
    EXPECT_EQ(field("http_server { frame_ancestors *; }", kPolicy), "frame-ancestors *");
    EXPECT_EQ(field("http_server { frame_ancestors none; }", kPolicy), "frame-ancestors 'none'");
    EXPECT_EQ(field("http_server { frame_ancestors none; }", kOld), "DENY");
    EXPECT_EQ(field("http_server { frame_ancestors https://a.example none; }", kPolicy),
              "frame-ancestors 'none'");
}

TEST(PageSecurityTest, TakesNoSourceThatWouldEndTheField) {
    for (const char* bad : {"example.org", "'https://a.example; script-src *'", "https://",
                            "'https://a b'", "https://a.*.example", "https://*"}) {
        const config::ParseOutcome outcome = config::parse_config(
            fmt::format("http_server {{ frame_ancestors {}; }}", bad), "weir.conf");
        EXPECT_FALSE(outcome.ok()) << bad;
    }
}

TEST(PageSecurityTest, KeepsBrowsersAtHttpsWhereNothingElseIsOffered) {
    constexpr std::string_view kDay = "max-age=86400";
    EXPECT_EQ(hsts("http_server { listen 443 ssl; } http_api { listen 127.0.0.1:1985; }"), kDay);
    EXPECT_EQ(hsts("http_server { listen 443 ssl; listen 80; }"), kDay);
    EXPECT_EQ(hsts("http_server { listen 8443 ssl; }"), kDay);
    EXPECT_EQ(hsts("http_server { listen 443 ssl; listen 8080; }"), "") << "8080 would be lost";
    EXPECT_EQ(hsts("http_server { listen 8443 ssl; listen 80; }"), "") << "80 becomes 443";
    EXPECT_EQ(hsts("http_server { listen 443 ssl; } http_api { listen 1985; }"), "");
    EXPECT_EQ(hsts("http_server { listen 443 ssl; } http_api { enabled off; listen 1985; }"), kDay);
    EXPECT_EQ(hsts("http_server { listen 443 ssl; hsts off; }"), "");
    EXPECT_EQ(hsts("http_server { listen 443 ssl; listen 8080; hsts 1y; }"), "max-age=31536000");
    EXPECT_EQ(hsts("http_server { listen 443 ssl; hsts 30d; }"), "max-age=2592000");
}

TEST(PageSecurityTest, NeverSpeaksForNamesThatOthersShare) {
    for (const char* host : {"localhost", "localhost:8443", "weir.localhost", "192.0.2.1:443",
                             "[2001:db8::1]:443", "weir", "", "x:y", "[::1].evil.com"}) {
        EXPECT_EQ(hsts("http_server { listen 443 ssl; hsts 1y; }", host), "") << host;
    }
    EXPECT_NE(hsts("http_server { listen 443 ssl; hsts 1y; }", "media.example.org:443"), "");
}

}  // namespace
}  // namespace weir::app
