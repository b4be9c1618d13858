#include "proto/flv/packet_maker.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "proto/flv/tag.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::PacketInfo;
using media::TrackKind;

enum class What : uint8_t { kFrame, kKeyFrame, kConfig, kEnd, kMetadata };

PacketInfo info_of(TrackKind kind, Codec codec, What what) {
    PacketInfo info;
    info.kind = kind;
    info.codec = codec;
    info.key = what == What::kKeyFrame;
    info.config = what == What::kConfig;
    info.end = what == What::kEnd;
    info.metadata = what == What::kMetadata;
    return info;
}

struct Row {
    TrackKind kind;
    Codec codec;
    What what;
    Bytes header;  // FLV 10.1 Annex E.4, Enhanced RTMP v2
};

const Row kRows[] = {
    {TrackKind::kVideo, Codec::kH264, What::kConfig, {0x17, 0, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kH264, What::kKeyFrame, {0x17, 1, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kH264, What::kFrame, {0x27, 1, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kH264, What::kEnd, {0x17, 2, 0, 0, 0}},
    {TrackKind::kVideo, Codec::kHevc, What::kConfig, {0x90, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kHevc, What::kKeyFrame, {0x93, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kHevc, What::kFrame, {0xA3, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kHevc, What::kEnd, {0x92, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kHevc, What::kMetadata, {0x94, 'h', 'v', 'c', '1'}},
    {TrackKind::kVideo, Codec::kAv1, What::kConfig, {0x90, 'a', 'v', '0', '1'}},
    {TrackKind::kVideo, Codec::kAv1, What::kKeyFrame, {0x91, 'a', 'v', '0', '1'}},
    {TrackKind::kVideo, Codec::kAv1, What::kFrame, {0xA1, 'a', 'v', '0', '1'}},
    {TrackKind::kVideo, Codec::kVp9, What::kConfig, {0x90, 'v', 'p', '0', '9'}},
    {TrackKind::kVideo, Codec::kVp9, What::kKeyFrame, {0x91, 'v', 'p', '0', '9'}},
    {TrackKind::kVideo, Codec::kVp8, What::kKeyFrame, {0x91, 'v', 'p', '0', '8'}},
    {TrackKind::kVideo, Codec::kVp8, What::kFrame, {0xA1, 'v', 'p', '0', '8'}},
    {TrackKind::kAudio, Codec::kAac, What::kConfig, {0xAF, 0}},
    {TrackKind::kAudio, Codec::kAac, What::kFrame, {0xAF, 1}},
    {TrackKind::kAudio, Codec::kAac, What::kEnd, {0x92, 'm', 'p', '4', 'a'}},
    {TrackKind::kAudio, Codec::kMp3, What::kFrame, {0x2F}},
    {TrackKind::kAudio, Codec::kG711A, What::kFrame, {0x72}},
    {TrackKind::kAudio, Codec::kG711U, What::kFrame, {0x82}},
    {TrackKind::kAudio, Codec::kSpeex, What::kFrame, {0xB6}},
    {TrackKind::kAudio, Codec::kOpus, What::kConfig, {0x90, 'O', 'p', 'u', 's'}},
    {TrackKind::kAudio, Codec::kOpus, What::kFrame, {0x91, 'O', 'p', 'u', 's'}},
    {TrackKind::kAudio, Codec::kFlac, What::kConfig, {0x90, 'f', 'L', 'a', 'C'}},
    {TrackKind::kAudio, Codec::kAc3, What::kFrame, {0x91, 'a', 'c', '-', '3'}},
    {TrackKind::kAudio, Codec::kEac3, What::kFrame, {0x91, 'e', 'c', '-', '3'}},
    {TrackKind::kData, Codec::kUnknown, What::kFrame, {}},
};

const Bytes kPayload = {0x12, 0x10, 0x56, 0x78};

Bytes join(Bytes head, const Bytes& tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
}

// What the reader of tag bodies says of the packet is what its maker was told, and the codec's
// bytes are the same.
void expect_read_again(const PacketInfo& info, const media::MediaPacket& packet) {
    const auto read = parse_tag_body(info.kind, packet.body());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->kind, info.kind);
    EXPECT_EQ(read->codec, info.codec);
    EXPECT_EQ(read->multitrack, info.multitrack);
    EXPECT_EQ(read->track_id, info.multitrack ? info.track_id : 0);
    EXPECT_EQ(read->key, info.key);
    EXPECT_EQ(read->config, info.config);
    EXPECT_EQ(read->metadata, info.metadata);
    EXPECT_EQ(read->composition_ms, info.composition_ms);
    EXPECT_EQ(read->end, info.end);
    EXPECT_EQ(read->payload_offset, packet.info().payload_offset);
    EXPECT_EQ(Bytes(packet.payload().begin(), packet.payload().end()), kPayload);
}

TEST(PacketMakerTest, WritesTheHeaderOfEachCodecAndKind) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(testing::Message()
                     << media::to_string(row.codec) << ' ' << static_cast<int>(row.what));
        const PacketInfo info = info_of(row.kind, row.codec, row.what);
        const Ref<media::MediaPacket> packet = make_packet(info, 1234, kPayload);
        ASSERT_TRUE(packet);
        EXPECT_EQ(Bytes(packet->body().begin(), packet->body().end()), join(row.header, kPayload));
        EXPECT_EQ(packet->time_ms(), 1234);
        EXPECT_EQ(body_header_size(info), row.header.size());
        expect_read_again(info, *packet);
    }
}

// Every codec in every form: what can be made is read again, whatever the track and the times.
TEST(PacketMakerTest, WhateverItMakesIsReadAgain) {
    size_t made = 0;
    for (int codec = 0; codec <= static_cast<int>(Codec::kOtherAudio); codec++) {
        for (const TrackKind kind : {TrackKind::kAudio, TrackKind::kVideo}) {
            for (const What what :
                 {What::kFrame, What::kKeyFrame, What::kConfig, What::kEnd, What::kMetadata}) {
                if (kind == TrackKind::kAudio && what == What::kKeyFrame) {
                    continue;
                }
                for (const int track : {-1, 0, 1, 255}) {
                    for (const int32_t composition :
                         {0, 1, 80, -40, kMaxCompositionMs, kMinCompositionMs}) {
                        PacketInfo info = info_of(kind, static_cast<Codec>(codec), what);
                        info.multitrack = track >= 0;
                        info.track_id = static_cast<uint8_t>(std::max(track, 0));
                        info.composition_ms = composition;
                        SCOPED_TRACE(testing::Message() << media::to_string(info.codec) << ' '
                                                        << static_cast<int>(what) << " track "
                                                        << track << " composition " << composition);
                        const auto packet = make_packet(info, 0, kPayload);
                        EXPECT_EQ(static_cast<bool>(packet), body_header_size(info).has_value());
                        if (packet) {
                            made++;
                            expect_read_again(info, *packet);
                        }
                    }
                }
            }
        }
    }
    // H.264 and HEVC: 2 kinds of frames x 4 x 6, and 3 others x 4. AV1, VP8, VP9: 5 x 4. AAC, MP3,
    // Opus, FLAC, AC-3, E-AC-3: 4 x 4. G.711 twice and Speex: plain frames.
    EXPECT_EQ(made, 2 * (2 * 4 * 6 + 3 * 4) + 3 * 5 * 4 + 6 * 4 * 4 + 3U);
}

TEST(PacketMakerTest, KeepsWhatIsNotInTheBody) {
    PacketInfo info = info_of(TrackKind::kVideo, Codec::kH264, What::kFrame);
    info.audience = media::Audience::kWebRtc;
    info.layer = 2;
    info.track_id = 3;  // of a simulcast layer: only the other WebRTC end sees it
    const auto packet = make_packet(info, 0, kPayload);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->info().audience, media::Audience::kWebRtc);
    EXPECT_EQ(packet->info().layer, 2);
    EXPECT_EQ(packet->info().track_id, 3);
    EXPECT_EQ(parse_tag_body(TrackKind::kVideo, packet->body())->track_id, 0);
}

TEST(PacketMakerTest, AFrameBehindFreeBytesIsNotMoved) {
    for (const Row& row : kRows) {
        for (const bool any_composition : {false, true}) {
            for (const int32_t composition : {0, 33}) {
                PacketInfo info = info_of(row.kind, row.codec, row.what);
                info.composition_ms = composition;
                const std::optional<size_t> room = body_header_size(info, any_composition);
                if (!room) {
                    EXPECT_NE(composition, 0);
                    continue;
                }
                SCOPED_TRACE(testing::Message() << media::to_string(row.codec) << ' '
                                                << static_cast<int>(row.what) << " room " << *room);
                Bytes body = join(Bytes(*room, 0), kPayload);
                const uint8_t* const place = body.data();
                const auto packet = make_packet(info, 0, std::move(body), *room);
                ASSERT_TRUE(packet);
                EXPECT_EQ(packet->body().data(), place);
                EXPECT_EQ(packet->info().payload_offset, *room);
                expect_read_again(info, *packet);
            }
        }
    }
}

TEST(PacketMakerTest, WrongRoomCostsACopyAndNothingElse) {
    PacketInfo info = info_of(TrackKind::kVideo, Codec::kHevc, What::kFrame);
    info.composition_ms = 40;  // needs 8 bytes
    for (const size_t room : {size_t{0}, size_t{5}, size_t{9}}) {
        const auto packet = make_packet(info, 0, join(Bytes(room, 0), kPayload), room);
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->info().payload_offset, 8);
        expect_read_again(info, *packet);
    }
    const auto empty = make_packet(info, 0, Bytes(3, 0), 5);
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->payload().empty());
}

TEST(PacketMakerTest, WhatFlvCannotCarryIsNotMade) {
    EXPECT_FALSE(make_packet(info_of(TrackKind::kVideo, Codec::kUnknown, What::kFrame), 0, {}));
    EXPECT_FALSE(make_packet(info_of(TrackKind::kVideo, Codec::kOtherVideo, What::kFrame), 0, {}));
    EXPECT_FALSE(make_packet(info_of(TrackKind::kAudio, Codec::kG711A, What::kConfig), 0, {}));
    EXPECT_FALSE(make_packet(info_of(TrackKind::kAudio, Codec::kG722, What::kFrame), 0, {}));
    EXPECT_FALSE(make_packet(info_of(TrackKind::kAudio, Codec::kH264, What::kConfig), 0, {}));
    PacketInfo late = info_of(TrackKind::kVideo, Codec::kH264, What::kFrame);
    late.composition_ms = kMaxCompositionMs + 1;
    EXPECT_FALSE(make_packet(late, 0, kPayload));
    late.composition_ms = kMinCompositionMs - 1;
    EXPECT_FALSE(make_packet(late, 0, kPayload));
    PacketInfo config = info_of(TrackKind::kVideo, Codec::kH264, What::kConfig);
    config.composition_ms = 40;
    EXPECT_FALSE(make_packet(config, 0, kPayload));
    PacketInfo vp8 = info_of(TrackKind::kVideo, Codec::kVp8, What::kFrame);
    vp8.composition_ms = 40;
    EXPECT_FALSE(make_packet(vp8, 0, kPayload));
    const PacketInfo key = info_of(TrackKind::kVideo, Codec::kH264, What::kKeyFrame);
    EXPECT_TRUE(make_packet(key, 0, Bytes(kMaxTagBodySize - 5)));
    EXPECT_FALSE(make_packet(key, 0, Bytes(kMaxTagBodySize - 4)));
    EXPECT_FALSE(make_packet(key, 0, Bytes(kMaxTagBodySize + 1), 5));
}

}  // namespace
}  // namespace weir::flv
