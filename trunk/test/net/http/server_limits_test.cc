// HttpServer at its limits: places, drains, answers without a body, peers that go on talking.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/tls.h"
#include "io/tls_acceptor.h"
#include "net/http/connection.h"
#include "net/http/detached_connection.h"
#include "net/http/server.h"
#include "net/limits.h"
#include "net/trusted_proxies.h"

#include "test/net/http/test_client.h"
#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

class HttpServerLimitsTest : public testing::Test {
  protected:
    HttpServerLimitsTest() {
        router_.add_prefix("/", {}, [](HttpExchange& exchange) {
            (void)exchange.respond(200, "text/plain", exchange.peer().host());
        });
    }

    ~HttpServerLimitsTest() override {
        EXPECT_FALSE(server_->stop(io::soon()));
        EXPECT_EQ(server_->stats().open, 0U);
        server_.reset();
        EXPECT_EQ(find_object_class("http_connection")->live(), connections_before_);
        EXPECT_EQ(find_object_class("http_exchange")->live(), exchanges_before_);
        EXPECT_EQ(limits_.addresses(), 0U);
        EXPECT_EQ(taken_, 0U);
    }

    void start(HttpServerOptions options = {}) {
        server_ = HttpServer::create(router_, std::move(options));
        address_ = serve_on_loopback(*server_);
    }

    // Clients come by a proxy on this machine, which says who they are.
    void start_behind_proxy(HttpServerOptions options) {
        server_ = HttpServer::create(router_, std::move(options));
        auto listener = io::TcpListener::listen(io::loopback());
        ASSERT_TRUE(listener.ok());
        address_ = (*listener)->local();
        ASSERT_FALSE(server_->serve(std::move(*listener),
                                    std::make_shared<const Ingress>(ingress_, true, nullptr)));
    }

    TestClient client() { return TestClient(address_); }

    TestClient client_from(std::string_view host) {
        TestClient made = client();
        made.send(fmt::format("PROXY TCP4 {} 10.0.0.7 4242 80\r\n", host));
        return made;
    }

    uint64_t connections_before_ = find_object_class("http_connection")->live();
    uint64_t exchanges_before_ = find_object_class("http_exchange")->live();
    HttpRouter router_;
    Limits limits_;
    TrustedProxies proxies_;
    io::TlsAcceptor tls_{nullptr};
    IngressStats ingress_stats_;
    Ingress::Shared ingress_{proxies_, tls_, ingress_stats_};
    size_t taken_ = 0;
    std::unique_ptr<HttpServer> server_;
    io::SocketAddress address_;
};

TEST_F(HttpServerLimitsTest, AnAddressHasItsConnectionsAndOneMoreIsTold) {
    limits_.set_connections_per_address(2);
    HttpServerOptions options;
    options.places = &limits_;
    start_behind_proxy(std::move(options));
    {
        TestClient first = client_from("192.0.2.1");
        TestClient second = client_from("192.0.2.1");
        EXPECT_EQ(first.ask(get_request("/")).body, "192.0.2.1");
        EXPECT_EQ(second.ask(get_request("/")).status, 200);
        TestClient third = client_from("192.0.2.1");
        const TestAnswer answer = third.ask(get_request("/"));
        EXPECT_EQ(answer.status, 429);
        EXPECT_TRUE(answer.headers.has("Retry-After"));
        EXPECT_EQ(answer.headers.get("Connection"), "close");
        EXPECT_NE(answer.body.find("max_connections_per_ip"), std::string::npos) << answer.body;
        EXPECT_TRUE(third.ended());
        EXPECT_EQ(client_from("192.0.2.2").ask(get_request("/")).status, 200);
        EXPECT_EQ(first.ask(get_request("/")).status, 200) << "who is inside is left alone";
    }
    EXPECT_EQ(server_->stats().refused, 1U);
    EXPECT_TRUE(io::eventually([&] { return limits_.addresses() == 0; }));
    EXPECT_EQ(client_from("192.0.2.1").ask(get_request("/")).status, 200);
}

TEST_F(HttpServerLimitsTest, ATrustedProxyMayHaveAnyNumberOfConnections) {
    HttpServerOptions options;
    options.places = &limits_;
    options.proxies = &proxies_;
    start(std::move(options));
    TestClient c = client();
    EXPECT_EQ(c.ask(get_request("/")).status, 200);
    EXPECT_EQ(limits_.addresses(), 0U) << "it speaks for many, so it takes no place";
}

TEST_F(HttpServerLimitsTest, AFullServerAnswersOnlySomeOfThoseThatItRefuses) {
    HttpServerOptions options;
    options.linger_timeout = Seconds(1'000);
    options.admit = [] { return false; };
    options.release = [this] { taken_--; };  // would wrap: nobody was let in
    start(std::move(options));
    constexpr size_t kAnswered = 64;
    constexpr size_t kMore = 8;
    std::vector<std::unique_ptr<TestClient>> clients;
    for (size_t i = 0; i < kAnswered; i++) {
        clients.push_back(std::make_unique<TestClient>(address_));
        EXPECT_EQ(clients.back()->read_answer().status, 503) << i;
    }
    ASSERT_TRUE(io::eventually([&] { return server_->stats().open == kAnswered; }))
        << "they linger until their clients end";
    for (size_t i = 0; i < kMore; i++) {
        EXPECT_EQ(client().read_to_end(), "") << "closed without a word";
    }
    EXPECT_EQ(server_->stats().refused, kAnswered + kMore);
    clients.clear();
    ASSERT_TRUE(io::eventually([&] { return server_->stats().open == 0; }));
    EXPECT_EQ(client().read_answer().status, 503) << "there is room to answer again";
    EXPECT_EQ(server_->stats().requests, 0U);
}

TEST_F(HttpServerLimitsTest, WhileItDrainsEveryAnswerIsTheLastOfItsConnection) {
    start();
    TestClient c = client();
    EXPECT_FALSE(c.ask(get_request("/")).headers.has("Connection"));
    server_->stop_accepting();
    const TestAnswer last = c.ask(get_request("/"));
    EXPECT_EQ(last.status, 200);
    EXPECT_EQ(last.headers.get("Connection"), "close");
    EXPECT_TRUE(c.ended());
    EXPECT_FALSE(io::TcpStream::connect(address_, io::soon()).ok()) << "nobody new comes in";
}

TEST_F(HttpServerLimitsTest, ANewHeaderTimeoutHoldsForConnectionsThatCome) {
    HttpServerOptions options;
    options.header_timeout = Seconds(1'000);
    start(std::move(options));
    server_->set_header_timeout(Millis(500));
    TestClient c = client();
    c.send("GET / HTTP/1.1\r\n");
    EXPECT_EQ(c.read_answer().status, 408);
    EXPECT_EQ(server_->stats().timeouts, 1U);
}

TEST_F(HttpServerLimitsTest, AnAnswerThatMayNotHaveABodyHasNone) {
    for (const int status : {204, 304}) {
        router_.add_prefix(fmt::format("/{}", status), {}, [status](HttpExchange& exchange) {
            (void)exchange.respond(status, {}, "left out");
        });
    }
    start();
    TestClient c = client();
    for (const int status : {204, 304}) {
        const TestAnswer answer = c.ask(get_request(fmt::format("/{}", status)));
        EXPECT_EQ(answer.status, status);
        EXPECT_FALSE(answer.headers.has("Content-Length")) << "RFC 9110 §8.6";
    }
    EXPECT_EQ(c.ask(get_request("/")).body, "127.0.0.1") << "nothing stands between the answers";
}

TEST_F(HttpServerLimitsTest, HeadOfALongAnswerHasItsLengthAndTheConnectionGoesOn) {
    router_.add_prefix("/long", {}, [](HttpExchange& exchange) {
        const std::string part(70'000, 'x');
        EXPECT_FALSE(exchange.begin(200, "text/plain", 2 * part.size()));
        EXPECT_FALSE(exchange.write(as_bytes(part)));
        EXPECT_FALSE(exchange.write(as_bytes(part)));
    });
    start();
    TestClient c = client();
    EXPECT_EQ(c.ask("HEAD /long HTTP/1.1\r\nHost: h\r\n\r\n").headers.get("Content-Length"),
              "140000");
    EXPECT_EQ(c.ask(get_request("/")).body, "127.0.0.1");
    EXPECT_EQ(c.ask(get_request("/long")).body, std::string(140'000, 'x'));
    EXPECT_EQ(c.ask(get_request("/")).body, "127.0.0.1");
}

TEST_F(HttpServerLimitsTest, AnAnswerInPartsIsWhole) {
    // Fewer and more parts than one write takes, and more bytes than the socket does.
    std::string whole;
    std::vector<std::string> texts;
    for (size_t i = 0; i < 70; i++) {
        texts.emplace_back(i % 7 == 0 ? 0 : i * 997, static_cast<char>('a' + i % 26));
        whole += texts.back();
    }
    const std::vector<ByteSpan> parts = [&] {
        std::vector<ByteSpan> views;
        for (const std::string& text : texts) {
            views.push_back(as_bytes(text));
        }
        return views;
    }();
    router_.add_prefix("/parts", {}, [&parts](HttpExchange& exchange) {
        EXPECT_FALSE(exchange.respond_parts(200, "text/plain", parts));
    });
    router_.add_prefix("/none", {}, [](HttpExchange& exchange) {
        EXPECT_FALSE(exchange.respond_parts(200, "text/plain", {}));
    });
    start();
    TestClient c = client();
    EXPECT_EQ(c.ask(get_request("/parts")).body, whole);
    EXPECT_EQ(c.ask("HEAD /parts HTTP/1.1\r\nHost: h\r\n\r\n").headers.get("Content-Length"),
              std::to_string(whole.size()));
    EXPECT_EQ(c.ask(get_request("/none")).body, "");
    EXPECT_EQ(c.ask(get_request("/")).body, "127.0.0.1") << "nothing stands between the answers";
}

TEST_F(HttpServerLimitsTest, FieldsOfTheHandlerStandInPlaceOfThoseOfTheRoute) {
    router_.add_prefix("/media", {.cors = true}, [](HttpExchange& exchange) {
        exchange.add_route_field("X-More", "1");
        (void)exchange.respond(200, "text/plain", "",
                               {{"Access-Control-Allow-Origin", "http://one"}});
    });
    start();
    TestClient c = client();
    c.send(get_request("/media", "Connection: close\r\n"));
    const std::string answer = c.read_to_end();
    EXPECT_NE(answer.find("Access-Control-Allow-Origin: http://one\r\n"), std::string::npos);
    EXPECT_EQ(answer.find("Access-Control-Allow-Origin: *"), std::string::npos) << answer;
    EXPECT_NE(answer.find("X-More: 1\r\n"), std::string::npos);
}

// Bytes that nobody reads would reset the connection, and take the answer away from the peer.
TEST_F(HttpServerLimitsTest, APeerThatGoesOnSendingReadsItsAnswer) {
    start();
    TestClient c = client();
    c.send("garbage\x01\r\n\r\n");
    c.send(std::string(kMaxLingerBytes / 2, 'x'));
    EXPECT_EQ(c.read_answer().status, 400);
    EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerLimitsTest, APeerThatNeverStopsSendingIsEnded) {
    HttpServerOptions options;
    options.linger_timeout = Seconds(1'000);
    start(std::move(options));
    auto stream = io::TcpStream::connect(address_, io::soon());
    ASSERT_TRUE(stream.ok());
    const std::string more(64 * 1024, 'x');
    Error failed = (*stream)->write_all(as_bytes("garbage\x01\r\n\r\n"), io::soon());
    for (size_t sent = 0; !failed && sent < 64 * kMaxLingerBytes; sent += more.size()) {
        failed = (*stream)->write_all(as_bytes(more), io::soon());
    }
    EXPECT_TRUE(failed);
    EXPECT_NE(failed.code(), ErrorCode::kTimeout);
    EXPECT_TRUE(io::eventually([&] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerLimitsTest, ARefusedRequestWithABodyKeepsTheConnectionInStep) {
    router_.add_prefix("/post", {.methods = http::method_bit(http::Method::kPost)},
                       [](HttpExchange& exchange) {
                           (void)exchange.respond(200, "text/plain", exchange.request().body);
                       });
    HttpServerOptions options;
    options.authorize = [](HttpExchange& exchange, const HttpRoute*) {
        if (exchange.request().query.get("let")) {
            return true;
        }
        (void)exchange.respond_error(403, "no");
        return false;
    };
    start(std::move(options));
    TestClient c = client();
    const std::string body = "GET /post HTTP/1.1\r\n\r\n";  // would be read as a request
    const auto post = [&](std::string_view target) {
        return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", target,
                           body.size(), body);
    };
    EXPECT_EQ(c.ask(post("/post")).status, 403);
    EXPECT_EQ(c.ask(post("/nothing?let")).status, 405) << "/ takes no POST";
    EXPECT_EQ(c.ask(post("/post?let")).body, body);
    EXPECT_EQ(server_->stats().requests, 3U);
}

TEST_F(HttpServerLimitsTest, APermitIsGivenBackOnceWhereverItIsMoved) {
    {
        taken_ = 2;
        ConnectionPermit first([this] { taken_--; });
        first.hold(
            std::move(limits_.enter(io::SocketAddress::parse("192.0.2.1:1").value()).value()));
        ConnectionPermit second(std::move(first));
        EXPECT_EQ(taken_, 2U);
        EXPECT_EQ(limits_.addresses(), 1U);
        ConnectionPermit third([this] { taken_--; });
        third = std::move(second);
        second = ConnectionPermit();
        EXPECT_EQ(taken_, 1U) << "that which was third's";
        EXPECT_EQ(limits_.addresses(), 1U) << "the place of the address goes with the first";
    }
    EXPECT_EQ(taken_, 0U);
    EXPECT_EQ(limits_.addresses(), 0U);
    start();
}

}  // namespace
}  // namespace weir::net
