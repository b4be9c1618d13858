// What fragment.h writes is read again: tracks, configurations, samples.
#include "proto/mp4/sample_reader.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "media/opus.h"
#include "media/vp9.h"
#include "media/vpx_config.h"
#include "proto/mp4/fragment.h"

#include "test/support/codec_samples.h"

namespace weir::mp4 {
namespace {

using media::Codec;

const Bytes kAacConfig = {0x12, 0x10};  // LC, 44,100 Hz, stereo

Bytes header_of(std::span<const Track> tracks) {
    Bytes out;
    write_header(tracks, out, Length::kFilledIn);
    return out;
}

std::vector<Track> both() {
    return {*make_track(Codec::kH264, test::kAvcHighConfig, {}),
            *make_track(Codec::kAac, kAacConfig, {})};
}

// Three pictures, the second of which is shown last, and two audio frames.
Bytes fragment() {
    const Bytes one = {1, 1, 1, 1};
    const Bytes two = {2, 2};
    const std::array<SampleView, 3> video = {
        SampleView{.data = one, .duration = 3'600, .composition = 3'600},
        SampleView{.data = two, .duration = 3'600, .composition = 7'200, .key = false},
        SampleView{.data = one, .duration = 3'600, .composition = -3'600, .key = false}};
    const std::array<SampleView, 2> audio = {SampleView{.data = two, .duration = 1'024},
                                             SampleView{.data = two, .duration = 1'024}};
    const std::array<RunView, 2> runs = {
        RunView{.track_id = 1, .video = true, .decode_time = 180'000, .samples = video},
        RunView{.track_id = 2, .decode_time = 88'200, .samples = audio}};
    Bytes out;
    write_fragment(1, runs, out);
    return out;
}

TEST(Mp4SampleReaderTest, TracksAreThoseThatWereWritten) {
    const std::vector<StoredTrack> tracks = read_tracks(header_of(both()));
    ASSERT_EQ(tracks.size(), 2U);
    EXPECT_EQ(tracks[0].codec, Codec::kH264);
    EXPECT_EQ(tracks[0].config, test::kAvcHighConfig);
    EXPECT_TRUE(tracks[0].video);
    EXPECT_EQ(tracks[0].timescale, 90'000U);
    EXPECT_GT(tracks[0].width, 0U);
    EXPECT_EQ(tracks[1].codec, Codec::kAac);
    EXPECT_EQ(tracks[1].config, kAacConfig);
    EXPECT_EQ(tracks[1].timescale, 44'100U);
}

TEST(Mp4SampleReaderTest, ConfigurationsOfAllCodecsComeBack) {
    const Bytes vp9 =
        media::build_vpx_config(media::vpx_config_of(*media::vp9::parse_frame(test::kVp9Key)));
    const Bytes opus = media::opus::build_head(2);
    const std::vector<std::pair<Codec, Bytes>> all = {
        {Codec::kAv1, test::kAv1Config}, {Codec::kVp9, vp9}, {Codec::kOpus, opus}};
    for (const auto& [codec, config] : all) {
        const auto track =
            make_track(codec, config, codec == Codec::kVp9 ? test::kVp9Key : Bytes());
        ASSERT_TRUE(track) << media::to_string(codec);
        const auto read = read_tracks(header_of(std::array{*track}));
        ASSERT_EQ(read.size(), 1U);
        EXPECT_EQ(read[0].codec, codec);
        EXPECT_EQ(read[0].config, config) << media::to_string(codec);
    }
}

TEST(Mp4SampleReaderTest, SamplesComeInOrderOfDecoding) {
    const Bytes bytes = fragment();
    const auto samples = read_samples(bytes, read_tracks(header_of(both())));
    ASSERT_TRUE(samples);
    ASSERT_EQ(samples->size(), 5U);
    std::vector<std::pair<size_t, int64_t>> order;
    for (const StoredSample& sample : *samples) {
        order.emplace_back(sample.track, sample.time_ms);
    }
    const std::vector<std::pair<size_t, int64_t>> expected = {
        {0, 2'000}, {1, 2'000}, {1, 2'023}, {0, 2'040}, {0, 2'080}};
    EXPECT_EQ(order, expected);
    EXPECT_TRUE(samples->front().key);
    EXPECT_EQ(samples->front().composition_ms, 40);
    EXPECT_EQ((*samples)[3].composition_ms, 80);
    EXPECT_FALSE((*samples)[3].key);
    EXPECT_EQ(samples->back().composition_ms, -40);
    EXPECT_EQ(bytes[samples->front().offset], 1);
    EXPECT_EQ(samples->front().size, 4U);
    EXPECT_EQ(bytes[(*samples)[3].offset], 2);
}

TEST(Mp4SampleReaderTest, AFragmentSaysHowLongItIs) {
    const Bytes bytes = fragment();
    const size_t moof = moof_size(bytes);
    ASSERT_GT(moof, 0U);
    const auto size = fragment_size(moof, ByteSpan(bytes).subspan(moof));
    ASSERT_TRUE(size);
    EXPECT_EQ(size->whole, bytes.size());
    EXPECT_EQ(moof_size(header_of(both())), 0U);
    EXPECT_FALSE(fragment_size(0, bytes));
}

TEST(Mp4SampleReaderTest, AFragmentThatIsCutOffIsRefused) {
    const Bytes bytes = fragment();
    const auto tracks = read_tracks(header_of(both()));
    for (size_t size = 0; size < bytes.size(); size++) {
        EXPECT_FALSE(read_samples(ByteSpan(bytes).first(size), tracks)) << size;
    }
}

TEST(Mp4SampleReaderTest, SamplesOfTracksThatAreNotKnownAreLeftOut) {
    const auto samples = read_samples(fragment(), read_tracks(header_of(std::array{both()[0]})));
    ASSERT_TRUE(samples);
    EXPECT_EQ(samples->size(), 3U);
}

TEST(Mp4SampleReaderTest, SamplesThatAreLeftOutCountAsWell) {
    const Bytes data = {1};
    const std::vector<SampleView> samples(kMaxStoredSamples / 2 + 1, SampleView{.data = data});
    const std::vector<RunView> runs = {{.track_id = 1, .samples = samples},
                                       {.track_id = 2, .samples = samples}};
    Bytes one;
    write_fragment(1, std::span(runs).first(1), one);
    EXPECT_TRUE(read_samples(one, {}));
    Bytes two;
    write_fragment(1, runs, two);
    EXPECT_FALSE(read_samples(two, {}));
}

TEST(Mp4SampleReaderTest, TimesAreBounded) {
    const Bytes data = {1};
    const std::array<SampleView, 1> samples = {SampleView{.data = data}};
    const std::array<RunView, 1> runs = {
        RunView{.track_id = 1, .decode_time = uint64_t{1} << 60, .samples = samples}};
    Bytes bytes;
    write_fragment(1, runs, bytes);
    const auto read = read_samples(
        bytes,
        std::array{StoredTrack{.id = 1, .codec = Codec::kMp3, .timescale = 1, .config = {}}});
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 1U);
    EXPECT_LE(read->front().time_ms, int64_t{1} << 40);
}

TEST(Mp4SampleReaderTest, AHeaderThatIsCutOffHasNoTracks) {
    const Bytes bytes = header_of(both());
    for (size_t size = 0; size < bytes.size(); size++) {
        EXPECT_TRUE(read_tracks(ByteSpan(bytes).first(size)).empty()) << size;
    }
}

}  // namespace
}  // namespace weir::mp4
