#include "bench/load/load_run.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "io/deadline.h"

#include "bench/load/core/rtmp_play_client.h"
#include "bench/load/subcommand.h"
#include "test/bench/run/relay_server.h"
#include "test/support/io/loopback.h"
#include "test/support/io/pulse.h"

namespace weir::load {
namespace {

PlayTarget target_of(const RelayServer& server) {
    auto target = rtmp_play_target(server.url("x%d"), 2, {});
    WEIR_CHECK(target.ok());
    return std::move(*target);
}

// Two groups with a run of their own, against one server.
class LoadRunTest : public testing::Test {
  protected:
    LoadRunTest() {
        options_.quiet = true;
        options_.table_to = nullptr;
        options_.connect_timeout = Millis(5'000);
        auto run = LoadRun::create(options_, "test", "two groups");
        WEIR_CHECK(run.ok());
        run_ = std::move(*run);
        StreamOptions streams;
        streams.shape = {300'000, 30, 10, 64'000};
        streams.streams = 2;
        auto publishers = PublisherGroup::create(server_.url("x%d"), streams);
        WEIR_CHECK(publishers.ok());
        Error error = run_->add_publishers(std::move(*publishers), Millis(100));
        WEIR_CHECK(!error);
        GroupOptions group;
        group.streams = 2;
        group.bits_per_second = 300'000;
        group.name = "first";
        first_ = &run_->add_players(group, target_of(server_));
        group.name = "second";
        second_ = &run_->add_players(group, target_of(server_));
    }

    ~LoadRunTest() override { run_->stop(); }

    void grow(PlayerGroup& group, uint32_t clients, Millis ramp = Millis(0)) {
        Error error = run_->grow(group, clients, ramp);
        WEIR_CHECK(!error);
    }

    // A window, and a moment before it, in which this process did not stand still.
    void measure(Millis time) {
        for (int tries = 0; tries < io::Pulse::kTries; tries++) {
            io::Pulse pulse;
            Error slept = io::sleep_for(Millis(200));
            run_->measure(time);
            if (!slept && !pulse.stood_still()) {
                return;
            }
        }
    }

    double metric(std::string_view name) const {
        return run_->window().metrics.get(name).value_or(-1);
    }

    RelayServer server_{Fault::kNone};
    RunOptions options_;
    std::unique_ptr<LoadRun> run_;
    PlayerGroup* first_ = nullptr;
    PlayerGroup* second_ = nullptr;
};

TEST_F(LoadRunTest, GroupsAreCountedTogether) {
    grow(*first_, 3);
    grow(*second_, 4);
    EXPECT_TRUE(run_->wait_connected());
    EXPECT_TRUE(run_->wait_settled(io::soon()));
    measure(Millis(1'000));
    EXPECT_EQ(metric("clients.wanted"), 7);
    EXPECT_EQ(metric("clients.playing"), 7);
    EXPECT_NEAR(metric("rate.expected"), 7 * 300'000, 7 * 3'000);
    EXPECT_GT(metric("rate.ratio"), 0.6);
    EXPECT_EQ(metric("loss"), 0);
    EXPECT_EQ(run_->finish(), kExitPassed);
}

TEST_F(LoadRunTest, AGroupGrowsWhileItPlays) {
    grow(*first_, 2);
    EXPECT_TRUE(run_->wait_connected());
    grow(*first_, 3, Millis(200));
    EXPECT_TRUE(first_->growing());
    EXPECT_TRUE(run_->wait_connected());
    EXPECT_TRUE(run_->wait_settled(io::soon()));
    EXPECT_EQ(first_->counts().playing, 5U);
    EXPECT_EQ(first_->clients()[4].number, 4U);
}

TEST_F(LoadRunTest, AGroupShrinksWithoutAFault) {
    grow(*first_, 5);
    EXPECT_TRUE(run_->wait_settled(io::soon()));
    first_->shrink(2);
    GroupCounts counts = first_->counts();
    EXPECT_EQ(counts.left, 2U);
    EXPECT_EQ(counts.broken, 0U);
    EXPECT_EQ(counts.playing, 3U);
    EXPECT_FALSE(first_->clients()[0].left) << "the last to come go first";
    EXPECT_TRUE(first_->clients()[4].left);
}

TEST_F(LoadRunTest, EachWindowIsCountedByItself) {
    grow(*first_, 2);
    EXPECT_TRUE(run_->wait_settled(io::soon()));
    measure(Millis(800));
    double rate = metric("rate");
    uint64_t frames = run_->window().result.totals.latency.count();
    EXPECT_GT(frames, 0U);
    measure(Millis(800));
    EXPECT_NEAR(metric("rate"), rate, rate / 2) << "not the sum of both";
    EXPECT_LT(run_->window().result.totals.latency.count(), 2 * frames);
}

TEST_F(LoadRunTest, PhasesAreMarkedInTheSeries) {
    run_->phase("ramp");
    run_->phase("hold");
    ASSERT_EQ(run_->series().marks().size(), 2U);
    EXPECT_EQ(run_->series().marks()[1].name, "hold");
}

TEST_F(LoadRunTest, EndingWithoutAWindowStillReports) {
    grow(*first_, 2);
    EXPECT_EQ(run_->finish(), kExitFailed) << "nobody has played";
    EXPECT_NE(run_->report().to_json().find("\"asked\": 2"), std::string::npos);
}

// Answers each connection with the same text.
class FakeApi {
  public:
    explicit FakeApi(std::string answer) : answer_(std::move(answer)) {
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        listener_ = std::move(*listener);
        server_ = io::go([this] { serve(); });
    }

    ~FakeApi() {
        server_.interrupt();
        server_.join();
    }

    FakeApi(const FakeApi&) = delete;
    FakeApi& operator=(const FakeApi&) = delete;

    std::string url() const { return fmt::format("http://{}", listener_->local().to_string()); }

  private:
    void serve() {
        Bytes buffer(1024);
        for (;;) {
            auto stream = listener_->accept(io::Deadline::forever());  // ended by the destructor
            if (!stream.ok()) {
                return;
            }
            auto size = (*stream)->read_some(buffer, io::soon());
            Error error = (*stream)->write_all(as_bytes(answer_), io::soon());
            WEIR_CHECK(size.ok() && !error);
        }
    }

    std::string answer_;
    std::unique_ptr<io::TcpListener> listener_;
    io::Coroutine server_;
};

TEST(UsageProbeTest, AServerThatIsNoProcessHereIsMeasuredByItsApi) {
    // No process has this number.
    FakeApi api(
        "HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"self\":{\"pid\":999999999,"
        "\"mem_kbyte\":2048,\"cpu_seconds\":7.5}}}");
    auto probe = UsageProbe::create(0, api.url());
    ASSERT_TRUE(probe.ok()) << probe.error().message();
    EXPECT_TRUE(probe->has_server());
    probe->window_begins();
    Error slept = io::sleep_for(Millis(20));
    EXPECT_FALSE(slept);
    UsageNow now = probe->now();
    EXPECT_EQ(now.server_memory_bytes, 2048U * 1024);
    EXPECT_EQ(now.server_cpu_percent, 0.0);
    probe->window_ends();
    MetricValues values;
    probe->add_to(values);
    EXPECT_EQ(values.get("server.rss"), 2048.0 * 1024);
    EXPECT_EQ(values.get("server.cpu"), 0.0);
    EXPECT_FALSE(values.get("server.switches").has_value());
    EXPECT_TRUE(values.get("client.cpu").has_value());
    Report report("x", "y");
    probe->add_to(report, 10, 1e9);
    EXPECT_NE(report.to_table().find("server (API of 127.0.0.1:"), std::string::npos);
}

TEST(UsageProbeTest, AnApiThatDoesNotAnswerAsOneIsAnError) {
    FakeApi api("HTTP/1.1 403 Forbidden\r\n\r\n");
    auto probe = UsageProbe::create(0, api.url());
    ASSERT_FALSE(probe.ok());
    EXPECT_EQ(probe.error().message(), "--server-api: the API answers with status 403");
    EXPECT_FALSE(UsageProbe::create(0, "rtmp://127.0.0.1/live/x").ok());
    EXPECT_FALSE(UsageProbe::create(0, "nonsense").ok());
}

TEST(UsageProbeTest, AProcessThatIsNotThereIsAnError) {
    EXPECT_FALSE(UsageProbe::create(1U << 29, "").ok());
}

}  // namespace
}  // namespace weir::load
