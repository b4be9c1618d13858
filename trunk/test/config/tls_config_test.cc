#include <string>

#include <gtest/gtest.h>

#include "config/config.h"

namespace weir::config {
namespace {

constexpr std::string_view kPair = "ssl_certificate a.pem; ssl_certificate_key a.key;\n";

Config good(const std::string& text) {
    ParseOutcome outcome = parse_config(text, "c/f.conf");
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config();
}

std::string errors(const std::string& text) {
    return to_string(parse_config(text, "f").errors);
}

TEST(TlsConfigTest, ListenersSayWhatTheirConnectionsBeginWith) {
    const Config config =
        good(std::string(kPair) +
             "listen 1935;\nlisten 1936 1937 ssl;\nlisten 1938 proxy_protocol tls;"
             "http_server { listen 443 ssl; }"
             "rtc_server { enabled on; listen 8000 proxy_protocol; }");
    ASSERT_EQ(config.listen.size(), 4U);
    EXPECT_FALSE(config.listen[0].ssl || config.listen[0].proxy_protocol);
    EXPECT_TRUE(config.listen[1].ssl && config.listen[2].ssl);
    EXPECT_FALSE(config.listen[2].proxy_protocol);
    EXPECT_TRUE(config.listen[3].ssl && config.listen[3].proxy_protocol);
    EXPECT_TRUE(config.http_server.listen.at(0).ssl);
    EXPECT_TRUE(config.rtc_server.listen.at(0).proxy_protocol);
    EXPECT_NE(good("listen 1935;"), good("listen 1935 proxy_protocol;"));
}

TEST(TlsConfigTest, OptionsStandBehindTheAddressesAndAreKnown) {
    EXPECT_NE(errors("listen ssl 1935;").find(":1:8"), std::string::npos);
    EXPECT_NE(errors("listen 1935 ssl 1936;").find("addresses stand in front"), std::string::npos);
    EXPECT_NE(errors("listen 1935 proxy_protocl;").find("did you mean 'proxy_protocol'"),
              std::string::npos)
        << errors("listen 1935 proxy_protocl;");
    EXPECT_NE(errors("rtc_server { listen 8000 ssl; }").find("encrypted by itself"),
              std::string::npos);
}

TEST(TlsConfigTest, CertificatesAndKeysGoTogetherInOrder) {
    const Config config = good(
        "ssl_certificate a.pem;\nssl_certificate /x/b.pem;\nssl_certificate_key a.key;\n"
        "ssl_certificate_key b.key;\n"
        "http_api { ssl_certificate_key c.key; ssl_certificate c.pem; }");
    ASSERT_EQ(config.tls.certificates.size(), 2U);
    EXPECT_EQ(config.tls.certificates[0].certificate, "c/a.pem");
    EXPECT_EQ(config.tls.certificates[0].key, "c/a.key");
    EXPECT_EQ(config.tls.certificates[0].line, 1U);
    EXPECT_EQ(config.tls.certificates[1].certificate, "/x/b.pem");
    EXPECT_EQ(config.tls.certificates[1].key, "c/b.key");
    EXPECT_EQ(config.tls.certificates[1].line, 2U);
    ASSERT_EQ(config.http_api.certificates.size(), 1U);
    EXPECT_EQ(config.http_api.certificates[0].key, "c/c.key");
    EXPECT_TRUE(config.http_server.certificates.empty());
    EXPECT_NE(errors("ssl_certificate a.pem;").find("without its ssl_certificate_key"),
              std::string::npos);
    EXPECT_NE(errors("\nssl_certificate_key a.key;").find("f:2:1: found ssl_certificate_key "),
              std::string::npos);
}

TEST(TlsConfigTest, AListenerWithTlsNeedsACertificate) {
    EXPECT_NE(errors("listen 1936 ssl;").find("f:1:8: found ssl for [::]:1936, but no certificate"),
              std::string::npos)
        << errors("listen 1936 ssl;");
    EXPECT_NE(errors("http_server { listen 443 ssl; }").find("or in the block"), std::string::npos);
    EXPECT_EQ(errors("http_server { enabled off; listen 443 ssl; }"), "");
    EXPECT_EQ(errors(std::string(kPair) + "http_server { listen 443 ssl; }"), "");
    EXPECT_EQ(errors("http_api { listen 1986 ssl; " + std::string(kPair) + "}"), "");
    EXPECT_NE(errors("listen 1 ssl; http_api { listen 1986 ssl; " + std::string(kPair) + "}"), "");
}

TEST(TlsConfigTest, ProxiesAreNetworksOrNone) {
    EXPECT_FALSE(good("").tls.trusted_proxies.has_value());
    const Config config = good("trusted_proxies 10.0.0.0/8 ::1;\ntrusted_proxies 192.0.2.7;");
    ASSERT_EQ(config.tls.trusted_proxies->size(), 3U);
    EXPECT_EQ(config.tls.trusted_proxies->at(0).to_string(), "10.0.0.0/8");
    EXPECT_EQ(config.tls.trusted_proxies->at(2).to_string(), "192.0.2.7");
    const Config none = good("trusted_proxies none;");
    ASSERT_TRUE(none.tls.trusted_proxies.has_value());
    EXPECT_TRUE(none.tls.trusted_proxies->empty());
    EXPECT_NE(errors("trusted_proxies proxy.example.net;"), "");
    EXPECT_NE(errors("trusted_proxies 10.1.2.3/8;").find("10.0.0.0/8"), std::string::npos);
    EXPECT_NE(errors("trusted_proxies none 10.0.0.0/8;"), "");
    EXPECT_NE(errors("trusted_proxies;"), "");
}

TEST(TlsConfigTest, TheLookAtTheFilesHasAPeriod) {
    EXPECT_EQ(good("").tls.watch, Millis(60'000));
    EXPECT_EQ(good("ssl_certificate_watch 5;").tls.watch, Millis(5'000));
    EXPECT_EQ(good("ssl_certificate_watch 0;").tls.watch, Millis(0));
    EXPECT_NE(errors("ssl_certificate_watch 10ms;"), "");
}

}  // namespace
}  // namespace weir::config
