// Requests that belong to another process of this machine.
#include "net/placement.h"

#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/signal.h"
#include "io/tls_acceptor.h"
#include "net/http/server.h"
#include "net/ingress.h"
#include "net/trusted_proxies.h"
#include "stream/stream_key.h"

#include "test/net/http/test_client.h"
#include "test/support/io/tls_pair.h"

namespace weir::net {
namespace {

using testing::HasSubstr;

// Everything belongs to process 1, where a server of its own is.
class FakePlacement final : public Placement {
  public:
    std::optional<uint32_t> better_process(const stream::StreamKey&, PlaceBy) override { return 1; }

    uint32_t own() const override { return 0; }

    std::optional<uint32_t> other(uint64_t process) const override {
        return static_cast<uint32_t>(process);
    }

    std::optional<uint32_t> process_of_hash(uint64_t) const override { return 1; }

    bool move_inside(uint32_t,
                     std::string_view kind,
                     const io::TcpStream& inside,
                     const io::SocketAddress& local,
                     io::Replay replay) override {
        asked++;
        EXPECT_EQ(kind, "http");
        if (refuses) {
            return false;
        }
        HttpServer& target = asked == 1 ? *to : *then_to;
        auto taken = io::TcpStream::adopt(::dup(inside.fd()), inside.peer());
        EXPECT_TRUE(taken.ok());
        (*taken)->replay(std::move(replay));
        target.give_inside(std::move(*taken), local);
        return true;
    }

    bool move(uint32_t,
              std::string_view kind,
              const io::TcpStream& stream,
              io::Replay replay) override {
        asked++;
        if (refuses) {
            return false;
        }
        EXPECT_EQ(kind, "http");
        auto taken = io::TcpStream::adopt(::dup(stream.fd()), stream.peer());
        EXPECT_TRUE(taken.ok());
        (*taken)->replay(std::move(replay));
        to->acceptors().give(std::move(*taken));
        return true;
    }

    HttpServer* to = nullptr;
    HttpServer* then_to = nullptr;  // of what is moved a second time
    bool refuses = false;
    int asked = 0;
};

class HttpPlacementTest : public testing::Test {
  protected:
    HttpPlacementTest() {
        const auto add = [this](HttpRouter& router, const std::string& name) {
            HttpRouteOptions options;
            options.methods =
                http::method_bit(http::Method::kGet) | http::method_bit(http::Method::kPost);
            router.add_prefix("/own", options, answer_by(name));
            options.process_of = [](Placement& placement, const http::Request&) {
                return placement.better_process({}, PlaceBy::kLoad);
            };
            router.add_prefix("/stream", options, answer_by(name));
        };
        add(router_, "first");
        add(other_router_, "second");
        HttpServerOptions options;
        options.placement = &placement_;
        server_ = HttpServer::create(router_, options);
        other_ = HttpServer::create(other_router_, options);  // it would send everything away, too
        address_ = serve_on_loopback(*server_);
        placement_.to = other_.get();
    }

    ~HttpPlacementTest() override {
        EXPECT_FALSE(server_->stop(io::soon()));
        EXPECT_FALSE(other_->stop(io::soon()));
    }

    static HttpHandler answer_by(const std::string& name) {
        return [name](HttpExchange& exchange) {
            const http::Request& request = exchange.request();
            (void)exchange.respond(200, "text/plain",
                                   name + " " + request.target + " " + request.body + " " +
                                       std::string(request.headers.get("X-Test").value_or("")));
        };
    }

    FakePlacement placement_;
    HttpRouter router_;
    HttpRouter other_router_;
    std::unique_ptr<HttpServer> server_;
    std::unique_ptr<HttpServer> other_;
    io::SocketAddress address_;
};

TEST_F(HttpPlacementTest, ARequestIsAnsweredByTheProcessOfItsStream) {
    TestClient client(address_);
    EXPECT_EQ(client.ask("GET /stream/a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-Test: 7\r\n\r\n").body,
              "second /stream/a%20b?x=1  7");
    EXPECT_EQ(placement_.asked, 1) << "what came there stays";
    EXPECT_TRUE(io::eventually([this] { return server_->stats().open == 0; }));
}

TEST_F(HttpPlacementTest, ABodyAndWhatFollowsGoAlong) {
    TestClient client(address_);
    client.send(
        "POST /stream HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\nGET /own HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(client.read_answer().body, HasSubstr("second /stream abcdef"));
    EXPECT_THAT(client.read_answer().body, HasSubstr("second /own"));
}

TEST_F(HttpPlacementTest, OtherRequestsStayAndALaterOneGoes) {
    TestClient client(address_);
    EXPECT_THAT(client.ask(get_request("/own")).body, HasSubstr("first /own"));
    EXPECT_THAT(client.ask(get_request("/stream")).body, HasSubstr("second /stream"));
}

TEST_F(HttpPlacementTest, WhenItCannotGoItIsAnsweredHere) {
    placement_.refuses = true;
    TestClient client(address_);
    EXPECT_THAT(client.ask(get_request("/stream")).body, HasSubstr("first /stream"));
    EXPECT_THAT(client.ask(get_request("/own")).body, HasSubstr("first /own"));
}

// The same over TLS, to routes that no other process can serve.
class InsideTest : public testing::Test {
  protected:
    InsideTest() {
        add(router_, "first");
        add(other_router_, "second");
        HttpServerOptions options;
        options.placement = &placement_;
        options.proxies = &proxies_;
        options.linger_timeout = Millis(200);
        server_ = HttpServer::create(router_, options);
        other_ = HttpServer::create(other_router_, options);
        placement_.to = other_.get();
        placement_.then_to = server_.get();
        auto listener = io::TcpListener::listen(io::loopback());
        EXPECT_TRUE(listener.ok());
        address_ = (*listener)->local();
        EXPECT_FALSE(server_->serve(
            std::move(*listener),
            std::make_shared<const Ingress>(ingress_, false, &io::test_tls().server)));
    }

    ~InsideTest() override {
        EXPECT_FALSE(server_->stop(io::soon()));
        EXPECT_FALSE(other_->stop(io::soon()));
        EXPECT_EQ(server_->stats().open + other_->stats().open, 0U);
    }

    void add(HttpRouter& router, const std::string& name) {
        HttpRouteOptions options;
        router.add_prefix("/own", options, [this, name](auto& exchange) { say(exchange, name); });
        options.process_of = [](Placement& placement, const http::Request&) {
            return placement.better_process({}, PlaceBy::kLoad);
        };
        router.add_prefix("/large", options, [this, name](auto& exchange) { say(exchange, name); });
        options.only_there = true;
        router.add_prefix("/there", options, [this, name](auto& exchange) { say(exchange, name); });
        router.add_prefix("/grows", options, [this](HttpExchange& exchange) {
            EXPECT_FALSE(exchange.begin_open(200, "text/plain"));
            EXPECT_FALSE(exchange.write(as_bytes("part ")));
            EXPECT_FALSE(goes_on_.wait_until(io::soon()));
            EXPECT_FALSE(exchange.write(as_bytes("rest")));
            EXPECT_FALSE(exchange.finish());
        });
        router.add_prefix("/waits", options, [this](HttpExchange& exchange) {
            waits_ = true;
            EXPECT_TRUE(io::eventually([&] { return exchange.connection().hangup(); }));
            waits_ = false;
            (void)exchange.respond(200, "text/plain", "too late");
        });
    }

    void say(HttpExchange& exchange, const std::string& name) const {
        EXPECT_TRUE(exchange.encrypted());
        EXPECT_EQ(exchange.local().to_string(), address_.to_string());
        (void)exchange.respond(200, "text/plain",
                               fmt::format("{} {} {}", name, exchange.peer().host(),
                                           exchange.secure() ? "https" : "http"));
    }

    TestClient client() {
        auto stream = io::TcpStream::connect(address_, io::soon());
        EXPECT_TRUE(stream.ok());
        EXPECT_FALSE(io::tls_connect(**stream, *io::test_tls().client, "localhost", io::soon()));
        return TestClient(std::move(*stream));
    }

    FakePlacement placement_;
    TrustedProxies proxies_;
    io::TlsAcceptor tls_{nullptr};
    IngressStats stats_;
    Ingress::Shared ingress_{proxies_, tls_, stats_};
    io::Signal goes_on_;
    bool waits_ = false;
    HttpRouter router_;
    HttpRouter other_router_;
    std::unique_ptr<HttpServer> server_;
    std::unique_ptr<HttpServer> other_;
    io::SocketAddress address_;
};

TEST_F(InsideTest, WhatIsInsideOfTlsGoesThereAndKnowsItsClient) {
    TestClient client = this->client();
    EXPECT_EQ(client.ask(get_request("/own")).body, "first 127.0.0.1 https");
    EXPECT_EQ(client.ask(get_request("/large")).body, "first 127.0.0.1 https")
        << "its stream can come here";
    EXPECT_EQ(client.ask(get_request("/there")).body, "second 127.0.0.1 https");
    EXPECT_EQ(client.ask(get_request("/own", "X-Forwarded-For: 192.0.2.1\r\n")).body,
              "second 192.0.2.1 https")
        << "what a proxy says counts there, too";
    EXPECT_EQ(server_->stats().bridged, 1U);
    client.close();
    EXPECT_TRUE(
        io::eventually([this] { return server_->stats().open + other_->stats().open == 0; }));
}

TEST_F(InsideTest, ALaterRequestGoesOnToItsOwnProcess) {
    TestClient client = this->client();
    EXPECT_EQ(client.ask(get_request("/there")).body, "second 127.0.0.1 https");
    EXPECT_EQ(client.ask(get_request("/there")).body, "first 127.0.0.1 https");
    EXPECT_EQ(placement_.asked, 2);
    EXPECT_EQ(server_->stats().bridged, 1U) << "by the same bridge";
}

TEST_F(InsideTest, AnAnswerThatGrowsIsPassedOnAsItComes) {
    TestClient client = this->client();
    client.send(get_request("/grows"));
    std::string seen;
    while (seen.find("part ") == std::string::npos) {
        const std::string more = client.read_bytes(1);
        ASSERT_FALSE(more.empty()) << seen;
        seen += more;
    }
    goes_on_.notify_all();
    EXPECT_THAT(client.read_bytes(14), HasSubstr("rest"));
}

TEST_F(InsideTest, TheEndOfTheClientIsSeenThere) {
    TestClient client = this->client();
    client.send(get_request("/waits"));
    ASSERT_TRUE(io::eventually([this] { return waits_; }));
    client.reset();
    EXPECT_TRUE(io::eventually([this] { return !waits_; }));
}

TEST_F(InsideTest, TheEndOfTheOtherSideEndsTheConnection) {
    TestClient client = this->client();
    EXPECT_EQ(client.ask(get_request("/there", "Connection: close\r\n")).status, 200);
    EXPECT_TRUE(client.ended());
}

TEST_F(InsideTest, WhenItCannotGoItIsAnsweredHere) {
    placement_.refuses = true;
    EXPECT_EQ(client().ask(get_request("/there")).body, "first 127.0.0.1 https");
}

}  // namespace
}  // namespace weir::net
