#include "diagnosis/leak_api.h"

#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "net/http/server.h"

#include "test/diagnosis/leak_samples.h"
#include "test/net/http/test_client.h"

namespace weir::diagnosis {
namespace {

using net::Json;
using test::findings;
using test::leak_record;
using testing::ElementsAre;
using testing::HasSubstr;

// Finds what the test says, and notes what it saw while it looked.
class FakeTool final : public LeakTool {
  public:
    struct Script {
        std::string name = "valgrind";
        std::vector<LeakCheck> checks = {LeakCheck::kFull, LeakCheck::kAdded, LeakCheck::kChanged,
                                         LeakCheck::kQuick};
        RawLeaks found = findings({leak_record(LeakKind::kDefinitely, "leak_here", 100)});
        std::deque<Error> failures;
        std::function<void()> look;
        std::vector<LeakCheck> ran;
    };

    explicit FakeTool(Script& script) : script_(script) {}

    std::string_view name() const override { return script_.name; }

    std::vector<LeakCheck> checks() const override { return script_.checks; }

    Result<RawLeaks> run(LeakCheck check) override {
        script_.ran.push_back(check);
        if (script_.look) {
            script_.look();
        }
        if (!script_.failures.empty()) {
            Error error = std::move(script_.failures.front());
            script_.failures.pop_front();
            return error;
        }
        return script_.found;
    }

  private:
    Script& script_;
};

class LeakApiTest : public testing::Test {
  protected:
    LeakApiTest() {
        api_.add_to(router_);
        http_ = net::HttpServer::create(router_, {});
        address_ = net::serve_on_loopback(*http_);
    }

    ~LeakApiTest() override { stop(); }

    void stop() {
        if (http_) {
            Error error = http_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
            http_.reset();
            api_.stop();
        }
    }

    void with_tool() {
        Error error =
            api_.start(std::make_unique<FakeTool>(tool_), [this] { return http_->stats().open; });
        ASSERT_FALSE(error) << error.to_string();
    }

    std::unique_ptr<net::TestClient> client() {
        return std::make_unique<net::TestClient>(address_);
    }

    net::TestAnswer ask(std::string_view target) {
        return net::TestClient(address_).ask(net::get_request(target));
    }

    net::Json data(const net::TestAnswer& answer) {
        EXPECT_EQ(answer.status, 200) << answer.body;
        const net::Json json = net::Json::parse(answer.body, nullptr, false);
        EXPECT_TRUE(json.is_object()) << answer.body;
        EXPECT_EQ(json.value("code", -1), 0);
        EXPECT_EQ(json.value("server", ""), "vid-1234567");
        return json.value("data", net::Json());
    }

    // Until the check of that id is in the queue.
    void until_queued(uint64_t id) {
        ASSERT_TRUE(io::eventually(
            [&] { return api_.checker()->state(id) == LeakChecker::State::kQueued; }));
    }

    // Asks now and then until the check is done.
    net::TestAnswer answer_of(std::string_view path) {
        net::TestAnswer answer;
        EXPECT_TRUE(io::eventually([&] {
            answer = ask(path);
            return answer.status != 202;
        }));
        return answer;
    }

    net::Json get(std::string_view target) { return data(ask(target)); }

    FakeTool::Script tool_;
    net::ClientTable clients_;
    LeakApi api_{clients_, {"vid-1234567", "89abcdef", MonoClock::now()}};
    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> http_;
    io::SocketAddress address_;
};

TEST_F(LeakApiTest, WithoutAToolEveryCheckNamesTheCommandThatBuildsOne) {
    for (const char* target : {"/api/v1/valgrind?check=full", "/api/v1/valgrind/1",
                               "/api/v1/leaks?check=added", "/api/v1/leaks/1"}) {
        const net::TestAnswer answer = ask(target);
        EXPECT_EQ(answer.status, 501) << target;
        EXPECT_THAT(answer.body, HasSubstr("./configure --")) << target;
    }
    const net::Json able = get("/api/v1/leaks/capabilities");
    EXPECT_TRUE(able["tool"].is_null());
    EXPECT_TRUE(able["checks"].empty());
    ASSERT_EQ(able["tools"].size(), 3U);
    for (const net::Json& tool : able["tools"]) {
        EXPECT_THAT(tool["commands"].get<std::string>(), HasSubstr("./configure --"));
    }
}

TEST_F(LeakApiTest, AnswersWhatTheCheckFound) {
    with_tool();
    const net::Json first = get("/api/v1/valgrind?check=added");
    EXPECT_EQ(first["id"], "1");
    EXPECT_EQ(first["state"], "done");
    EXPECT_EQ(first["check"], "added");
    EXPECT_EQ(first["tool"], "valgrind");
    EXPECT_EQ(first["verdict"], "leaking");
    EXPECT_EQ(first["definitely"]["bytes_delta"], 100);
    EXPECT_EQ(first["records"][0]["stack"][1]["function"], "leak_here");
    const net::Json second = get("/api/v1/leaks?check=added");
    EXPECT_EQ(second["verdict"], "clean");
    EXPECT_EQ(second["definitely"]["bytes_delta"], 0);
    EXPECT_EQ(get("/api/v1/valgrind")["check"], "full");
    EXPECT_THAT(tool_.ran, ElementsAre(LeakCheck::kAdded, LeakCheck::kAdded, LeakCheck::kFull));
}

TEST_F(LeakApiTest, CapabilitiesNameTheToolOfThisProcess) {
    with_tool();
    const net::Json able = get("/api/v1/leaks/capabilities");
    EXPECT_EQ(able["tool"], "valgrind");
    EXPECT_EQ(able["checks"].dump(), R"(["full","added","changed","quick"])");
    EXPECT_EQ(able["thresholds"]["growing_bytes"], 1024);
}

TEST_F(LeakApiTest, TheRequestIsGoneWhileItsCheckRuns) {
    with_tool();
    std::vector<uint64_t> open;
    tool_.look = [&] { open.push_back(http_->stats().open); };
    get("/api/v1/valgrind?check=added");
    EXPECT_EQ(ask("/api/v1/valgrind?check=added&wait=0").status, 202);
    data(answer_of("/api/v1/valgrind/2"));
    get("/api/v1/leaks?check=full");
    EXPECT_THAT(open, ElementsAre(0U, 0U, 0U));
}

TEST_F(LeakApiTest, BadRequestsAreToldWhatIsGood) {
    with_tool();
    for (const char* check : {"bogus", "", "Full"}) {
        const net::TestAnswer answer = ask("/api/v1/valgrind?check=" + std::string(check));
        EXPECT_EQ(answer.status, 400);
        EXPECT_THAT(answer.body, HasSubstr("full, added, changed, quick, new")) << check;
    }
    const net::TestAnswer quick = ask("/api/v1/leaks?check=quick");
    EXPECT_EQ(quick.status, 400);
    EXPECT_THAT(quick.body, HasSubstr("one of: full, added\""));
    EXPECT_EQ(ask("/api/v1/leaks?wait=maybe").status, 400);
    for (const char* id : {"/api/v1/valgrind/77", "/api/v1/leaks/x", "/api/v1/leaks/-1"}) {
        EXPECT_EQ(ask(id).status, 404) << id;
    }
    EXPECT_EQ(net::TestClient(address_)
                  .ask("HEAD /api/v1/valgrind?check=full HTTP/1.1\r\nHost: h\r\n\r\n")
                  .status,
              405);
    EXPECT_TRUE(tool_.ran.empty());
}

TEST_F(LeakApiTest, OnlyGetAsksForACheck) {
    with_tool();
    for (const char* method : {"POST", "PUT", "DELETE", "HEAD"}) {
        for (const char* path : {"/api/v1/leaks?check=added", "/api/v1/valgrind?check=full"}) {
            const net::TestAnswer answer = net::TestClient(address_).ask(fmt::format(
                "{} {} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", method, path));
            EXPECT_EQ(answer.status, 405) << method << " " << path;
            EXPECT_THAT(std::string(answer.headers.get("Allow").value_or("")), HasSubstr("GET"));
        }
    }
    const net::TestAnswer able = net::TestClient(address_).ask(
        "HEAD /api/v1/leaks/capabilities HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(able.status, 200);
    EXPECT_TRUE(tool_.ran.empty());
}

TEST_F(LeakApiTest, ACheckThatTheToolLacksIsNeverAnotherOne) {
    with_tool();
    const net::TestAnswer answer = ask("/api/v1/valgrind?check=new");
    EXPECT_EQ(answer.status, 501);
    EXPECT_THAT(answer.body, HasSubstr("valgrind 3.21"));
    EXPECT_TRUE(tool_.ran.empty());
}

TEST_F(LeakApiTest, TheValgrindPathIsForValgrindOnly) {
    tool_.name = "lsan";
    with_tool();
    EXPECT_EQ(ask("/api/v1/valgrind?check=full").status, 501);
    EXPECT_EQ(get("/api/v1/leaks?check=full")["tool"], "lsan");
}

TEST_F(LeakApiTest, OfTwoChecksAtOnceTheSecondWaits) {
    with_tool();
    auto first = client();
    auto second = client();
    {
        const LeakChecker::Visit hold(*api_.checker());  // no check begins meanwhile
        first->send(net::get_request("/api/v1/valgrind?check=added"));
        until_queued(1);
        second->send(net::get_request("/api/v1/leaks?check=full"));
        until_queued(2);
        EXPECT_TRUE(tool_.ran.empty());
    }
    EXPECT_EQ(data(first->read_answer())["id"], "1");
    EXPECT_TRUE(first->ended());
    first->close();
    EXPECT_EQ(data(second->read_answer())["id"], "2");
    EXPECT_THAT(tool_.ran, ElementsAre(LeakCheck::kAdded, LeakCheck::kFull));
}

TEST_F(LeakApiTest, WhoDoesNotWaitGetsAnIdAndAsksForTheAnswer) {
    with_tool();
    std::string path;
    {
        const LeakChecker::Visit hold(*api_.checker());
        const net::TestAnswer queued = ask("/api/v1/leaks?check=added&wait=0");
        EXPECT_EQ(queued.status, 202);
        const net::Json json = net::Json::parse(queued.body, nullptr, false);
        EXPECT_EQ(json["data"]["id"], "1");
        EXPECT_EQ(json["data"]["state"], "queued");
        path = json["data"]["poll"];
        EXPECT_EQ(path, "/api/v1/leaks/1");
        EXPECT_EQ(queued.headers.get("Location"), path);
        EXPECT_EQ(ask(path).status, 202);
    }
    const net::TestAnswer answer = answer_of(path);
    EXPECT_EQ(data(answer)["verdict"], "leaking");
    EXPECT_EQ(answer.body, ask(path).body);
}

TEST_F(LeakApiTest, AFullQueueIs503AndLosesNothing) {
    with_tool();
    std::vector<std::unique_ptr<net::TestClient>> waiting;
    {
        const LeakChecker::Visit hold(*api_.checker());
        for (size_t i = 0; i < kMaxQueuedChecks; i++) {
            waiting.push_back(client());
            waiting.back()->send(net::get_request("/api/v1/leaks?check=added"));
            until_queued(i + 1);
        }
        const net::TestAnswer refused = ask("/api/v1/leaks?check=added");
        EXPECT_EQ(refused.status, 503);
        EXPECT_THAT(refused.body, HasSubstr("16 checks are waiting already"));
    }
    for (auto& who : waiting) {
        EXPECT_EQ(who->read_answer().status, 200);
        who->close();
    }
    EXPECT_EQ(tool_.ran.size(), kMaxQueuedChecks);
}

TEST_F(LeakApiTest, ACallerThatLeavesCostsNobodyTheAnswer) {
    with_tool();
    auto gone = client();
    {
        const LeakChecker::Visit hold(*api_.checker());
        gone->send(net::get_request("/api/v1/leaks?check=added"));
        until_queued(1);
        gone->close();
    }
    EXPECT_EQ(get("/api/v1/leaks?check=added")["id"], "2");
    EXPECT_EQ(get("/api/v1/leaks/1")["verdict"], "leaking");
}

size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Before their check, by a close and by a reset, or after they had asked for another one, too.
TEST_F(LeakApiTest, CallersThatLeaveLeaveNoDescriptor) {
    with_tool();
    get("/api/v1/leaks?check=full");
    const size_t before = open_descriptors();
    for (uint64_t i = 0; i < 5; i++) {
        auto resets = client();
        auto leaves = client();
        {
            const LeakChecker::Visit hold(*api_.checker());
            resets->send(net::get_request("/api/v1/leaks?check=full"));
            until_queued(i * 2 + 2);
            leaves->send(net::get_request("/api/v1/leaks?check=full") +
                         net::get_request("/api/v1/leaks?check=added"));
            until_queued(i * 2 + 3);
            resets->reset();
            leaves->close();
        }
        ASSERT_TRUE(io::eventually(
            [&] { return api_.checker()->state(i * 2 + 3) == LeakChecker::State::kDone; }));
    }
    for (int i = 0; i < 500 && (open_descriptors() > before || http_->stats().open > 0); i++) {
        ASSERT_FALSE(io::sleep_for(Millis(10)));
    }
    EXPECT_LE(open_descriptors(), before);
    EXPECT_EQ(http_->stats().open, 0U);
    EXPECT_EQ(tool_.ran.size(), 11U);  // what was sent behind the first request is dropped
}

TEST_F(LeakApiTest, AStopEndsWhoWaits) {
    with_tool();
    auto waiting = client();
    auto hold = std::make_unique<LeakChecker::Visit>(*api_.checker());
    waiting->send(net::get_request("/api/v1/leaks?check=added"));
    until_queued(1);
    Error error = http_->stop(io::soon());
    EXPECT_FALSE(error) << error.to_string();
    http_.reset();
    api_.checker()->stop();
    hold.reset();
    api_.stop();
    EXPECT_TRUE(waiting->ended());
    EXPECT_TRUE(tool_.ran.empty());
}

TEST_F(LeakApiTest, AToolThatCannotNowSaysSoUnderTheIdToo) {
    with_tool();
    tool_.failures.push_back(make_error(ErrorCode::kBusy, "a debugger is attached"));
    tool_.failures.push_back(make_error(ErrorCode::kUnsupported, "turned off"));
    const net::TestAnswer busy = ask("/api/v1/leaks?check=added");
    EXPECT_EQ(busy.status, 409);
    EXPECT_EQ(busy.body, "{\"code\":409,\"error\":\"a debugger is attached\"}\n");
    EXPECT_EQ(ask("/api/v1/leaks/1").status, 409);
    EXPECT_EQ(ask("/api/v1/leaks?check=added").status, 501);
    EXPECT_EQ(get("/api/v1/leaks?check=added")["id"], "3");
}

TEST_F(LeakApiTest, TheReportSaysHowManyClientsWereThere) {
    with_tool();
    {
        const net::Client player(clients_, "rtmp", "127.0.0.1");
        EXPECT_EQ(get("/api/v1/leaks?check=added")["clients"], 1);
    }
    EXPECT_EQ(get("/api/v1/leaks?check=added")["clients"], 0);
}

TEST_F(LeakApiTest, OldAnswersAreForgotten) {
    with_tool();
    for (size_t i = 0; i < kKeptLeakAnswers + 1; i++) {
        get("/api/v1/leaks?check=added");
    }
    EXPECT_EQ(ask("/api/v1/leaks/1").status, 404);
    EXPECT_EQ(get("/api/v1/leaks/2")["id"], "2");
}

TEST_F(LeakApiTest, AnAnswerThatNobodyHasFetchedOutlivesThoseThatWereRead) {
    with_tool();
    EXPECT_EQ(ask("/api/v1/leaks?check=added&wait=0").status, 202);
    for (size_t i = 0; i < kKeptLeakAnswers + 1; i++) {
        get("/api/v1/leaks?check=added");
    }
    EXPECT_EQ(get("/api/v1/leaks/1")["id"], "1");
    EXPECT_EQ(get("/api/v1/leaks?check=added")["state"], "done");
    EXPECT_EQ(ask("/api/v1/leaks/1").status, 404) << "now it was read";
}

TEST_F(LeakApiTest, ACallerWhoCannotWaitForWantOfADescriptorIsTold) {
    with_tool();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    auto asking = client();
    {
        const LeakChecker::Visit hold(*api_.checker());
        ASSERT_TRUE(io::eventually([&] { return http_->stats().open > 0; }));
        const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
        asking->send(net::get_request("/api/v1/leaks?check=added"));
        const net::TestAnswer answer = asking->read_answer();
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_EQ(answer.status, 500);
        EXPECT_THAT(answer.body, HasSubstr("duplicate a descriptor"));
        asking->close();
    }
    EXPECT_EQ(data(answer_of("/api/v1/leaks/1"))["verdict"], "leaking") << "the check is done";
}

}  // namespace
}  // namespace weir::diagnosis
