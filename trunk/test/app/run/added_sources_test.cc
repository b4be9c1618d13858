#include "app/run/added_sources.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "io/coroutine.h"
#include "io/deadline.h"

namespace weir::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

nlohmann::json door() {
    return {{"app", "live"},
            {"name", "door"},
            {"url", "rtsps://admin:p%40ss@cam.example/101?x=hush"},
            {"on_demand", true},
            {"linger_ms", 500},
            {"transport", "udp"},
            {"tls_verify", false}};
}

net::SourceSpec named(std::string_view name) {
    nlohmann::json json = door();
    json["name"] = name;
    return read_source(json).value();
}

class AddedSourcesTest : public testing::Test {
  protected:
    AddedSourcesTest() {
        std::string name = (fs::temp_directory_path() / "weir-sources-XXXXXX").string();
        WEIR_CHECK(mkdtemp(name.data()) != nullptr);
        folder_ = name;
        sources_.set_workers(workers_.get());
    }

    ~AddedSourcesTest() override { fs::remove_all(folder_); }

    std::string path() const { return folder_ / "sources.json"; }

    std::string written() const {
        std::ifstream file(path());
        return {std::istreambuf_iterator<char>(file), {}};
    }

    Error load_text(std::string_view text) {
        std::ofstream(path()) << text;
        return sources_.load(path());
    }

    fs::path folder_;
    std::unique_ptr<io::WorkerPool> workers_ = std::move(io::WorkerPool::create(1, 8)).value();
    AddedSources sources_;
};

TEST(ReadSourceTest, TakesAllFields) {
    const auto spec = read_source(door());
    ASSERT_TRUE(spec.ok()) << spec.error().to_string();
    EXPECT_EQ(spec->key, (stream::StreamKey{std::string(stream::kDefaultVhost), "live", "door"}));
    EXPECT_EQ(spec->url.login.password, "p@ss");
    EXPECT_EQ(spec->shown, "rtsps://cam.example/101?***");
    EXPECT_TRUE(spec->on_demand);
    EXPECT_EQ(spec->linger, Millis(500));
    EXPECT_EQ(spec->transport, net::SourceTransport::kUdp);
    EXPECT_FALSE(spec->tls_verify);
    EXPECT_TRUE(spec->named);
    EXPECT_TRUE(spec->by_api);
}

TEST(ReadSourceTest, RunsAlwaysUnlessToldOtherwise) {
    const auto spec = read_source({{"app", "live/room"}, {"name", "a"}, {"url", "http://o/x.flv"}});
    ASSERT_TRUE(spec.ok()) << spec.error().to_string();
    EXPECT_EQ(spec->key.app, "live/room");
    EXPECT_FALSE(spec->on_demand);
    EXPECT_EQ(spec->linger, Seconds(10));
    EXPECT_TRUE(spec->tls_verify);
}

TEST(ReadSourceTest, SaysWhatIsWrongWithoutSecrets) {
    const auto error_of = [](std::string_view field, const nlohmann::json& value) {
        nlohmann::json json = door();
        json[std::string(field)] = value;
        const auto spec = read_source(json);
        EXPECT_FALSE(spec.ok()) << field;
        const std::string text = spec.ok() ? "" : spec.error().to_string();
        EXPECT_THAT(text, Not(HasSubstr("hush")));
        return text;
    };
    EXPECT_THAT(error_of("url", "rtsp://u:hush@h:x/"), HasSubstr("'url': expected"));
    EXPECT_THAT(error_of("url", 7), HasSubstr("'url': expected a text"));
    EXPECT_THAT(error_of("url", "rtmp://h/hush"), HasSubstr("transport"));
    EXPECT_THAT(error_of("app", ""), HasSubstr("'app'"));
    EXPECT_THAT(error_of("name", nullptr), HasSubstr("'name'"));
    EXPECT_THAT(error_of("linger_ms", -1), HasSubstr("'linger_ms'"));
    EXPECT_THAT(error_of("linger_ms", 3'600'001), HasSubstr("'linger_ms'"));
    EXPECT_THAT(error_of("transport", "smoke"), HasSubstr("auto, tcp, udp or multicast"));
    EXPECT_THAT(error_of("tls_verify", "no"), HasSubstr("true or false"));
    EXPECT_THAT(error_of("password", "hush"), HasSubstr("'password' is no field"));
    EXPECT_FALSE(read_source(nlohmann::json::array()).ok());
    EXPECT_FALSE(read_source(nlohmann::json::object()).ok());
}

TEST_F(AddedSourcesTest, WithoutAFileTheyAreInMemory) {
    ASSERT_FALSE(sources_.load(""));
    ASSERT_FALSE(sources_.add(named("a")));
    EXPECT_EQ(sources_.add(named("a")).code(), ErrorCode::kBusy);
    EXPECT_EQ(sources_.all().size(), 1U);
    ASSERT_FALSE(sources_.remove(named("a").key));
    EXPECT_EQ(sources_.remove(named("a").key).code(), ErrorCode::kNotFound);
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(AddedSourcesTest, WhatIsWrittenIsReadAgain) {
    ASSERT_FALSE(sources_.load(path()));
    ASSERT_FALSE(sources_.add(named("a")));
    ASSERT_FALSE(sources_.add(named("b")));
    ASSERT_FALSE(
        sources_.add(read_source({{"app", "x"}, {"name", "c"}, {"url", "rtmp://o/a/b"}}).value()));
    ASSERT_FALSE(sources_.remove(named("b").key));
    EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
    AddedSources again;
    const Error error = again.load(path());
    ASSERT_FALSE(error) << error.to_string();
    EXPECT_EQ(again.all(), sources_.all());
}

TEST_F(AddedSourcesTest, AFileThatCannotBeWrittenChangesNothing) {
    ASSERT_FALSE(sources_.load(folder_ / "nowhere" / "sources.json"));
    const Error error = sources_.add(named("a"));
    EXPECT_EQ(error.code(), ErrorCode::kSystem);
    EXPECT_THAT(error.to_string(), HasSubstr("does the folder exist"));
    EXPECT_TRUE(sources_.all().empty());
}

TEST_F(AddedSourcesTest, ARemovalThatCannotBeWrittenChangesNothing) {
    ASSERT_FALSE(sources_.load(path()));
    ASSERT_FALSE(sources_.add(named("a")));
    fs::create_directory(path() + ".new");  // in the way
    EXPECT_EQ(sources_.remove(named("a").key).code(), ErrorCode::kSystem);
    EXPECT_EQ(sources_.all().size(), 1U);
}

TEST_F(AddedSourcesTest, ABrokenFileIsSaidWithoutItsSecrets) {
    for (const char* text :
         {"", "hush", "[]", "{\"sources\": 1}", "{\"sources\": [1]}",
          "{\"sources\": [{\"app\": \"live\", \"name\": \"a\", \"url\": \"hush\"}]}"}) {
        const Error error = load_text(text);
        EXPECT_EQ(error.code(), ErrorCode::kMalformed) << text;
        EXPECT_THAT(error.to_string(), HasSubstr("sources_file: "));
        EXPECT_THAT(error.to_string(), Not(HasSubstr("hush")));
    }
}

TEST_F(AddedSourcesTest, ThoseWhoChangeItAtTheSameTimeAllCount) {
    ASSERT_FALSE(sources_.load(path()));
    io::TaskGroup tasks;
    int good = 0;
    for (int i = 0; i < 20; i++) {
        ASSERT_FALSE(tasks.spawn("add", io::StackSize::kNormal, [this, i, &good] {
            good += sources_.add(named("s" + std::to_string(i))) ? 0 : 1;
        }));
    }
    ASSERT_FALSE(tasks.join_all(io::Deadline::after(Seconds(10))));
    EXPECT_EQ(good, 20);
    AddedSources again;
    ASSERT_FALSE(again.load(path()));
    EXPECT_EQ(again.all().size(), 20U);
}

TEST_F(AddedSourcesTest, ProcessesHaveOneFileTogether) {
    const auto of = [](bool first) {
        return [first](const stream::StreamKey& key) { return (key.name < "m") == first; };
    };
    AddedSources other;
    other.set_workers(workers_.get());
    ASSERT_FALSE(sources_.load(path(), of(true)));
    ASSERT_FALSE(other.load(path(), of(false)));
    ASSERT_FALSE(sources_.add(named("a")));
    ASSERT_FALSE(other.add(named("x")));
    ASSERT_FALSE(sources_.add(named("b")));
    ASSERT_FALSE(other.add(named("y")));
    ASSERT_FALSE(sources_.remove(named("a").key));
    ASSERT_FALSE(other.remove(named("y").key));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
    AddedSources all;
    ASSERT_FALSE(all.load(path()));
    EXPECT_EQ(all.all().size(), 2U);
    EXPECT_TRUE(all.all().contains(named("b").key) && all.all().contains(named("x").key));
    AddedSources again;
    ASSERT_FALSE(again.load(path(), of(false)));
    EXPECT_EQ(again.all(), other.all());
}

TEST_F(AddedSourcesTest, ProcessesThatWriteAtTheSameTimeAllCount) {
    const auto of = [](bool first) {
        return [first](const stream::StreamKey& key) { return (key.name < "m") == first; };
    };
    AddedSources other;
    auto workers = std::move(io::WorkerPool::create(1, 8)).value();
    other.set_workers(workers.get());
    ASSERT_FALSE(sources_.load(path(), of(true)));
    ASSERT_FALSE(other.load(path(), of(false)));
    io::TaskGroup tasks;
    int good = 0;
    for (int i = 0; i < 10; i++) {
        ASSERT_FALSE(tasks.spawn("add", io::StackSize::kNormal, [&, i] {
            good += sources_.add(named("a" + std::to_string(i))) ? 0 : 1;
        }));
        ASSERT_FALSE(tasks.spawn("add", io::StackSize::kNormal, [&, i] {
            good += other.add(named("x" + std::to_string(i))) ? 0 : 1;
        }));
    }
    ASSERT_FALSE(tasks.join_all(io::Deadline::after(Seconds(10))));
    EXPECT_EQ(good, 20);
    AddedSources all;
    ASSERT_FALSE(all.load(path()));
    EXPECT_EQ(all.all().size(), 20U);
}

}  // namespace
}  // namespace weir::app
