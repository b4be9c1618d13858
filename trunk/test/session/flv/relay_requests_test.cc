// Who is answered by net::RelayServer: nodes of the cluster over the network, and processes of this
// server by a unix socket.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/random.h"
#include "io/own_fd.h"
#include "io/unix_socket.h"
#include "net/cluster/relay_node.h"
#include "net/cluster/relay_server.h"
#include "proto/cluster/relay_field.h"

#include "test/net/http/test_client.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

constexpr int kNoRelay = 418;  // the request went on to those who serve players
constexpr std::string_view kTarget = "/live/cam.flv?relay=1";

class RelayRequestsTest : public World {
  protected:
    RelayRequestsTest() {
        net::Services services = services_;
        services.relays = &relays_;
        server_.emplace(services, relay_http_format());
        relays_.set_process_secret("of the processes");
        relay_router_.add_prefix("/live/", {}, [this](net::HttpExchange& exchange) {
            if (!server_->serve(exchange, "live", "cam")) {
                (void)exchange.respond_error(kNoRelay, "a player");
            }
        });
        relay_http_ = net::HttpServer::create(relay_router_, {});
        address_ = net::serve_on_loopback(*relay_http_);
        Result<io::OwnFd> socket = io::open_unix_listening(name_);
        EXPECT_TRUE(socket.ok());
        auto listener = io::TcpListener::adopt(std::move(*socket));
        EXPECT_TRUE(listener.ok() && !relay_http_->serve(std::move(*listener)));
    }

    ~RelayRequestsTest() override {
        const Error error = relay_http_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    static std::string signed_by(std::string_view secret,
                                 std::string_view signed_host,
                                 std::string_view host) {
        cluster::RelayRequest request;
        request.path = {"other"};
        request.time_ms = wall_time_ms();
        const std::string field =
            cluster::write_relay_request(request, secret, "GET", signed_host, kTarget);
        return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}: {}\r\n\r\n", kTarget, host,
                           cluster::kRelayField, field);
    }

    int by_network(std::string_view secret,
                   std::string_view signed_host = "127.0.0.1",
                   std::string_view host = "127.0.0.1") {
        return net::TestClient(address_).ask(signed_by(secret, signed_host, host)).status;
    }

    int by_unix_socket(std::string_view secret) {
        auto stream = io::connect_unix(name_, io::soon());
        EXPECT_TRUE(stream.ok());
        return net::TestClient(std::move(*stream)).ask(signed_by(secret, "node", "node")).status;
    }

    const std::string name_ = "@weir-test-" + random_id(system_random(), 12);
    net::RelayNode relays_;
    std::optional<net::RelayServer> server_;
    net::HttpRouter relay_router_{{}};
    std::unique_ptr<net::HttpServer> relay_http_;
    io::SocketAddress address_;
};

TEST_F(RelayRequestsTest, WithoutAClusterOnlyProcessesAreAnswered) {
    relays_.set_up("this", "", 3);
    EXPECT_EQ(by_unix_socket("of the processes"), 404) << "nobody publishes it";
    EXPECT_EQ(by_unix_socket("another one"), 403);
    EXPECT_EQ(by_network("of the processes"), kNoRelay) << "as any player";
}

TEST_F(RelayRequestsTest, EachWayHasASecretOfItsOwn) {
    relays_.set_up("this", "of the cluster", 3);
    EXPECT_EQ(by_unix_socket("of the processes"), 404);
    EXPECT_EQ(by_unix_socket("of the cluster"), 403);
    EXPECT_EQ(by_network("of the cluster"), 404);
    EXPECT_EQ(by_network("of the processes"), 403);
}

// Another node that got such a request could show it here.
TEST_F(RelayRequestsTest, ARequestForAnotherHostIsNotAnswered) {
    relays_.set_up("this", "of the cluster", 3);
    EXPECT_EQ(by_network("of the cluster", "b.example"), 403) << "signed for another Host";
    EXPECT_EQ(by_network("of the cluster", "a.example:80", "a.example"), 404);
    relays_.set_names({"b.example"});
    EXPECT_EQ(by_network("of the cluster", "a.example", "a.example"), 403);
    EXPECT_EQ(by_network("of the cluster", "B.example", "b.example:8080"), 404);
    EXPECT_EQ(by_network("of the cluster"), 404) << "its own address";
    for (const char* name : {"localhost", "[::1]:80", "node-b", "b.example."}) {
        EXPECT_EQ(by_network("of the cluster", name, name), 404) << name;
    }
    EXPECT_EQ(by_network("of the cluster", "192.0.2.7", "192.0.2.7"), 403);
}

}  // namespace
}  // namespace weir::session
