#include "net/http/fetch.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deadline.h"
#include "io/resolver.h"
#include "net/http/client.h"

#include "test/net/http/raw_server.h"
#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPage = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage";

std::string redirect(std::string_view to) {
    return fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", to);
}

class HttpFetchTest : public testing::Test {
  protected:
    Result<std::string> fetch(const http::Url& url, bool named = true) {
        return http_fetch(client_, {.url = url, .named = named, .max_bytes = 100, .may_ask = {}},
                          hops_, io::soon());
    }

    // Answers each request with that.
    static RawServer::Serve always(std::string answer) {
        return [answer = std::move(answer)](io::TcpStream& stream, int) {
            read_until(stream, "\r\n\r\n");
            say(stream, answer);
        };
    }

    io::Resolver resolver_;
    HttpClient client_{resolver_};
    Hops hops_;
};

TEST_F(HttpFetchTest, FollowsARedirect) {
    const RawServer last(always(std::string(kPage)));
    std::string request;
    const RawServer first([&](io::TcpStream& stream, int) {
        request = read_until(stream, "\r\n\r\n");
        say(stream, redirect(fmt::format("http://127.0.0.1:{}/b", last.url().port)));
    });
    const auto page = fetch(first.url("/a?x=1"));
    ASSERT_TRUE(page.ok()) << page.error().message();
    EXPECT_EQ(*page, "page");
    EXPECT_THAT(request, testing::StartsWith("GET /a?x=1 HTTP/1.1\r\n"));
    EXPECT_EQ(hops_.first(), AddressReach::kHost);
}

TEST_F(HttpFetchTest, ARedirectToAnAddressOfTheLinkIsNotFollowed) {
    const RawServer server(always(redirect("http://169.254.169.254/latest/meta-data/")));
    const auto page = fetch(server.url());
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().code(), ErrorCode::kDenied);
    EXPECT_THAT(std::string(page.error().message()), HasSubstr("169.254.169.254"));
}

// The server of this host gets no packet.
TEST_F(HttpFetchTest, WhatAServerElsewhereNamesIsNotOnThisHost) {
    const RawServer server(always(std::string(kPage)));
    for (const AddressReach from : {AddressReach::kPublic, AddressReach::kSite}) {
        hops_ = Hops(from);
        EXPECT_EQ(fetch(server.url(), false).error().code(), ErrorCode::kDenied);
    }
    http::Url by_name = server.url();
    by_name.host = "localhost";
    EXPECT_EQ(fetch(by_name, false).error().code(), ErrorCode::kDenied);
    EXPECT_EQ(server.accepted(), 0);
    hops_ = Hops(AddressReach::kHost);
    EXPECT_TRUE(fetch(server.url(), false).ok());
}

TEST_F(HttpFetchTest, RedirectsWithoutEndAreGivenUp) {
    const RawServer server(always(redirect("/hook")));
    EXPECT_EQ(fetch(server.url()).error().code(), ErrorCode::kLimit);
    EXPECT_EQ(server.accepted(), kMaxFetchRedirects + 1);
}

TEST_F(HttpFetchTest, ARedirectToWhatIsNotHttpIsNotFollowed) {
    for (const char* to : {"file:///etc/passwd", "gopher://127.0.0.1/", "http://"}) {
        const RawServer server(always(redirect(to)));
        EXPECT_FALSE(fetch(server.url()).ok()) << to;
        EXPECT_EQ(server.accepted(), 1);
    }
}

TEST_F(HttpFetchTest, EachUrlIsChecked) {
    const RawServer server(always(redirect("/elsewhere")));
    std::vector<std::string> asked;
    const auto page = http_fetch(
        client_,
        {.url = server.url("/a"),
         .max_bytes = 100,
         .may_ask =
             [&](const http::Url& url) {
                 asked.push_back(url.target);
                 return asked.size() < 2 ? Error() : make_error(ErrorCode::kDenied, "not there");
             }},
        hops_, io::soon());
    EXPECT_EQ(page.error().code(), ErrorCode::kDenied);
    EXPECT_THAT(asked, testing::ElementsAre("/a", "/elsewhere"));
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpFetchTest, OtherAnswersAreErrors) {
    const RawServer none(always("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(fetch(none.url()).error().code(), ErrorCode::kNotFound);
    const RawServer nowhere(always("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(fetch(nowhere.url()).error().code(), ErrorCode::kNotFound);
    const RawServer large(always("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"));
    EXPECT_EQ(fetch(large.url()).error().code(), ErrorCode::kLimit);
}

}  // namespace
}  // namespace weir::net
