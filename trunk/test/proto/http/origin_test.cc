#include "proto/http/origin.h"

#include <vector>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

const std::vector<std::string> kOwn = {"media.example.org"};

Request request(std::string host, std::string origin = "") {
    Request made;
    made.host = std::move(host);
    if (!origin.empty()) {
        made.headers.add("Origin", std::move(origin));
    }
    return made;
}

TEST(OriginTest, KnowsTheNamesThatNobodyElseCanHave) {
    for (const char* host :
         {"", "localhost", "LOCALHOST:1985", "localhost.", "a.localhost:80", "127.0.0.1",
          "127.0.0.1:1985", "203.0.113.9:80", "[::1]:1985", "[2001:db8::1]", "weir", "weir:1985",
          "media.example.org", "Media.Example.ORG:8443", "media.example.org."}) {
        EXPECT_TRUE(is_own_host(host, kOwn)) << host;
    }
    for (const char* host :
         {"evil.example", "evil.example:1985", "127.0.0.1.evil.example", "localhost.evil.example",
          "xmedia.example.org", "example.org", "evillocalhost.x", ".localhost.x", "1.2.3",
          // No host at all, whatever it begins with.
          "[::1].evil.com", "[::1]evil", "[::1", "[]", "[localhost]", "[evil.com]", "::1.evil.com",
          ":8080", "localhost:80.evil.com", "127.0.0.1:x", "weir:1985:evil.com"}) {
        EXPECT_FALSE(is_own_host(host, kOwn)) << host;
    }
}

TEST(OriginTest, TellsPagesOfOtherSites) {
    EXPECT_EQ(foreign_origin(request("127.0.0.1:8080"), kOwn, false), "");
    EXPECT_EQ(foreign_origin(request("127.0.0.1:8080", "http://127.0.0.1:8080"), kOwn, false), "");
    EXPECT_EQ(foreign_origin(request("localhost", "http://localhost:80"), kOwn, false), "");
    EXPECT_EQ(
        foreign_origin(request("media.example.org", "https://media.example.org"), kOwn, false), "");
    EXPECT_EQ(
        foreign_origin(request("media.example.org:443", "https://media.example.org"), kOwn, true),
        "");
    for (const char* page : {"http://evil.example", "http://127.0.0.1:8081", "null",
                             "https://127.0.0.1.evil.example:8080", "file://", "x"}) {
        EXPECT_EQ(foreign_origin(request("127.0.0.1:8080", page), kOwn, false), page);
    }
}

// What a developer has on another port of the same machine.
TEST(OriginTest, KnowsPagesOfThisMachine) {
    for (const char* page : {"http://127.0.0.1:3000", "http://127.0.0.1", "https://127.9.8.7:3000",
                             "http://[::1]:3000", "http://localhost:3000", "https://LOCALHOST",
                             "http://app.localhost:5173"}) {
        EXPECT_TRUE(is_loopback_page(request("127.0.0.1:8080", page))) << page;
        EXPECT_TRUE(is_loopback_page(request("localhost:8080", page))) << page;
        EXPECT_TRUE(is_loopback_page(request("[::1]:8080", page))) << page;
    }
    for (const char* page : {"http://evil.example",
                             "http://evil.example:3000",
                             "http://127.0.0.1.evil.example:3000",
                             "http://localhost.evil.example",
                             "http://evillocalhost",
                             "http://[::1].evil.com",
                             "http://127.0.0.1@evil.example",
                             "http://evil.example@127.0.0.1",
                             "http://192.168.0.1:3000",
                             "http://localhost.",
                             "http://weir:3000",
                             "null",
                             "file://",
                             "chrome-extension://x",
                             "127.0.0.1:3000",
                             "http://",
                             "http://127.1",
                             "http://2130706433",
                             "http://0.0.0.0:3000",
                             "http://127.0.0.1:3000/x"}) {
        EXPECT_FALSE(is_loopback_page(request("127.0.0.1:8080", page))) << page;
    }
    EXPECT_FALSE(is_loopback_page(request("127.0.0.1:8080"))) << "no page at all";
    // A name of a stranger that points here, and the machine's address in its network.
    EXPECT_FALSE(is_loopback_page(request("evil.example:8080", "http://127.0.0.1:3000")));
    EXPECT_FALSE(is_loopback_page(request("192.168.0.1:8080", "http://127.0.0.1:3000")));
    EXPECT_FALSE(is_loopback_page(request("weir:8080", "http://127.0.0.1:3000")));
    EXPECT_FALSE(is_loopback_page(request("", "http://127.0.0.1:3000")));
}

// The page and the Host field agree, and both are a stranger's name that points here.
TEST(OriginTest, TakesNoNameOfAStranger) {
    EXPECT_EQ(foreign_origin(request("evil.example:8080", "http://evil.example:8080"), kOwn, false),
              "http://evil.example:8080");
    EXPECT_EQ(foreign_origin(request("other.example", "https://other.example"), kOwn, true), "")
        << "who has the certificate has the name";
    EXPECT_FALSE(crosses_origin(request("evil.example:8080", "http://evil.example:8080"), false));
}

// The page's name was proven to somebody else: this request came without TLS, as a form of a page
// behind https sends it.
TEST(OriginTest, TakesNoCertificateThatItHasNotSeen) {
    EXPECT_EQ(
        foreign_origin(request("evil.example:8080", "https://evil.example:8080"), kOwn, false),
        "https://evil.example:8080");
    EXPECT_EQ(
        foreign_origin(request("media.example.org", "https://media.example.org"), kOwn, false), "")
        << "behind a proxy that does not say that it ends TLS";
}

// What anybody on the way can have written is not the site behind TLS.
TEST(OriginTest, APageWithoutTlsIsAnotherSite) {
    const Request plain = request("127.0.0.1", "http://127.0.0.1");
    EXPECT_EQ(foreign_origin(plain, kOwn, false), "");
    EXPECT_EQ(foreign_origin(plain, kOwn, true), "http://127.0.0.1");
    EXPECT_TRUE(crosses_origin(plain, true));
    EXPECT_FALSE(crosses_origin(request("127.0.0.1", "https://127.0.0.1"), true));
}

TEST(OriginTest, ComparesWithWhatIsListed) {
    EXPECT_TRUE(
        is_listed_origin("https://a.example", std::vector<std::string>{"https://a.example"}));
    EXPECT_TRUE(is_listed_origin("null", std::vector<std::string>{"*"}));
    EXPECT_FALSE(
        is_listed_origin("http://a.example", std::vector<std::string>{"https://a.example"}));
    EXPECT_FALSE(is_listed_origin("https://a.example", {}));
}

}  // namespace
}  // namespace weir::http
