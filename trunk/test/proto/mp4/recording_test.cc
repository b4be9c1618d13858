// A growing file, cut off at every byte, and what its end adds.
#include "proto/mp4/recording.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include "proto/mp4/fragment.h"

#include "test/support/codec_samples.h"

namespace weir::mp4 {
namespace {

const Bytes kAacConfig = {0x11, 0x90};  // LC, 48,000 Hz, stereo

struct File {
    Bytes bytes;
    size_t header = 0;
    std::vector<size_t> ends;  // of the fragments
};

// Fragments of a second: 25 pictures, the first a key frame, and 47 frames of sound.
File make_file(size_t fragments) {
    File file;
    const std::array tracks = {*make_track(media::Codec::kH264, test::kAvcHighConfig, {}),
                               *make_track(media::Codec::kAac, kAacConfig, {})};
    write_header(tracks, file.bytes, Length::kFilledIn);
    file.header = file.bytes.size();
    const Bytes data = {0, 0, 0, 2, 0x65, 0x88};
    for (uint32_t i = 0; i < fragments; i++) {
        std::vector<SampleView> pictures(25, {.data = data, .duration = 3600, .key = false});
        pictures.front().key = true;
        const std::vector<SampleView> sounds(47, {.data = data, .duration = 1024});
        const std::array<RunView, 2> runs = {
            RunView{.track_id = 1, .video = true, .decode_time = 90'000u * i, .samples = pictures},
            RunView{.track_id = 2, .decode_time = 47u * 1024 * i, .samples = sounds}};
        write_fragment(i + 1, runs, file.bytes);
        file.ends.push_back(file.bytes.size());
    }
    return file;
}

// As the repair of a file does it: with windows as small as they may be.
void scan_all(FileScan& scan, ByteSpan file) {
    size_t window = 1;
    for (;;) {
        const ByteSpan rest = file.subspan(static_cast<size_t>(scan.position()));
        const auto next = scan.advance(rest.first(std::min(window, rest.size())), rest.size());
        if (next.bytes > 0) {
            window = 1;
        } else if (next.need > window) {
            window = next.need;
        } else {
            return;
        }
    }
}

TEST(Mp4RecordingTest, KnowsFramesDurationAndEndOfAWholeFile) {
    const File file = make_file(3);
    FileScan scan;
    scan_all(scan, file.bytes);
    EXPECT_EQ(scan.position(), file.bytes.size());
    EXPECT_EQ(scan.fragments(), 3U);
    EXPECT_EQ(scan.frames(), 3U * (25 + 47));
    EXPECT_EQ(scan.duration_ms(), 3'008);  // the sound is a little longer
}

TEST(Mp4RecordingTest, CutOffAnywhereEndsBehindTheLastWholeFragment) {
    const File file = make_file(3);
    for (size_t size = 0; size < file.bytes.size(); size++) {
        FileScan scan;
        scan_all(scan, ByteSpan(file.bytes).first(size));
        size_t whole = 0;
        for (const size_t end : file.ends) {
            whole += end <= size ? 1 : 0;
        }
        ASSERT_EQ(scan.fragments(), whole) << size;
        ASSERT_EQ(scan.playable(), size >= file.header) << size;
        if (whole > 0) {
            ASSERT_EQ(scan.position(), file.ends[whole - 1]) << size;
        }
        ASSERT_LE(scan.position(), size);
    }
}

TEST(Mp4RecordingTest, FillsInDurationsAndIndexesKeyFrames) {
    File file = make_file(2);
    FileScan scan;
    scan_all(scan, file.bytes);
    for (const auto& patch : scan.patches()) {
        ASSERT_LT(patch.offset + patch.bytes.size(), file.header);
        std::ranges::copy(patch.bytes,
                          file.bytes.begin() + static_cast<std::ptrdiff_t>(patch.offset));
    }
    EXPECT_EQ(scan.patches().size(), 2U);
    const std::string_view header = as_text(ByteSpan(file.bytes).first(file.header));
    const auto field = [&](std::string_view box, size_t behind) {
        return ByteSpan(file.bytes).subspan(header.find(box) + behind);
    };
    EXPECT_EQ(ByteReader(field("mvhd", 20)).u32(), 2'005U);
    EXPECT_EQ(ByteReader(field("mehd", 8)).u64(), 2'005U);
    const Bytes index = scan.index();
    ByteReader reader(index);
    EXPECT_EQ(reader.u32(), index.size());
    EXPECT_EQ(as_text(reader.take(4)), "mfra");
    reader.skip(4 + 4 + 4 + 4 + 4);
    EXPECT_EQ(reader.u32(), 2U);
    EXPECT_EQ(reader.u64(), 0U);
    EXPECT_EQ(reader.u64(), file.header);
    reader.skip(3);
    EXPECT_EQ(reader.u64(), 90'000U);
    EXPECT_EQ(reader.u64(), file.ends[0]);
    // A scan of the finished file ends in front of the index: it can be finished again.
    file.bytes.insert(file.bytes.end(), index.begin(), index.end());
    FileScan again;
    scan_all(again, file.bytes);
    EXPECT_EQ(again.position(), file.ends[1]);
    EXPECT_EQ(again.duration_ms(), scan.duration_ms());
}

TEST(Mp4RecordingTest, BytesThatAreNoBoxesEndIt) {
    const File file = make_file(1);
    for (size_t at = 0; at < file.bytes.size(); at++) {
        Bytes broken = file.bytes;
        broken[at] ^= 0xFF;
        FileScan scan;
        scan_all(scan, broken);
        EXPECT_LE(scan.position(), broken.size());
    }
}

}  // namespace
}  // namespace weir::mp4
