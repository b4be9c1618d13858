// What FileScan has written at the end of a file is where its pieces are.
#include "proto/mp4/file_index.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "proto/mp4/fragment.h"
#include "proto/mp4/recording.h"

#include "test/support/codec_samples.h"

namespace weir::mp4 {
namespace {

struct File {
    Bytes bytes;
    uint64_t header = 0;
    std::vector<uint64_t> begins;  // of its fragments

    ByteSpan tail() const {
        const uint64_t size = index_size(ByteSpan(bytes).last(kIndexEnd));
        return ByteSpan(bytes).last(static_cast<size_t>(size));
    }
};

// Fragments of one second, 10 pictures each; every second one begins with a key frame.
File make_file(uint32_t fragments) {
    File file;
    const std::array tracks = {*make_track(media::Codec::kH264, test::kAvcHighConfig, {})};
    write_header(tracks, file.bytes, Length::kFilledIn);
    file.header = file.bytes.size();
    const Bytes data = {0, 0, 0, 2, 0x65, 0x88};
    for (uint32_t i = 0; i < fragments; i++) {
        std::vector<SampleView> pictures(10, {.data = data, .duration = 9000, .key = false});
        pictures.front().key = i % 2 == 0;
        const std::array<RunView, 1> runs = {
            RunView{.track_id = 1, .video = true, .decode_time = 90'000u * i, .samples = pictures}};
        file.begins.push_back(file.bytes.size());
        write_fragment(i + 1, runs, file.bytes);
    }
    FileScan scan;
    ByteSpan rest = file.bytes;
    while (const uint64_t taken = scan.advance(rest, rest.size()).bytes) {
        rest = rest.subspan(static_cast<size_t>(taken));
    }
    for (const auto& patch : scan.patches()) {
        std::ranges::copy(patch.bytes,
                          file.bytes.begin() + static_cast<std::ptrdiff_t>(patch.offset));
    }
    const Bytes index = scan.index();
    file.bytes.insert(file.bytes.end(), index.begin(), index.end());
    return file;
}

TEST(Mp4FileIndexTest, ASpanGoesFromKeyFrameToKeyFrame) {
    const File file = make_file(5);
    const auto index = read_file_index(file.bytes, file.tail(), file.bytes.size());
    ASSERT_TRUE(index.ok()) << index.error().message();
    EXPECT_EQ(index->header_bytes, file.header);
    const uint64_t end = file.bytes.size() - file.tail().size();
    const std::vector<FileSpan> expected = {
        {file.begins[0], file.begins[2] - file.begins[0], 0, 2'000},
        {file.begins[2], file.begins[4] - file.begins[2], 2'000, 2'000},
        {file.begins[4], end - file.begins[4], 4'000, 1'000}};
    EXPECT_EQ(index->spans, expected);
}

TEST(Mp4FileIndexTest, AScanKnowsTheSameOfAFileThatHasNoIndexYet) {
    const File file = make_file(5);
    const auto index = read_file_index(file.bytes, file.tail(), file.bytes.size());
    ASSERT_TRUE(index.ok()) << index.error().message();
    FileScan scan;
    EXPECT_TRUE(scan.spans().spans.empty());
    ByteSpan rest = file.bytes;
    while (const uint64_t taken = scan.advance(rest, rest.size()).bytes) {
        rest = rest.subspan(static_cast<size_t>(taken));
    }
    EXPECT_EQ(scan.spans().header_bytes, index->header_bytes);
    EXPECT_EQ(scan.spans().spans, index->spans);
}

TEST(Mp4FileIndexTest, TheHeaderAloneIsEnoughOfTheBeginning) {
    const File file = make_file(3);
    const ByteSpan head = ByteSpan(file.bytes).first(static_cast<size_t>(file.header));
    EXPECT_TRUE(read_file_index(head, file.tail(), file.bytes.size()).ok());
    EXPECT_FALSE(read_file_index(head.first(head.size() - 1), file.tail(), file.bytes.size()).ok());
}

TEST(Mp4FileIndexTest, AFileWithoutIndexHasNone) {
    const Bytes end(kIndexEnd, 0);
    EXPECT_EQ(index_size(end), 0U);
    EXPECT_EQ(index_size({}), 0U);
    const File file = make_file(1);
    EXPECT_FALSE(read_file_index(file.bytes, {}, file.bytes.size()).ok());
    EXPECT_FALSE(read_file_index(file.bytes, file.tail(), file.header).ok());
}

TEST(Mp4FileIndexTest, BrokenBytesNeverLeadOutOfTheFile) {
    const File file = make_file(3);
    for (size_t at = 0; at < file.bytes.size(); at++) {
        File broken = file;
        broken.bytes[at] ^= 0xFF;
        const uint64_t size = index_size(ByteSpan(broken.bytes).last(kIndexEnd));
        if (size > broken.bytes.size()) {
            continue;
        }
        const auto index = read_file_index(broken.bytes, broken.tail(), broken.bytes.size());
        if (!index.ok()) {
            continue;
        }
        for (const FileSpan& span : index->spans) {
            ASSERT_LE(span.offset + span.bytes, broken.bytes.size()) << at;
            ASSERT_GE(span.offset, index->header_bytes) << at;
            ASSERT_GE(span.duration_ms, 0) << at;
        }
    }
}

}  // namespace
}  // namespace weir::mp4
