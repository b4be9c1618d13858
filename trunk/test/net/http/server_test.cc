#include "net/http/server.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/signal.h"
#include "net/http/detached_connection.h"
#include "net/limits.h"
#include "proto/http/ws_upgrade.h"
#include "proto/ws/message_reader.h"

#include "test/net/http/test_client.h"

namespace weir::net {
namespace {

const HttpRouteOptions kApi{http::method_bit(http::Method::kGet) |
                                http::method_bit(http::Method::kDelete) |
                                http::method_bit(http::Method::kPost),
                            false, http::ErrorFormat::kJson};
const HttpRouteOptions kMedia{http::method_bit(http::Method::kGet), true, http::ErrorFormat::kText};

class HttpServerTest : public testing::Test {
  protected:
    HttpServerTest() {
        router_.add_prefix("/echo", kApi, [](HttpExchange& exchange) {
            const http::Request& request = exchange.request();
            Error ignored = exchange.respond(
                200, "text/plain",
                fmt::format("{} {} {}", to_string(request.method), request.path, request.body), {});
        });
        router_.add_suffix(".flv", kMedia,
                           [this](HttpExchange& exchange) { stream_media(exchange); });
    }

    ~HttpServerTest() override {
        if (server_) {
            Error error = server_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
            EXPECT_EQ(server_->stats().open, 0U);
        }
    }

    void start(HttpServerOptions options = {}) {
        server_ = HttpServer::create(router_, std::move(options));
        address_ = serve_on_loopback(*server_);
    }

    // Detaches, sends what was unread back, ends by closing.
    void stream_media(HttpExchange& exchange) {
        http::Fields fields = exchange.route_fields();
        fields.add("Content-Type", "video/x-flv");
        DetachedConnection connection = exchange.detach();
        std::string bytes = http::http_response_head(200, fields) + "media:";
        bytes += as_text(connection.unread);
        Error ignored = connection.stream->write_all(as_bytes(bytes), io::soon());
        if (keep_detached_) {
            detached_ = std::move(connection);
        }
    }

    TestClient client() { return TestClient(address_); }

    // Waits until the server has noticed something that its client did.
    bool becomes_true(const std::function<bool()>& condition) {
        for (int i = 0; i < 1000; i++) {
            if (condition()) {
                return true;
            }
            Error ignored = io::sleep_for(Millis(5));
        }
        return false;
    }

    HttpRouter router_;
    std::unique_ptr<HttpServer> server_;
    io::SocketAddress address_;
    size_t taken_ = 0;  // places among max_connections
    bool keep_detached_ = false;
    std::optional<DetachedConnection> detached_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
    start();
    TestClient c = client();
    EXPECT_EQ(c.ask(get_request("/echo/1")).body, "GET /echo/1 ");
    TestAnswer second = c.ask("POST /echo/2 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_EQ(second.body, "POST /echo/2 body");
    EXPECT_EQ(c.ask("POST /echo/3 HTTP/1.1\r\nHost: h\r\n\r\n").body, "POST /echo/3 ")
        << "no length and no type: no body";
    EXPECT_EQ(second.headers.get("Content-Type"), "text/plain");
    EXPECT_FALSE(second.headers.has("Connection"));
    EXPECT_EQ(server_->stats().accepted, 1U);
    EXPECT_EQ(server_->stats().requests, 3U);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
    start();
    TestClient c = client();
    std::string many;
    for (int i = 0; i < 100; i++) {
        many += get_request(fmt::format("/echo/{}", i));
    }
    c.send(many);
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(c.read_answer().body, fmt::format("GET /echo/{} ", i));
    }
}

TEST_F(HttpServerTest, ReadsARequestThatComesByteByByte) {
    start();
    TestClient c = client();
    for (char byte : get_request("/echo/slow")) {
        c.send(std::string_view(&byte, 1));
        io::yield();
    }
    EXPECT_EQ(c.read_answer().status, 200);
}

TEST_F(HttpServerTest, ClosesWhenTheClientAsksForIt) {
    start();
    TestClient c = client();
    TestAnswer answer = c.ask(get_request("/echo", "Connection: close\r\n"));
    EXPECT_EQ(answer.headers.get("Connection"), "close");
    EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, ServesHttp10WithAndWithoutKeepAlive) {
    start();
    TestClient kept = client();
    EXPECT_EQ(
        kept.ask("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").headers.get("Connection"),
        "keep-alive");
    EXPECT_EQ(kept.ask("GET /echo HTTP/1.0\r\n\r\n").headers.get("Connection"), "close");
    EXPECT_TRUE(kept.ended());
}

TEST_F(HttpServerTest, AnswersHeadWithoutBody) {
    start();
    TestClient c = client();
    TestAnswer answer = c.ask("HEAD /echo/x HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.get("Content-Length"),
              std::to_string(std::string("HEAD /echo/x ").size()));
    EXPECT_EQ(c.ask(get_request("/echo/y")).body, "GET /echo/y ") << "no body was sent before";
}

TEST_F(HttpServerTest, AnswersOptionsPerRoute) {
    start();
    TestClient c = client();
    TestAnswer api = c.ask(
        "OPTIONS /echo HTTP/1.1\r\nHost: h\r\nOrigin: http://x\r\n"
        "Access-Control-Request-Method: GET\r\n\r\n");
    EXPECT_EQ(api.status, 204);
    EXPECT_EQ(api.headers.get("Allow"), "GET, HEAD, POST, DELETE, OPTIONS");
    EXPECT_FALSE(api.headers.has("Access-Control-Allow-Origin"))
        << "the API is for nobody else's pages";

    TestAnswer media = c.ask(
        "OPTIONS /live/a.flv HTTP/1.1\r\nHost: h\r\nOrigin: http://x\r\n"
        "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: range\r\n\r\n");
    EXPECT_EQ(media.status, 204);
    EXPECT_EQ(media.headers.get("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(media.headers.get("Access-Control-Allow-Headers"), "range");

    EXPECT_EQ(c.ask("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").status, 204);
    EXPECT_EQ(c.ask("OPTIONS /none HTTP/1.1\r\nHost: h\r\n\r\n").status, 404);
}

TEST_F(HttpServerTest, AnswersUnknownPathsAndMethodsInTheFormatOfTheRoute) {
    start();
    TestClient c = client();
    TestAnswer missing = c.ask(get_request("/none"));
    EXPECT_EQ(missing.status, 404);
    EXPECT_EQ(missing.headers.get("Content-Type"), "text/plain; charset=utf-8");
    TestAnswer method = c.ask("PATCH /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(method.status, 405);
    EXPECT_EQ(method.headers.get("Allow"), "GET, HEAD, POST, DELETE, OPTIONS");
    EXPECT_TRUE(method.body.starts_with("{\"code\":405,")) << method.body;
    EXPECT_EQ(c.ask(get_request("/echo")).status, 200) << "the connection lives on";
}

TEST_F(HttpServerTest, SendsContinueBeforeTheBody) {
    start();
    TestClient c = client();
    TestAnswer first = c.ask(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(first.status, 100);
    EXPECT_EQ(c.ask("ok").body, "POST /echo ok");
}

TEST_F(HttpServerTest, AnswersEveryMalformedRequestThenCloses) {
    start();

    struct Case {
        std::string input;
        int status;
    };

    const Case cases[] = {
        {"\x16\x03\x01 TLS", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\n\r\n", 411},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n" +
             std::string(99999, 'b'),
         413},
        {"GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n", 414},
        {"GET / HTTP/1.1\r\nExpect: x\r\nHost: h\r\n\r\n", 417},
        {"GET / HTTP/1.1\r\nX: " + std::string(100000, 'a'), 431},
    };
    for (const Case& test : cases) {
        TestClient c = client();
        TestAnswer answer = c.ask(test.input);
        EXPECT_EQ(answer.status, test.status) << test.input.substr(0, 60);
        EXPECT_TRUE(answer.body.starts_with(std::to_string(test.status))) << answer.body;
        EXPECT_EQ(answer.headers.get("Connection"), "close");
        EXPECT_TRUE(c.ended());
    }
    EXPECT_EQ(server_->stats().malformed, std::size(cases));
    EXPECT_EQ(client().ask(get_request("/echo")).status, 200);
}

TEST_F(HttpServerTest, AnswersAMalformedRequestAfterAGoodOne) {
    start();
    TestClient c = client();
    c.send(get_request("/echo/good") + "garbage\x01");
    EXPECT_EQ(c.read_answer().body, "GET /echo/good ");
    EXPECT_EQ(c.read_answer().status, 400);
    EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, AnswersARequestThatEndsEarly) {
    start();
    TestClient c = client();
    c.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf");
    c.end_sending();
    EXPECT_EQ(c.read_answer().status, 400);
    EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, EndsASlowHeaderByItsDeadlineHoweverOftenAByteComes) {
    HttpServerOptions options;
    options.header_timeout = Millis(200);
    start(std::move(options));
    TestClient c = client();
    MonoTime start_time = MonoClock::now();
    io::Coroutine drip = io::go([&] {
        std::string request = "GET /" + std::string(500, 'a');
        for (size_t i = 0; i < request.size() && server_->stats().timeouts == 0; i++) {
            c.send(request.substr(i, 1));
            Error ignored = io::sleep_for(Millis(20));
        }
    });
    TestAnswer answer = c.read_answer();
    EXPECT_EQ(answer.status, 408);
    EXPECT_GE(MonoClock::now() - start_time, Millis(200));
    EXPECT_LT(MonoClock::now() - start_time, Seconds(8));
    EXPECT_TRUE(c.ended());
    drip.join();
}

TEST_F(HttpServerTest, EndsASlowBodyByItsDeadline) {
    HttpServerOptions options;
    options.body_timeout = Millis(100);
    start(std::move(options));
    EXPECT_EQ(
        client().ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf").status,
        408);
}

TEST_F(HttpServerTest, ClosesSilentAndIdleConnectionsWithoutAWord) {
    HttpServerOptions options;
    options.header_timeout = Millis(100);
    options.idle_timeout = Millis(100);
    start(std::move(options));
    EXPECT_EQ(client().read_to_end(), "");
    TestClient idle = client();
    EXPECT_EQ(idle.ask(get_request("/echo")).status, 200);
    EXPECT_TRUE(idle.ended());
}

TEST_F(HttpServerTest, AConnectionBetweenRequestsHasNoCoroutineAndKeepsItsPlace) {
    HttpServerOptions options;
    options.admit = [this] { return ++taken_ > 0; };
    options.release = [this] { taken_--; };
    start(std::move(options));
    const auto live = [](const char* name) { return find_object_class(name)->live(); };
    const uint64_t buffers = live("http_read_buffer");
    const uint64_t silent = live("silent_connection");
    {
        TestClient client(address_);
        for (int i = 0; i < 3; i++) {
            EXPECT_TRUE(becomes_true([&] { return live("silent_connection") == silent + 1; }));
            EXPECT_EQ(live("http_read_buffer"), buffers);
            EXPECT_EQ(server_->stats().open, 1U);
            EXPECT_EQ(taken_, 1U);
            EXPECT_EQ(client.ask(get_request("/echo")).status, 200);
        }
    }
    EXPECT_TRUE(becomes_true([&] { return taken_ == 0 && server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, StopsWhileConnectionsSayNothing) {
    start();
    TestClient silent = client();
    TestClient idle = client();
    EXPECT_EQ(idle.ask(get_request("/echo")).status, 200);
    EXPECT_FALSE(server_->stop(io::soon()));
    EXPECT_TRUE(silent.ended());
    EXPECT_TRUE(idle.ended());
    EXPECT_EQ(server_->stats().open, 0U);
}

TEST_F(HttpServerTest, RefusesConnectionsOverTheLimitWithAnAnswer) {
    HttpServerOptions options;
    options.admit = [this] { return taken_ < 1 && ++taken_ > 0; };
    options.release = [this] { taken_--; };
    start(std::move(options));
    {
        TestClient first = client();
        EXPECT_EQ(first.ask(get_request("/echo")).status, 200);
        TestClient second = client();
        TestAnswer answer = second.ask(get_request("/echo"));
        EXPECT_EQ(answer.status, 503);
        EXPECT_TRUE(answer.headers.has("Retry-After"));
        EXPECT_TRUE(second.ended());
        EXPECT_EQ(server_->stats().refused, 1U);
    }
    EXPECT_TRUE(becomes_true([&] { return taken_ == 0; })) << "the place is free again";
    EXPECT_EQ(client().ask(get_request("/echo")).status, 200);
}

TEST_F(HttpServerTest, CountsConnectionsOfAnAddress) {
    Limits limits;
    HttpServerOptions options;
    options.places = &limits;
    start(std::move(options));
    {
        TestClient first = client();
        EXPECT_EQ(first.ask(get_request("/echo")).status, 200);
        EXPECT_EQ(limits.addresses(), 1U);
    }
    EXPECT_TRUE(becomes_true([&] { return limits.addresses() == 0; }));
    Error error = server_->stop(io::soon());  // before `limits` goes
    EXPECT_FALSE(error) << error.to_string();
}

TEST_F(HttpServerTest, AsksForEachRequestWhetherItMayBe) {
    HttpServerOptions options;
    const HttpRoute* seen = nullptr;
    options.authorize = [&seen](HttpExchange& exchange, const HttpRoute* route) {
        seen = route;
        if (exchange.request().query.get("let")) {
            exchange.add_route_field("X-Let", "in");
            return true;
        }
        (void)exchange.respond_error(403, "not without ?let");
        return false;
    };
    start(std::move(options));
    TestClient c = client();
    EXPECT_EQ(c.ask(get_request("/echo")).status, 403);
    EXPECT_NE(seen, nullptr);
    const TestAnswer answer = c.ask(get_request("/echo?let"));
    EXPECT_EQ(answer.status, 200) << "the connection goes on";
    EXPECT_EQ(answer.headers.get("X-Let"), "in");
    EXPECT_EQ(c.ask("OPTIONS /echo HTTP/1.1\r\nHost: h\r\n\r\n").status, 403);
    EXPECT_EQ(c.ask(get_request("/nothing")).status, 403);
    EXPECT_EQ(seen, nullptr);
}

TEST_F(HttpServerTest, GivesADetachedConnectionItsUnreadBytesAndItsPlace) {
    HttpServerOptions options;
    options.admit = [this] { return ++taken_ > 0; };
    options.release = [this] { taken_--; };
    keep_detached_ = true;
    start(std::move(options));
    TestClient c = client();
    TestAnswer answer = c.ask(get_request("/live/a.flv") + "early bytes");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.get("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(c.read_bytes(17), "media:early bytes");
    EXPECT_TRUE(becomes_true([&] { return server_->stats().open == 0; }))
        << "the coroutine has ended";
    EXPECT_EQ(server_->stats().detached, 1U);
    EXPECT_EQ(taken_, 1U) << "the connection still counts";
    detached_.reset();
    EXPECT_EQ(taken_, 0U);
    EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, CarriesAWebSocketConversation) {
    router_.add_prefix("/ws", kMedia, [](HttpExchange& exchange) {
        http::WsUpgrade upgrade =
            http::check_ws_upgrade(exchange.request(), exchange.route_fields());
        if (upgrade.status != 101) {
            Error ignored = exchange.respond_error(upgrade.status, upgrade.reason, upgrade.fields);
            return;
        }
        DetachedConnection connection = exchange.detach();
        ws::MessageReader reader(ws::Role::kServer);
        reader.feed(connection.unread);
        Error ignored = connection.stream->write_all(as_bytes(upgrade.head), io::soon());
        ws::Message message;
        if (reader.next(message) == ws::ReadStatus::kMessage) {
            ignored = connection.stream->write_all(ws::make_frame(message.opcode, message.payload),
                                                   io::soon());
        }
    });
    start();
    TestClient c = client();
    Bytes frame = ws::make_masked_frame(ws::Opcode::kText, as_bytes("Hello"), {1, 2, 3, 4});
    TestAnswer answer = c.ask(
        get_request("/ws",
                    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n") +
        std::string(as_text(frame)));
    EXPECT_EQ(answer.status, 101);
    EXPECT_EQ(answer.headers.get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT_EQ(c.read_to_end(), "\x81\x05Hello");
    EXPECT_EQ(client().ask(get_request("/ws")).status, 426);
}

TEST_F(HttpServerTest, AnswersForAHandlerThatDoesNot) {
    router_.add_prefix("/forgets", kApi, [](HttpExchange&) {});
    start();
    EXPECT_EQ(client().ask(get_request("/forgets")).status, 500);
}

TEST_F(HttpServerTest, ClosesWhenABodyIsShorterThanAnnounced) {
    router_.add_prefix("/short", kMedia, [](HttpExchange& exchange) {
        Error ignored = exchange.begin(200, "text/plain", 100);
        ignored = exchange.write(as_bytes("only this"));
    });
    start();
    TestClient c = client();
    EXPECT_EQ(c.ask(get_request("/short")).body, "only this");
    EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, DropsAClientThatDoesNotReadItsAnswer) {
    std::string large(32 * 1024 * 1024, 'x');
    router_.add_prefix("/large", kMedia, [&](HttpExchange& exchange) {
        Error ignored = exchange.respond(200, "text/plain", large, {});
    });
    HttpServerOptions options;
    options.write_timeout = Millis(100);
    options.linger_timeout = Millis(100);
    start(std::move(options));
    TestClient c = client();
    c.send(get_request("/large"));
    EXPECT_TRUE(becomes_true([&] { return server_->stats().requests == 1; }));
    EXPECT_TRUE(becomes_true([&] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, SurvivesClientsThatLeaveAtAnyTime) {
    start();
    std::string request = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
    for (size_t cut = 0; cut <= request.size(); cut++) {
        TestClient c = client();
        c.send(request.substr(0, cut));
        c.close();
    }
    EXPECT_TRUE(becomes_true([&] { return server_->stats().accepted == request.size() + 1; }));
    EXPECT_EQ(client().ask(get_request("/echo")).status, 200);
    EXPECT_TRUE(becomes_true([&] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, StopsWhileRequestsAreUnderWay) {
    io::Signal never;
    router_.add_prefix("/waits", kApi, [&](HttpExchange& exchange) {
        Error woken = never.wait_until(io::soon());
        EXPECT_EQ(woken.code(), ErrorCode::kInterrupted);
        Error ignored = exchange.respond(200, "text/plain", "late", {});
    });
    start();
    TestClient waiting = client();
    waiting.send(get_request("/waits"));
    TestClient idle = client();
    EXPECT_EQ(idle.ask(get_request("/echo")).status, 200);
    TestClient partial = client();
    partial.send("GET /");
    EXPECT_TRUE(becomes_true([&] { return server_->stats().open == 3 && never.has_waiters(); }));
    MonoTime start_time = MonoClock::now();
    Error error = server_->stop(io::soon());
    EXPECT_FALSE(error) << error.to_string();
    EXPECT_LT(MonoClock::now() - start_time, Seconds(10));
    EXPECT_EQ(server_->stats().open, 0U);
    EXPECT_TRUE(idle.ended());
}

TEST_F(HttpServerTest, ServesSeveralListeners) {
    start();
    const io::SocketAddress address = serve_on_loopback(*server_);
    EXPECT_EQ(TestClient(address).ask(get_request("/echo")).status, 200);
    EXPECT_EQ(client().ask(get_request("/echo")).status, 200);
}

}  // namespace
}  // namespace weir::net
