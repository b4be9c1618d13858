#include "bench/load/core/mp4_file.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/bench/core/mp4_builder.h"

namespace weir::load {
namespace {

using media::Codec;
using media::TrackKind;
using testing::HasSubstr;

Result<std::shared_ptr<const MediaFile>> parse(const Bytes& bytes) {
    return MediaFile::parse(std::make_unique<MemorySource>(bytes));
}

std::string error_of(const Bytes& bytes) {
    auto file = parse(bytes);
    return file.ok() ? "no error" : std::string(file.error().message());
}

std::vector<int64_t> times(const MediaFile& file, TrackKind kind) {
    std::vector<int64_t> out;
    for (const FileFrame& frame : file.frames()) {
        if (frame.kind == kind) {
            out.push_back(frame.time_ms);
        }
    }
    return out;
}

TEST(Mp4FileTest, GivesFramesOfBothTracksInOrderOfTheirTime) {
    auto parsed = parse(mp4_file({video_track(), audio_track()}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    const MediaFile& file = **parsed;
    EXPECT_EQ(file.video().codec, Codec::kH264);
    EXPECT_EQ(file.audio().codec, Codec::kAac);
    EXPECT_EQ(times(file, TrackKind::kVideo), (std::vector<int64_t>{0, 40, 80, 120}));
    EXPECT_EQ(times(file, TrackKind::kAudio), (std::vector<int64_t>{0, 23, 46}));
    EXPECT_TRUE(std::is_sorted(
        file.frames().begin(), file.frames().end(),
        [](const FileFrame& a, const FileFrame& b) { return a.time_ms < b.time_ms; }));
    EXPECT_EQ(file.period_ms(), 160);
    EXPECT_EQ(file.description().width, 640u);
    EXPECT_EQ(file.description().height, 360u);
    EXPECT_EQ(file.description().frame_rate, 25);
}

TEST(Mp4FileTest, FramesAreBodiesOfMessages) {
    auto parsed = parse(mp4_file({video_track(), audio_track()}));
    ASSERT_TRUE(parsed.ok());
    std::vector<Bytes> video;
    std::vector<Bytes> audio;
    for (const FileFrame& frame : (*parsed)->frames()) {
        auto& out = frame.kind == TrackKind::kVideo ? video : audio;
        ASSERT_FALSE((*parsed)->read(frame, out.emplace_back()));
    }
    ASSERT_EQ(video.size(), 4u);
    EXPECT_EQ(Bytes(video[0].begin(), video[0].begin() + 7), (Bytes{0x17, 1, 0, 0, 80, 0, 1}));
    EXPECT_EQ(video[0].size(), 35u);
    EXPECT_EQ(Bytes(video[1].begin(), video[1].begin() + 7), (Bytes{0x27, 1, 0, 0, 80, 30, 31}));
    EXPECT_EQ(video[2][5], 40);  // the second chunk
    EXPECT_EQ(audio[0], (Bytes{0xAF, 1, 66, 67, 68, 69, 70, 71, 72}));
    EXPECT_EQ(audio[2][2], 66 + 7 + 8);
    EXPECT_EQ((*parsed)->audio().config, (Bytes{0xAF, 0, 0x12, 0x10}));
    EXPECT_EQ((*parsed)->video().config, (Bytes{0x17, 0, 0, 0, 0, 1, 66, 0xC0, 40, 0xFF, 0xE0, 0}));
}

TEST(Mp4FileTest, HevcAndAv1GoByEnhancedRtmp) {
    Mp4Track hevc = video_track();
    hevc.entry = "hev1";
    hevc.config_box = "hvcC";
    auto parsed = parse(mp4_file({hevc}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    Bytes body;
    ASSERT_FALSE((*parsed)->read((*parsed)->frames()[0], body));
    EXPECT_EQ(Bytes(body.begin(), body.begin() + 9),
              (Bytes{0x91, 'h', 'v', 'c', '1', 0, 0, 80, 0}));
    ASSERT_FALSE((*parsed)->read((*parsed)->frames()[1], body));
    EXPECT_EQ(body[0], 0xA1);
    EXPECT_EQ((*parsed)->video().config[0], 0x90);

    Mp4Track av1 = video_track();
    av1.entry = "av01";
    av1.config_box = "av1C";
    parsed = parse(mp4_file({av1}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    ASSERT_FALSE((*parsed)->read((*parsed)->frames()[0], body));
    EXPECT_EQ(Bytes(body.begin(), body.begin() + 6), (Bytes{0x91, 'a', 'v', '0', '1', 0}));
}

TEST(Mp4FileTest, NegativeCompositionOffsetsAreKept) {
    Mp4Track track = video_track();
    track.compositions = words({0x01000000, 2, 1, 1000, 3, static_cast<uint32_t>(-1000)});
    auto parsed = parse(mp4_file({track}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ((*parsed)->frames()[0].composition_ms, 40);
    EXPECT_EQ((*parsed)->frames()[1].composition_ms, -40);
    Bytes body;
    ASSERT_FALSE((*parsed)->read((*parsed)->frames()[1], body));
    EXPECT_EQ(Bytes(body.begin() + 2, body.begin() + 5), (Bytes{0xFF, 0xFF, 0xD8}));
}

TEST(Mp4FileTest, EditsMoveATrackAgainstTheOther) {
    Mp4Track video = video_track();
    video.edits = words({0, 1, 0, 2000, 0x10000});  // 80 ms of media time are skipped
    auto parsed = parse(mp4_file({video, audio_track()}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ(times(**parsed, TrackKind::kVideo), (std::vector<int64_t>{0, 40, 80, 120}));
    EXPECT_EQ(times(**parsed, TrackKind::kAudio), (std::vector<int64_t>{80, 103, 126}));

    Mp4Track audio = audio_track();  // begins 500 ms later
    audio.edits = words({0, 2, 500, 0xFFFFFFFF, 0x10000, 0, 0, 0x10000});
    parsed = parse(mp4_file({video_track(), audio}));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ(times(**parsed, TrackKind::kAudio), (std::vector<int64_t>{500, 523, 546}));
}

TEST(Mp4FileTest, WideChunkOffsetsAndLargeBoxesAreRead) {
    Bytes file = mp4_file({video_track()});
    Bytes wide = file;
    // The movie with a 64-bit size: the last box of the file.
    auto movie_at =
        std::search(wide.begin(), wide.end(), std::begin("moov"), std::begin("moov") + 4);
    auto at = static_cast<size_t>(movie_at - wide.begin()) - 4;
    Bytes size;
    ByteWriter(size).u64(wide.size() - at + 8);
    wide.insert(wide.begin() + static_cast<ptrdiff_t>(at) + 8, size.begin(), size.end());
    store_u32(wide.data() + at, 1);
    EXPECT_TRUE(parse(wide).ok()) << error_of(wide);
    store_u32(file.data() + at, 0);  // to the end of the file
    EXPECT_TRUE(parse(file).ok()) << error_of(file);
}

// A fragment of both tracks: three video samples that say all of themselves, two of sound that say
// nothing, and the media data behind. `time`: of the video.
std::vector<Bytes> fragment(uint32_t time) {
    auto build = [&](uint32_t data_offset) {
        Bytes video_run = words({0x01000F05, 3, data_offset, 0, 1000, 10, 0, 2000, 1000, 6, 0x10000,
                                 0xFFFFFC18, 1000, 4, 0x10000, 0});
        return box("moof",
                   {box("mfhd", {words({0, 1})}),
                    box("traf", {box("tfhd", {words({0x020000, 1})}),
                                 box("tfdt", {words({0, time})}), box("trun", {video_run})}),
                    box("traf", {box("tfhd", {words({0x020008, 2, 1024})}),
                                 box("trun", {words({0x000001, 2, data_offset + 20})})})});
    };
    auto size = static_cast<uint32_t>(build(0).size());
    Bytes data(30);
    for (size_t i = 0; i < data.size(); i++) {
        data[i] = static_cast<uint8_t>(i);
    }
    return {build(size + 8), box("mdat", {data})};
}

std::vector<Bytes> two_fragments() {
    std::vector<Bytes> rest = fragment(0);
    for (const Bytes& each : fragment(3000)) {
        rest.push_back(each);
    }
    return rest;
}

TEST(Mp4FileTest, FragmentsFollowOneAnother) {
    auto parsed = parse(fragmented_file({video_track(), audio_track()}, two_fragments()));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    const MediaFile& file = **parsed;
    EXPECT_EQ(times(file, TrackKind::kVideo), (std::vector<int64_t>{0, 40, 80, 120, 160, 200}));
    EXPECT_EQ(times(file, TrackKind::kAudio), (std::vector<int64_t>{0, 23, 46, 70}));
    std::vector<bool> keys;
    std::vector<int32_t> compositions;
    Bytes body;
    for (const FileFrame& frame : file.frames()) {
        ASSERT_FALSE(file.read(frame, body));
        if (frame.kind == TrackKind::kAudio) {
            EXPECT_EQ(body.size(), 2u + 5u);  // the default size
            EXPECT_GE(body[2], 20);
        } else {
            keys.push_back(frame.key);
            compositions.push_back(frame.composition_ms);
            EXPECT_EQ(body[5], frame.key ? 0 : frame.size == 6 ? 10 : 16);
        }
    }
    EXPECT_EQ(keys, (std::vector<bool>{true, false, false, true, false, false}));
    EXPECT_EQ(compositions, (std::vector<int32_t>{80, -40, 0, 80, -40, 0}));
}

TEST(Mp4FileTest, BrokenFragmentsAreExplained) {
    std::vector<Bytes> back = fragment(3000);
    for (const Bytes& each : fragment(0)) {
        back.push_back(each);
    }
    EXPECT_THAT(error_of(fragmented_file({video_track()}, back)), HasSubstr("box 'tfdt' at byte"));
    EXPECT_THAT(error_of(fragmented_file({video_track()}, {fragment(0)[0]})),
                HasSubstr("within the file's"));
    EXPECT_THAT(error_of(fragmented_file({video_track()}, {})), HasSubstr("no frame"));
    Bytes file = fragmented_file({video_track()}, two_fragments());
    std::string_view type = "trun";
    auto at = std::search(file.begin(), file.end(), type.begin(), type.end());
    store_u32(&*at + 8, 0xFFFFFF);  // samples
    EXPECT_THAT(error_of(file), HasSubstr("expected 16777215 samples of 16 bytes"));
}

TEST(Mp4FileTest, DamagedFragmentsStayWithinTheirBounds) {
    Bytes file = fragmented_file({video_track(), audio_track()}, two_fragments());
    size_t accepted = 0;
    for (size_t at = 0; at < file.size(); at++) {
        for (uint8_t value : Bytes{0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            Bytes damaged = file;
            damaged[at] = value;
            auto parsed = parse(damaged);
            accepted += parsed.ok() ? 1U : 0U;
            Bytes body;
            for (size_t i = 0; parsed.ok() && i < (*parsed)->frames().size(); i++) {
                EXPECT_FALSE((*parsed)->read((*parsed)->frames()[i], body));
            }
        }
        auto cut = parse(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(at)));
        EXPECT_TRUE(!cut.ok() || !(*cut)->frames().empty());
    }
    EXPECT_GT(accepted, 0u);
}

TEST(Mp4FileTest, SaysWhatIsWrongAndWhere) {
    Mp4Track track = video_track();
    track.entry = "mp4v";
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("expected avc1, hvc1, hev1 or av01"));
    track = video_track();
    track.sizes = {30, 10, 12, 5000};
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("for sample 4"));
    track = video_track();
    track.times = words({0, 1, 3, 1000});
    EXPECT_THAT(error_of(mp4_file({track})),
                HasSubstr("expected the times of 4 samples, found those of 3"));
    track = video_track();
    track.chunk_runs = words({0, 1, 1, 1, 1});
    EXPECT_THAT(error_of(mp4_file({track})),
                HasSubstr("expected the places of 4 samples, found those of 2"));
    track = video_track();
    track.chunk_runs = words({0, 2, 1, 2, 1, 9, 2, 1});
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("chunk numbers that rise"));
    track = video_track();
    track.chunk_runs = words({0, 1, 1, 2, 2});
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("sample description 2"));
    track = video_track();
    track.keys = words({0, 1, 5});
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("expected numbers from 1 to 4, found 5"));
    track = video_track();
    track.keys = words({0, 0});
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("no key frame"));
    track = video_track();
    track.scale = 0;
    EXPECT_THAT(error_of(mp4_file({track})), HasSubstr("time scale above 0"));
    Mp4Track audio = audio_track();
    audio.config[11] = 0x6B;
    EXPECT_THAT(error_of(mp4_file({audio})), HasSubstr("object type 0x6b"));
    EXPECT_THAT(error_of(mp4_file({})), HasSubstr("no frame of audio or video"));
    EXPECT_THAT(error_of(box("ftyp", {words({0, 0})})), HasSubstr("expected a box 'moov'"));
}

TEST(Mp4FileTest, CountsThatTheBoxCannotHoldAreRefused) {
    for (std::string_view type : {"stts", "ctts", "stss", "stsc", "stco", "stsd"}) {
        Bytes file = mp4_file({video_track()});
        auto at = std::search(file.begin(), file.end(), type.begin(), type.end());
        ASSERT_NE(at, file.end());
        store_u32(&*at + 8, 0xFFFFFFFF);
        EXPECT_TRUE(type == "stsd" || !parse(file).ok()) << type;
    }
    Bytes file = mp4_file({video_track()});
    std::string_view type = "stsz";
    auto at = std::search(file.begin(), file.end(), type.begin(), type.end());
    store_u32(&*at + 8, 1);           // all of one size
    store_u32(&*at + 12, 4'000'000);  // and many
    EXPECT_THAT(error_of(file), HasSubstr("expected samples within the file's"));
}

TEST(Mp4FileTest, CutAnywhereItIsAnErrorAndNoMore) {
    Bytes file = mp4_file({video_track(), audio_track()});
    for (size_t size = 0; size < file.size(); size++) {
        EXPECT_FALSE(parse(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size))).ok())
            << size;
    }
}

TEST(Mp4FileTest, DamagedAnywhereItStaysWithinItsBounds) {
    Bytes edited_file = [] {
        Mp4Track video = video_track();
        video.edits = words({0, 1, 0, 2000, 0x10000});
        return mp4_file({video, audio_track()});
    }();
    size_t accepted = 0;
    for (size_t at = 0; at < edited_file.size(); at++) {
        for (uint8_t value : Bytes{0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            Bytes damaged = edited_file;
            damaged[at] = value;
            auto parsed = parse(damaged);
            accepted += parsed.ok() ? 1U : 0U;
            Bytes body;
            for (size_t i = 0; parsed.ok() && i < (*parsed)->frames().size(); i++) {
                EXPECT_FALSE((*parsed)->read((*parsed)->frames()[i], body));
            }
        }
    }
    EXPECT_GT(accepted, 0u);  // media data may be anything
}

}  // namespace
}  // namespace weir::load
