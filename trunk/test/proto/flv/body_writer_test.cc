#include "proto/flv/body_writer.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "proto/flv/tag.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::TrackKind;

struct Row {
    TrackKind kind;
    Codec codec;
    BodyKind body;
    Bytes header;  // FLV 10.1 Annex E.4, Enhanced RTMP v2
};

const Row kRows[] = {
    {TrackKind::kVideo, Codec::kH264, BodyKind::kConfig, {0x17, 0, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kH264, BodyKind::kKeyFrame, {0x17, 1, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kH264, BodyKind::kFrame, {0x27, 1, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kHevc, BodyKind::kConfig, {0x90, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kHevc, BodyKind::kKeyFrame, {0x93, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kHevc, BodyKind::kFrame, {0xA3, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kAv1, BodyKind::kConfig, {0x90, 'a', 'v', '0', '1'}},
    {TrackKind::kVideo, Codec::kAv1, BodyKind::kKeyFrame, {0x91, 'a', 'v', '0', '1'}},
    {TrackKind::kVideo, Codec::kAv1, BodyKind::kFrame, {0xA1, 'a', 'v', '0', '1'}},
    {TrackKind::kVideo, Codec::kVp9, BodyKind::kConfig, {0x90, 'v', 'p', '0', '9'}},
    {TrackKind::kVideo, Codec::kVp9, BodyKind::kKeyFrame, {0x91, 'v', 'p', '0', '9'}},
    {TrackKind::kVideo, Codec::kVp8, BodyKind::kKeyFrame, {0x91, 'v', 'p', '0', '8'}},
    {TrackKind::kVideo, Codec::kVp8, BodyKind::kFrame, {0xA1, 'v', 'p', '0', '8'}},
    {TrackKind::kAudio, Codec::kAac, BodyKind::kConfig, {0xAF, 0}},
    {TrackKind::kAudio, Codec::kAac, BodyKind::kFrame, {0xAF, 1}},
    {TrackKind::kAudio, Codec::kG711A, BodyKind::kFrame, {0x72}},
    {TrackKind::kAudio, Codec::kG711U, BodyKind::kFrame, {0x82}},
    {TrackKind::kAudio, Codec::kOpus, BodyKind::kConfig, {0x90, 'O', 'p', 'u', 's'}},
    {TrackKind::kAudio, Codec::kOpus, BodyKind::kFrame, {0x91, 'O', 'p', 'u', 's'}},
};

TEST(BodyWriterTest, WritesTheHeaderOfEachCodec) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(testing::Message()
                     << media::to_string(row.codec) << ' ' << static_cast<int>(row.body));
        Bytes out(body_header_size(row.codec, row.body));
        EXPECT_EQ(write_body_header(row.codec, row.body, out), out.size());
        EXPECT_EQ(out, row.header);
    }
}

TEST(BodyWriterTest, WhatItWritesIsReadAgain) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(testing::Message()
                     << media::to_string(row.codec) << ' ' << static_cast<int>(row.body));
        Bytes body(body_header_size(row.codec, row.body));
        write_body_header(row.codec, row.body, body);
        const size_t offset = body.size();
        body.insert(body.end(), {0x12, 0x10, 0x56, 0x78});
        const auto info = parse_tag_body(row.kind, body);
        ASSERT_TRUE(info.has_value());
        EXPECT_EQ(info->codec, row.codec);
        EXPECT_EQ(info->config, row.body == BodyKind::kConfig);
        EXPECT_EQ(info->payload_offset, offset);
        EXPECT_EQ(info->composition_ms, 0);
        EXPECT_EQ(info->audience, media::Audience::kEverybody);
        if (row.kind == TrackKind::kVideo && row.body != BodyKind::kConfig) {
            EXPECT_EQ(info->key, row.body == BodyKind::kKeyFrame);
        }
    }
}

TEST(BodyWriterTest, NothingIsWrittenWithoutRoomOrForWhatCannotBeCarried) {
    for (const Row& row : kRows) {
        for (size_t room = 0; room < row.header.size(); room++) {
            Bytes out(room, 0xEE);
            EXPECT_EQ(write_body_header(row.codec, row.body, out), 0U);
            EXPECT_EQ(out, Bytes(room, 0xEE));
        }
    }
    Bytes out(8, 0xEE);
    EXPECT_EQ(body_header_size(Codec::kUnknown, BodyKind::kFrame), 0U);
    EXPECT_EQ(body_header_size(Codec::kG711A, BodyKind::kConfig), 0U);
    EXPECT_EQ(write_body_header(Codec::kUnknown, BodyKind::kFrame, out), 0U);
    EXPECT_EQ(write_body_header(Codec::kG711U, BodyKind::kConfig, out), 0U);
    EXPECT_EQ(out, Bytes(8, 0xEE));
}

}  // namespace
}  // namespace weir::flv
