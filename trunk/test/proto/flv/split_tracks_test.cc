#include "proto/flv/split_tracks.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/flv/tag.h"

#include "test/support/media_packets.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::TrackKind;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Bytes> split(const Bytes& body, TrackKind kind = TrackKind::kAudio) {
    const auto info = parse_tag_body(kind, body);
    return info ? split_audio_tracks(*info, body) : std::vector<Bytes>();
}

// Enhanced RTMP v2, ExAudioTagBody: the tracks one behind the other, each with its size.
Bytes many(const std::vector<std::pair<uint8_t, std::string>>& tracks) {
    Bytes body;
    ByteWriter out(body);
    out.u8(0x95).u8(0x11).text("mp4a");  // multitrack; many tracks of coded frames
    for (const auto& [id, data] : tracks) {
        out.u8(id).u24(static_cast<uint32_t>(data.size())).text(data);
    }
    return body;
}

TEST(SplitTracksTest, EachTrackBecomesAMessage) {
    const std::vector<Bytes> parts = split(many({{0, "abc"}, {2, "de"}}));
    ASSERT_EQ(parts.size(), 2U);
    for (size_t i = 0; i < 2; i++) {
        const auto info = parse_tag_body(TrackKind::kAudio, parts[i]);
        ASSERT_TRUE(info);
        EXPECT_EQ(info->codec, Codec::kAac);
        EXPECT_TRUE(info->multitrack);
        EXPECT_EQ(info->track_id, i == 0 ? 0 : 2);
        EXPECT_EQ(as_text(ByteSpan(parts[i]).subspan(info->payload_offset)), i == 0 ? "abc" : "de");
        EXPECT_THAT(split(parts[i]), IsEmpty()) << "it is of one track";
    }
}

TEST(SplitTracksTest, EachTrackMayHaveItsCodec) {
    Bytes body;
    ByteWriter(body).u8(0x95).u8(0x20).text("Opus").u8(0).u24(1).u8(7);
    ByteWriter(body).text("mp4a").u8(1).u24(2).u16(0x1190);
    const std::vector<Bytes> parts = split(body);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parse_tag_body(TrackKind::kAudio, parts[0])->codec, Codec::kOpus);
    EXPECT_EQ(parse_tag_body(TrackKind::kAudio, parts[1])->codec, Codec::kAac);
    EXPECT_TRUE(parse_tag_body(TrackKind::kAudio, parts[1])->config);
}

TEST(SplitTracksTest, OtherMessagesStayWhole) {
    EXPECT_THAT(split(test::aac_frame(1)), IsEmpty());
    EXPECT_THAT(split(test::aac_multitrack(1, false, 1)), IsEmpty());
    EXPECT_THAT(split(test::hevc_multitrack(1, false, true, 1), TrackKind::kVideo), IsEmpty());
}

TEST(SplitTracksTest, WhatIsCutOffIsLeftOut) {
    const Bytes whole = many({{0, "abc"}, {1, "de"}});
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_LE(
            split(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).size(),
            1U)
            << size;
    }
    Bytes wrong = whole;
    wrong[7] = 0xFF;  // a size
    EXPECT_THAT(split(wrong), IsEmpty());
}

TEST(SplitTracksTest, ManyTracksAreBounded) {
    std::vector<std::pair<uint8_t, std::string>> tracks;
    for (int id = 0; id < 200; id++) {
        tracks.emplace_back(static_cast<uint8_t>(id), "x");
    }
    EXPECT_EQ(split(many(tracks)).size(), 8U);
}

}  // namespace
}  // namespace weir::flv
