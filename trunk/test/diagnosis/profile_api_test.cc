#include "diagnosis/profile_api.h"

#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/profilers.h"
#include "net/http/server.h"

#include "test/net/http/test_client.h"
#include "test/support/io/loopback.h"

namespace weir::diagnosis {
namespace {

using testing::HasSubstr;

class ProfileApiTest : public testing::Test {
  protected:
    ProfileApiTest() {
        auto workers = io::WorkerPool::create(1, 100);
        WEIR_CHECK(workers.ok());
        workers_ = std::move(*workers);
        api_.emplace(net::ServerIdentity{"vid-1234567", "89abcdef", MonoClock::now()}, *workers_);
        api_->add_to(router_);
        http_ = net::HttpServer::create(router_, {});
        address_ = net::serve_on_loopback(*http_);
    }

    ~ProfileApiTest() override { stop(); }

    void stop() {
        if (http_) {
            Error error = http_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
            http_.reset();
        }
    }

    net::TestAnswer get(std::string_view target) {
        return net::TestClient(address_).ask(
            fmt::format("GET /api/v1/profile{} HTTP/1.1\r\nHost: h\r\n\r\n", target));
    }

    std::unique_ptr<io::WorkerPool> workers_;
    std::optional<ProfileApi> api_;
    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> http_;
    io::SocketAddress address_;
};

TEST_F(ProfileApiTest, SaysWhatThisBuildCanDo) {
    const net::TestAnswer answer = get("");
    EXPECT_EQ(answer.status, 200);
    const net::Json data = net::Json::parse(answer.body).at("data");
    EXPECT_EQ(data.at("build"), kBuildFlags);
    EXPECT_EQ(data.at("cpu").at("available"), kHasCpuProfiler);
    EXPECT_EQ(data.at("cpu").at("running"), false);
    EXPECT_EQ(data.at("heap").at("available"), kHasHeapProfiler);
    EXPECT_EQ(data.at("heap").at("running"), false);
}

TEST_F(ProfileApiTest, KnowsNoOtherKind) {
    EXPECT_EQ(get("/disk").status, 404);
    EXPECT_EQ(get("/cpux").status, 404);
    EXPECT_EQ(get("/cpu/7").status, 404);
    EXPECT_EQ(get("/heap/dump?action=start").status, 404);
}

TEST_F(ProfileApiTest, AHeadRequestDoesNothing) {
    for (const char* target : {"/cpu?seconds=1", "/cpu?action=stop", "/heap?action=start"}) {
        EXPECT_EQ(
            net::TestClient(address_)
                .ask(fmt::format("HEAD /api/v1/profile{} HTTP/1.1\r\nHost: h\r\n\r\n", target))
                .status,
            405)
            << target;
    }
    EXPECT_FALSE(cpu_profile_running());
    EXPECT_FALSE(heap_profile_running());
}

#if !WEIR_CPU_PROFILER

TEST_F(ProfileApiTest, NamesTheCommandThatBuildsACpuProfiler) {
    for (const char* target : {"/cpu", "/cpu?seconds=1", "/cpu?action=start", "/cpu?seconds=no"}) {
        const net::TestAnswer answer = get(target);
        EXPECT_EQ(answer.status, 501) << target;
        EXPECT_THAT(answer.body, HasSubstr("./configure --gperf=on && make")) << target;
    }
}

#else

TEST_F(ProfileApiTest, RefusesTimesAndActionsThatItDoesNotKnow) {
    for (const char* target : {"/cpu?seconds=0", "/cpu?seconds=301", "/cpu?seconds=x",
                               "/cpu?seconds=-1", "/cpu?action=go"}) {
        EXPECT_EQ(get(target).status, 400) << target;
    }
}

TEST_F(ProfileApiTest, StopsOnlyACpuProfileThatRuns) {
    EXPECT_EQ(get("/cpu?action=stop").status, 409);
    EXPECT_EQ(get("/cpu?action=dump").status, 409);
}

TEST_F(ProfileApiTest, MakesOneCpuProfileAtATime) {
    EXPECT_EQ(get("/cpu?action=start").status, 200);
    EXPECT_EQ(get("/cpu?action=start").status, 409);
    EXPECT_THAT(get("/cpu?seconds=1").body, HasSubstr("action=stop"));
    EXPECT_EQ(get("/cpu?action=dump").status, 200);
    EXPECT_EQ(get("/cpu?action=stop").status, 200);
    EXPECT_EQ(get("/cpu?action=stop").status, 409);
}

TEST_F(ProfileApiTest, AnswersATimedProfileWhenItsTimeIsOver) {
    const MonoTime before = MonoClock::now();
    const net::TestAnswer answer = get("/cpu?seconds=1");
    EXPECT_EQ(answer.status, 200);
    EXPECT_GE(MonoClock::now() - before, Seconds(1));
    // The head of a profile of gperftools: 0, 3 words of header, version 0, then the period.
    ASSERT_GE(answer.body.size(), 5 * sizeof(uintptr_t));
    EXPECT_EQ(answer.body.substr(0, sizeof(uintptr_t)), std::string(sizeof(uintptr_t), '\0'));
    EXPECT_FALSE(cpu_profile_running());
}

TEST_F(ProfileApiTest, ATimedProfileMayBeEndedEarly) {
    int timed = 0;
    io::Coroutine waiting = io::go([&] { timed = get("/cpu?seconds=300").status; });
    EXPECT_TRUE(io::eventually(cpu_profile_running));
    EXPECT_EQ(get("/cpu?action=stop").status, 200);
    waiting.join();
    EXPECT_EQ(timed, 409);
}

TEST_F(ProfileApiTest, ATimedProfileIsAnswered503WhenTheServerStops) {
    net::TestAnswer timed;
    io::Coroutine waiting = io::go([&] { timed = get("/cpu?seconds=300"); });
    EXPECT_TRUE(io::eventually(cpu_profile_running));
    stop();
    waiting.join();
    EXPECT_EQ(timed.status, 503);
    EXPECT_THAT(timed.body, HasSubstr("the server is stopping"));
    EXPECT_FALSE(cpu_profile_running());
}

TEST_F(ProfileApiTest, AProfileThatNobodyEndsEndsByItselfAndWaits) {
    EXPECT_EQ(get("/cpu?action=start").status, 200);
    const MonoTime now = MonoClock::now();
    limit_cpu_profile(now);
    EXPECT_TRUE(cpu_profile_running());
    limit_cpu_profile(now + kMaxCpuProfileTime);
    EXPECT_FALSE(cpu_profile_running());
    const net::Json data = net::Json::parse(get("").body).at("data");
    EXPECT_EQ(data.at("cpu").at("ended_because"), "it has taken 300 s");
    const std::string whole = get("/cpu?action=dump").body;
    EXPECT_GT(whole.size(), 5 * sizeof(uintptr_t));
    EXPECT_EQ(get("/cpu?action=stop").body, whole);
    EXPECT_EQ(get("/cpu?action=stop").status, 409);
    EXPECT_EQ(net::Json::parse(get("").body).at("data").at("cpu").at("ended_because"), "");
}

#endif

#if !WEIR_HEAP_PROFILER

TEST_F(ProfileApiTest, NamesTheCommandThatBuildsAHeapProfiler) {
    for (const char* target : {"/heap", "/heap?action=start", "/heap?action=no"}) {
        const net::TestAnswer answer = get(target);
        EXPECT_EQ(answer.status, 501) << target;
        EXPECT_THAT(answer.body, HasSubstr("./configure --gperf=on && make")) << target;
    }
}

#else

TEST_F(ProfileApiTest, GivesAHeapProfileWhileOneRuns) {
    EXPECT_EQ(get("/heap").status, 409);
    EXPECT_EQ(get("/heap?action=start").status, 200);
    EXPECT_EQ(get("/heap?action=start").status, 409);
    EXPECT_THAT(get("/heap").body, HasSubstr("heap profile:"));
    EXPECT_THAT(get("/heap?action=stop").body, HasSubstr("MAPPED_LIBRARIES"));
    EXPECT_EQ(get("/heap?action=stop").status, 409);
    EXPECT_EQ(get("/heap?action=now").status, 400);
}

#endif

}  // namespace
}  // namespace weir::diagnosis
