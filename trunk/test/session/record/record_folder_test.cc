// A folder of recordings on a real file system: names, what a crash leaves, who may use it.
#include "session/record/record_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "proto/mp4/fragment.h"

#include "test/support/codec_samples.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

class RecordFolderTest : public testing::Test {
  protected:
    RecordFolderTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-record-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
        const std::array tracks = {*mp4::make_track(media::Codec::kH264, test::kAvcHighConfig, {})};
        mp4::write_header(tracks, header_, mp4::Length::kFilledIn);
    }

    ~RecordFolderTest() override { fs::remove_all(place_); }

    static Bytes fragment(uint32_t number) {
        const Bytes data = {0, 0, 0, 2, 0x65, 0x88};
        const std::array<mp4::SampleView, 2> samples = {
            mp4::SampleView{.data = data, .duration = 3600},
            mp4::SampleView{.data = data, .duration = 3600, .key = false}};
        const std::array runs = {
            mp4::RunView{.video = true, .decode_time = 7200u * number, .samples = samples}};
        Bytes out;
        mp4::write_fragment(number + 1, runs, out);
        return out;
    }

    static FileOrder order(std::string name = "live/cam") {
        FileOrder order;
        order.key = {"__defaultVhost__", "live", "cam"};
        order.name = std::move(name);
        order.section = "__defaultVhost__";
        order.started_ms = 1'000;
        return order;
    }

    // A file with so many fragments, not finished.
    std::unique_ptr<GrowingFile> grow(RecordFolder& folder, uint32_t fragments) {
        auto made = folder.create(order());
        EXPECT_TRUE(made.ok()) << made.error().message();
        EXPECT_FALSE((*made)->append(header_));
        for (uint32_t i = 0; i < fragments; i++) {
            EXPECT_FALSE((*made)->append(fragment(i)));
        }
        return std::move(*made);
    }

    // "live/cam.mp4", of all regular files but the journal and the lock.
    std::vector<std::string> files() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::recursive_directory_iterator(place_)) {
            const std::string name = entry.path().filename().string();
            if (entry.is_regular_file() && !name.starts_with(kJournalName)) {
                found.push_back(fs::relative(entry.path(), place_).string());
            }
        }
        std::ranges::sort(found);
        return found;
    }

    using Names = std::vector<std::string>;
    std::string place_;
    Bytes header_;
};

TEST_F(RecordFolderTest, AFileHasItsNameWhenItIsFinished) {
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    auto file = grow(folder, 3);
    EXPECT_EQ(files(), Names{"live/cam.mp4.part"});
    const auto done = file->finish("unpublish", 0);
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(files(), Names{"live/cam.mp4"});
    EXPECT_EQ(done->frames, 6U);
    EXPECT_EQ(done->duration_ms, 240);
    EXPECT_EQ(done->bytes, fs::file_size(fs::path(place_) / "live/cam.mp4"));
    EXPECT_FALSE(done->repaired);
}

TEST_F(RecordFolderTest, TheNextFileOfANameHasANumber) {
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    ASSERT_TRUE(grow(folder, 1)->finish("split", 0).ok());
    auto second = grow(folder, 1);
    auto third = grow(folder, 1);
    ASSERT_TRUE(third->finish("split", 0).ok());
    ASSERT_TRUE(second->finish("split", 0).ok());
    EXPECT_EQ(files(), (Names{"live/cam-2.mp4", "live/cam-3.mp4", "live/cam.mp4"}));
}

TEST_F(RecordFolderTest, AFileThatIsThereIsNeverWrittenOver) {
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    auto file = grow(folder, 1);
    std::ofstream(fs::path(place_) / "live/cam.mp4") << "somebody's";
    const auto done = file->finish("unpublish", 0);
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->file, "live/cam-2.mp4");
    EXPECT_EQ(fs::file_size(fs::path(place_) / "live/cam.mp4"), 10U);
}

TEST_F(RecordFolderTest, AFileWithoutFramesIsNone) {
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    const auto done = grow(folder, 0)->finish("unpublish", 0);
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->frames, 0U);
    EXPECT_TRUE(files().empty());
}

// What a crash has left, cut off at each byte of it.
TEST_F(RecordFolderTest, RepairsAFileThatIsCutOffAnywhere) {
    const size_t second = header_.size() + 2 * fragment(0).size();
    const size_t whole = second + fragment(0).size();
    for (size_t size = 0; size <= whole; size += size < header_.size() ? 61U : 1U) {
        {
            RecordFolder crashed(place_);
            ASSERT_TRUE(crashed.open().ok());
            (void)grow(crashed, 3);
        }
        fs::resize_file(fs::path(place_) / "live/cam.mp4.part", size);
        RecordFolder folder(place_);
        const auto found = folder.open();
        ASSERT_TRUE(found.ok());
        const size_t fragments =
            size < header_.size() ? 0 : (size - header_.size()) / fragment(0).size();
        ASSERT_EQ(found->size(), fragments > 0 ? 1U : 0U) << size;
        if (fragments > 0) {
            const RecordedFile& file = found->front();
            ASSERT_EQ(file.frames, 2 * fragments) << size;
            ASSERT_TRUE(file.repaired && file.fresh);
            ASSERT_EQ(file.key, order().key);
            ASSERT_EQ(files(), Names{"live/cam.mp4"});
            ASSERT_FALSE(folder.remove(file.file));
        }
        ASSERT_TRUE(files().empty()) << size;
    }
}

TEST_F(RecordFolderTest, KnowsItsFilesAfterARestart) {
    {
        RecordFolder folder(place_);
        ASSERT_TRUE(folder.open().ok());
        ASSERT_TRUE(grow(folder, 2)->finish("unpublish", 0).ok());
    }
    RecordFolder folder(place_);
    const auto found = folder.open();
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().duration_ms, 160);
    EXPECT_EQ(found->front().section, "__defaultVhost__");
    EXPECT_EQ(found->front().why, "unpublish");
    EXPECT_FALSE(found->front().fresh);
    // Taken away by hand: it is no more.
    fs::remove(fs::path(place_) / "live/cam.mp4");
    EXPECT_TRUE(folder.open()->empty());
}

TEST_F(RecordFolderTest, RemovesFoldersThatAreEmptyThen) {
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    const auto done = grow(folder, 1)->finish("unpublish", 0);
    ASSERT_TRUE(done.ok());
    EXPECT_FALSE(folder.remove(done->file));
    EXPECT_FALSE(fs::exists(fs::path(place_) / "live"));
    EXPECT_EQ(folder.remove(done->file).code(), ErrorCode::kNotFound);
}

TEST_F(RecordFolderTest, OneServerUsesAFolder) {
    RecordFolder first(place_);
    ASSERT_TRUE(first.open().ok());
    RecordFolder second(place_);
    const auto refused = second.open();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kBusy);
    EXPECT_FALSE(second.create(order()).ok());
}

TEST_F(RecordFolderTest, FollowsNoLinks) {
    const fs::path outside = place_ + "-outside";
    fs::create_directory(outside);
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    fs::create_directory_symlink(outside, fs::path(place_) / "live");
    EXPECT_FALSE(folder.create(order()).ok());
    EXPECT_FALSE(folder.create(order("../x")).ok());
    EXPECT_FALSE(folder.create(order("a/../../x")).ok());
    fs::create_directory(fs::path(place_) / "app");
    std::ofstream(outside / "target") << "x";
    fs::create_symlink(outside / "target", fs::path(place_) / "app/cam.mp4.part");
    auto file = folder.create(order("app/cam"));
    ASSERT_TRUE(file.ok());
    EXPECT_EQ((*file)->name(), "app/cam-2.mp4.part");
    EXPECT_EQ(std::distance(fs::directory_iterator(outside), fs::directory_iterator()), 1);
    fs::remove_all(outside);
}

TEST_F(RecordFolderTest, AFolderThatVanishedIsSaid) {
    RecordFolder folder(place_);
    ASSERT_TRUE(folder.open().ok());
    fs::remove_all(place_);
    EXPECT_EQ(folder.create(order()).error().code(), ErrorCode::kNotFound);
    EXPECT_FALSE(folder.open().ok());
    fs::create_directory(place_);
    EXPECT_EQ(folder.create(order()).error().code(), ErrorCode::kNotFound);
    EXPECT_TRUE(folder.open().ok());
    EXPECT_TRUE(folder.create(order()).ok());
}

TEST_F(RecordFolderTest, AJournalOfGarbageHarmsNothing) {
    std::ofstream(fs::path(place_) / kJournalName)
        << "begin\tx\nend\tnone\t1\t2\t3\t4\t0\twhy\n\n\t\tbegin\t../../etc/"
           "passwd\ta\tb\tc\tmp4\ts\t1\n"
        << "begin\t../../etc/passwd\ta\tb\tc\tmp4\ts\t1\nbegin\tx\ta\tb\tc\tnone\ts\t-1\nbeg";
    RecordFolder folder(place_);
    const auto found = folder.open();
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace weir::session
