// Tag bodies and packets of made-up media: right in their FLV headers, with a payload that tells
// frames apart.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "media/packet.h"
#include "proto/flv/packet_maker.h"
#include "proto/flv/tag.h"

namespace weir::test {

// Units of a picture with their lengths: of a key picture a message (SEI) and a slice, as encoders
// have them, of others a slice. The marker is behind the first bytes of the slice.
inline Bytes filled_picture(Bytes head, bool key, uint32_t marker, size_t payload) {
    constexpr size_t kSmallest = 16;
    const size_t end = head.size() + payload;
    if (key && payload >= kSmallest) {
        ByteWriter(head).u32(2).u8(0x06).u8(0x80);
    }
    const size_t at = head.size();
    ByteWriter(head).u32(static_cast<uint32_t>(end < at + 4 ? 0 : end - at - 4));
    head.push_back(key ? 0x65 : 0x41);
    head.push_back(0x9A);  // first macroblock 0
    for (size_t i = 0; head.size() < end; i++) {
        head.push_back(static_cast<uint8_t>(i < 4 ? marker >> (24 - 8 * i) : marker + i * 7));
    }
    head.resize(end);
    return head;
}

inline Bytes filled(Bytes head, uint32_t marker, size_t payload) {
    for (size_t i = 0; i < payload; i++) {
        head.push_back(static_cast<uint8_t>(i < 4 ? marker >> (24 - 8 * i) : marker + i * 7));
    }
    return head;
}

// ---- bodies ----

inline Bytes avc_header(uint32_t marker = 1) {
    return filled({0x17, 0, 0, 0, 0}, marker, 12);
}

inline Bytes avc_frame(bool key, uint32_t marker, size_t payload = 40, int composition_ms = 0) {
    Bytes head = {static_cast<uint8_t>(key ? 0x17 : 0x27), 1};
    ByteWriter(head).u24(static_cast<uint32_t>(composition_ms));
    return filled_picture(std::move(head), key, marker, payload);
}

// Of a codec that nobody looks into (Sorenson H.263): the marker is behind the first five bytes.
inline Bytes opaque_frame(bool key, uint32_t marker, size_t payload) {
    return filled({static_cast<uint8_t>(key ? 0x12 : 0x22), 0, 0, 0, 0}, marker, payload);
}

inline Bytes aac_header(uint32_t marker = 1) {
    return filled({0xaf, 0}, marker, 4);
}

inline Bytes aac_frame(uint32_t marker, size_t payload = 20) {
    return filled({0xaf, 1}, marker, payload);
}

// No configuration goes with it.
inline Bytes mp3_frame(uint32_t marker, size_t payload = 20) {
    return filled({0x2f}, marker, payload);
}

// Enhanced RTMP v2, one track of a multitrack message: HEVC, coded frames without composition time
// (X).
inline Bytes hevc_multitrack(
    uint8_t track, bool config, bool key, uint32_t marker, size_t payload = 40) {
    Bytes head = {static_cast<uint8_t>(0x80 | (key || config ? 0x10 : 0x20) |
                                       6),                // ex header, frame type, multitrack
                  static_cast<uint8_t>(config ? 0 : 3)};  // one track; sequence start or frames X
    ByteWriter(head).text("hvc1").u8(track);
    return filled(std::move(head), marker, payload);
}

// The same of AAC; its configuration is that of 48 kHz, stereo.
inline Bytes aac_multitrack(uint8_t track, bool config, uint32_t marker, size_t payload = 20) {
    Bytes head = {0x95, static_cast<uint8_t>(config ? 0 : 1)};  // ex header, multitrack; one track
    ByteWriter(head).text("mp4a").u8(track);
    if (config) {
        ByteWriter(head).u16(0x1190);
        return head;
    }
    return filled(std::move(head), marker, payload);
}

inline Bytes metadata(uint8_t width) {
    Bytes body = {0x02};
    ByteWriter(body)
        .u16(10)
        .text("onMetaData")
        .u8(0x08)
        .u32(1)
        .u16(5)
        .text("width")
        .u8(0)
        .f64(width)
        .u24(9);
    return body;
}

inline Bytes cue_point(uint8_t value) {
    Bytes body = {0x02};
    ByteWriter(body).u16(10).text("onCuePoint").u8(0).f64(value);
    return body;
}

enum class BodyKind : uint8_t { kFrame, kKeyFrame, kConfig };

// The codec's own bytes as a tag body.
inline Bytes tag_body(media::Codec codec, BodyKind kind, ByteSpan payload) {
    media::PacketInfo info;
    info.kind =
        codec <= media::Codec::kOtherVideo ? media::TrackKind::kVideo : media::TrackKind::kAudio;
    info.codec = codec;
    info.key = kind == BodyKind::kKeyFrame && info.kind == media::TrackKind::kVideo;
    info.config = kind == BodyKind::kConfig;
    const auto made = flv::make_packet(info, 0, payload);
    EXPECT_TRUE(made) << "FLV does not carry what the test wants";
    return made ? Bytes(made->body().begin(), made->body().end()) : Bytes();
}

// ---- packets ----

// A frame is a whole picture, as of a session that puts pictures together.
inline Ref<media::MediaPacket> packet(media::TrackKind kind,
                                      uint32_t time_ms,
                                      Bytes body,
                                      media::Audience audience = media::Audience::kEverybody) {
    auto info = flv::parse_tag_body(kind, body);
    EXPECT_TRUE(info.has_value()) << "the test makes bodies that are none";
    if (info) {
        info->whole_picture = kind == media::TrackKind::kVideo;
        info->audience = audience;
    }
    return make_ref<media::MediaPacket>(info.value_or(media::PacketInfo{}), time_ms,
                                        std::move(body));
}

}  // namespace weir::test
