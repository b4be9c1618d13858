#include "net/http/client.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "io/deadline.h"
#include "io/resolver.h"
#include "proto/http/request.h"
#include "proto/http/response_parser.h"

#include "test/net/http/raw_server.h"
#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

class HttpClientTest : public testing::Test {
  protected:
    Result<http::Response> post(const http::Url& url, io::Deadline deadline = io::soon()) {
        return client_.exchange(http::Method::kPost, url, {{"X-Test", "1"}}, "{\"end\":1}",
                                deadline);
    }

    io::Resolver resolver_;
    HttpClient client_{resolver_};
};

TEST_F(HttpClientTest, SendsARequestAndReadsTheAnswer) {
    std::string request;
    const RawServer server([&](io::TcpStream& stream, int) {
        request = read_until(stream, "}");
        say(stream, kYes);
    });
    const Result<http::Response> response = post(server.url("/hook?token=x"));
    ASSERT_TRUE(response.ok()) << response.error().message();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "0");
    EXPECT_TRUE(request.starts_with("POST /hook?token=x HTTP/1.1\r\nHost: 127.0.0.1:")) << request;
    EXPECT_NE(request.find("\r\nContent-Length: 9\r\n\r\n{\"end\":1}"), std::string::npos);
    EXPECT_NE(request.find("\r\nX-Test: 1\r\n"), std::string::npos);
}

TEST_F(HttpClientTest, UsesAConnectionAgain) {
    const RawServer server([&](io::TcpStream& stream, int) {
        while (!read_until(stream, "}").empty()) {
            say(stream, kYes);
        }
    });
    for (int i = 0; i < 5; i++) {
        ASSERT_TRUE(post(server.url()).ok());
    }
    EXPECT_EQ(server.accepted(), 1);
    EXPECT_EQ(client_.stats().reused, 4U);
    EXPECT_EQ(client_.idle(), 1U);
    client_.tidy(MonoClock::now() + Seconds(60));
    EXPECT_EQ(client_.idle(), 0U);
}

TEST_F(HttpClientTest, DoesNotUseOneThatTheServerWantsToClose) {
    const RawServer server([&](io::TcpStream& stream, int) {
        read_until(stream, "}");
        say(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n0");
        read_until(stream, "}");
    });
    ASSERT_TRUE(post(server.url()).ok());
    ASSERT_TRUE(post(server.url()).ok());
    EXPECT_EQ(server.accepted(), 2);
}

// The request goes out before the server's end is seen, and is sent once more.
TEST_F(HttpClientTest, SendsAgainWhenAKeptConnectionEndsUnderIt) {
    const RawServer server([&](io::TcpStream& stream, int number) {
        read_until(stream, "}");
        say(stream, kYes);
        if (number > 0) {
            return;
        }
        read_until(stream, "}");
        stream.close();  // no answer to the second
    });
    ASSERT_TRUE(post(server.url()).ok());
    const Result<http::Response> second = post(server.url());
    ASSERT_TRUE(second.ok()) << second.error().message();
    EXPECT_EQ(server.accepted(), 2);
    EXPECT_EQ(client_.stats().stale, 1U);
}

TEST_F(HttpClientTest, ANewConnectionThatEndsWithoutAnAnswerIsAnError) {
    const RawServer server([&](io::TcpStream& stream, int) {
        read_until(stream, "}");
        stream.close();
    });
    const Result<http::Response> response = post(server.url("/x?token=secret"));
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), ErrorCode::kClosed);
    EXPECT_EQ(server.accepted(), 1);
    EXPECT_EQ(response.error().message().find("secret"), std::string::npos);
}

TEST_F(HttpClientTest, TheDeadlineHoldsForAServerThatDrips) {
    const RawServer server([&](io::TcpStream& stream, int) {
        read_until(stream, "}");
        for (int i = 0; i < 1000 && !io::sleep_for(Millis(20)); i++) {
            say(stream, i == 0 ? "HTTP/1.1 200 OK\r\nX: " : "x");
        }
    });
    const MonoTime begun = MonoClock::now();
    const Result<http::Response> response = post(server.url(), io::Deadline::after(Seconds(1)));
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), ErrorCode::kTimeout);
    EXPECT_NE(response.error().message().find("no complete answer in time"), std::string::npos)
        << response.error().message();
    EXPECT_LT(MonoClock::now() - begun, Seconds(10));
}

TEST_F(HttpClientTest, SaysWhatIsWrongWithTheServer) {
    const RawServer garbage([&](io::TcpStream& stream, int) {
        read_until(stream, "}");
        say(stream, "SSH-2.0-OpenSSH_9.2\r\n");
    });
    Result<http::Response> response = post(garbage.url());
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), ErrorCode::kMalformed);
    EXPECT_NE(response.error().message().find("it is not HTTP/1.0 or HTTP/1.1"), std::string::npos)
        << response.error().message();

    auto listener = io::TcpListener::listen(io::loopback());
    const uint16_t port = (*listener)->local().port();
    (*listener)->close();
    response = post(http::Url::parse(fmt::format("http://127.0.0.1:{}/", port)).value());
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), ErrorCode::kSystem);
    EXPECT_NE(response.error().message().find("Connection refused"), std::string::npos)
        << response.error().message();
}

// "localhost" has two addresses; the server listens on one of them.
TEST_F(HttpClientTest, TriesEveryAddressOfAName) {
    auto listener = io::TcpListener::listen(io::SocketAddress::parse("[::1]:0").value());
    if (!listener.ok()) {
        listener = io::TcpListener::listen(io::loopback());  // a machine without IPv6
    }
    ASSERT_TRUE(listener.ok());
    io::Coroutine serves = io::go([&] {
        auto stream = (*listener)->accept(io::soon());
        ASSERT_TRUE(stream.ok());
        read_until(**stream, "}");
        say(**stream, kYes);
    });
    const auto url =
        http::Url::parse(fmt::format("http://localhost:{}/", (*listener)->local().port()));
    const Result<http::Response> response = post(*url);
    EXPECT_TRUE(response.ok()) << response.error().message();
    serves.join();
}

TEST_F(HttpClientTest, EndsWhenTheCoroutineIsInterrupted) {
    const RawServer server([&](io::TcpStream& stream, int) { read_until(stream, "never"); });
    ErrorCode code = ErrorCode::kOk;
    io::Coroutine asks = io::go([&] { code = post(server.url()).error().code(); });
    EXPECT_TRUE(io::eventually([&] { return server.accepted() == 1; }));
    asks.interrupt();
    asks.join();
    EXPECT_EQ(code, ErrorCode::kInterrupted);
}

TEST_F(HttpClientTest, KeepsABoundedNumberOfConnections) {
    const RawServer server([&](io::TcpStream& stream, int) {
        read_until(stream, "}");
        EXPECT_FALSE(io::sleep_for(Millis(50)));
        say(stream, kYes);
        read_until(stream, "}");
    });
    io::TaskGroup group;
    for (int i = 0; i < 20; i++) {
        ASSERT_FALSE(group.spawn("asks", io::StackSize::kNormal,
                                 [&] { EXPECT_TRUE(post(server.url()).ok()); }));
    }
    ASSERT_FALSE(group.join_all(io::soon()));
    EXPECT_EQ(client_.idle(), HttpClientOptions().idle_per_server);
}

}  // namespace
}  // namespace weir::net
