#include "diagnosis/memory_api.h"

#include <atomic>
#include <memory>
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
            net::ServerIdentity{"vid-1234567", "89abcdef", MonoClock::now()}, services_, nullptr,
            *workers_);
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
