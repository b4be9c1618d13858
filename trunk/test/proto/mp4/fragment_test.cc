// Headers and fragments as a reader of boxes sees them. That decoders take them is shown by
// trunk/test/e2e/hls/test_hls.py.
#include "proto/mp4/fragment.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/hevc.h"
#include "media/opus.h"
#include "media/vp9.h"
#include "media/vpx_config.h"
#include "proto/mp4/codec_string.h"

#include "test/support/codec_samples.h"

namespace weir::mp4 {
namespace {

using media::Codec;
using testing::ElementsAre;

// Paths of all boxes, "moov/trak/mdia", in order; and the content of each (the last of its path).
class Boxes {
  public:
    explicit Boxes(ByteSpan bytes) { walk("", bytes); }

    std::vector<std::string> paths;
    std::map<std::string, Bytes> content;

  private:
    void walk(const std::string& above, ByteSpan bytes) {
        ByteReader reader(bytes);
        while (!reader.empty()) {
            const uint32_t size = reader.u32();
            const std::string path = above + std::string(as_text(reader.take(4)));
            ASSERT_GE(size, 8U) << path;
            const ByteSpan inner = reader.take(size - 8);
            ASSERT_TRUE(reader.ok()) << path;
            paths.push_back(path);
            content[path] = Bytes(inner.begin(), inner.end());
            for (const char* parent :
                 {"moov", "trak", "mdia", "minf", "stbl", "dinf", "mvex", "moof", "traf"}) {
                if (path.ends_with(parent)) {
                    walk(path + "/", inner);
                }
            }
        }
    }
};

std::string type_of(const Track& track) {
    return std::string(as_text(ByteSpan(track.entry).subspan(4, 4)));
}

const Bytes kAacConfig = {0x12, 0x10};  // LC, 44,100 Hz, stereo

Track aac() {
    return *make_track(Codec::kAac, kAacConfig, {});
}

Track avc() {
    return *make_track(Codec::kH264, test::kAvcHighConfig, {});
}

TEST(Mp4TrackTest, VideoHasItsSizeAndRecord) {
    const Track track = avc();
    EXPECT_EQ(type_of(track), "avc1");
    EXPECT_EQ(track.width, test::kSampleWidth);
    EXPECT_EQ(track.height, test::kSampleHeight);
    EXPECT_EQ(track.timescale, kVideoTimescale);
    EXPECT_TRUE(track.video);
    EXPECT_TRUE(as_text(track.entry).ends_with(as_text(test::kAvcHighConfig)));
    const auto av1 = make_track(Codec::kAv1, test::kAv1Config, {});
    ASSERT_TRUE(av1);
    EXPECT_EQ(type_of(*av1), "av01");
    EXPECT_EQ(av1->width, test::kSampleWidth);
}

TEST(Mp4TrackTest, SizesOfVpxAreThoseOfTheKeyFrame) {
    const auto key = media::vp9::parse_frame(test::kVp9Key);
    ASSERT_TRUE(key);
    const Bytes config = media::build_vpx_config(media::vpx_config_of(*key));
    const auto track = make_track(Codec::kVp9, config, test::kVp9Key);
    ASSERT_TRUE(track);
    EXPECT_EQ(type_of(*track), "vp09");
    EXPECT_EQ(track->width, test::kSampleWidth);
    EXPECT_FALSE(make_track(Codec::kVp9, config, test::kVp9Inter));
}

TEST(Mp4TrackTest, AudioCountsInItsSamples) {
    const Track track = aac();
    EXPECT_EQ(type_of(track), "mp4a");
    EXPECT_EQ(track.timescale, 44'100U);
    EXPECT_EQ(track.channels, 2);
    EXPECT_EQ(audio_duration(track, kAacConfig, {}), 1'024U);
    const Bytes head = media::opus::build_head(1);
    const auto opus = make_track(Codec::kOpus, head, {});
    ASSERT_TRUE(opus);
    EXPECT_EQ(opus->timescale, 48'000U);
    EXPECT_EQ(opus->channels, 1);
    EXPECT_EQ(audio_duration(*opus, head, Bytes{0x08}), 960U);  // one SILK frame of 20 ms
}

// MPEG-1 layer III, 128 kbit/s, 44,100 Hz, stereo.
TEST(Mp4TrackTest, Mp3DescribesItself) {
    Bytes frame = {0xFF, 0xFB, 0x90, 0x00};
    frame.resize(417);
    const auto track = make_track(Codec::kMp3, {}, frame);
    ASSERT_TRUE(track);
    EXPECT_EQ(track->timescale, 44'100U);
    EXPECT_EQ(audio_duration(*track, {}, frame), 1'152U);
    frame.insert(frame.end(), frame.begin(), frame.begin() + 417);
    EXPECT_EQ(audio_duration(*track, {}, frame), 2'304U);
}

// 48,000 Hz, 192 kbit/s, 3/2 with LFE, as ffmpeg's encoder begins its frames; the boxes are those
// of ffmpeg's muxer.
TEST(Mp4TrackTest, Ac3DescribesItself) {
    const Bytes frame = test::from_hex("0b77 0000 14 40 e1 dd");
    const auto track = make_track(Codec::kAc3, {}, frame);
    ASSERT_TRUE(track);
    EXPECT_EQ(track->timescale, 48'000U);
    EXPECT_EQ(track->channels, 6);
    const std::string_view entry = as_text(track->entry);
    ASSERT_NE(entry.find("dac3"), std::string_view::npos);
    EXPECT_EQ(entry.size(), entry.find("dac3") + 4 + 3);
}

TEST(Mp4TrackTest, RefusesWhatCannotBeRead) {
    for (const Codec codec : {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp8, Codec::kVp9,
                              Codec::kAac, Codec::kMp3, Codec::kAc3, Codec::kEac3}) {
        EXPECT_TRUE(carries(codec));
        EXPECT_FALSE(make_track(codec, {}, {}));
        EXPECT_FALSE(make_track(codec, Bytes{0, 0, 0, 0}, Bytes{0, 0, 0, 0}));
    }
    EXPECT_FALSE(carries(Codec::kG711A));
    EXPECT_FALSE(make_track(Codec::kSpeex, {}, {}));
}

TEST(Mp4TrackTest, Av1SamplesHaveNoTemporalDelimiter) {
    const Bytes unit = test::from_hex("1200 0a0b000000043d06c4daf90040");
    EXPECT_EQ(sample_of(Codec::kAv1, unit).size(), unit.size() - 2);
    EXPECT_EQ(sample_of(Codec::kH264, unit).size(), unit.size());
    EXPECT_EQ(sample_of(Codec::kAv1, {}).size(), 0U);
}

TEST(Mp4CodecStringTest, NamesEachCodec) {
    EXPECT_EQ(codec_string(Codec::kH264, test::kAvcHighConfig), "avc1.640014");
    EXPECT_EQ(codec_string(Codec::kH264, test::kAvcBaselineConfig), "avc1.42C01E");
    const std::array<ByteSpan, 1> vps = {test::kHevcVps};
    const std::array<ByteSpan, 1> sps = {test::kHevcSps};
    const std::array<ByteSpan, 1> pps = {test::kHevcPps};
    EXPECT_EQ(codec_string(Codec::kHevc, media::hevc::build_config(vps, sps, pps)),
              "hvc1.1.6.L60.90");
    EXPECT_EQ(codec_string(Codec::kAv1, test::kAv1Config), "av01.0.00M.08");
    EXPECT_EQ(codec_string(Codec::kAac, kAacConfig), "mp4a.40.2");
    EXPECT_EQ(codec_string(Codec::kMp3, {}), "mp4a.40.34");
    EXPECT_EQ(codec_string(Codec::kOpus, {}), "Opus");
    EXPECT_EQ(codec_string(Codec::kAc3, {}), "ac-3");
    EXPECT_EQ(codec_string(Codec::kEac3, {}), "ec-3");
    EXPECT_EQ(codec_string(Codec::kH264, {}), "");
    EXPECT_EQ(codec_string(Codec::kG711U, {}), "");
}

TEST(Mp4FragmentTest, TheHeaderHasATrackForEach) {
    Bytes bytes;
    const std::array<Track, 2> tracks = {avc(), aac()};
    write_header(tracks, bytes);
    const Boxes boxes(bytes);
    EXPECT_EQ(boxes.paths.front(), "ftyp");
    EXPECT_EQ(std::ranges::count(boxes.paths, "moov/trak"), 2);
    EXPECT_EQ(std::ranges::count(boxes.paths, "moov/mvex/trex"), 2);
    EXPECT_EQ(std::ranges::count(boxes.paths, "moov/trak/mdia/minf/vmhd"), 1);
    EXPECT_EQ(std::ranges::count(boxes.paths, "moov/trak/mdia/minf/smhd"), 1);
    EXPECT_EQ(boxes.content.at("moov/mvhd").size(), 100U);
    EXPECT_EQ(boxes.content.at("moov/trak/tkhd").size(), 84U);
}

// ISO/IEC 14496-12 §8.16.5, version 1.
TEST(Mp4FragmentTest, AReferenceTimeHasItsTrackAndBothTimes) {
    Bytes bytes;
    write_reference_time(2, 0x0123456789ABCDEF, uint64_t{1} << 33, bytes);
    EXPECT_EQ(bytes, test::from_hex("00000020707266740100000000000002"
                                    "0123456789abcdef0000000200000000"));
}

TEST(Mp4FragmentTest, RunsPointToTheirBytes) {
    const Bytes key = {1, 2, 3, 4, 5};
    const Bytes other = {6, 7};
    const Bytes sound = {8, 9, 10};
    const std::array<SampleView, 2> video = {SampleView{key, 3'600, 7'200, true},
                                             SampleView{other, 3'600, -3'600, false}};
    const std::array<SampleView, 1> audio = {SampleView{sound, 1'024}};
    const std::array<RunView, 3> runs = {RunView{1, true, uint64_t{1} << 33, video},
                                         RunView{2, false, 44'100, audio},
                                         RunView{3, false, 0, {}}};
    Bytes bytes = {0xEE};  // what stands before does not count
    write_fragment(9, runs, bytes);
    const ByteSpan fragment = ByteSpan(bytes).subspan(1);
    const Boxes boxes(fragment);
    EXPECT_THAT(boxes.paths,
                ElementsAre("moof", "moof/mfhd", "moof/traf", "moof/traf/tfhd", "moof/traf/tfdt",
                            "moof/traf/trun", "moof/traf", "moof/traf/tfhd", "moof/traf/tfdt",
                            "moof/traf/trun", "mdat"));
    EXPECT_EQ(boxes.content.at("mdat"), (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    // Of the audio: version and flags, count, offset, duration, size.
    ByteReader trun(boxes.content.at("moof/traf/trun"));
    EXPECT_EQ(trun.u32(), 0x01000301U);
    EXPECT_EQ(trun.u32(), 1U);
    EXPECT_THAT(fragment.subspan(trun.u32(), 3), testing::ElementsAreArray(sound));
    EXPECT_EQ(trun.u32(), 1'024U);
    EXPECT_EQ(trun.u32(), 3U);
    // Of the video, behind the first tfdt: negative composition times, and which frame is a key.
    const std::string_view all = as_text(fragment);
    const size_t at = all.find("trun") + 4;
    ByteReader first(fragment.subspan(at));
    EXPECT_EQ(first.u32(), 0x01000F01U);
    EXPECT_EQ(first.u32(), 2U);
    EXPECT_THAT(fragment.subspan(first.u32(), 5), testing::ElementsAreArray(key));
    first.skip(8);
    EXPECT_EQ(first.u32(), 0x02000000U);
    EXPECT_EQ(first.u32(), 7'200U);
    first.skip(8);
    EXPECT_EQ(first.u32(), 0x01010000U);
    EXPECT_EQ(static_cast<int32_t>(first.u32()), -3'600);
    ByteReader tfdt(fragment.subspan(all.find("tfdt") + 4));
    EXPECT_EQ(tfdt.u32(), 0x01000000U);
    EXPECT_EQ(tfdt.u64(), uint64_t{1} << 33);
}

// §8.3.2: what a tkhd says first, its flags, and its alternate_group.
TEST(Mp4HeaderTest, OfSeveralAudioTracksTheFirstOneIsPlayed) {
    const std::array tracks = {avc(), aac(), aac()};
    Bytes several;
    write_header(tracks, several);
    Bytes one;
    write_header(std::span(tracks).first(2), one);
    const auto said = [](ByteSpan header) {
        std::vector<std::pair<uint32_t, int>> out;
        const std::string_view text = as_text(header);
        for (size_t at = text.find("tkhd"); at != text.npos; at = text.find("tkhd", at + 1)) {
            ByteReader reader(header.subspan(at + 4));
            const uint32_t flags = reader.u32();
            reader.skip(30);
            out.emplace_back(flags, reader.u16());
        }
        return out;
    };
    using Said = std::pair<uint32_t, int>;
    EXPECT_THAT(said(several), ElementsAre(Said{3, 0}, Said{3, 1}, Said{2, 1}));
    EXPECT_THAT(said(one), ElementsAre(Said{3, 0}, Said{3, 0}));
}

}  // namespace
}  // namespace weir::mp4
