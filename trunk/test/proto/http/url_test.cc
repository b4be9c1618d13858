#include "proto/http/url.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

struct Case {
    std::string_view text;
    std::string_view origin;
    std::string_view target;
};

TEST(HttpUrlTest, TakesUrlsApart) {
    const Case cases[] = {
        {"http://example.net", "http://example.net", "/"},
        {"http://example.net/", "http://example.net", "/"},
        {"HTTP://Example.NET:8085/a/b?c=d", "http://example.net:8085", "/a/b?c=d"},
        {"http://example.net?x=1", "http://example.net", "/?x=1"},
        {"https://example.net:443/x", "https://example.net", "/x"},
        {"https://example.net:80/x", "https://example.net:80", "/x"},
        {"http://127.0.0.1:80/x", "http://127.0.0.1", "/x"},
        {"http://[::1]:8085/x:y", "http://[::1]:8085", "/x:y"},
        {"http://[2001:DB8::1]", "http://[2001:db8::1]", "/"},
        {"http://my_host.local./x", "http://my_host.local", "/x"},
    };
    for (const Case& each : cases) {
        const Result<Url> url = Url::parse(each.text);
        ASSERT_TRUE(url.ok()) << each.text << ": " << url.error().message();
        EXPECT_EQ(url->origin(), each.origin);
        EXPECT_EQ(url->target, each.target);
        // What it shows is the same URL again.
        const Result<Url> again = Url::parse(url->origin() + url->target);
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(*again, *url);
    }
}

TEST(HttpUrlTest, RefusesWhatCannotBeAskedAndShowsNothingOfIt) {
    const std::string_view bad[] = {
        "",
        "example.net",
        "ftp://secret.example.net/",
        "http://",
        "http:///secret",
        "http://user:secret@example.net/",
        "http://example.net:0/secret",
        "http://example.net:65536/secret",
        "http://example.net:x/secret",
        "http://example.net/secret#part",
        "http://example.net/secret text",
        "http://example.net/secret\r\nX: y",
        "http://exa mple/secret",
        "http://example.net../secret",
        "http://example..net/secret",
        "http://.example.net/secret",
        "http://./secret",
        "http://[::1/secret",
        "http://[127.0.0.1]/secret",
        "http://ex\xc3\xa4mple.net/secret",
        "http://a/b@secret:c/../\x7f",
    };
    for (std::string_view each : bad) {
        const Result<Url> url = Url::parse(each);
        ASSERT_FALSE(url.ok()) << each;
        EXPECT_EQ(url.error().code(), ErrorCode::kMalformed);
        EXPECT_EQ(url.error().message().find("secret"), std::string::npos) << each;
        EXPECT_NE(url.error().message().find("expected http://"), std::string::npos) << each;
    }
    EXPECT_FALSE(Url::parse("http://a/" + std::string(kMaxUrlBytes, 'x')).ok());
    EXPECT_FALSE(Url::parse("http://" + std::string(254, 'x')).ok());
}

TEST(HttpUrlTest, ResolvesWhatALocationSays) {
    const Url asked = Url::parse("https://h:8443/a/b/whep?token=x").value();
    const auto at = [&](std::string_view location) {
        const Result<Url> url = asked.resolve(location);
        return url.ok() ? url->origin() + url->target : std::string("refused");
    };
    EXPECT_EQ(at("/session/1"), "https://h:8443/session/1");
    EXPECT_EQ(at("session/1?a=/b"), "https://h:8443/a/b/session/1?a=/b");
    EXPECT_EQ(at("?b=http://x/"), "https://h:8443/a/b/whep?b=http://x/");
    EXPECT_EQ(at(""), "https://h:8443/a/b/whep");
    EXPECT_EQ(at("http://other/s"), "http://other/s");
    EXPECT_EQ(at("HTTPS://other:1/s"), "https://other:1/s");
    EXPECT_EQ(at("//other/s"), "https://other/s");
    EXPECT_EQ(at("/next?to=http://x/"), "https://h:8443/next?to=http://x/");
    EXPECT_EQ(at("ftp://other/s"), "refused");
    EXPECT_EQ(at("/a b"), "refused");
    EXPECT_EQ(at("/" + std::string(kMaxUrlBytes, 'a')), "refused");
}

TEST(HttpUrlTest, ShowsNoQuery) {
    EXPECT_EQ(Url::parse("http://h:1/p?token=secret")->shown(), "http://h:1/p");
}

}  // namespace
}  // namespace weir::http
