// What HttpClient bounds: answers, kept connections, time. And what it makes of servers that keep
// to no rule.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/deadline.h"
#include "io/resolver.h"
#include "io/signal.h"
#include "net/http/client.h"
#include "proto/http/request.h"
#include "proto/http/response_parser.h"

#include "test/net/http/raw_server.h"
#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

class HttpClientLimitsTest : public testing::Test {
  protected:
    void limit(const HttpClientOptions& options) {
        client_ = std::make_unique<HttpClient>(resolver_, options);
    }

    Result<http::Response> ask(const http::Url& url,
                               http::Method method = http::Method::kPost,
                               std::string_view body = "{}") {
        return client_->exchange(method, url, {}, body, io::soon());
    }

    // The error of a server that says this to every request, and then ends the connection.
    ErrorCode code_of(std::string answer) {
        const RawServer server([&](io::TcpStream& stream, int) {
            read_until(stream, "}");
            say(stream, answer);
        });
        const Result<http::Response> response = ask(server.url());
        EXPECT_EQ(client_->idle(), 0U) << "a connection in doubt is not kept";
        return response.ok() ? ErrorCode::kOk : response.error().code();
    }

    // Answers every request on every connection.
    static void serve_well(io::TcpStream& stream, int) {
        while (!read_until(stream, "}").empty()) {
            say(stream, kYes);
        }
    }

    io::Resolver resolver_;
    std::unique_ptr<HttpClient> client_ = std::make_unique<HttpClient>(resolver_);
};

TEST_F(HttpClientLimitsTest, AnAnswerOfTheLargestSizeIsReadAndOneByteMoreRefused) {
    HttpClientOptions options;
    options.limits.body_bytes = 100;
    limit(options);
    const auto answer = [](size_t size) {
        return fmt::format("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                           size, std::string(size, 'x'));
    };
    EXPECT_EQ(code_of(answer(100)), ErrorCode::kOk);
    EXPECT_EQ(code_of(answer(101)), ErrorCode::kLimit);
    const auto chunks = [](size_t size) {
        return fmt::format(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            "32\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
            std::string(50, 'x'), size - 50, std::string(size - 50, 'x'));
    };
    EXPECT_EQ(code_of(chunks(100)), ErrorCode::kOk);
    EXPECT_EQ(code_of(chunks(101)), ErrorCode::kLimit);
    const std::string endless = "HTTP/1.0 200 OK\r\n\r\n";
    EXPECT_EQ(code_of(endless + std::string(100, 'x')), ErrorCode::kOk);
    EXPECT_EQ(code_of(endless + std::string(101, 'x')), ErrorCode::kLimit);
}

TEST_F(HttpClientLimitsTest, AHeadWithoutAnEndIsRefused) {
    HttpClientOptions options;
    options.limits.head_bytes = 1'000;
    limit(options);
    EXPECT_EQ(code_of("HTTP/1.1 200 OK\r\nX: " + std::string(5'000, 'x')), ErrorCode::kLimit);
}

TEST_F(HttpClientLimitsTest, EveryTruncationOfAnAnswerIsAnErrorAndNoGuess) {
    const std::string_view whole = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes";
    for (size_t size = 0; size < whole.size(); size++) {
        const ErrorCode code = code_of(std::string(whole.substr(0, size)));
        EXPECT_TRUE(code == ErrorCode::kClosed || code == ErrorCode::kMalformed)
            << size << " " << to_string(code);
    }
}

TEST_F(HttpClientLimitsTest, BytesBehindAnAnswerEndTheConnection) {
    const RawServer server([](io::TcpStream& stream, int) {
        while (!read_until(stream, "}").empty()) {
            say(stream, std::string(kYes) + "HTTP/1.1 200 OK\r\n");
        }
    });
    ASSERT_TRUE(ask(server.url()).ok());
    EXPECT_EQ(client_->idle(), 0U) << "the next request would read the wrong answer";
    ASSERT_TRUE(ask(server.url()).ok());
    EXPECT_EQ(server.accepted(), 2);
}

// A server may say anything while nobody asks it: 408, or an answer too many.
TEST_F(HttpClientLimitsTest, AKeptConnectionOnWhichSomethingCameIsNotUsed) {
    io::Signal later;
    bool said = false;
    const RawServer server([&](io::TcpStream& stream, int number) {
        read_until(stream, "}");
        say(stream, kYes);
        if (number == 0) {
            (void)later.wait_until(io::soon());
            say(stream, "HTTP/1.1 408 Request Timeout\r\n\r\n");
            said = true;
        }
        read_until(stream, "never");
    });
    ASSERT_TRUE(ask(server.url()).ok());
    ASSERT_EQ(client_->idle(), 1U);
    later.notify_all();
    ASSERT_TRUE(io::eventually([&] { return said; }));
    // It is on its way: the client's tidying sees it first, or the next request does.
    EXPECT_TRUE(io::eventually([&] {
        client_->tidy(MonoClock::now());
        return client_->idle() == 0;
    }));
    const Result<http::Response> second = ask(server.url());
    ASSERT_TRUE(second.ok()) << second.error().message();
    EXPECT_EQ(second->status, 200);
    EXPECT_EQ(server.accepted(), 2);
}

TEST_F(HttpClientLimitsTest, KeptConnectionsOfAllServersAreBounded) {
    HttpClientOptions options;
    options.idle_at_all = 3;
    limit(options);
    std::vector<std::unique_ptr<RawServer>> servers;
    for (int i = 0; i < 5; i++) {
        servers.push_back(std::make_unique<RawServer>(serve_well));
        ASSERT_TRUE(ask(servers.back()->url()).ok());
    }
    EXPECT_EQ(client_->idle(), 3U);
    ASSERT_TRUE(ask(servers.front()->url()).ok());
    EXPECT_EQ(servers.front()->accepted(), 1) << "those that are kept are used";
    EXPECT_EQ(client_->idle(), 3U);
}

TEST_F(HttpClientLimitsTest, WithNoneToKeepEveryRequestConnects) {
    HttpClientOptions options;
    options.idle_per_server = 0;
    limit(options);
    const RawServer server(serve_well);
    ASSERT_TRUE(ask(server.url()).ok());
    ASSERT_TRUE(ask(server.url()).ok());
    EXPECT_EQ(server.accepted(), 2);
    EXPECT_EQ(client_->stats().connects, 2U);
    EXPECT_EQ(client_->stats().reused, 0U);
    EXPECT_EQ(client_->idle(), 0U);
}

TEST_F(HttpClientLimitsTest, AConnectionThatWasKeptForTooLongIsNotUsed) {
    HttpClientOptions options;
    options.idle = Millis(0);
    limit(options);
    const RawServer server(serve_well);
    ASSERT_TRUE(ask(server.url()).ok());
    EXPECT_EQ(client_->idle(), 1U);
    ASSERT_TRUE(ask(server.url()).ok());
    EXPECT_EQ(server.accepted(), 2);
    EXPECT_EQ(client_->stats().stale, 1U);
}

TEST_F(HttpClientLimitsTest, TidyingLeavesWhatIsYoungEnough) {
    HttpClientOptions options;
    options.idle = Seconds(1'000);
    limit(options);
    const RawServer server(serve_well);
    ASSERT_TRUE(ask(server.url()).ok());
    const MonoTime now = MonoClock::now();
    client_->tidy(now + Seconds(900));
    EXPECT_EQ(client_->idle(), 1U);
    client_->tidy(now + Seconds(1'000));
    EXPECT_EQ(client_->idle(), 0U);
}

TEST_F(HttpClientLimitsTest, AnErrorOfTheServerIsAnAnswerAndARedirectIsNotFollowed) {
    int asked = 0;
    const RawServer server([&](io::TcpStream& stream, int) {
        while (!read_until(stream, "}").empty()) {
            say(stream, asked++ == 0 ? "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
                                     : "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n"
                                       "Content-Length: 0\r\n\r\n");
        }
    });
    EXPECT_EQ(ask(server.url()).value().status, 500);
    const Result<http::Response> second = ask(server.url());
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->status, 302);
    EXPECT_EQ(second->headers.get("Location"), "http://192.0.2.1/");
    EXPECT_EQ(server.accepted(), 1) << "such an answer costs no connection";
}

TEST_F(HttpClientLimitsTest, ARequestSaysHowLongItsBodyIsWhereItMayHaveOne) {
    std::string request;
    const RawServer server([&](io::TcpStream& stream, int) {
        request = read_until(stream, "\r\n\r\n");
        say(stream, kYes);
    });
    ASSERT_TRUE(ask(server.url(), http::Method::kPost, "").ok());
    EXPECT_NE(request.find("\r\nContent-Length: 0\r\n"), std::string::npos) << request;
    client_->tidy(MonoClock::now() + Seconds(1'000));
    ASSERT_TRUE(ask(server.url("/a?b=c"), http::Method::kGet, "").ok());
    EXPECT_TRUE(request.starts_with("GET /a?b=c HTTP/1.1\r\n")) << request;
    EXPECT_EQ(request.find("Content-Length"), std::string::npos) << request;
}

TEST_F(HttpClientLimitsTest, TheDeadlineHoldsForAServerThatReadsNothing) {
    const RawServer server(
        [](io::TcpStream&, int) { EXPECT_NE(io::sleep_for(Seconds(10)).code(), ErrorCode::kOk); });
    const std::string body(32 << 20, 'x');
    const Result<http::Response> response = client_->exchange(
        http::Method::kPost, server.url(), {}, body, io::Deadline::after(Millis(200)));
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), ErrorCode::kTimeout);
    EXPECT_NE(response.error().message().find("sending the request"), std::string_view::npos)
        << response.error().message();
}

TEST_F(HttpClientLimitsTest, AServerWithoutTlsIsAnErrorOfHttps) {
    const RawServer server([](io::TcpStream& stream, int) {
        say(stream, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    http::Url url = server.url("/x?token=secret");
    url.tls = true;
    const Result<http::Response> response = ask(url);
    ASSERT_FALSE(response.ok());
    EXPECT_NE(response.error().code(), ErrorCode::kTimeout);
    EXPECT_EQ(response.error().message().find("secret"), std::string_view::npos);
    EXPECT_EQ(client_->idle(), 0U);
}

TEST_F(HttpClientLimitsTest, AnAnswerByteByByteIsTheSame) {
    const RawServer server([](io::TcpStream& stream, int) {
        read_until(stream, "}");
        for (const char byte : std::string_view("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
                                                "Transfer-Encoding: chunked\r\n\r\n"
                                                "2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n")) {
            say(stream, std::string_view(&byte, 1));
            io::yield();
        }
        read_until(stream, "never");
    });
    const Result<http::Response> response = ask(server.url());
    ASSERT_TRUE(response.ok()) << response.error().message();
    EXPECT_EQ(response->body, "abc");
    EXPECT_EQ(client_->idle(), 1U);
}

}  // namespace
}  // namespace weir::net
