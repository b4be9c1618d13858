// Recordings onto a disk that a test makes slow, full or broken: what is in which file, and what is
// a gap. The files themselves are of record_folder_test.cc.
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "session/record/record_service.h"
#include "stream/registry.h"

#include "test/support/codec_samples.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using test::BodyKind;
using test::tag_body;

// What is on the disk; of the writer's thread and of the test.
struct FakeDisk {
    struct File {
        FileOrder order;
        size_t units = 0;
        uint64_t bytes = 0;
        bool finished = false;
    };

    std::mutex mutex;
    std::condition_variable changed;
    bool held = false;  // nothing goes on
    bool full = false;
    bool read_only = false;
    std::vector<File> files;
    std::vector<RecordedFile> found;  // at the start
    std::vector<std::string> removed;
    uint64_t free_bytes = 1u << 30;

    void hold(bool on) {
        std::lock_guard lock(mutex);
        held = on;
        changed.notify_all();
    }

    // Of the file of that number; 0: there is none.
    size_t units(size_t index = 0) {
        std::lock_guard lock(mutex);
        return index < files.size() ? files[index].units : 0;
    }

    void fill(bool on) {
        std::lock_guard lock(mutex);
        full = on;
    }
};

class FakeFile final : public GrowingFile {
  public:
    FakeFile(FakeDisk& disk, size_t index) : disk_(disk), index_(index) {}

    const std::string& name() const override { return disk_.files[index_].order.name; }

    Error append(ByteSpan bytes) override {
        std::unique_lock lock(disk_.mutex);
        disk_.changed.wait(lock, [this] { return !disk_.held; });
        if (disk_.full) {
            return make_error(ErrorCode::kSystem, "the disk is full");
        }
        disk_.files[index_].units++;
        disk_.files[index_].bytes += bytes.size();
        return {};
    }

    Result<RecordedFile> finish(std::string_view why, int64_t) override {
        std::lock_guard lock(disk_.mutex);
        FakeDisk::File& file = disk_.files[index_];
        file.finished = true;
        RecordedFile done;
        done.key = file.order.key;
        done.file = file.order.name;
        done.section = file.order.section;
        done.bytes = file.bytes;
        done.frames = file.units > 1 ? file.units - 1 : 0;
        done.ended_ms = wall_time_ms();
        done.why = why;
        return done;
    }

  private:
    FakeDisk& disk_;
    size_t index_;
};

class FakeFolder final : public RecordDisk {
  public:
    explicit FakeFolder(FakeDisk& disk) : disk_(disk) {}

    Result<std::vector<RecordedFile>> open() override { return disk_.found; }

    Result<std::unique_ptr<GrowingFile>> create(const FileOrder& order) override {
        std::lock_guard lock(disk_.mutex);
        disk_.files.push_back({.order = order});
        return std::unique_ptr<GrowingFile>(
            std::make_unique<FakeFile>(disk_, disk_.files.size() - 1));
    }

    Result<uint64_t> free_bytes() override {
        std::lock_guard lock(disk_.mutex);
        return uint64_t{disk_.free_bytes};
    }

    Error remove(const std::string& file) override {
        std::lock_guard lock(disk_.mutex);
        if (disk_.read_only) {
            return make_error(ErrorCode::kSystem, "the file system is read-only");
        }
        disk_.removed.push_back(file);
        disk_.free_bytes += 100;
        return {};
    }

  private:
    FakeDisk& disk_;
};

class RecordingTest : public testing::Test, protected stream::Publisher, protected RecordRules {
  protected:
    RecordingTest() {
        log::set_sink([](log::Level, std::string_view) {});
        options_.enabled = true;
        options_.path = "/somewhere";
        options_.section = "v";
        RecordRules& rules = *this;
        service_ = std::make_unique<RecordService>(registry_, rules, [this](const std::string&) {
            return std::make_unique<FakeFolder>(disk_);
        });
    }

    ~RecordingTest() override {
        disk_.hold(false);
        disk_.fill(false);
        leave();
        EXPECT_FALSE(service_->stop(io::Deadline::after(Seconds(20))));
        service_.reset();
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    RecordOptions record_options(const stream::StreamKey& key) const override {
        return key.app == kept_app_ ? RecordOptions() : options_;
    }

    uint64_t min_free_of(const std::string&) const override { return min_free_; }

    void on_recorded(const RecordedFile& file) override { told_.push_back(file); }

    void publish() {
        stream_ = &registry_.get_or_create(key_, {}, MonoClock::now());
        ASSERT_FALSE(
            stream_->start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now()));
        send(TrackKind::kVideo,
             tag_body(Codec::kH264, BodyKind::kConfig, Bytes(test::kAvcHighConfig)));
    }

    void leave() {
        if (stream_ != nullptr && stream_->live()) {
            stream_->end_publish(*this, MonoClock::now());
        }
    }

    void send(TrackKind kind, Bytes body) {
        stream_->publish(*this, test::packet(kind, clock_, std::move(body)), MonoClock::now());
    }

    // 25 a second, a key frame each second.
    void pictures(int count, size_t size = 100) {
        for (int i = 0; i < count; i++, clock_ += 40) {
            const bool key = number_++ % 25 == 0;
            Bytes data(size, 0x11);
            store_u32(data.data(), static_cast<uint32_t>(size - 4));
            data[4] = key ? 0x65 : 0x41;
            data[5] = 0x88;
            send(TrackKind::kVideo,
                 tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame, data));
        }
    }

    // Until the disk has done all that it can.
    template <typename Condition>
    void wait_until(Condition&& condition) {
        const auto deadline = io::Deadline::after(Seconds(20));
        while (!condition() && !deadline.passed()) {
            ASSERT_FALSE(io::sleep_for(Millis(2)));
        }
        EXPECT_TRUE(condition());
    }

    const Recording& recording() { return *service_->find(key_); }

    stream::StreamKey key_{"v", "live", "cam"};
    RecordOptions options_;
    uint64_t min_free_ = 0;
    std::string kept_app_;
    FakeDisk disk_;
    stream::Registry registry_;
    std::unique_ptr<RecordService> service_;
    std::vector<RecordedFile> told_;
    stream::Stream* stream_ = nullptr;
    uint32_t clock_ = 0;
    int number_ = 0;
};

TEST_F(RecordingTest, APublishIsAFile) {
    publish();
    pictures(150);
    leave();
    wait_until([&] { return told_.size() == 1; });
    EXPECT_EQ(told_[0].why, "unpublish");
    EXPECT_EQ(told_[0].key, key_);
    EXPECT_EQ(disk_.files.size(), 1U);
    EXPECT_EQ(disk_.files[0].units, 4U);  // the header, and 6 s
    EXPECT_EQ(service_->recording(), 0U);
    publish();
    pictures(50);
    leave();
    wait_until([&] { return told_.size() == 2; });
    EXPECT_EQ(service_->stats().files, 2U);
    EXPECT_EQ(service_->queued_bytes(), 0U);
}

TEST_F(RecordingTest, FilesAreSplitAtKeyFrames) {
    options_.split_ms = 4'000;
    publish();
    pictures(25 * 11);
    leave();
    wait_until([&] { return told_.size() == 3; });
    EXPECT_EQ(told_[0].why, "split");
    EXPECT_EQ(told_[2].why, "unpublish");
    EXPECT_EQ(disk_.files[0].units, 3U);
    EXPECT_EQ(disk_.files[1].units, 3U);
}

// A camera's picture is gone, and its microphone is not.
TEST_F(RecordingTest, FilesAreSplitWithoutVideoOnceItHasBeenMissingForTenSeconds) {
    options_.split_ms = 4'000;
    publish();
    send(TrackKind::kAudio, tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    const auto sounds = [this](uint32_t until_ms) {
        for (; clock_ < until_ms; clock_ += 20) {
            send(TrackKind::kAudio, tag_body(Codec::kAac, BodyKind::kFrame, Bytes(30, 0x21)));
        }
    };
    pictures(50);
    sounds(40'000);
    number_ = 0;
    pictures(50);
    leave();
    wait_until([&] { return service_->recording() == 0 && told_.size() >= 6; });
    EXPECT_EQ(told_[1].why, "split");
}

TEST_F(RecordingTest, FilesAreSplitBeforeTheyAreTooLarge) {
    options_.split_bytes = 20'000;
    publish();
    pictures(25 * 20);  // 2 s are 5,000 bytes and some
    leave();
    wait_until([&] { return service_->recording() == 0 && told_.size() >= 3; });
    for (const auto& file : disk_.files) {
        EXPECT_LE(file.bytes, options_.split_bytes);
        EXPECT_GE(file.bytes, 5'000U);
    }
}

TEST_F(RecordingTest, ADiskThatHangsIsAGapAndNothingElse) {
    publish();
    pictures(60);
    wait_until([&] { return disk_.units() == 2; });
    disk_.hold(true);
    // 2.5 MB a second; few enough to be there before the next try.
    pictures(25 * 14, 100'000);
    EXPECT_EQ(recording().gaps(), 1U);
    EXPECT_LE(service_->queued_bytes(), FileQueue::kMaxBytes);
    EXPECT_GT(service_->queued_bytes(), FileQueue::kMaxBytes / 2);
    const uint64_t lost = recording().loss().frames;
    EXPECT_GT(lost, 100U);
    EXPECT_EQ(recording().file(), nullptr);
    disk_.hold(false);
    wait_until([&] { return !told_.empty(); });
    EXPECT_EQ(told_[0].why, "gap");
    EXPECT_EQ(service_->queued_bytes(), 0U);
    // The next file begins with a key frame, when the disk has had some time.
    ASSERT_FALSE(io::sleep_for(Recording::kRetry + Millis(50)));
    pictures(100);
    wait_until([&] { return recording().file() != nullptr && recording().file()->frames() > 0; });
    pictures(100);
    EXPECT_EQ(recording().gaps(), 1U);
    EXPECT_TRUE(recording().trouble().empty());
    EXPECT_EQ(service_->stats().frames_lost, recording().loss().frames);
    leave();
    wait_until([&] { return told_.size() == 2; });
}

TEST_F(RecordingTest, AFullDiskIsAGap) {
    publish();
    pictures(100);
    wait_until([&] { return disk_.units() == 2; });
    disk_.fill(true);
    pictures(100);
    wait_until([&] { return recording().gaps() == 1; });
    EXPECT_EQ(recording().trouble(), "the disk is full");
    wait_until([&] { return told_.size() == 1; });
    EXPECT_EQ(told_[0].why, "gap");
    EXPECT_GE(service_->stats().errors, 1U);
    EXPECT_GT(recording().loss().frames, 0U);
    disk_.fill(false);
    ASSERT_FALSE(io::sleep_for(Recording::kRetry + Millis(50)));
    pictures(100);
    wait_until([&] { return recording().file() != nullptr && recording().file()->frames() > 0; });
}

TEST_F(RecordingTest, TheApiBeginsAndEnds) {
    options_.enabled = false;
    publish();
    pictures(60);
    EXPECT_EQ(service_->recording(), 0U);
    EXPECT_FALSE(service_->start(key_));
    EXPECT_EQ(service_->start(key_).code(), ErrorCode::kBusy);
    pictures(60);
    EXPECT_FALSE(service_->stop_recording(recording().id()));
    wait_until([&] { return told_.size() == 1; });
    EXPECT_EQ(told_[0].why, "api");
    EXPECT_EQ(service_->stop_recording(key_).code(), ErrorCode::kNotFound);
    // Of one that nobody publishes yet.
    leave();
    EXPECT_FALSE(service_->start(key_));
    publish();
    EXPECT_EQ(service_->recording(), 1U);
    options_.path.clear();
    EXPECT_EQ(service_->start({"v", "live", "other"}).code(), ErrorCode::kUnsupported);
}

class RetentionTest : public RecordingTest {
  protected:
    // Five of 100 bytes, a day apart, the last one from just now.
    void have_files() {
        for (int i = 0; i < 5; i++) {
            RecordedFile file;
            file.key = key_;
            file.section = "v";
            file.file = std::to_string(i);
            file.bytes = 100;
            file.frames = 1;
            file.ended_ms = wall_time_ms() - (4 - i) * int64_t{24 * 3'600'000};
            disk_.found.push_back(file);
        }
        service_->use_folder(options_.path);
    }

    using Names = std::vector<std::string>;

    void wait_removed(const Names& names) {
        wait_until([&] {
            std::lock_guard lock(disk_.mutex);
            return disk_.removed == names && service_->stats().removed == names.size();
        });
    }

    size_t listed() const {
        size_t count = 0;
        service_->for_each_store([&](const RecordStore& store) { count += store.files().size(); });
        return count;
    }
};

TEST_F(RetentionTest, TheOldGo) {
    options_.keep_ms = 60LL * 3'600'000;
    have_files();
    wait_removed({"0", "1"});
}

TEST_F(RetentionTest, TheOldestGoWhereThereIsTooMuch) {
    options_.keep_bytes = 250;
    have_files();
    wait_removed({"0", "1", "2"});
}

TEST_F(RetentionTest, NothingGoesUnlessItIsSaid) {
    have_files();
    service_->tick();
    ASSERT_FALSE(io::sleep_for(Millis(50)));
    wait_removed({});
}

TEST_F(RetentionTest, WhatStaysHoldsNothingUp) {
    // Another application's, older than all, and kept for ever.
    RecordedFile other;
    other.key = {"v", "archive", "cam"};
    other.section = "v/archive";
    other.file = "other";
    disk_.found.push_back(other);
    kept_app_ = "archive";
    options_.keep_ms = 12LL * 3'600'000;
    have_files();
    wait_removed({"0", "1", "2", "3"});
    EXPECT_EQ(listed(), 2U);
}

TEST_F(RetentionTest, WhatCannotBeRemovedStaysInTheList) {
    disk_.read_only = true;
    options_.keep_ms = 60LL * 3'600'000;
    have_files();
    wait_until([&] { return service_->stats().errors == 2 && listed() == 5; });
    EXPECT_EQ(service_->stats().removed, 0U);
    {
        std::lock_guard lock(disk_.mutex);
        disk_.read_only = false;
    }
    service_->tick();
    wait_removed({"0", "1"});
}

TEST_F(RetentionTest, LessMayStayFreeAfterAReload) {
    min_free_ = 1'000;
    disk_.free_bytes = 900;
    have_files();
    wait_removed({"0"});
    {
        std::lock_guard lock(disk_.mutex);
        disk_.free_bytes = 500;
    }
    min_free_ = 100;
    service_->tick();
    ASSERT_FALSE(io::sleep_for(Millis(50)));
    wait_removed({"0"});
}

TEST_F(RetentionTest, TheOldestMakeRoomAndThenRecordingWaits) {
    min_free_ = 1'000;
    disk_.free_bytes = 750;
    have_files();
    wait_removed({"0", "1", "2"});
    publish();
    pictures(60);
    {
        std::lock_guard lock(disk_.mutex);
        disk_.free_bytes = 100;
    }
    service_->tick();
    wait_until([&] {
        std::lock_guard lock(disk_.mutex);
        return disk_.removed.size() == 5;
    });
    pictures(60);
    EXPECT_EQ(recording().gaps(), 1U);
    EXPECT_EQ(recording().file(), nullptr);
}

}  // namespace
}  // namespace weir::session
