#include "proto/flv/tag.h"

#include <string>

#include <gtest/gtest.h>

#include "test/proto/rtmp/support.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::PacketInfo;
using media::TrackKind;
using rtmp::test::hex;
using rtmp::test::join;

Bytes text(std::string_view s) {
    const ByteSpan bytes = as_bytes(s);
    return {bytes.begin(), bytes.end()};
}

TEST(FlvHeaderTest, FileHeaderHasTheFlagsOfItsTracks) {
    uint8_t out[kFileHeaderSize];
    EXPECT_EQ(write_file_header(true, true, out), kFileHeaderSize);
    EXPECT_EQ(Bytes(out, out + sizeof out), hex("464c56 01 05 00000009 00000000"));
    write_file_header(true, false, out);
    EXPECT_EQ(out[4], 4);
    write_file_header(false, true, out);
    EXPECT_EQ(out[4], 1);
}

TEST(FlvHeaderTest, TagHeaderPutsTheTopByteOfTheTimeBehind) {
    uint8_t out[kTagHeaderSize];
    EXPECT_EQ(write_tag_header(kVideoTag, 0x01020304, 0x0A0B0C, out), kTagHeaderSize);
    EXPECT_EQ(Bytes(out, out + sizeof out), hex("09 0a0b0c 020304 01 000000"));
}

TEST(FlvHeaderTest, TrailerCountsHeaderAndBody) {
    uint8_t out[kTagTrailerSize];
    EXPECT_EQ(write_tag_trailer(5, out), kTagTrailerSize);
    EXPECT_EQ(Bytes(out, out + sizeof out), hex("00000010"));
    EXPECT_EQ(tag_size(5), 20u);
}

TEST(FlvHeaderTest, KindsAndTagTypesAreOneToOne) {
    for (const TrackKind kind : {TrackKind::kAudio, TrackKind::kVideo, TrackKind::kData}) {
        EXPECT_EQ(track_kind(tag_type(kind)), kind);
    }
    EXPECT_FALSE(track_kind(20));
}

struct Case {
    const char* name;
    TrackKind kind;
    Bytes body;
    PacketInfo expected;  // without payload_offset
    uint16_t offset;
};

PacketInfo video(Codec codec, bool key = false, int32_t composition_ms = 0) {
    PacketInfo info;
    info.kind = TrackKind::kVideo;
    info.codec = codec;
    info.key = key;
    info.composition_ms = composition_ms;
    return info;
}

PacketInfo audio(Codec codec) {
    PacketInfo info;
    info.kind = TrackKind::kAudio;
    info.codec = codec;
    return info;
}

PacketInfo config(PacketInfo info) {
    info.config = true;
    return info;
}

PacketInfo metadata(PacketInfo info) {
    info.metadata = true;
    return info;
}

PacketInfo end(PacketInfo info) {
    info.end = true;
    return info;
}

PacketInfo track(PacketInfo info, uint8_t id) {
    info.multitrack = true;
    info.track_id = id;
    return info;
}

std::vector<Case> legacy_cases() {
    constexpr TrackKind kA = TrackKind::kAudio;
    constexpr TrackKind kV = TrackKind::kVideo;
    return {
        {"AVC sequence header", kV, hex("17 00 000000 0164"), config(video(Codec::kH264)), 5},
        {"AVC key frame", kV, hex("17 01 000050 00"), video(Codec::kH264, true, 80), 5},
        {"AVC inter frame, negative composition", kV, hex("27 01 ffffd8 00"),
         video(Codec::kH264, false, -40), 5},
        {"AVC end of sequence", kV, hex("17 02 000000"), end(video(Codec::kH264)), 5},
        {"AVC end of sequence without time", kV, hex("17 02"), end(video(Codec::kH264)), 2},
        {"HEVC by codec id 12", kV, hex("1c 01 000000 00"), video(Codec::kHevc, true), 5},
        {"HEVC sequence header by codec id 12", kV, hex("1c 00 000000 01"),
         config(video(Codec::kHevc)), 5},
        {"Sorenson H.263 key frame", kV, hex("12 00"), video(Codec::kOtherVideo, true), 1},
        {"VP6 inter frame", kV, hex("24 00"), video(Codec::kOtherVideo), 1},
        {"video command frame", kV, hex("57 00"), video(Codec::kUnknown), 2},
        {"AAC sequence header", kA, hex("af 00 1210"), config(audio(Codec::kAac)), 2},
        {"AAC frame", kA, hex("af 01 21"), audio(Codec::kAac), 2},
        {"MP3", kA, hex("2f ff"), audio(Codec::kMp3), 1},
        {"MP3 8 kHz", kA, hex("ee ff"), audio(Codec::kMp3), 1},
        {"G.711 A-law", kA, hex("72 d5"), audio(Codec::kG711A), 1},
        {"G.711 mu-law", kA, hex("82 ff"), audio(Codec::kG711U), 1},
        {"Speex", kA, hex("b6 00"), audio(Codec::kSpeex), 1},
        {"linear PCM", kA, hex("3e 00"), audio(Codec::kPcm), 1},
        {"Nellymoser", kA, hex("62 00"), audio(Codec::kOtherAudio), 1},
    };
}

std::vector<Case> enhanced_cases() {
    constexpr TrackKind kA = TrackKind::kAudio;
    constexpr TrackKind kV = TrackKind::kVideo;
    const Bytes hvc1 = text("hvc1");
    return {
        {"hvc1 sequence start", kV, join({hex("90"), hvc1, hex("01")}), config(video(Codec::kHevc)),
         5},
        {"hvc1 coded frames", kV, join({hex("91"), hvc1, hex("000028 00")}),
         video(Codec::kHevc, true, 40), 8},
        {"hvc1 coded frames, negative", kV, join({hex("a1"), hvc1, hex("ffffff 00")}),
         video(Codec::kHevc, false, -1), 8},
        {"hvc1 coded frames X", kV, join({hex("93"), hvc1, hex("00")}), video(Codec::kHevc, true),
         5},
        {"hvc1 sequence end", kV, join({hex("92"), hvc1}), end(video(Codec::kHevc)), 5},
        {"hvc1 metadata", kV, join({hex("94"), hvc1, hex("02")}), metadata(video(Codec::kHevc)), 5},
        {"metadata behind a command frame type", kV, join({hex("d4"), hvc1}),
         metadata(video(Codec::kHevc)), 5},
        {"avc1 coded frames", kV, join({hex("91"), text("avc1"), hex("000000 00")}),
         video(Codec::kH264, true), 8},
        {"av01 coded frames have no composition time", kV,
         join({hex("91"), text("av01"), hex("12")}), video(Codec::kAv1, true), 5},
        {"av01 MPEG-2 TS sequence start", kV, join({hex("95"), text("av01"), hex("80")}),
         config(video(Codec::kAv1)), 5},
        {"vp09", kV, join({hex("a1"), text("vp09"), hex("82")}), video(Codec::kVp9), 5},
        {"vp08", kV, join({hex("91"), text("vp08"), hex("10")}), video(Codec::kVp8, true), 5},
        {"unknown four characters", kV, join({hex("91"), text("zzzz"), hex("10")}),
         video(Codec::kOtherVideo, true), 5},
        {"audio codec in a video tag", kV, join({hex("91"), text("Opus")}),
         video(Codec::kOtherVideo, true), 5},
        {"enhanced command frame", kV, hex("d1 00"), video(Codec::kUnknown), 2},
        {"one track", kV, join({hex("96 01"), hvc1, hex("07 000028 00")}),
         track(video(Codec::kHevc, true, 40), 7), 10},
        {"one track, sequence start", kV, join({hex("96 00"), text("av01"), hex("01 81")}),
         track(config(video(Codec::kAv1)), 1), 7},
        {"many tracks", kV, join({hex("a6 13"), hvc1, hex("02 000001 aa 03 000001 bb")}),
         track(video(Codec::kHevc), 2), 10},
        {"many tracks and codecs", kV,
         join({hex("96 21"), text("av01"), hex("00 000001 aa"), hvc1, hex("01 000004 00000000")}),
         track(video(Codec::kAv1, true), 0), 10},
        {"ModEx", kV, join({hex("97 02 0003e8 03"), hvc1, hex("aa")}), video(Codec::kHevc, true),
         10},
        {"two ModEx", kV, join({hex("97 02 0003e8 07 00 ff 03"), hvc1, hex("aa")}),
         video(Codec::kHevc, true), 13},
        {"ModEx with a long size", kV, join({hex("97 ff 0001 abcd 13"), hvc1}),
         video(Codec::kHevc, true), 11},
        {"ModEx and multitrack", kV, join({hex("97 00 11 06 00"), hvc1, hex("05 01")}),
         track(config(video(Codec::kHevc)), 5), 10},
        {"Opus sequence start", kA, join({hex("90"), text("Opus")}), config(audio(Codec::kOpus)),
         5},
        {"Opus", kA, join({hex("91"), text("Opus"), hex("fc")}), audio(Codec::kOpus), 5},
        {"fLaC", kA, join({hex("91"), text("fLaC"), hex("ff")}), audio(Codec::kFlac), 5},
        {"ac-3", kA, join({hex("91"), text("ac-3"), hex("0b")}), audio(Codec::kAc3), 5},
        {"ec-3", kA, join({hex("91"), text("ec-3"), hex("0b")}), audio(Codec::kEac3), 5},
        {".mp3", kA, join({hex("91"), text(".mp3"), hex("ff")}), audio(Codec::kMp3), 5},
        {"mp4a sequence start", kA, join({hex("90"), text("mp4a"), hex("1210")}),
         config(audio(Codec::kAac)), 5},
        {"audio sequence end", kA, join({hex("92"), text("mp4a")}), end(audio(Codec::kAac)), 5},
        {"multichannel configuration", kA, join({hex("94"), text("Opus"), hex("0006")}),
         metadata(audio(Codec::kOpus)), 5},
        {"audio multitrack", kA, join({hex("95 01"), text("Opus"), hex("03 fc")}),
         track(audio(Codec::kOpus), 3), 7},
        {"audio ModEx", kA, join({hex("97 00 11 01"), text("Opus"), hex("fc")}),
         audio(Codec::kOpus), 8},
    };
}

void check(const Case& c) {
    const std::optional<PacketInfo> info = parse_tag_body(c.kind, c.body);
    ASSERT_TRUE(info) << c.name;
    EXPECT_EQ(info->kind, c.expected.kind) << c.name;
    EXPECT_EQ(info->codec, c.expected.codec) << c.name;
    EXPECT_EQ(info->key, c.expected.key) << c.name;
    EXPECT_EQ(info->config, c.expected.config) << c.name;
    EXPECT_EQ(info->metadata, c.expected.metadata) << c.name;
    EXPECT_EQ(info->end, c.expected.end) << c.name;
    EXPECT_EQ(info->multitrack, c.expected.multitrack) << c.name;
    EXPECT_EQ(info->track_id, c.expected.track_id) << c.name;
    EXPECT_EQ(info->composition_ms, c.expected.composition_ms) << c.name;
    EXPECT_EQ(info->payload_offset, c.offset) << c.name;
}

TEST(ParseTagBodyTest, LegacyBodies) {
    for (const Case& c : legacy_cases()) {
        check(c);
    }
}

TEST(ParseTagBodyTest, EnhancedBodies) {
    for (const Case& c : enhanced_cases()) {
        check(c);
    }
}

TEST(ParseTagBodyTest, BodiesShorterThanTheirHeaderAreNothing) {
    for (const std::vector<Case>& cases : {legacy_cases(), enhanced_cases()}) {
        for (const Case& c : cases) {
            for (size_t size = 0; size < c.offset; size++) {
                const std::optional<PacketInfo> info =
                    parse_tag_body(c.kind, ByteSpan(c.body).first(size));
                if (info) {
                    // Only what is complete without the rest: the end of a sequence needs no
                    // composition time.
                    EXPECT_TRUE(info->end) << c.name << " " << size;
                }
            }
        }
    }
}

TEST(ParseTagBodyTest, EmptyBodiesAreNothing) {
    for (const TrackKind kind : {TrackKind::kAudio, TrackKind::kVideo, TrackKind::kData}) {
        EXPECT_FALSE(parse_tag_body(kind, {}));
    }
}

TEST(ParseTagBodyTest, EndlessModExIsNothing) {
    Bytes body = hex("97");
    for (int i = 0; i < 100; i++) {
        const Bytes one = hex("00 11 07");
        body.insert(body.end(), one.begin(), one.end());
    }
    EXPECT_FALSE(parse_tag_body(TrackKind::kVideo, body));
}

TEST(ParseTagBodyTest, HeaderTooLongForItsOffsetIsNothing) {
    Bytes body = hex("97 ff ffff");
    body.resize(body.size() + 65536);
    body = join({body, hex("03"), text("hvc1")});
    EXPECT_FALSE(parse_tag_body(TrackKind::kVideo, body));
}

TEST(ParseTagBodyTest, ReservedMultitrackLayoutIsNothing) {
    EXPECT_FALSE(parse_tag_body(TrackKind::kVideo,
                                join({hex("96 31"), text("hvc1"), hex("00 000001 00 000000")})));
}

TEST(ParseTagBodyTest, OnMetaDataIsMetadata) {
    const Bytes body = join({hex("02 000a"), text("onMetaData"), hex("08 00000000 000009")});
    const std::optional<PacketInfo> info = parse_tag_body(TrackKind::kData, body);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->kind, TrackKind::kData);
    EXPECT_TRUE(info->metadata);
    EXPECT_EQ(info->payload_offset, 0);
    EXPECT_FALSE(
        parse_tag_body(TrackKind::kData, join({hex("02 000a"), text("onTextData")}))->metadata);
}

}  // namespace
}  // namespace weir::flv
