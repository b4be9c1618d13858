// Programs beside streams, run by Sources as the server does.
#include "session/exec/exec_push.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/object_count.h"
#include "io/deadline.h"
#include "io/resolver.h"
#include "net/http/client.h"
#include "net/policy.h"
#include "net/source/sources.h"
#include "stream/registry.h"

#include "test/support/io/loopback.h"

namespace weir::session {
namespace {

std::vector<std::string> g_log;

class FakePolicy final : public net::Policy {
  public:
    stream::StreamKey key_of(std::string_view,
                             std::string_view app,
                             std::string_view name) const override {
        return {"v", std::string(app), std::string(name)};
    }

    Result<net::PublishRules> may_publish(const net::AccessRequest&) const override {
        return net::PublishRules();
    }

    Result<net::PlayRules> may_play(const net::AccessRequest&) const override {
        return net::PlayRules();
    }
};

struct ClientPublisher final : stream::Publisher {
    std::string describe() const override { return "a client"; }

    std::string_view client_id() const override { return "c"; }

    void on_taken_over() override {}
};

class ExecPushTest : public testing::Test {
  protected:
    ExecPushTest() : workers_(std::move(*io::WorkerPool::create(1, 10))) {
        log::set_sink([](log::Level, std::string_view line) { g_log.emplace_back(line); });
        g_log.clear();
        push_.use(*workers_);
        begin_server();
    }

    ~ExecPushTest() override {
        sources_->stop(io::soon());
        EXPECT_EQ(push_.running(), 0U);
        EXPECT_EQ(find_object_class("process")->live(), 0U);
        log::set_sink(nullptr);
    }

    // A new one, after that before has stopped.
    void begin_server() {
        sources_ = std::make_unique<net::Sources>(
            net::SourceServices{registry_, dialer_, policy_, {}, system_random(), {}});
        sources_->add(net::SourceRole::kForward, "exec", push_);
    }

    // Beside each stream.
    void run_beside(std::vector<std::string> words) {
        net::SourceConfig config;
        config.forwards = [words](const stream::StreamKey& key) {
            net::SourceSpec spec;
            spec.role = net::SourceRole::kForward;
            spec.key = key;
            spec.url.scheme = "exec";
            spec.shown = "exec " + words[0];
            spec.command = words;
            spec.on_demand = true;
            spec.linger = Millis(0);
            return std::vector{spec};
        };
        ASSERT_FALSE(sources_->start(config));
    }

    void publish() {
        stream_ = &registry_.get_or_create({"v", "live", "cam"}, {}, MonoClock::now());
        ASSERT_FALSE(stream_->start_publish(publisher_, {}, MonoClock::now()));
    }

    void unpublish() {
        stream_->end_publish(publisher_, MonoClock::now());
        registry_.release(*stream_);
    }

    template <typename Done>
    bool until(Done&& done) {
        const io::Deadline deadline = io::soon();
        while (!done() && !deadline.passed()) {
            (void)io::sleep_for(Millis(2));
        }
        return done();
    }

    size_t logged(std::string_view text) const {
        return static_cast<size_t>(std::ranges::count_if(
            g_log, [text](const std::string& line) { return line.find(text) != line.npos; }));
    }

    std::unique_ptr<io::WorkerPool> workers_;
    stream::Registry registry_;
    FakePolicy policy_;
    io::Resolver resolver_;
    net::HttpClient dialer_{resolver_, {}};
    ExecPush push_;
    std::unique_ptr<net::Sources> sources_;
    ClientPublisher publisher_;
    stream::Stream* stream_ = nullptr;
};

TEST_F(ExecPushTest, RunsFromThePublisherToItsEnd) {
    run_beside({"sh", "-c", "echo here; exec sleep 1000"});
    publish();
    EXPECT_TRUE(until([this] { return logged("sh: here") == 1; }));
    EXPECT_EQ(push_.running(), 1U);
    unpublish();
    EXPECT_TRUE(until([this] { return push_.running() == 0; }));
}

TEST_F(ExecPushTest, IsBegunAgainWhenItEndsAndItsLastLineIsTheReason) {
    run_beside({"sh", "-c", "echo no such codec; exit 1"});
    publish();
    EXPECT_TRUE(until([this] { return logged("sh exited with 1: no such codec") >= 1; }));
    EXPECT_TRUE(until([this] { return logged("sh: no such codec") >= 2; }));
    unpublish();
}

TEST(ExecOutputTest, ArgumentsOfAProgramAreNotShown) {
    const std::vector<std::string> words{
        "ffmpeg",
        "-headers",
        "Authorization: Bearer hush-1",
        "-f",
        "flv",
        "rtmp://u5er-name:hush-2-pass@h/app/livestream?k=hush-3-key",
        "rtmp://h/app/hush-4-key"};
    const auto shown = [&](std::string_view line) {
        return without_arguments(line, words, "livestream");
    };
    EXPECT_EQ(shown("[flv] cannot open " + words[5] + ": refused"),
              "[flv] cannot open (argument 5): refused");
    EXPECT_EQ(shown("sent Authorization: Bearer hush-1\\r to rtmp://h/app/hush-4-key"),
              "sent (argument 2)\\r to (argument 6)");
    EXPECT_EQ(shown("login hush-2-pass, k=hush-3-key, key hush-4-key, stream livestream, flv"),
              "login ***, k=***, key ***, stream livestream, flv");
    EXPECT_EQ(without_arguments("sh -c exit", {"sh"}, "a"), "sh -c exit");
}

TEST(ExecOutputTest, NeitherAreKeysOfSeveralTargetsNorValuesOfOptions) {
    const std::vector<std::string> words{
        "ffmpeg",
        "-f",
        "tee",
        "[f=flv]rtmp://a/app/hush-key-1|[f=flv]rtmp://b/app/hush-key-2",
        "--token=hush-value",
        "-key=hush-other"};
    EXPECT_EQ(without_arguments("slave rtmp://a/app/hush-key-1: refused", words, "livestream"),
              "slave rtmp://a/app/***: refused");
    EXPECT_EQ(without_arguments("slave 'rtmp://b/app/hush-key-2'", words, "livestream"),
              "slave 'rtmp://b/app/***'");
    EXPECT_EQ(without_arguments("--token=hush-value -key=hush-other", words, "livestream"),
              "--token=*** -key=***");
}

TEST_F(ExecPushTest, WhatAProgramRepeatsOfItsArgumentsIsNotInTheLog) {
    run_beside({"sh", "-c", "echo cannot publish $0; exit 1", "rtmp://h/live2/hush-stream-key"});
    publish();
    EXPECT_TRUE(until([this] { return logged("sh: cannot publish (argument 3)") >= 1; }));
    EXPECT_TRUE(
        until([this] { return logged("exited with 1: cannot publish (argument 3)") >= 1; }));
    EXPECT_EQ(logged("hush"), 0U);
    unpublish();
}

TEST_F(ExecPushTest, WhatCannotBeStartedIsSaid) {
    run_beside({"/nowhere/program"});
    publish();
    EXPECT_TRUE(until([this] { return logged("there is no program /nowhere/program") >= 1; }));
    unpublish();
}

TEST_F(ExecPushTest, AManyWordedProgramDoesNotFillTheLog) {
    run_beside({"sh", "-c", "seq 1 5000; exec sleep 1000"});
    publish();
    EXPECT_TRUE(until([this] { return logged("sh: 10") >= 1; }));
    EXPECT_TRUE(until([this] { return push_.running() == 1; }));
    unpublish();
    EXPECT_TRUE(until([this] { return push_.running() == 0; }));
    EXPECT_LE(logged("sh: "), 3 * (ExecPush::kLinesPerSecond + 1));
    EXPECT_GE(logged("more lines were not logged"), 1U);
    EXPECT_LE(logged("more lines were not logged"), 3U) << "once a second";
}

TEST_F(ExecPushTest, TheServersEndIsItsEnd) {
    // It has but a moment for its last words: a busy machine may need more than one try.
    for (size_t tries = 1; tries <= 20 && logged("sh: bye") == 0; tries++) {
        begin_server();
        run_beside(
            {"sh", "-c", "trap 'echo bye; exit 0' TERM; echo here; while :; do sleep 0.01; done"});
        publish();
        EXPECT_TRUE(until([&] { return logged("sh: here") == tries; }));
        const MonoTime begin = MonoClock::now();
        sources_->stop(io::soon());
        EXPECT_TRUE(logged("sh: bye") > 0 || MonoClock::now() - begin >= ExecPush::kHurriedFarewell)
            << "it was not waited for";
        EXPECT_EQ(push_.running(), 0U);
        unpublish();
    }
    EXPECT_EQ(logged("sh: bye"), 1U);
}

TEST_F(ExecPushTest, AProgramThatDoesNotWantToEndDoesNotHoldUpTheServers) {
    run_beside({"sh", "-c", "trap '' TERM; echo here; while :; do sleep 0.01; done"});
    publish();
    EXPECT_TRUE(until([this] { return logged("sh: here") == 1; }));
    unpublish();  // it has its 5 s
    EXPECT_FALSE(io::sleep_for(Millis(100)));
    const MonoTime begin = MonoClock::now();
    sources_->stop(io::soon());
    EXPECT_LT(MonoClock::now() - begin, Seconds(4)) << "less than its own 5 s";
    EXPECT_EQ(push_.running(), 0U);
}

TEST(ExecEnvironmentTest, HasNoSecrets) {
    ::setenv("WEIR_HTTP_API_TOKEN", "hush", 1);
    for (const std::string& each : environment_of_programs()) {
        EXPECT_EQ(each.find("hush"), std::string::npos);
    }
    ::unsetenv("WEIR_HTTP_API_TOKEN");
}

}  // namespace
}  // namespace weir::session
