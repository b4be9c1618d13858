// Segments on a disk that a test makes slow, full or broken: what is written when, what playlists
// say, and what is lost. The files themselves are of hls_disk_test.cc.
#include "session/hls/hls_folder.h"

#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "proto/hls/playlist.h"

namespace weir::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Of the writer's thread and of the test.
struct FakeHlsDisk {
    struct Turn {
        std::string folder;
        bool begins = false;
        bool clears = false;
        std::string segment;
        uint64_t bytes = 0;
        std::string list;  // the media playlist
        std::string multivariant;
        std::vector<std::string> gone;
    };

    std::mutex mutex;
    std::condition_variable changed;
    bool held = false;
    bool full = false;
    bool vanished = false;
    bool taken = false;  // another process has begun the stream
    bool busy = false;   // another server has it
    size_t opened = 0;
    std::vector<Turn> turns;

    void set(bool FakeHlsDisk::*what, bool on) {
        std::lock_guard lock(mutex);
        this->*what = on;
        changed.notify_all();
    }

    size_t count() {
        std::lock_guard lock(mutex);
        return turns.size();
    }

    Turn turn(size_t index) {
        std::lock_guard lock(mutex);
        return index < turns.size() ? turns[index] : Turn();
    }

    Turn last() { return turn(count() - 1); }
};

class FakeHlsFolder final : public HlsDisk {
  public:
    explicit FakeHlsFolder(FakeHlsDisk& disk) : disk_(disk) {}

    Error open() override {
        std::lock_guard lock(disk_.mutex);
        disk_.opened++;
        return disk_.busy ? make_error(ErrorCode::kBusy, "another server has it") : Error();
    }

    HlsWritten write(const HlsWrite& what) override {
        std::unique_lock lock(disk_.mutex);
        disk_.changed.wait(lock, [this] { return !disk_.held; });
        HlsWritten done;
        if (disk_.full || disk_.vanished) {
            done.error = make_error(disk_.full ? ErrorCode::kSystem : ErrorCode::kNotFound,
                                    "the disk refuses");
            return done;
        }
        if (disk_.taken && !what.begins) {
            done.taken = true;
            return done;
        }
        FakeHlsDisk::Turn turn{
            .folder = what.folder,
            .begins = what.begins,
            .clears = what.clears,
            .segment = what.segment_name,
            .list = what.lists.empty() ? "" : hls::with_query(what.lists.front().text, ""),
            .gone = what.gone};
        for (const ByteSpan piece : what.segment) {
            turn.bytes += piece.size();
        }
        if (!what.lists.empty()) {
            turn.multivariant = hls::with_query(what.lists.back().text, "");
        }
        disk_.turns.push_back(std::move(turn));
        done.segment = !what.segment_name.empty();
        done.lists = done.gone = true;
        return done;
    }

  private:
    FakeHlsDisk& disk_;
};

std::string g_log;

class HlsFolderTest : public testing::Test {
  protected:
    HlsFolderTest() {
        g_log.clear();
        log::set_sink([](log::Level, std::string_view line) { g_log += line; });
        auto made = HlsFolder::create(
            "/somewhere", std::make_unique<FakeHlsFolder>(disk_), stats_,
            [this](const HlsStoredView& stored) { told_.push_back(stored.number); },
            io::WorkerPool::create);
        EXPECT_TRUE(made.ok());
        folder_ = std::move(*made);
        format_->id = 100;
        format_->header = {1};
    }

    ~HlsFolderTest() override {
        disk_.set(&FakeHlsDisk::held, false);
        folder_.reset();
        EXPECT_EQ(stats_.queued_bytes, 0U);
        log::set_sink(nullptr);
    }

    // Of 2 s and so many bytes.
    void add(HlsArchive& files, size_t size = 10) {
        net::Segment segment;
        segment.number = next_++;
        segment.format = format_;
        segment.parts.push_back({make_ref<const net::SegmentBytes>(Bytes(size, 1)), 2'000, true});
        segment.wall_ms = static_cast<int64_t>(segment.number) * 2'000;
        segment.duration_ms = 2'000;
        segment.bytes = size;
        segment.complete = true;
        files.add(segment, {.target_s = 2, .variant = {}});
    }

    void add_and_wait(HlsArchive& files) {
        const size_t before = disk_.count();
        add(files);
        wait_until([&] { return disk_.count() > before; });
    }

    template <typename Condition>
    void wait_until(Condition&& condition) {
        const auto deadline = io::Deadline::after(Seconds(20));
        while (!condition() && !deadline.passed()) {
            ASSERT_FALSE(io::sleep_for(Millis(1)));
        }
        ASSERT_TRUE(condition());
    }

    void settle() { EXPECT_FALSE(folder_->stop(io::Deadline::after(Seconds(20)))); }

    HlsOptions options_;
    stream::StreamKey key_{"", "live", "cam"};
    FakeHlsDisk disk_;
    HlsDiskStats stats_;
    std::vector<uint64_t> told_;
    std::unique_ptr<HlsFolder> folder_;
    Ref<net::SegmentFormat> format_ = make_ref<net::SegmentFormat>();
    uint64_t next_ = 100;
};

TEST_F(HlsFolderTest, SegmentsAreWrittenInOrderAndToldWhenTheyAreThere) {
    HlsArchive& files = *folder_->begin(key_, options_);
    for (int i = 0; i < 6; i++) {
        add(files);
    }
    settle();
    EXPECT_THAT(told_, ElementsAre(100, 101, 102, 103, 104, 105));
    EXPECT_TRUE(disk_.turn(0).begins);
    EXPECT_FALSE(disk_.turn(1).begins);
    EXPECT_THAT(disk_.turn(2).list, HasSubstr("102.m4s"));
    EXPECT_THAT(disk_.turn(2).list, Not(HasSubstr("103.m4s"))) << "it is not there yet";
    EXPECT_THAT(disk_.last().list, HasSubstr("#EXT-X-MEDIA-SEQUENCE:103\n"));
    files.end({.target_s = 2, .variant = {}});
    files.leave();
    settle();
    EXPECT_THAT(disk_.last().list, testing::EndsWith("105.m4s\n#EXT-X-ENDLIST\n"));
}

TEST_F(HlsFolderTest, WhatAnotherProcessHasTakenIsLeftAloneUntilTheStreamIsHereAgain) {
    options_.dvr_ms = 60'000;
    HlsArchive& files = *folder_->begin(key_, options_);
    add(files);
    settle();
    disk_.set(&FakeHlsDisk::taken, true);
    disk_.set(&FakeHlsDisk::held, true);
    add(files);  // at the disk
    add(files);  // waits behind it
    disk_.set(&FakeHlsDisk::held, false);
    settle();
    files.end({.target_s = 2, .variant = {}});
    settle();
    EXPECT_EQ(disk_.count(), 1U) << "nothing of what waited, and no end of a playlist";
    EXPECT_THAT(told_, ElementsAre(100));
    EXPECT_EQ(stats_.errors, 0U);
    EXPECT_EQ(files.segment_file(100), "");
    add_and_wait(files);
    EXPECT_TRUE(disk_.last().begins) << "its publisher has come back";
    EXPECT_THAT(disk_.last().list, HasSubstr("#EXT-X-MEDIA-SEQUENCE:103\n"));
}

TEST_F(HlsFolderTest, FilesGoAsLongAgainAfterTheyLeftThePlaylist) {
    HlsArchive& files = *folder_->begin(key_, options_);
    for (int i = 0; i < 20; i++) {
        add(files);
    }
    settle();
    std::vector<std::string> gone;
    for (size_t i = 0; i < disk_.count(); i++) {
        const auto turn = disk_.turn(i);
        for (const std::string& name : turn.gone) {
            EXPECT_THAT(turn.list, Not(HasSubstr("\n" + name)));
            gone.push_back(name);
        }
    }
    // 3 in the playlist; 3 and the longest segment's two times more that have left it.
    EXPECT_EQ(gone.size(), 20U - 3 - 5);
    EXPECT_EQ(gone.front(), "100.m4s");
}

TEST_F(HlsFolderTest, WithDvrThePlaylistReachesBackAndFilesStay) {
    options_.dvr_ms = 60'000;
    HlsArchive& files = *folder_->begin(key_, options_);
    for (int i = 0; i < 50; i++) {
        add(files);
        if (i % 10 == 9) {
            settle();
        }
    }
    EXPECT_THAT(disk_.last().list, HasSubstr("#EXT-X-MEDIA-SEQUENCE:120\n"));
    // Those in memory are the caller's: it has the last 3 in its own list.
    const auto listed = files.older(147, 6'000);
    EXPECT_EQ(listed.older.first_number, 120U);
    EXPECT_EQ(listed.older.count, 27U);
    EXPECT_EQ(files.segment_file(120), "live/cam/120.m4s");
    EXPECT_EQ(files.segment_file(115), "live/cam/115.m4s") << "it has left the list";
    EXPECT_EQ(files.segment_file(114), "");
    EXPECT_EQ(files.header_file(100), "live/cam/init-100.mp4");
    EXPECT_EQ(files.header_file(101), "");
}

TEST_F(HlsFolderTest, ASlowDiskHasWhatWaitsAndLosesTheRest) {
    options_.dvr_ms = 3'600'000;
    HlsArchive& files = *folder_->begin(key_, options_);
    add_and_wait(files);
    disk_.set(&FakeHlsDisk::held, true);
    add(files);
    wait_until([&] { return stats_.queued_bytes == 0; });
    for (size_t i = 0; i < HlsArchive::kMaxWaiting + 9; i++) {
        add(files);
    }
    EXPECT_NE(files.find_waiting(101), nullptr) << "it is at the disk";
    EXPECT_NE(files.find_waiting(110), nullptr);
    EXPECT_EQ(files.find_waiting(next_ - 1), nullptr);
    EXPECT_EQ(stats_.lost, 9U);
    EXPECT_GT(stats_.queued_bytes, 0U);
    EXPECT_THAT(folder_->trouble(), HasSubstr("too slow"));
    // All of it is listed; what is lost is marked.
    const auto listed = files.older(next_, 0);
    EXPECT_EQ(listed.older.count, next_ - 100);
    EXPECT_THAT(std::string(listed.older.text), HasSubstr("#EXT-X-GAP"));
    disk_.set(&FakeHlsDisk::held, false);
    settle();
    EXPECT_EQ(stats_.segments, 1 + 1 + HlsArchive::kMaxWaiting);
    EXPECT_EQ(folder_->trouble(), "");
    EXPECT_THAT(g_log, HasSubstr("again: 9 were not"));
}

TEST_F(HlsFolderTest, ALargeSegmentIsTakenAloneAndBytesAreBounded) {
    HlsArchive& files = *folder_->begin(key_, options_);
    add_and_wait(files);
    disk_.set(&FakeHlsDisk::held, true);
    add(files);
    wait_until([&] { return stats_.queued_bytes == 0; });
    add(files, HlsArchive::kMaxWaitingBytes - 5);
    add(files, 10);
    EXPECT_EQ(stats_.lost, 1U);
    disk_.set(&FakeHlsDisk::held, false);
    settle();
}

TEST_F(HlsFolderTest, AFullDiskIsSaidOnceAndEachSegmentIsTriedAgain) {
    options_.dvr_ms = 60'000;
    HlsArchive& files = *folder_->begin(key_, options_);
    add_and_wait(files);
    disk_.set(&FakeHlsDisk::full, true);
    for (int i = 0; i < 3; i++) {
        add(files);
        settle();
    }
    EXPECT_EQ(stats_.lost, 3U);
    EXPECT_EQ(stats_.errors, 3U);
    EXPECT_EQ(g_log.find("are not written"), g_log.rfind("are not written"));
    disk_.set(&FakeHlsDisk::full, false);
    add_and_wait(files);
    settle();
    EXPECT_THAT(disk_.last().list, HasSubstr("#EXT-X-GAP\n#EXTINF:2.000,\n103.m4s\n"));
    EXPECT_THAT(told_, ElementsAre(100, 104));
    EXPECT_EQ(folder_->trouble(), "");
}

TEST_F(HlsFolderTest, AFolderThatVanishedIsOpenedAgainAndHasNothing) {
    HlsArchive& files = *folder_->begin(key_, options_);
    add_and_wait(files);
    disk_.set(&FakeHlsDisk::vanished, true);
    add(files);
    settle();
    disk_.set(&FakeHlsDisk::vanished, false);
    EXPECT_EQ(stats_.lost, 1U);
    wait_until([&] {
        add(files);
        (void)io::sleep_for(Millis(20));
        return disk_.count() > 1;
    });
    settle();
    EXPECT_GE(disk_.opened, 2U);
    EXPECT_TRUE(disk_.turn(1).begins);
    EXPECT_THAT(disk_.turn(1).list, Not(HasSubstr("\n100.m4s"))) << "it went with the folder";
}

TEST_F(HlsFolderTest, AFolderOfAnotherServerIsNotWrittenTo) {
    disk_.set(&FakeHlsDisk::busy, true);
    folder_.reset();
    folder_ = std::move(*HlsFolder::create(
        "/somewhere", std::make_unique<FakeHlsFolder>(disk_), stats_, [](const HlsStoredView&) {},
        io::WorkerPool::create));
    HlsArchive& files = *folder_->begin(key_, options_);
    add(files);
    settle();
    EXPECT_EQ(disk_.count(), 0U);
    EXPECT_EQ(stats_.lost, 1U);
    EXPECT_THAT(folder_->trouble(), HasSubstr("another server"));
}

TEST_F(HlsFolderTest, AStreamThatComesAgainTakesTheNameOver) {
    HlsArchive* files = folder_->begin(key_, options_);
    add_and_wait(*files);
    EXPECT_EQ(folder_->begin(key_, options_), nullptr) << "it is in use";
    disk_.set(&FakeHlsDisk::held, true);
    add(*files);
    add(*files);
    files->end({.target_s = 2, .variant = {}});
    files->leave();
    HlsArchive* const next = folder_->begin(key_, options_);
    ASSERT_NE(next, nullptr);
    next_ = 900;
    add(*next);
    disk_.set(&FakeHlsDisk::held, false);
    settle();
    EXPECT_TRUE(disk_.last().begins);
    EXPECT_EQ(disk_.last().segment, "900.m4s");
    EXPECT_THAT(disk_.last().list, Not(HasSubstr("100.m4s")));
    EXPECT_EQ(folder_->streams(), 1U);
    next->leave();
}

TEST_F(HlsFolderTest, VariantsOfTheFolderStandInTheMultivariantWhileTheyAreThere) {
    options_.variants = {{"", "live", "low"}, {"", "ladder", "a b"}, {"", "live", "nobody"}};
    HlsArchive& files = *folder_->begin(key_, options_);
    HlsArchive& low = *folder_->begin(options_.variants[0], {});
    HlsArchive& other = *folder_->begin(options_.variants[1], {});
    add_and_wait(files);
    settle();
    EXPECT_THAT(disk_.last().multivariant, HasSubstr("\ncam/index.m3u8\n"));
    EXPECT_THAT(disk_.last().multivariant, Not(HasSubstr("low")));
    add_and_wait(low);
    add_and_wait(other);
    add_and_wait(files);
    settle();
    EXPECT_THAT(disk_.last().multivariant,
                testing::MatchesRegex(".*\ncam/index.m3u8\n[^\n]*\nlow/index.m3u8\n"
                                      "[^\n]*\n../ladder/a%2520b/index.m3u8\n"));
    low.leave();
    add_and_wait(files);
    settle();
    EXPECT_THAT(disk_.last().multivariant, Not(HasSubstr("low")));
}

TEST_F(HlsFolderTest, StreamsTakeTurns) {
    HlsArchive& one = *folder_->begin(key_, options_);
    HlsArchive& two = *folder_->begin({"", "live", "other"}, options_);
    disk_.set(&FakeHlsDisk::held, true);
    for (int i = 0; i < 3; i++) {
        add(one);
    }
    add(two);
    disk_.set(&FakeHlsDisk::held, false);
    settle();
    EXPECT_EQ(disk_.turn(1).folder, "live/other");
}

}  // namespace
}  // namespace weir::session
