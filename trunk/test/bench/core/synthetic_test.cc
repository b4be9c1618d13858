#include "bench/load/core/synthetic.h"

#include <gtest/gtest.h>

#include "proto/flv/tag.h"

namespace weir::load {
namespace {

Stamp stamp_at(uint32_t sequence, uint16_t place) {
    return {1, 2, sequence, 1'000'000'007, 0, place};
}

// The NAL units of an AVCC body.
std::vector<Bytes> units_of(ByteSpan body) {
    std::vector<Bytes> units;
    ByteReader reader(body.subspan(5));
    while (reader.ok() && !reader.empty()) {
        ByteSpan unit = reader.take(reader.u32());
        units.emplace_back(unit.begin(), unit.end());
    }
    EXPECT_TRUE(reader.ok());
    return units;
}

// ISO 14496-10 §7.4.1: within a NAL unit these three bytes would need an escape.
bool needs_escape(const Bytes& unit) {
    for (size_t i = 0; i + 2 < unit.size(); i++) {
        if (unit[i] == 0 && unit[i + 1] == 0 && unit[i + 2] <= 3) {
            return true;
        }
    }
    return false;
}

TEST(SyntheticTest, VideoHasExactlyTheSizeAskedFor) {
    Bytes body;
    for (uint32_t size = kMinVideoSize; size < 3000; size++) {
        Stamp stamp = stamp_at(size, 1);
        build_video(body, size, stamp);
        ASSERT_EQ(body.size(), size);
    }
    for (uint32_t size = kMinKeySize; size < 3000; size++) {
        Stamp stamp = stamp_at(size, 0);
        build_video(body, size, stamp);
        ASSERT_EQ(body.size(), size);
    }
    for (uint32_t size : {65'535U, 65'536U, 1'000'000U, kMaxVideoSize}) {
        Stamp stamp = stamp_at(size, 0);
        build_video(body, size, stamp);
        ASSERT_EQ(body.size(), size);
    }
}

TEST(SyntheticTest, AudioHasExactlyTheSizeAskedFor) {
    Bytes body;
    for (uint32_t size = kMinAudioSize; size <= kMaxAudioSize; size++) {
        Stamp stamp = stamp_at(size, 0);
        build_audio(body, size, stamp);
        ASSERT_EQ(body.size(), size);
    }
}

TEST(SyntheticTest, AKeyFrameIsASeiUnitAndAnIdrPicture) {
    Bytes body;
    Stamp stamp = stamp_at(0, 0);
    build_video(body, 5000, stamp);
    auto units = units_of(body);
    ASSERT_EQ(units.size(), 2U);
    EXPECT_EQ(units[0][0] & 31, 6);
    EXPECT_EQ(units[1][0] & 31, 5);
    EXPECT_EQ(units[0].back(), 0x80);
}

TEST(SyntheticTest, NoUnitNeedsAnEscape) {
    Bytes body;
    for (uint16_t place = 0; place < 40; place++) {
        Stamp stamp = stamp_at(place, place);
        build_video(body, 700 + place, stamp);
        for (const Bytes& unit : units_of(body)) {
            EXPECT_FALSE(needs_escape(unit)) << place;
        }
    }
}

TEST(SyntheticTest, NeighbouringKeyFramesDifferInTheirIdrNumber) {
    ByteSpan even = picture_unit(stamp_at(0, 0));
    ByteSpan odd = picture_unit(stamp_at(1, 0));
    EXPECT_NE(Bytes(even.begin(), even.end()), Bytes(odd.begin(), odd.end()));
}

TEST(SyntheticTest, BodiesAreWhatAnFlvReaderExpects) {
    auto expect_info = [](media::TrackKind kind, const Bytes& body, media::Codec codec, bool key,
                          bool config) {
        auto info = flv::parse_tag_body(kind, body);
        ASSERT_TRUE(info.has_value());
        EXPECT_EQ(info->codec, codec);
        EXPECT_EQ(info->key, key);
        EXPECT_EQ(info->config, config);
    };
    Bytes body;
    Stamp key = stamp_at(0, 0);
    build_video(body, 1000, key);
    expect_info(media::TrackKind::kVideo, body, media::Codec::kH264, true, false);
    Stamp other = stamp_at(1, 1);
    build_video(body, 1000, other);
    expect_info(media::TrackKind::kVideo, body, media::Codec::kH264, false, false);
    build_audio(body, 200, other);
    expect_info(media::TrackKind::kAudio, body, media::Codec::kAac, false, false);
    expect_info(media::TrackKind::kVideo, video_config(), media::Codec::kH264, false, true);
    expect_info(media::TrackKind::kAudio, audio_config(), media::Codec::kAac, false, true);
}

TEST(SyntheticTest, TheDecoderConfigurationHoldsOneSpsAndOnePps) {
    Bytes config = video_config();
    ByteReader reader(ByteSpan(config).subspan(5));
    EXPECT_EQ(reader.u8(), 1);
    uint8_t profile = reader.u8();
    reader.skip(2);
    EXPECT_EQ(reader.u8(), 0xFF);
    EXPECT_EQ(reader.u8(), 0xE1);
    ByteSpan sps = reader.take(reader.u16());
    ASSERT_FALSE(sps.empty());
    EXPECT_EQ(sps[0] & 31, 7);
    EXPECT_EQ(sps[1], profile);
    EXPECT_EQ(reader.u8(), 1);
    ByteSpan pps = reader.take(reader.u16());
    ASSERT_FALSE(pps.empty());
    EXPECT_EQ(pps[0] & 31, 8);
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(reader.empty());
}

}  // namespace
}  // namespace weir::load
