// One folder of HLS and the processes of one server: whose files are whose, and who removes them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "proto/hls/playlist.h"
#include "session/hls/hls_disk.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

class HlsDiskProcessesTest : public testing::Test {
  protected:
    using Names = std::vector<std::string>;
    static constexpr const char* kServer = "a server";

    HlsDiskProcessesTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-hls-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
    }

    ~HlsDiskProcessesTest() override { fs::remove_all(place_); }

    std::unique_ptr<HlsDiskFolder> start(uint32_t index, uint32_t count = 3) const {
        auto disk = std::make_unique<HlsDiskFolder>(
            place_, count == 1 ? io::FolderSeat() : io::FolderSeat{index, count, kServer});
        const Error error = disk->open();
        EXPECT_FALSE(error) << error.message();
        return disk;
    }

    HlsWrite turn(const std::string& stream, uint64_t number, bool begins = false) const {
        HlsWrite write;
        write.folder = "live/" + stream;
        write.begins = begins;
        write.segment_name = hls::segment_name(number, true);
        write.segment = {bytes_};
        const std::string list = "of " + std::to_string(number);
        write.lists = {{write.folder + "/index.m3u8", list}, {write.folder + ".m3u8", list}};
        return write;
    }

    static HlsWrite clearing(const std::string& stream) {
        HlsWrite write;
        write.folder = "live/" + stream;
        write.clears = true;
        return write;
    }

    // What a web server would find.
    Names files() const {
        Names found;
        for (const auto& entry : fs::recursive_directory_iterator(place_)) {
            if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.')) {
                found.push_back(fs::relative(entry.path(), place_).string());
            }
        }
        std::ranges::sort(found);
        return found;
    }

    static Names files_of(const std::string& stream, uint64_t number) {
        const std::string folder = "live/" + stream;
        return {folder + ".m3u8", folder + "/" + hls::segment_name(number, true),
                folder + "/index.m3u8"};
    }

    std::string text_of(const std::string& file) const {
        std::ifstream in(fs::path(place_) / file);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }

    std::string place_;
    Bytes bytes_ = {'a', 'b', 'c'};
};

TEST_F(HlsDiskProcessesTest, WhoBeginsAStreamTakesItsFolder) {
    const auto first = start(0);
    const auto second = start(1);
    EXPECT_FALSE(first->write(turn("cam", 5, true)).error);
    EXPECT_FALSE(second->write(turn("cam", 9, true)).error);
    EXPECT_EQ(files(), files_of("cam", 9)) << "what was there goes";

    const HlsWritten late = first->write(turn("cam", 6));
    EXPECT_TRUE(late.taken && !late.segment && !late.lists);
    EXPECT_FALSE(late.error) << late.error.message();
    EXPECT_FALSE(first->write(clearing("cam")).error);
    EXPECT_EQ(files(), files_of("cam", 9)) << "it is not the first one's any more";

    EXPECT_FALSE(first->write(turn("cam", 12, true)).error);
    EXPECT_TRUE(second->write(turn("cam", 10)).taken);
    EXPECT_EQ(files(), files_of("cam", 12)) << "the publisher has come back";
    EXPECT_FALSE(first->write(clearing("cam")).error);
    EXPECT_TRUE(files().empty());
    EXPECT_FALSE(fs::exists(fs::path(place_) / "live"));
}

TEST_F(HlsDiskProcessesTest, AProcessThatBeginsAnewRemovesItsOwnOnly) {
    const auto first = start(0);
    auto second = start(1);
    EXPECT_FALSE(second->write(turn("cam", 5, true)).error);
    EXPECT_FALSE(second->write(turn("other", 5, true)).error);
    EXPECT_FALSE(first->write(turn("cam", 7, true)).error) << "while the second one is away";
    second.reset();
    second = start(1);
    EXPECT_EQ(files(), files_of("cam", 7));
    EXPECT_FALSE(first->write(turn("cam", 8)).taken);
}

TEST_F(HlsDiskProcessesTest, AFolderThatSomebodyRemovedIsBegunAnew) {
    const auto first = start(0);
    const auto second = start(1);
    EXPECT_FALSE(first->write(turn("cam", 5, true)).error);
    fs::remove_all(fs::path(place_) / "live/cam");
    EXPECT_TRUE(first->write(turn("cam", 6)).lost);
    EXPECT_FALSE(first->write(turn("cam", 7, true)).error);
    fs::remove_all(fs::path(place_) / "live/cam");
    EXPECT_FALSE(second->write(clearing("cam")).error);
    EXPECT_FALSE(fs::exists(fs::path(place_) / "live")) << "nothing is left of it";
}

TEST_F(HlsDiskProcessesTest, ProcessesThatThereAreNoMoreLeaveTheirFilesToTheFirst) {
    for (const uint32_t next : {2U, 1U}) {
        {
            const auto first = start(0);
            const auto third = start(2);
            EXPECT_FALSE(first->write(turn("one", 5, true)).error);
            EXPECT_FALSE(third->write(turn("three", 5, true)).error);
        }
        {
            const auto first = start(0, next);
            EXPECT_TRUE(files().empty()) << next;
        }
        EXPECT_FALSE(fs::exists(fs::path(place_) / ".weir-hls-2"));
    }
}

TEST_F(HlsDiskProcessesTest, TheFolderIsTheServersAsLongAsOneOfItsProcessesLives) {
    auto first = start(0);
    const auto second = start(1);
    first.reset();
    HlsDiskFolder other(place_, {0, 2, "another server"});
    HlsDiskFolder alone(place_);
    for (HlsDiskFolder* const each : {&other, &alone}) {
        EXPECT_EQ(each->open().code(), ErrorCode::kBusy);
        EXPECT_TRUE(each->write(turn("cam", 5, true)).error);
    }
    first = start(0);
    EXPECT_FALSE(first->write(turn("cam", 5, true)).error);
}

TEST_F(HlsDiskProcessesTest, QualitiesThatAnotherProcessWritesStandInThePlaylist) {
    const auto first = start(0);
    const auto second = start(1);
    hls::Variant low{.uri = "low/index.m3u8", .codecs = "avc1.42c01e", .bandwidth_bps = 300'000};
    low.captions = {"CC1"};
    HlsWrite theirs = turn("low", 5, true);
    theirs.lists.back().text = hls::write_multivariant({&low, 1});
    EXPECT_FALSE(second->write(theirs).error);
    HlsWrite ours = turn("cam", 5, true);
    ours.lists.back().text = "#EXTM3U\n";
    ours.lists.back().others = {{"live/low", "low/index.m3u8"}, {"live/none", "none"}};
    EXPECT_FALSE(first->write(ours).error);
    EXPECT_EQ(text_of("live/cam.m3u8"),
              "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=300000,CODECS=\"avc1.42c01e\"\n"
              "low/index.m3u8\n");

    theirs.begins = false;
    theirs.lists.front().text += "\n#EXT-X-ENDLIST\n";
    EXPECT_FALSE(second->write(theirs).error);
    ours.begins = false;
    EXPECT_FALSE(first->write(ours).error);
    EXPECT_EQ(text_of("live/cam.m3u8"), "#EXTM3U\n") << "it has ended";
}

TEST_F(HlsDiskProcessesTest, ProcessesThatTakeAStreamFromEachOtherLeaveOneWhole) {
    constexpr int kTurns = 50;
    const auto first = start(0);
    const auto second = start(1);
    // The other one may hold the folder for long where the machine has much to do: then again.
    const auto whole = [](HlsDiskFolder& disk, const HlsWrite& what) {
        HlsWritten done = disk.write(what);
        while (done.error.code() == ErrorCode::kBusy) {
            done = disk.write(what);
        }
        EXPECT_FALSE(done.error) << done.error.message();
        EXPECT_TRUE(what.clears || (done.segment && done.lists));
    };
    const auto work = [&](HlsDiskFolder& disk, uint64_t number) {
        for (int i = 0; i < kTurns; i++) {
            whole(disk, turn("cam", number, true));
            whole(disk, clearing("cam"));
        }
        whole(disk, turn("cam", number, true));
    };
    std::thread other([&] { work(*second, 2); });
    work(*first, 1);
    other.join();
    const bool is_first = fs::exists(fs::path(place_) / "live/cam/1.m4s");
    EXPECT_EQ(files(), files_of("cam", is_first ? 1 : 2));
    EXPECT_FALSE((is_first ? first : second)->write(turn("cam", 3)).taken);
    EXPECT_TRUE((is_first ? second : first)->write(turn("cam", 4)).taken);
}

}  // namespace
}  // namespace weir::session
