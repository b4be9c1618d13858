// A folder of HLS on a real file system: names, the order of writes, what a crash leaves, who may
// use it.
#include "session/hls/hls_disk.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "proto/hls/playlist.h"
#include "session/hls/hls_file_names.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

TEST(HlsFileNamesTest, EachStreamHasAFolderOfItsOwn) {
    const auto of = [](std::string_view app, std::string_view name, std::string_view vhost = "") {
        return hls_folder_of({std::string(vhost), std::string(app), std::string(name)});
    };
    EXPECT_EQ(of("live", "cam"), "live/cam");
    EXPECT_EQ(of("live", "cam", stream::kDefaultVhost), "live/cam");
    EXPECT_EQ(of("live", "cam", "tv.example"), "tv.example/live/cam");
    EXPECT_EQ(of("a/b", "../x"), "a%2Fb/%2E.%2Fx");
    EXPECT_EQ(of("..", "."), "%2E./%2E");
    EXPECT_EQ(of("live", "cam.m3u8"), "live/cam%2Em3u8") << "the playlist of cam has that name";
    EXPECT_EQ(of("live", "index"), "live/%69ndex");
}

class HlsDiskTest : public testing::Test {
  protected:
    using Names = std::vector<std::string>;

    HlsDiskTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-hls-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
    }

    ~HlsDiskTest() override { fs::remove_all(place_); }

    HlsWrite turn(uint64_t number, Names gone = {}, bool begins = false) const {
        HlsWrite write;
        write.folder = "live/cam";
        write.begins = begins;
        write.header_name = "init-1.mp4";
        write.header = header_;
        write.segment_name = hls::segment_name(number, true);
        write.segment = {first_, second_};
        const std::string list = std::string("of ") + std::to_string(number) + hls::kQueryMark;
        write.lists = {{"live/cam/index.m3u8", list}, {"live/cam.m3u8", list}};
        write.gone = std::move(gone);
        return write;
    }

    // All regular files except the list and the lock.
    Names files() const {
        Names found;
        for (const auto& entry : fs::recursive_directory_iterator(place_)) {
            if (entry.is_regular_file() &&
                !entry.path().filename().string().starts_with(kHlsListName)) {
                found.push_back(fs::relative(entry.path(), place_).string());
            }
        }
        std::ranges::sort(found);
        return found;
    }

    std::string text_of(const std::string& file) const {
        std::ifstream in(fs::path(place_) / file);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }

    void put(const std::string& file, const std::string& text = "theirs") const {
        fs::create_directories((fs::path(place_) / file).parent_path());
        std::ofstream(fs::path(place_) / file) << text;
    }

    std::string place_;
    Bytes header_ = {1, 2, 3};
    Bytes first_ = {'a', 'b'};
    Bytes second_ = {'c'};
};

TEST_F(HlsDiskTest, ATurnWritesHeaderSegmentAndPlaylists) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    const HlsWritten done = disk.write(turn(5, {}, true));
    EXPECT_FALSE(done.error) << done.error.message();
    EXPECT_TRUE(done.segment && done.lists && done.gone && !done.lost);
    EXPECT_EQ(files(), (Names{"live/cam.m3u8", "live/cam/5.m4s", "live/cam/index.m3u8",
                              "live/cam/init-1.mp4"}));
    EXPECT_EQ(text_of("live/cam/5.m4s"), "abc");
    EXPECT_EQ(text_of("live/cam/index.m3u8"), "of 5") << "addresses have no query";
    EXPECT_EQ(done.bytes, 3U + 3 + 4 + 4);
}

TEST_F(HlsDiskTest, WhatHasLeftGoesBehindThePlaylist) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_FALSE(disk.write(turn(5, {}, true)).error);
    EXPECT_FALSE(disk.write(turn(6)).error);
    EXPECT_FALSE(disk.write(turn(7, {"5.m4s", "not-there.m4s"})).error);
    EXPECT_EQ(files(), (Names{"live/cam.m3u8", "live/cam/6.m4s", "live/cam/7.m4s",
                              "live/cam/index.m3u8", "live/cam/init-1.mp4"}));
}

TEST_F(HlsDiskTest, WithoutItsSegmentNoPlaylistIsWritten) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_FALSE(disk.write(turn(5, {}, true)).error);
    fs::create_directories(fs::path(place_) / "live/cam/6.m4s/in-the-way");
    const HlsWritten done = disk.write(turn(6));
    EXPECT_TRUE(done.error);
    EXPECT_FALSE(done.segment || done.lists);
    EXPECT_EQ(text_of("live/cam/index.m3u8"), "of 5");
    EXPECT_FALSE(fs::exists(fs::path(place_) / "live/cam/6.m4s.part"));
}

TEST_F(HlsDiskTest, FilesThatGoWithoutANewPlaylistTakeTheOldOneAlong) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_FALSE(disk.write(turn(5, {}, true)).error);
    fs::create_directories(fs::path(place_) / "live/cam/6.m4s/in-the-way");
    EXPECT_TRUE(disk.write(turn(6, {"5.m4s"})).gone);
    EXPECT_EQ(files(), Names{"live/cam/init-1.mp4"}) << "nothing names what is not there";
}

TEST_F(HlsDiskTest, TheNextStartRemovesWhatACrashLeftAndNothingElse) {
    {
        HlsDiskFolder disk(place_);
        ASSERT_FALSE(disk.open());
        EXPECT_FALSE(disk.write(turn(5, {}, true)).error);
        HlsWrite other = turn(6, {}, true);
        other.folder = "gone/whole";
        other.lists = {{"gone/whole/index.m3u8", "x"}, {"gone/whole.m3u8", "x"}};
        EXPECT_FALSE(disk.write(other).error);
    }
    put("live/cam/7.m4s.part");
    put("live/cam/index.m3u8.part");
    put("live/cam.m3u8.part");
    put("live/cam/readme.txt");
    put("live/other/5.m4s");
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_EQ(files(), (Names{"live/cam/readme.txt", "live/other/5.m4s"}));
    EXPECT_FALSE(fs::exists(fs::path(place_) / "gone")) << "folders that are empty go";
}

TEST_F(HlsDiskTest, AStreamThatBeginsRemovesItsOlderFiles) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_FALSE(disk.write(turn(5, {}, true)).error);
    EXPECT_FALSE(disk.write(turn(9, {}, true)).error);
    EXPECT_EQ(files(), (Names{"live/cam.m3u8", "live/cam/9.m4s", "live/cam/index.m3u8",
                              "live/cam/init-1.mp4"}));
    HlsWrite clears;
    clears.folder = "live/cam";
    clears.clears = true;
    EXPECT_FALSE(disk.write(clears).error);
    EXPECT_EQ(files(), Names{});
}

TEST_F(HlsDiskTest, AFolderIsOneServers) {
    HlsDiskFolder first(place_);
    ASSERT_FALSE(first.open());
    HlsDiskFolder second(place_);
    const Error busy = second.open();
    EXPECT_EQ(busy.code(), ErrorCode::kBusy);
    EXPECT_THAT(std::string(busy.message()), HasSubstr("another server writes into"));
    EXPECT_TRUE(second.write(turn(5, {}, true)).error);
    EXPECT_EQ(files(), Names{});
}

TEST_F(HlsDiskTest, LinksAreNotFollowed) {
    const std::string outside = place_ + "-outside";
    fs::create_directories(outside);
    fs::create_directory_symlink(outside, fs::path(place_) / "live");
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_TRUE(disk.write(turn(5, {}, true)).error);
    fs::remove(fs::path(place_) / "live");
    put("secret");
    fs::create_directories(fs::path(place_) / "live/cam");
    for (const char* link : {"live/cam/5.m4s", "live/cam/5.m4s.part", "live/cam/index.m3u8"}) {
        fs::create_symlink(fs::path(place_) / "secret", fs::path(place_) / link);
    }
    EXPECT_FALSE(disk.write(turn(5)).error);
    EXPECT_EQ(text_of("secret"), "theirs");
    EXPECT_EQ(text_of("live/cam/5.m4s"), "abc");
    EXPECT_TRUE(fs::is_empty(outside));
    fs::remove_all(outside);
}

TEST_F(HlsDiskTest, AFolderThatWasRemovedIsSaid) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    EXPECT_FALSE(disk.write(turn(5, {}, true)).error);
    fs::remove_all(fs::path(place_) / "live/cam");
    const HlsWritten done = disk.write(turn(6));
    EXPECT_TRUE(done.error && done.lost && !done.segment);
    EXPECT_EQ(files(), Names{}) << "the other playlist names what was removed";
    EXPECT_FALSE(disk.write(turn(7)).error);
    EXPECT_TRUE(fs::exists(fs::path(place_) / "live/cam/init-1.mp4"));
    fs::rename(place_, place_ + "-away");
    EXPECT_EQ(disk.write(turn(8)).error.code(), ErrorCode::kNotFound);
    fs::create_directory(place_);
    EXPECT_EQ(disk.write(turn(8)).error.code(), ErrorCode::kNotFound) << "it is another one";
    ASSERT_FALSE(disk.open());
    EXPECT_FALSE(disk.write(turn(9, {}, true)).error);
    fs::remove_all(place_ + "-away");
}

TEST_F(HlsDiskTest, TheListOfStreamsDoesNotGrowForever) {
    HlsDiskFolder disk(place_);
    ASSERT_FALSE(disk.open());
    for (int i = 0; i < 3'000; i++) {
        HlsWrite write;
        write.folder = "live/" + std::string(100, 'x') + std::to_string(i);
        write.lists = {{write.folder + "/index.m3u8", "x"}};
        EXPECT_FALSE(disk.write(write).lists && i < 0);
        write.clears = true;
        EXPECT_FALSE(disk.write(write).error);
    }
    EXPECT_LT(fs::file_size(fs::path(place_) / kHlsListName), 2 * HlsDiskFolder::kMinListBytes);
    HlsDiskFolder second(place_);
    EXPECT_EQ(second.open().code(), ErrorCode::kBusy) << "the new list is locked as well";
}

}  // namespace
}  // namespace weir::session
