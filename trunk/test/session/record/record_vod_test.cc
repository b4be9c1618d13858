// Files of a stream as one playback: what is read when, where it ends, and what a seek finds.
#include "session/record/record_vod.h"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/limits.h"
#include "session/record/record_vod_source.h"

#include "test/session/record/recorded_file.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

using Times = std::vector<int64_t>;

// A folder that has some files already.
class FoundFolder final : public RecordDisk {
  public:
    explicit FoundFolder(std::vector<RecordedFile> files) : files_(std::move(files)) {}

    Result<std::vector<RecordedFile>> open() override { return files_; }

    Result<std::unique_ptr<GrowingFile>> create(const FileOrder&) override {
        return make_error(ErrorCode::kSystem, "nothing is recorded here");
    }

    Result<uint64_t> free_bytes() override { return uint64_t{1} << 40; }

    Error remove(const std::string&) override { return {}; }

  private:
    std::vector<RecordedFile> files_;
};

class RecordVodTest : public testing::Test,
                      protected RecordRules,
                      protected net::VodSource::Listener {
  protected:
    static constexpr size_t kQueue = 1;  // of the readers

    RecordVodTest() {
        log::set_sink([](log::Level, std::string_view) {});
        std::string pattern = (fs::temp_directory_path() / "weir-vod-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
    }

    ~RecordVodTest() override {
        source_.reset();
        release();
        EXPECT_FALSE(service_->stop(io::Deadline::after(Seconds(20))));
        fs::remove_all(place_);
    }

    RecordOptions record_options(const stream::StreamKey&) const override {
        RecordOptions options;
        options.play = true;
        return options;
    }

    void on_recorded(const RecordedFile&) override {}

    void on_vod_ready() override { told_++; }

    void append(const std::string& file, uint32_t fragments, uint32_t first = 0) const {
        test::append_fragments(place_ + "/" + file, fragments, first);
    }

    // Files of so many fragments, one after the other, of live/cam.
    void serve(const std::vector<uint32_t>& lengths) {
        std::vector<RecordedFile> files;
        for (const uint32_t length : lengths) {
            RecordedFile file;
            file.key = {std::string(stream::kDefaultVhost), "live", "cam"};
            file.folder = place_;
            file.file = std::to_string(files.size()) + ".mp4";
            file.format = "mp4";
            file.started_ms = 1'000'000 + static_cast<int64_t>(files.size()) * 100'000;
            file.duration_ms = length * 80;
            append(file.file, length);
            files.push_back(file);
        }
        RecordRules& rules = *this;
        service_ = std::make_unique<RecordService>(
            registry_, rules, [files](const std::string&) -> std::unique_ptr<RecordDisk> {
                return std::make_unique<FoundFolder>(files);
            });
        service_->use_folder(place_);
        ASSERT_TRUE(io::eventually([&] { return service_->find_file_named("0.mp4") != nullptr; }));
        vod_ = std::make_unique<RecordVod>(*service_, rules, limits_, [this](size_t, size_t) {
            auto made = io::WorkerPool::create(1, kQueue);
            pool_ = made.ok() ? made->get() : nullptr;
            return made;
        });
    }

    Result<std::unique_ptr<net::VodSource>> open(std::string_view path = "live/cam",
                                                 std::string_view peer = "127.0.0.1:1") {
        WEIR_TRY_ASSIGN(auto found, vod_->find(policy_, "", path, ""));
        return vod_->open(std::move(found), io::SocketAddress::parse(peer).value());
    }

    void play() {
        auto opened = open();
        ASSERT_TRUE(opened.ok()) << opened.error().message();
        listen_to(std::move(*opened));
    }

    void listen_to(std::unique_ptr<net::VodSource> source) {
        source_ = std::move(source);
        source_->set_listener(this);
    }

    // All that is at hand now.
    Times take() {
        Times times;
        while (source_->front() != nullptr) {
            times.push_back(source_->pop()->time_ms());
        }
        return times;
    }

    // Up to the end.
    Times take_all() {
        Times times;
        EXPECT_TRUE(io::eventually([&] {
            source_->poll();
            for (const int64_t time_ms : take()) {
                times.push_back(time_ms);
            }
            return source_->ended();
        }));
        return times;
    }

    static Times every_40_ms(int64_t from_ms, int64_t to_ms) {
        Times times;
        for (int64_t time_ms = from_ms; time_ms < to_ms; time_ms += 40) {
            times.push_back(time_ms);
        }
        return times;
    }

    // The reader is busy, and nothing more may wait for it.
    void hold() {
        held_ = true;
        ASSERT_FALSE(pool_->submit(
            [this] {
                std::unique_lock lock(mutex_);
                running_ = true;
                changed_.wait(lock, [this] { return !held_; });
            },
            [] {}));
        ASSERT_TRUE(io::eventually([&] {
            std::lock_guard lock(mutex_);
            return running_;
        }));
        for (size_t i = 0; i < kQueue; i++) {
            ASSERT_FALSE(pool_->submit([] {}, [] {}));
        }
    }

    void release() {
        std::lock_guard lock(mutex_);
        held_ = false;
        changed_.notify_all();
    }

    std::string place_;
    FakePolicy policy_;
    stream::Registry registry_;
    std::unique_ptr<RecordService> service_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool running_ = false;
    io::WorkerPool* pool_ = nullptr;
    net::Limits limits_;
    std::unique_ptr<RecordVod> vod_;
    std::unique_ptr<net::VodSource> source_;
    int told_ = 0;  // that something is ready
};

TEST_F(RecordVodTest, TheFilesOfAStreamAreOnePlayback) {
    serve({3, 1, 2});
    play();
    EXPECT_EQ(source_->duration_ms(), 480);
    EXPECT_EQ(take_all(), every_40_ms(0, 480));
}

TEST_F(RecordVodTest, OneAddressDoesNotTakeAllPlaybacks) {
    serve({1});
    std::vector<std::unique_ptr<net::VodSource>> held;
    for (size_t i = 0; i < RecordVod::kMaxPlaybacks / 2; i++) {
        ASSERT_TRUE(io::eventually([&] {  // the readers may be busy with the one before
            auto opened = open("live/cam", "203.0.113.9:1");
            if (opened.ok()) {
                held.push_back(std::move(*opened));
            }
            return held.size() > i;
        })) << i;
    }
    const auto more = open("live/cam", "203.0.113.9:1");
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.error().code(), ErrorCode::kFull);
    EXPECT_EQ(limits_.refused(net::Refusal::kRecordings), 1U);
    const auto opens = [this](std::string_view peer) {
        return io::eventually([&] { return open("live/cam", peer).ok(); });
    };
    EXPECT_TRUE(opens("203.0.113.8:1"));
    held.pop_back();
    EXPECT_TRUE(opens("203.0.113.9:1"));
}

TEST_F(RecordVodTest, ASeekFindsTheFileAndTheKeyFrame) {
    serve({3, 1, 2});
    play();
    const std::vector<std::pair<int64_t, int64_t>> cases = {{0, 0},     {100, 80},   {239, 160},
                                                            {240, 240}, {319, 240},  {320, 320},
                                                            {410, 400}, {9'999, 400}};
    for (const auto& [wanted_ms, found_ms] : cases) {
        source_->seek(wanted_ms);
        EXPECT_EQ(take_all(), every_40_ms(found_ms, 480)) << wanted_ms;
    }
}

TEST_F(RecordVodTest, SeeksOneUponTheOtherLeadToTheLast) {
    serve({3, 1, 2});
    play();
    for (const int64_t time_ms : {300, 0, 450, 200}) {
        source_->seek(time_ms);
    }
    EXPECT_EQ(take_all(), every_40_ms(160, 480));
}

TEST_F(RecordVodTest, ReadersThatHaveTooMuchToDoAreAskedAgain) {
    serve({6, 2});
    play();
    ASSERT_TRUE(io::eventually([&] { return told_ > 0; })) << "both fragments are there";
    hold();
    Times times = take();
    EXPECT_EQ(times, every_40_ms(0, 160));
    EXPECT_FALSE(source_->ended()) << "that is not the end";
    source_->poll();
    EXPECT_EQ(take(), Times());
    const auto other = open();
    EXPECT_EQ(other.ok() ? ErrorCode::kOk : other.error().code(), ErrorCode::kFull);
    release();
    for (const int64_t time_ms : take_all()) {
        times.push_back(time_ms);
    }
    EXPECT_EQ(times, every_40_ms(0, 640)) << "nothing was left out";
}

TEST_F(RecordVodTest, WhatIsAddedLaterIsPlayedToTheTimeThatWasWanted) {
    serve({3});
    play();  // the readers are there
    RecordedFile file = *service_->find_file_named("0.mp4");
    listen_to(std::make_unique<RecordVodSource>(
        *vod_, std::vector<VodPiece>{{.file = file, .to_ms = 300}}, net::AddressPlace()));
    ASSERT_TRUE(io::eventually([&] {
        source_->poll();
        return told_ >= 2;  // two fragments of three
    }));
    append("0.mp4", 3, 3);
    EXPECT_EQ(take_all(), every_40_ms(0, 320)) << "with the rest of the fragment";
}

TEST_F(RecordVodTest, NothingIsPlayedThatBeginsBehindTheTimeThatWasWanted) {
    serve({1});
    play();
    append("late.mp4", 0);
    append("late.mp4", 2, 5);  // from 400 ms on
    RecordedFile file = *service_->find_file_named("0.mp4");
    file.file = "late.mp4";
    listen_to(std::make_unique<RecordVodSource>(
        *vod_, std::vector<VodPiece>{{.file = file, .to_ms = 300}}, net::AddressPlace()));
    EXPECT_EQ(take_all(), Times());
}

}  // namespace
}  // namespace weir::session
