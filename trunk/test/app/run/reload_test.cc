#include "app/run/reload.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/api/reload_api.h"

#include "test/session/webrtc/rtc_world.h"

namespace weir::app {
namespace {

using testing::HasSubstr;
using Outcome = ReloadReport::Outcome;

class ReloadTest : public session::RtcWorld {
  protected:
    ReloadTest() {
        folder_ = std::filesystem::temp_directory_path() /
                  ("weir-reload-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
        file_ = folder_ / "t.conf";
        start_rtmp();
        start_rtc();
        write("listen 127.0.0.1:0;");
        LoadedConfig loaded = load({file_, environment_});
        EXPECT_TRUE(loaded.outcome.ok()) << to_string(loaded.outcome.errors);
        config_ = *loaded.outcome.config;
        listeners_ = std::make_unique<ListenerSet>();
        listeners_->add({.kind = "rtmp",
                         .scheme = "rtmp",
                         .wanted = [](const config::Config& config) { return &config.listen; },
                         .acceptors = &rtmp_->acceptors()});
        reloader_ = std::make_unique<Reloader>(
            ConfigSource{file_, environment_},
            Reloader::Parts{&config_, listeners_.get(), workers_.get(),
                            [this](const config::Config&) { return refusals_; },
                            [this](const config::Config&) { reconfigured_++; }});
        reloader_->note_loaded(loaded.outcome.watched, loaded.signature);
        EXPECT_TRUE(listeners_->prepare(listeners_->wanted(config_)).empty());
        EXPECT_FALSE(listeners_->commit());
    }

    ~ReloadTest() override {
        reloader_->stop(io::soon());
        std::filesystem::remove_all(folder_);
    }

    // HTTP and its API are not part of this world, nor is the default port.
    void write(const std::string& text) {
        const bool listens = text.find("listen") != std::string::npos;
        std::ofstream(file_) << (listens ? "" : "listen 127.0.0.1:0; ") << text
                             << "\nhttp_server { enabled off; } http_api { enabled off; }\n";
    }

    config::Environment environment_ = {{"WEIR_CHUNK_SIZE", "4096"}};
    std::filesystem::path folder_;
    std::string file_;
    config::Config config_;
    std::vector<Diagnostic> refusals_;
    int reconfigured_ = 0;
    std::unique_ptr<ListenerSet> listeners_;
    std::unique_ptr<Reloader> reloader_;
};

TEST_F(ReloadTest, AppliesDifferencesAndSaysThem) {
    write("listen 127.0.0.1:0; max_connections 5; worker_threads 3; vhost a.example { }");
    const ReloadReport report = reloader_->reload("test");
    EXPECT_EQ(report.outcome, Outcome::kDone);
    EXPECT_EQ(config_.max_connections, 5U);
    EXPECT_EQ(config_.chunk_size, 4096U) << "the environment holds on a reload, too";
    EXPECT_EQ(config_.find_vhost("a.example")->name, "a.example");
    EXPECT_EQ(reconfigured_, 1);
    ASSERT_EQ(report.changes.size(), 3U);
    EXPECT_EQ(report.changes[0].directive, "max_connections");
    EXPECT_EQ(report.changes[1].effect, config::ChangeEffect::kRestart);
    EXPECT_TRUE(logged("reload: max_connections 10000 -> 5 (applied)"));
    EXPECT_TRUE(logged("reloaded by=test"));
    const ReloadReport again = reloader_->reload("test");
    ASSERT_EQ(again.changes.size(), 1U) << "only what still waits for a restart";
    EXPECT_EQ(again.changes[0].directive, "worker_threads");
}

TEST_F(ReloadTest, AnErrorLeavesEverything) {
    const config::Config before = config_;
    const std::vector<std::string> listening = listeners_->list();
    write("listen 127.0.0.1:0 127.0.0.1:99999;\nmax_connections x;\nbogus;");
    const ReloadReport report = reloader_->reload("test");
    EXPECT_EQ(report.outcome, Outcome::kRefused);
    EXPECT_EQ(report.errors.size(), 3U);
    EXPECT_EQ(report.errors[1].line, 2U);
    EXPECT_EQ(config_, before);
    EXPECT_EQ(listeners_->list(), listening);
    EXPECT_EQ(reconfigured_, 0);
    EXPECT_TRUE(logged("t.conf:2:17"));
    EXPECT_TRUE(logged("the old configuration stays in force"));
    std::filesystem::remove(file_);
    EXPECT_EQ(reloader_->reload("test").outcome, Outcome::kRefused) << "no file at all";
    EXPECT_EQ(config_, before);
    EXPECT_EQ(reloader_->failed(), 2U);
}

TEST_F(ReloadTest, APortThatIsTakenLeavesEverything) {
    auto other = io::TcpListener::listen(io::loopback());
    const std::string taken = (*other)->local().to_string();
    write("max_connections 5;\nlisten 127.0.0.1:0 " + taken + ";");
    const ReloadReport report = reloader_->reload("test");
    EXPECT_EQ(report.outcome, Outcome::kConflict);
    ASSERT_EQ(report.errors.size(), 1U);
    EXPECT_EQ(report.errors[0].line, 2U);
    EXPECT_EQ(report.errors[0].column, 20U);
    EXPECT_THAT(report.errors[0].message, HasSubstr("in use"));
    EXPECT_EQ(config_.max_connections, 10000U);
}

TEST_F(ReloadTest, APartOfTheServerMayRefuse) {
    refusals_.push_back({"cert.pem", 0, 0, "cannot be read"});
    write("max_connections 5;");
    const ReloadReport report = reloader_->reload("test");
    EXPECT_EQ(report.outcome, Outcome::kRefused);
    EXPECT_EQ(config_.max_connections, 10000U);
}

TEST_F(ReloadTest, SessionsGoOnWhateverBecomesOfTheirListener) {
    const std::string at = listeners_->list()[0];
    rtmp_address_ = *io::SocketAddress::parse(at.substr(std::string("rtmp://").size()));
    auto source = publisher();
    auto viewer = peer();
    viewer->open();
    ASSERT_TRUE(viewer->play("a"));
    ASSERT_TRUE(viewer->gets(test::avc_frame(true, 1)));
    auto free_one = io::TcpListener::listen(io::loopback());
    const std::string next = (*free_one)->local().to_string();
    free_one.value().reset();
    write("listen " + next + ";");
    ASSERT_EQ(reloader_->reload("test").outcome, Outcome::kDone);
    EXPECT_FALSE(io::TcpStream::connect(rtmp_address_, io::soon()).ok()) << "the old one is closed";
    source->media(1, rtmp::kVideo, 40, test::avc_frame(false, 2));
    EXPECT_TRUE(viewer->gets(test::avc_frame(false, 2))) << "who was there goes on";
    rtmp_address_ = *io::SocketAddress::parse(next);
    auto late = peer();
    late->open();
    EXPECT_TRUE(late->play("a"));
}

TEST_F(ReloadTest, OneAtATimeAndTheOthersWait) {
    std::vector<Outcome> outcomes;
    std::vector<io::Coroutine> all;
    for (int i = 0; i < 5; i++) {
        all.push_back(io::go([&] { outcomes.push_back(reloader_->reload("test").outcome); }));
    }
    for (io::Coroutine& each : all) {
        each.join();
    }
    EXPECT_EQ(outcomes, std::vector<Outcome>(5, Outcome::kDone));
    EXPECT_EQ(reconfigured_, 5);
}

TEST_F(ReloadTest, NoneBeginsWhenTheServerStops) {
    reloader_->stop(io::soon());
    const ReloadReport report = reloader_->reload("test");
    EXPECT_EQ(report.outcome, Outcome::kBusy);
    EXPECT_THAT(report.errors[0].message, HasSubstr("stopping"));
}

TEST_F(ReloadTest, AStopDoesNotWaitForADeadDisk) {
    // A worker that is busy with something else for as long as the test likes; what they share
    // outlives the test's frame, as it must.
    std::promise<void> release;
    ASSERT_FALSE(workers_->submit([released = std::make_shared<std::future<void>>(
                                       release.get_future())] { released->wait(); },
                                  [] {}));
    Outcome outcome = Outcome::kDone;
    io::Coroutine waiting = io::go([&] { outcome = reloader_->reload("test").outcome; });
    io::yield();
    reloader_->stop(io::soon());
    waiting.join();
    EXPECT_EQ(outcome, Outcome::kBusy);
    release.set_value();
}

TEST_F(ReloadTest, TheWatchSeesAFileThatWasRenamedOver) {
    write("config_watch on;");
    ASSERT_EQ(reloader_->reload("test").outcome, Outcome::kDone);
    io::Coroutine watch = io::go([&] { reloader_->watch(); });
    const std::string real = file_;
    file_ = folder_ / "t.conf.new";  // as editors do
    write("config_watch on; max_connections 7;");
    std::filesystem::rename(file_, real);
    EXPECT_TRUE(io::eventually([&] { return config_.max_connections == 7; }));
    EXPECT_TRUE(logged("reloaded by=config_watch"));
    watch.interrupt();
    watch.join();
}

TEST_F(ReloadTest, TheSignatureFollowsIncludesAndPatterns) {
    std::filesystem::create_directory(folder_ / "d");
    write("include d/*.conf;");
    ASSERT_EQ(reloader_->reload("test").outcome, Outcome::kDone);
    const LoadedConfig before = load({file_, {}});
    EXPECT_EQ(signature_of(before.outcome.watched), before.signature);
    std::ofstream(folder_ / "d" / "new.conf") << "max_connections 8;";
    EXPECT_NE(signature_of(before.outcome.watched), before.signature) << "one more that matches";
    const LoadedConfig after = load({file_, {}});
    EXPECT_EQ(after.outcome.config->max_connections, 8U);
    std::filesystem::remove(folder_ / "d" / "new.conf");
    EXPECT_NE(signature_of(after.outcome.watched), after.signature) << "one that is gone";
}

TEST_F(ReloadTest, TheAnswerHasTheChangesOrTheErrors) {
    const net::ServerIdentity who{"vid-1", "s", {}};
    write("max_connections 5;");
    const ReloadReport good = reloader_->reload("test");
    EXPECT_EQ(status_of(good), 200);
    const net::Json done = reload_json(who, good);
    EXPECT_EQ(done["code"], 0);
    EXPECT_EQ(done["data"]["changes"][0]["directive"], "max_connections");
    EXPECT_EQ(done["data"]["changes"][0]["to"], "5");
    EXPECT_EQ(done["data"]["needs_restart"], false);
    write("\nbogus;");
    const ReloadReport bad = reloader_->reload("test");
    EXPECT_EQ(status_of(bad), 400);
    const net::Json refused = reload_json(who, bad);
    EXPECT_EQ(refused["code"], 400);
    EXPECT_EQ(refused["errors"][0]["file"], file_);
    EXPECT_EQ(refused["errors"][0]["line"], 2);
    EXPECT_EQ(refused["errors"][0]["column"], 1);
    EXPECT_FALSE(refused.contains("data"));
}

}  // namespace
}  // namespace weir::app
