// A growing file, cut off at every byte, and what its end fills in.
#include "proto/flv/recording.h"

#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "proto/amf/amf0.h"
#include "proto/flv/tag.h"

#include "test/support/media_packets.h"

namespace weir::flv {
namespace {

void put_tag(Bytes& out, uint8_t type, uint32_t time_ms, const Bytes& body) {
    std::array<uint8_t, kTagHeaderSize> header;
    std::array<uint8_t, kTagTrailerSize> trailer;
    const auto size = static_cast<uint32_t>(body.size());
    ByteWriter(out)
        .bytes({header.data(), write_tag_header(type, time_ms, size, header.data())})
        .bytes(body)
        .bytes({trailer.data(), write_tag_trailer(size, trailer.data())});
}

struct File {
    Bytes bytes;
    std::vector<size_t> ends;  // of the beginning and of each tag
};

// Pictures of 40 ms, each tenth a key frame.
File make_file(uint32_t pictures) {
    File file;
    write_file_beginning({.audio = false, .video = true, .width = 640, .height = 360}, file.bytes);
    file.ends.push_back(file.bytes.size());
    put_tag(file.bytes, kVideoTag, 0, test::avc_header(1));
    file.ends.push_back(file.bytes.size());
    for (uint32_t i = 0; i < pictures; i++) {
        put_tag(file.bytes, kVideoTag, i * 40, test::avc_frame(i % 10 == 0, i, 30));
        file.ends.push_back(file.bytes.size());
    }
    return file;
}

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

TEST(FlvRecordingTest, CutOffAnywhereEndsBehindTheLastWholeTag) {
    const File file = make_file(12);
    // The middle of the beginning is as good as any other place of it.
    const size_t first = file.ends.front() - 200;
    for (size_t size = 0; size < file.bytes.size(); size++) {
        size = size == 200 ? first : size;
        FileScan scan;
        scan_all(scan, ByteSpan(file.bytes).first(size));
        size_t end = 0;
        for (const size_t each : file.ends) {
            end = each <= size ? each : end;
        }
        ASSERT_EQ(scan.position(), end) << size;
    }
}

TEST(FlvRecordingTest, FillsInDurationSizeAndIndex) {
    File file = make_file(25);
    FileScan scan;
    scan_all(scan, file.bytes);
    EXPECT_EQ(scan.frames(), 25U);
    EXPECT_EQ(scan.duration_ms(), 1'000);
    const auto patches = scan.patches();
    ASSERT_EQ(patches.size(), 1U);
    ASSERT_LT(patches[0].offset + patches[0].bytes.size(), file.ends[0]);
    std::ranges::copy(patches[0].bytes,
                      file.bytes.begin() + static_cast<std::ptrdiff_t>(patches[0].offset));
    const ByteSpan body = ByteSpan(file.bytes).subspan(kFileHeaderSize + kTagHeaderSize);
    const std::string_view text = as_text(body);
    const auto number = [&](std::string_view name) {
        return ByteReader(body.subspan(text.find(name) + name.size() + 1)).f64();
    };
    EXPECT_EQ(number("duration"), 1.0);
    EXPECT_EQ(number("filesize"), static_cast<double>(file.bytes.size()));
    EXPECT_EQ(number("width"), 640.0);
    EXPECT_EQ(text[text.find("spacer") + 6], 0x0A) << "ffmpeg knows arrays, but no long strings";
    ByteReader positions(body.subspan(text.find("filepositions") + 13));
    positions.skip(1);
    EXPECT_EQ(positions.u32(), 3U);
    for (const size_t tag : {2U, 12U, 22U}) {
        positions.skip(1);
        EXPECT_EQ(positions.f64(), static_cast<double>(file.ends[tag - 1]));
    }
}

TEST(FlvRecordingTest, KeepsItsIndexWithinItsPlaces) {
    Bytes bytes;
    write_file_beginning({.video = true}, bytes);
    const size_t beginning = bytes.size();
    for (uint32_t i = 0; i < 3 * FileScan::kMaxIndexed; i++) {
        put_tag(bytes, kVideoTag, i * 40, test::avc_frame(true, 1, 10));
    }
    FileScan scan;
    scan_all(scan, bytes);
    const auto patches = scan.patches();
    ASSERT_EQ(patches.size(), 1U);
    EXPECT_LT(patches[0].offset + patches[0].bytes.size(), beginning);
}

// The message that a file begins with.
amf::Value metadata_of(ByteSpan file) {
    ByteReader reader(file.subspan(kFileHeaderSize + kTagHeaderSize));
    EXPECT_EQ(amf::parse(reader)->as_string(), "onMetaData");
    Result<amf::Value> values = amf::parse(reader);
    EXPECT_TRUE(values.ok());
    return values.ok() ? std::move(*values) : amf::Value();
}

TEST(FlvRecordingTest, KeepsWhatThePublisherSaidOfItsStream) {
    amf::Value colors = amf::Value::object();
    colors.set("primaries", amf::Value::number(9));
    amf::Value said = amf::Value::ecma_array();
    said.set("duration", amf::Value::number(77));
    said.set("width", amf::Value::number(1));
    said.set("encoder", amf::Value::string("studio 5"));
    said.set("videodatarate", amf::Value::number(2500));
    said.set("colors", colors);
    Bytes message;
    amf::Writer(message).string("onMetaData").value(said);
    Bytes bytes;
    write_file_beginning({.video = true, .width = 640, .height = 360, .metadata = message}, bytes);
    const amf::Value kept = metadata_of(bytes);
    EXPECT_EQ(kept.text_of("encoder"), "studio 5");
    EXPECT_EQ(kept.number_of("videodatarate"), 2500);
    EXPECT_EQ(*kept.find("colors"), colors);
    EXPECT_EQ(kept.number_of("width"), 640) << "the file knows better";
    EXPECT_EQ(kept.number_of("duration"), 0) << "the end fills it in";
    FileScan scan;
    scan_all(scan, bytes);
    ASSERT_EQ(scan.patches().size(), 1U);
}

TEST(FlvRecordingTest, LeavesOutMetadataThatCannotBeRead) {
    const Bytes whole = test::metadata(1);
    for (size_t size = 0; size < whole.size(); size++) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        Bytes bytes;
        write_file_beginning({.video = true, .metadata = cut}, bytes);
        EXPECT_EQ(metadata_of(bytes).text_of("encoder"), "weir") << size;
    }
}

TEST(FlvRecordingTest, DoesNotFillInMetadataOfOthers) {
    Bytes bytes(kFileHeaderSize);
    write_file_header(true, true, bytes.data());
    put_tag(bytes, kScriptTag, 0, test::metadata(1));
    put_tag(bytes, kVideoTag, 0, test::avc_frame(true, 1, 10));
    FileScan scan;
    scan_all(scan, bytes);
    EXPECT_EQ(scan.position(), bytes.size());
    EXPECT_TRUE(scan.patches().empty());
}

}  // namespace
}  // namespace weir::flv
