#include "bench/load/core/media_file.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/flv/tag.h"

#include "test/support/source_file.h"

namespace weir::load {
namespace {

using media::TrackKind;
using testing::HasSubstr;

struct FlvTag {
    uint8_t type;
    uint32_t time;
    Bytes body;
};

const Bytes kAvcConfig = {0x17, 0, 0, 0, 0, 1, 66, 0xC0, 40, 0xFF, 0xE0, 0};
const Bytes kKey = {0x17, 1, 0, 0, 0, 0, 0, 0, 1, 0x65};
const Bytes kInter = {0x27, 1, 0, 0, 0, 0, 0, 0, 1, 0x41};
const Bytes kAac = {0xAF, 1, 1, 2, 3};

Bytes flv(const std::vector<FlvTag>& tags) {
    Bytes out(flv::kFileHeaderSize);
    flv::write_file_header(true, true, out.data());
    for (const FlvTag& tag : tags) {
        auto size = static_cast<uint32_t>(tag.body.size());
        size_t at = out.size();
        out.resize(at + flv::tag_size(size));
        flv::write_tag_header(tag.type, tag.time, size, out.data() + at);
        std::copy(tag.body.begin(), tag.body.end(),
                  out.begin() + static_cast<ptrdiff_t>(at + flv::kTagHeaderSize));
        flv::write_tag_trailer(size, out.data() + at + flv::kTagHeaderSize + size);
    }
    return out;
}

Result<std::shared_ptr<const MediaFile>> parse(const Bytes& bytes) {
    return MediaFile::parse(std::make_unique<MemorySource>(bytes));
}

std::string error_of(const Bytes& bytes) {
    auto file = parse(bytes);
    return file.ok() ? "no error" : std::string(file.error().message());
}

const std::vector<FlvTag> kTags = {{9, 0, kAvcConfig}, {8, 0, {0xAF, 0, 0x12, 0x10}},
                                   {9, 1000, kKey},    {8, 1003, kAac},
                                   {9, 1040, kInter},  {8, 1026, kAac},
                                   {9, 1080, kInter}};

TEST(MediaFileTest, FlvTagsBecomeFramesFromTimeZero) {
    auto parsed = parse(flv(kTags));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    const MediaFile& file = **parsed;
    ASSERT_EQ(file.frames().size(), 5u);
    std::vector<int64_t> times;
    for (const FileFrame& frame : file.frames()) {
        times.push_back(frame.time_ms);
    }
    EXPECT_EQ(times, (std::vector<int64_t>{0, 3, 26, 40, 80}));  // sorted, though the file was not
    EXPECT_EQ(file.period_ms(), 120);
    EXPECT_EQ(file.video().config, kAvcConfig);
    Bytes body;
    ASSERT_FALSE(file.read(file.frames()[3], body));
    EXPECT_EQ(body, kInter);
    EXPECT_NEAR(file.bits_per_second(), (10 * 3 + 5 * 2) * 8 / 0.120, 1);
}

TEST(MediaFileTest, BeginsWithAKeyFrame) {
    auto parsed = parse(flv({{9, 0, kAvcConfig},
                             {9, 0, kInter},
                             {8, 20, kAac},
                             {9, 40, kInter},
                             {9, 80, kKey},
                             {8, 90, kAac}}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    ASSERT_EQ((*parsed)->frames().size(), 2u);
    EXPECT_TRUE((*parsed)->frames()[0].key);
    EXPECT_EQ((*parsed)->frames()[1].time_ms, 10);
}

TEST(MediaFileTest, TheLastPictureIsOverBeforeTheFileRepeats) {
    Bytes late = kInter;
    late[4] = 120;  // shown after two that were cut off
    auto parsed = parse(flv({{9, 0, kKey}, {9, 40, kInter}, {9, 80, late}}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ((*parsed)->period_ms(), 80 + 120 + 40);
}

TEST(MediaFileTest, SoundThatIsLongerThanThePictureIsCut) {
    std::vector<FlvTag> tags = {{9, 0, kKey}, {9, 40, kInter}};
    for (uint32_t time = 10; time < 200; time += 20) {
        tags.push_back({8, time, kAac});
    }
    auto parsed = parse(flv(tags));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ((*parsed)->period_ms(), 80);
    EXPECT_EQ((*parsed)->frames().back().time_ms, 70);  // the next turn's first is at 90
}

TEST(MediaFileTest, SoundAloneIsAFile) {
    auto parsed = parse(flv({{8, 0, kAac}, {8, 23, kAac}}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_FALSE((*parsed)->video().present);
    EXPECT_EQ((*parsed)->period_ms(), 46);
}

TEST(MediaFileTest, SaysWhatIsWrongAndWhere) {
    EXPECT_THAT(error_of(Bytes(100, 'x')),
                HasSubstr("at byte 0: expected 'FLV' or the box 'ftyp'"));
    EXPECT_THAT(error_of(Bytes(3, 'x')), HasSubstr("3 bytes only"));
    EXPECT_THAT(error_of(flv({})), HasSubstr("no frame"));
    EXPECT_THAT(error_of(flv({{9, 0, kInter}})), HasSubstr("no key frame among 1 frames"));
    EXPECT_THAT(error_of(flv({{9, 100, kKey}, {9, 50, kInter}})),
                HasSubstr("tag at byte 38: its time is 50 ms, expected at least the 100 ms"));
    Bytes other = kAvcConfig;
    other.back() = 1;
    EXPECT_THAT(error_of(flv({{9, 0, kAvcConfig}, {9, 0, other}})),
                HasSubstr("another codec configuration"));
    Bytes bad_trailer = flv(kTags);
    bad_trailer.back() = 99;
    EXPECT_THAT(error_of(bad_trailer), HasSubstr("FLV tag at byte"));
}

TEST(MediaFileTest, CutInsideATagItIsAnError) {
    Bytes file = flv(kTags);
    std::vector<size_t> whole = {flv::kFileHeaderSize};
    for (const FlvTag& tag : kTags) {
        whole.push_back(whole.back() + flv::tag_size(tag.body.size()));
    }
    for (size_t size = 0; size < file.size(); size++) {
        auto parsed = parse(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)));
        bool at_end_of_tag = std::count(whole.begin() + 3, whole.end(), size) > 0;
        EXPECT_EQ(parsed.ok(), at_end_of_tag) << size;
    }
}

TEST(MediaFileTest, ReadInBlocksItIsTheSameAsFromMemory) {
    std::string path = test::source_file("../doc/sample.flv");
    auto in_memory = MediaFile::open(path);
    ASSERT_TRUE(in_memory.ok()) << in_memory.error().message();
    auto source = open_source(path, 0);
    ASSERT_TRUE(source.ok());
    auto from_disk = MediaFile::parse(std::move(*source));
    ASSERT_TRUE(from_disk.ok()) << from_disk.error().message();
    ASSERT_EQ((*in_memory)->frames().size(), (*from_disk)->frames().size());
    Bytes one;
    Bytes other;
    for (size_t i = 0; i < (*in_memory)->frames().size(); i++) {
        ASSERT_FALSE((*in_memory)->read((*in_memory)->frames()[i], one));
        ASSERT_FALSE((*from_disk)->read((*from_disk)->frames()[i], other));
        ASSERT_EQ(one, other) << i;
    }
    EXPECT_EQ((*in_memory)->description().width, 640u);
}

TEST(MediaFileTest, ThePathIsInTheError) {
    auto file = MediaFile::open("/nonexistent/clip.flv");
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(std::string(file.error().message()), HasSubstr("/nonexistent/clip.flv"));
    EXPECT_FALSE(MediaFile::open("/").ok());
}

TEST(ByteSourceTest, ReadsNothingBehindItsEnd) {
    MemorySource source({1, 2, 3});
    Bytes out(2);
    EXPECT_FALSE(source.read(1, out));
    EXPECT_EQ(out, (Bytes{2, 3}));
    EXPECT_TRUE(source.read(2, out));
    EXPECT_TRUE(source.read(UINT64_MAX, out));
}

}  // namespace
}  // namespace weir::load
