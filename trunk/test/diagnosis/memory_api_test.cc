#include "diagnosis/memory_api.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "net/http/server.h"

#include "test/net/http/test_client.h"
#include "test/session/world.h"
#include "test/support/io/loopback.h"

namespace weir::diagnosis {
namespace {

class MemoryApiTest : public session::World {
  protected:
    MemoryApiTest() {
        auto workers = io::WorkerPool::create(1, 1);
        WEIR_CHECK(workers.ok());
        workers_ = std::move(*workers);
        api_ = std::make_unique<MemoryApi>(
            net::ServerIdentity{"vid-1234567", "89abcdef", MonoClock::now()}, services_, *workers_,
            [](MemoryReport& report) {
                report.add_uncounted("streams", 5'000'000);
                report.add_uncounted("of_the_test", 77);
                report.add_kind("test-play", 4, 100, {{"half", 50}});
                report.add_tcp_kind("test-tcp", {"flv", "ws-flv"}, {});
            });
        api_->add_to(router_);
        http_ = net::HttpServer::create(router_, {});
        address_ = net::serve_on_loopback(*http_);
    }

    ~MemoryApiTest() override {
        Error error = http_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    net::TestAnswer get() {
        return net::TestClient(address_).ask(net::get_request("/api/v1/memory"));
    }

    std::unique_ptr<io::WorkerPool> workers_;
    std::unique_ptr<MemoryApi> api_;
    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> http_;
    io::SocketAddress address_;
};

TEST_F(MemoryApiTest, SaysWhatTheKernelSays) {
    const net::TestAnswer answer = get();
    ASSERT_EQ(answer.status, 200) << answer.body;
    const net::Json data = net::Json::parse(answer.body).at("data");
    EXPECT_GT(data.at("resident_bytes").get<uint64_t>(), 1'000'000U);
    EXPECT_GT(data.at("virtual_bytes"), data.at("resident_bytes"));
    EXPECT_EQ(data.at("heap").at("allocator"), heap_allocator());
}

TEST_F(MemoryApiTest, TellsWhatThePartsAdd) {
    const net::Client flv(clients_, "flv", "192.0.2.1");
    const net::Client ws(clients_, "ws-flv", "192.0.2.1");
    const net::Client other(clients_, "rtmp", "192.0.2.1");
    const net::Json data = net::Json::parse(get().body).at("data");
    std::map<std::string, uint64_t> bytes;
    for (const net::Json& each : data.at("subsystems")) {
        EXPECT_TRUE(bytes.emplace(each.at("subsystem"), each.at("bytes")).second) << each;
    }
    EXPECT_EQ(bytes["of_the_test"], 77U);
    EXPECT_GE(bytes["streams"], 5'000'000U);
    EXPECT_GE(data.at("accounted_bytes"), 5'000'077U);
    const net::Json& kinds = data.at("sessions");
    ASSERT_EQ(kinds.size(), 2U);
    EXPECT_EQ(kinds[0], net::Json({{"kind", "test-play"},
                                   {"sessions", 4},
                                   {"bytes", 100},
                                   {"bytes_each", 25},
                                   {"parts", {{"half", 50}}}}));
    EXPECT_EQ(kinds[1]["kind"], "test-tcp");
    EXPECT_EQ(kinds[1]["sessions"], 2);
    EXPECT_GE(kinds[1]["bytes"], 2 * sizeof(net::Client)) << "their part of the clients";
    EXPECT_LT(kinds[1]["bytes"], 3 * sizeof(net::Client));
}

// The one worker is busy and one job may wait: were each request a job, all but one would be 503.
TEST_F(MemoryApiTest, ACrowdOfRequestsIsOneJob) {
    std::atomic<bool> begun = false;
    std::atomic<bool> open = false;
    ASSERT_FALSE(workers_->submit(
        [&] {
            begun = true;
            while (!open) {
                std::this_thread::yield();
            }
        },
        [] {}));
    EXPECT_TRUE(io::eventually([&] { return begun.load(); }));
    std::vector<io::Coroutine> crowd;
    std::vector<int> statuses;
    for (int i = 0; i < 10; i++) {
        crowd.push_back(io::go([&] { statuses.push_back(get().status); }));
    }
    EXPECT_TRUE(io::eventually([&] { return http_->stats().requests >= 10; }));
    open = true;
    for (io::Coroutine& each : crowd) {
        each.join();
    }
    EXPECT_EQ(statuses, std::vector<int>(10, 200));
}

}  // namespace
}  // namespace weir::diagnosis
