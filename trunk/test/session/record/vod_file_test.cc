// A recording as playback reads it: finished, growing, cut off.
#include "session/record/vod_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "proto/mp4/fragment.h"

#include "test/support/codec_samples.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

class VodFileTest : public testing::Test {
  protected:
    VodFileTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-vod-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
        piece_.file.folder = place_;
        piece_.file.file = "cam.mp4";
        const std::array tracks = {*mp4::make_track(media::Codec::kH264, test::kAvcHighConfig, {})};
        mp4::write_header(tracks, bytes_, mp4::Length::kFilledIn);
        scan();
    }

    ~VodFileTest() override { fs::remove_all(place_); }

    // Fragments of 80 ms, each with a key frame.
    void add(uint32_t fragments) {
        const Bytes data = {0, 0, 0, 2, 0x65, 0x88};
        const std::array<mp4::SampleView, 2> samples = {
            mp4::SampleView{.data = data, .duration = 3'600},
            mp4::SampleView{.data = data, .duration = 3'600, .key = false}};
        for (uint32_t i = 0; i < fragments; i++, number_++) {
            const std::array runs = {
                mp4::RunView{.video = true, .decode_time = 7'200u * number_, .samples = samples}};
            mp4::write_fragment(number_ + 1, runs, bytes_);
        }
        scan();
    }

    void scan() {
        uint64_t taken = 1;
        while (taken > 0) {
            const ByteSpan rest = ByteSpan(bytes_).subspan(scan_.position());
            taken = scan_.advance(rest, rest.size()).bytes;
        }
    }

    void save(size_t size = SIZE_MAX, std::string_view end = "") const {
        std::ofstream out(place_ + "/cam.mp4" + std::string(end), std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes_.data()),
                  static_cast<std::streamsize>(std::min(size, bytes_.size())));
    }

    void finish() {
        const Bytes index = scan_.index();
        for (const auto& patch : scan_.patches()) {
            std::ranges::copy(patch.bytes,
                              bytes_.begin() + static_cast<std::ptrdiff_t>(patch.offset));
        }
        bytes_.insert(bytes_.end(), index.begin(), index.end());
    }

    std::unique_ptr<VodFile> open() {
        auto file = VodFile::open(piece_);
        EXPECT_TRUE(file.ok()) << file.error().message();
        return file.ok() ? std::move(*file) : nullptr;
    }

    // How many fragments follow from there, and how it ends.
    static std::pair<size_t, VodFile::Got> read_all(VodFile& file, uint64_t& offset) {
        for (size_t count = 0;; count++) {
            VodFragment fragment;
            const auto got = file.read(offset, fragment);
            EXPECT_TRUE(got.ok());
            if (!got.ok() || *got != VodFile::Got::kFragment) {
                return {count, got.ok() ? *got : VodFile::Got::kEnd};
            }
            EXPECT_EQ(fragment.samples.size(), 2U);
        }
    }

    std::string place_;
    VodPiece piece_;
    Bytes bytes_;
    mp4::FileScan scan_;
    uint32_t number_ = 0;
};

TEST_F(VodFileTest, AFinishedFileIsReadToItsIndex) {
    add(5);
    finish();
    save();
    const auto file = open();
    ASSERT_TRUE(file);
    EXPECT_EQ(file->duration_ms(), 400);
    uint64_t offset = file->offset_of(0);
    EXPECT_EQ(read_all(*file, offset), std::pair(size_t{5}, VodFile::Got::kEnd));
    offset = file->offset_of(170);
    EXPECT_EQ(read_all(*file, offset).first, 3U) << "from the fragment of 160 ms on";
    offset = file->offset_of(INT64_MAX);
    EXPECT_EQ(read_all(*file, offset).first, 1U) << "beyond the end is the last";
    offset = file->offset_of(-5);
    EXPECT_EQ(read_all(*file, offset).first, 5U);
}

TEST_F(VodFileTest, AFileThatGrowsGoesOn) {
    add(2);
    save(SIZE_MAX, ".part");
    piece_.grows = true;
    const auto file = open();
    ASSERT_TRUE(file);
    EXPECT_EQ(file->duration_ms(), 160);
    uint64_t offset = file->offset_of(0);
    EXPECT_EQ(read_all(*file, offset), std::pair(size_t{2}, VodFile::Got::kNotYet));
    const size_t before = bytes_.size();
    add(2);
    save(before + 50, ".part");
    EXPECT_EQ(read_all(*file, offset), std::pair(size_t{0}, VodFile::Got::kNotYet))
        << "half a fragment is none";
    save(SIZE_MAX, ".part");
    EXPECT_EQ(read_all(*file, offset), std::pair(size_t{2}, VodFile::Got::kNotYet));
    file->look_again();
    EXPECT_EQ(file->duration_ms(), 320);
    // It is finished and gets its name, and whoever has it open reads on.
    add(1);
    finish();
    save(SIZE_MAX, ".part");
    fs::rename(place_ + "/cam.mp4.part", place_ + "/cam.mp4");
    EXPECT_EQ(read_all(*file, offset), std::pair(size_t{1}, VodFile::Got::kEnd));
    EXPECT_TRUE(open()) << "by the name that it has now";
}

TEST_F(VodFileTest, OfAFileThatIsCutOffWhatIsWholeIsRead) {
    add(4);
    const size_t whole = bytes_.size();
    finish();
    save(whole - 3);
    const auto file = open();
    ASSERT_TRUE(file);
    uint64_t offset = file->offset_of(0);
    EXPECT_EQ(read_all(*file, offset), std::pair(size_t{3}, VodFile::Got::kNotYet));
}

TEST_F(VodFileTest, WhatIsNoRecordingIsRefused) {
    EXPECT_EQ(VodFile::open(piece_).error().code(), ErrorCode::kNotFound);
    save();
    EXPECT_EQ(VodFile::open(piece_).error().code(), ErrorCode::kMalformed) << "a header alone";
    save(0);
    EXPECT_EQ(VodFile::open(piece_).error().code(), ErrorCode::kMalformed);
    piece_.file.file = "../cam.mp4";
    EXPECT_EQ(VodFile::open(piece_).error().code(), ErrorCode::kDenied);
}

}  // namespace
}  // namespace weir::session
