// Requests that belong to another process of this machine.
#include "net/placement.h"

#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http/server.h"

#include "test/net/http/test_client.h"
#include "test/support/io/loopback.h"

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

}  // namespace
}  // namespace weir::net
