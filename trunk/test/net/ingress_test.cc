#include "net/ingress.h"

#include <string>

#include <gtest/gtest.h>

#include "io/deadline.h"
#include "io/tls_acceptor.h"
#include "net/http/server.h"
#include "net/limits.h"
#include "net/trusted_proxies.h"

#include "test/net/http/test_client.h"
#include "test/support/io/tls_pair.h"

namespace weir::net {
namespace {

std::string v2_header(std::string_view addresses) {
    std::string header("\r\n\r\n\0\r\nQUIT\n\x21\x11\0", 15);
    header += static_cast<char>(addresses.size());
    return header.append(addresses);
}

const std::string kFrom192("\xc0\x00\x02\x01\x0a\x00\x00\x07\x10\x92\x07\x8f", 12);

class IngressTest : public testing::Test {
  protected:
    // What begin() makes of a client that says this.
    Error begin(std::string_view bytes, bool ends = false) {
        pair_ = io::loopback_pair();
        const Ingress ingress(shared_, true, nullptr);
        Error error;
        io::Coroutine serving =
            io::go([&] { error = ingress.begin(*pair_.server, io::Deadline::after(Millis(300))); });
        EXPECT_FALSE(pair_.client->write_all(as_bytes(bytes), io::soon()));
        if (ends) {
            pair_.client->close();
        }
        serving.join();
        return error;
    }

    std::string rest() {
        Bytes buffer(100);
        auto got = pair_.server->read_some(buffer, io::soon());
        return got.ok() ? std::string(as_text(ByteSpan(buffer).first(*got))) : "";
    }

    TrustedProxies proxies_;
    io::TlsAcceptor tls_{nullptr};
    IngressStats stats_;
    Ingress::Shared shared_{proxies_, tls_, stats_};
    io::LoopbackPair pair_;
};

TEST_F(IngressTest, TheHeaderOfAProxySaysWhoTheClientIsAndNoByteBehindItIsLost) {
    for (const std::string& header : {std::string("PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935\r\n"),
                                      v2_header(kFrom192), v2_header(kFrom192 + "tlv")}) {
        const Error error = begin(header + "behind");
        ASSERT_FALSE(error) << error.to_string();
        EXPECT_EQ(pair_.server->peer().to_string(), "192.0.2.1:4242");
        EXPECT_EQ(pair_.server->connection_peer().host(), "127.0.0.1");
        EXPECT_EQ(rest(), "behind");
    }
    EXPECT_EQ(stats_.proxied, 3U);
}

TEST_F(IngressTest, AProxyThatKnowsNoClientMakesNobodyLocal) {
    ASSERT_FALSE(begin("PROXY UNKNOWN\r\n"));
    EXPECT_EQ(pair_.server->peer().host(), "0.0.0.0");
    std::string local("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16);
    ASSERT_FALSE(begin(local));
    EXPECT_EQ(pair_.server->peer().host(), "127.0.0.1") << "the proxy speaks for itself";
}

TEST_F(IngressTest, EndsWhatBringsNoHeaderAWrongOneOrNoneInTime) {
    EXPECT_EQ(begin("GET / HTTP/1.1\r\n\r\n").code(), ErrorCode::kMalformed);
    EXPECT_EQ(begin("PROXY TCP4 nonsense\r\n").code(), ErrorCode::kMalformed);
    EXPECT_EQ(stats_.proxy_malformed, 2U);
    EXPECT_EQ(begin("PROXY TCP4").code(), ErrorCode::kTimeout);
    EXPECT_EQ(stats_.proxy_timeouts, 1U);
    EXPECT_EQ(begin("", true).code(), ErrorCode::kClosed);
    EXPECT_EQ(stats_.proxied, 0U);
}

TEST_F(IngressTest, RefusesAPeerThatIsNotTrustedBeforeItSaysAnything) {
    proxies_.set({});
    const Error error = begin("");
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_NE(error.message().find("trusted_proxies"), std::string::npos);
    EXPECT_EQ(stats_.proxy_untrusted, 1U);
}

TEST_F(IngressTest, TlsComesBehindTheHeader) {
    pair_ = io::loopback_pair();
    const Ingress ingress(shared_, true, &io::test_tls().server);
    Error error;
    io::Coroutine serving = io::go([&] { error = ingress.begin(*pair_.server, io::soon()); });
    ASSERT_FALSE(pair_.client->write_all(as_bytes(v2_header(kFrom192)), io::soon()));
    ASSERT_FALSE(io::tls_connect(*pair_.client, *io::test_tls().client, "localhost", io::soon()));
    serving.join();
    ASSERT_FALSE(error) << error.to_string();
    EXPECT_EQ(pair_.server->peer().host(), "192.0.2.1");
    ASSERT_FALSE(pair_.client->write_all(as_bytes("inside"), io::soon()));
    EXPECT_EQ(rest(), "inside");
}

// An HTTP server behind all of it tells who asks.
class HttpOriginTest : public IngressTest {
  protected:
    void start(bool proxy_protocol, bool tls) {
        router_.add_prefix("/", {}, [](HttpExchange& exchange) {
            (void)exchange.respond(200, "text/plain",
                                   exchange.peer().host() + (exchange.secure() ? " https" : ""));
        });
        HttpServerOptions options;
        options.proxies = &proxies_;
        options.header_timeout = Millis(500);
        server_ = HttpServer::create(router_, std::move(options));
        auto listener = io::TcpListener::listen(io::loopback());
        ASSERT_TRUE(listener.ok());
        address_ = (*listener)->local();
        ASSERT_FALSE(
            server_->serve(std::move(*listener),
                           std::make_shared<Ingress>(shared_, proxy_protocol,
                                                     tls ? &io::test_tls().server : nullptr)));
    }

    ~HttpOriginTest() override {
        EXPECT_FALSE(server_->stop(io::soon()));
        EXPECT_EQ(server_->stats().open, 0U);
    }

    HttpRouter router_;
    std::unique_ptr<HttpServer> server_;
    io::SocketAddress address_;
};

TEST_F(HttpOriginTest, BelievesTrustedProxiesForEachRequestAnew) {
    start(false, false);
    TestClient client(address_);
    EXPECT_EQ(client.ask(get_request("/")).body, "127.0.0.1");
    EXPECT_EQ(client.ask(get_request("/", "X-Forwarded-For: 192.0.2.1\r\n")).body, "192.0.2.1");
    EXPECT_EQ(client
                  .ask(get_request("/",
                                   "X-Forwarded-For: 192.0.2.2\r\n"
                                   "X-Forwarded-Proto: https\r\n"))
                  .body,
              "192.0.2.2 https");
    EXPECT_EQ(client.ask(get_request("/")).body, "127.0.0.1");
}

TEST_F(HttpOriginTest, TheClientOfAProxyHeaderIsAskedNoMoreFields) {
    start(true, false);
    TestClient client(address_);
    client.send(v2_header(kFrom192));
    EXPECT_EQ(client.ask(get_request("/")).body, "192.0.2.1");
    EXPECT_EQ(client.ask(get_request("/", "X-Forwarded-For: 127.0.0.1\r\n")).body, "192.0.2.1");
    TestClient without(address_);
    without.send(get_request("/"));
    EXPECT_EQ(without.read_to_end(), "");
    TestClient silent(address_);
    EXPECT_TRUE(silent.ended());
}

TEST_F(HttpOriginTest, AnswersOverTlsAndEndsInOrder) {
    start(false, true);
    auto stream = io::TcpStream::connect(address_, io::soon());
    ASSERT_TRUE(stream.ok());
    ASSERT_FALSE(io::tls_connect(**stream, *io::test_tls().client, "localhost", io::soon()));
    ASSERT_FALSE(
        (*stream)->write_all(as_bytes(get_request("/", "Connection: close\r\n")), io::soon()));
    std::string answer;
    Bytes buffer(1000);
    for (;;) {
        const Result<size_t> got = (*stream)->read_some(buffer, io::soon());
        if (!got.ok()) {
            EXPECT_EQ(got.error().code(), ErrorCode::kClosed);
            break;
        }
        answer += as_text(ByteSpan(buffer).first(*got));
    }
    EXPECT_NE(answer.find("127.0.0.1 https"), std::string::npos) << answer;
    TestClient plain(address_);
    plain.send(get_request("/"));
    EXPECT_TRUE(plain.read_to_end().starts_with("HTTP/1.1 400 "));
}

// A handshake that is never finished holds a place of its address, too.
TEST_F(IngressTest, AHandshakeCountsAgainstItsAddress) {
    Limits limits;
    HttpServerOptions options;
    options.places = &limits;
    const HttpRouter router;
    const auto server = HttpServer::create(router, std::move(options));
    auto listener = io::TcpListener::listen(io::loopback());
    ASSERT_TRUE(listener.ok());
    const io::SocketAddress address = (*listener)->local();
    ASSERT_FALSE(server->serve(std::move(*listener), std::make_shared<const Ingress>(
                                                         shared_, false, &io::test_tls().server)));
    auto silent = io::TcpStream::connect(address, io::soon());
    ASSERT_TRUE(silent.ok());
    EXPECT_TRUE(io::eventually([&] { return limits.addresses() == 1; }));
    (*silent)->close();
    EXPECT_TRUE(io::eventually([&] { return limits.addresses() == 0; }));
    EXPECT_FALSE(server->stop(io::soon()));
}

}  // namespace
}  // namespace weir::net
