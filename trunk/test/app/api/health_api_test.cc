#include "app/api/health_api.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/net/http/test_client.h"
#include "test/session/world.h"

namespace weir::app {
namespace {

using State = Readiness::State;

class HealthApiTest : public session::World {
  protected:
    HealthApiTest() {
        health_.state = State::kReady;
        api_.add_to(router_);
        http_ = net::HttpServer::create(router_, {});
        address_ = net::serve_on_loopback(*http_);
    }

    ~HealthApiTest() override {
        Error error = http_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    net::TestAnswer ask(std::string_view target, std::string_view method = "GET") {
        return net::TestClient(address_).ask(
            fmt::format("{} {} HTTP/1.1\r\nHost: h\r\n\r\n", method, target));
    }

    void expect_ready(int status, const std::string& line) {
        const net::TestAnswer answer = ask("/readyz");
        EXPECT_EQ(answer.status, status);
        EXPECT_EQ(answer.body, line + "\n");
    }

    Health health_;
    bool local_ = false;
    int drains_ = 0;
    bool can_drain_ = true;
    net::HttpRouter router_{{}};
    net::ServerIdentity who_{"vid-1234567", "89abcdef", MonoClock::now()};
    HealthApi api_{who_,
                   {[this](auto&) { return health_; }, [this](const auto&) { return local_; },
                    [this] {
                        drains_++;
                        return can_drain_;
                    }}};
    std::unique_ptr<net::HttpServer> http_;
    io::SocketAddress address_;
};

TEST_F(HealthApiTest, ItLivesWhateverItDoes) {
    health_.registry = "away";
    for (const State state : {State::kStarting, State::kReady, State::kBusy, State::kDraining}) {
        health_.state = state;
        const net::TestAnswer answer = ask("/healthz");
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.body, "ok\n");
    }
}

TEST_F(HealthApiTest, IsReadyAlsoWithoutItsRegistry) {
    expect_ready(200, "ok");
    health_.registry = "ok";
    expect_ready(200, "ok");
    health_.registry = "away";
    expect_ready(200, "ok registry=away");
}

TEST_F(HealthApiTest, SaysWhyItIsNotReady) {
    health_.state = State::kStarting;
    expect_ready(503, "starting");
    health_.state = State::kBusy;
    health_.busy_ratio = 0.941;
    expect_ready(503, "busy media_thread=0.94");
    health_.state = State::kDraining;
    expect_ready(503, "draining");
}

TEST_F(HealthApiTest, TellsWhoRemainsOnThisMachineOnly) {
    health_.state = State::kDraining;
    health_.clients = {.publishers = 1, .players = 3};
    expect_ready(503, "draining");
    local_ = true;
    health_.pid = 4711;
    expect_ready(503, "draining publishers=1 players=3 others=0 remaining=4 pid=4711");
}

TEST_F(HealthApiTest, TheWholeStoryIsNoVerdict) {
    health_.state = State::kDraining;
    health_.clients = {.publishers = 1, .players = 3};
    const net::TestAnswer answer = ask("/api/v1/health");
    EXPECT_EQ(answer.status, 200);
    const auto data = net::Json::parse(answer.body)["data"];
    EXPECT_EQ(data["status"], "draining");
    EXPECT_EQ(data["ready"], false);
    EXPECT_EQ(data["players"], 3);
    EXPECT_FALSE(data.contains("registry")) << "none is configured";
}

TEST_F(HealthApiTest, ADrainIsBegunByPostOnly) {
    EXPECT_EQ(ask("/api/v1/drain").status, 405);
    EXPECT_EQ(ask("/api/v1/drain/x", "POST").status, 404);
    EXPECT_EQ(drains_, 0);
    const net::TestAnswer answer = ask("/api/v1/drain", "POST");
    EXPECT_EQ(answer.status, 202);
    EXPECT_EQ(net::Json::parse(answer.body)["data"]["status"], "draining");
    EXPECT_EQ(drains_, 1);
    can_drain_ = false;
    EXPECT_EQ(ask("/api/v1/drain", "POST").status, 503);
}

}  // namespace
}  // namespace weir::app
