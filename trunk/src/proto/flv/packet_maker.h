// Makes packets of media that did not come as FLV (RTP, and whatever else gives frames of a codec):
// the first bytes of a tag body (FLV 10.1 Annex E, Enhanced RTMP v2) in front of the codec's own
// bytes, so that parse_tag_body() reads the same PacketInfo again (doc/adr/0003-packet-form.md).
//
// What is not in a body stays as the caller has it in `info`: the audience, the simulcast layer,
// and the track id where `multitrack` is not set. Pure; never yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ref.h"
#include "media/packet.h"

namespace weir::flv {

// Composition times that a body can carry: 24 bits with a sign.
inline constexpr int32_t kMaxCompositionMs = 0x7F'FFFF;
inline constexpr int32_t kMinCompositionMs = -0x80'0000;

inline constexpr size_t kMaxBodyHeader = 10;

// Bytes in front of the codec's own. A source that puts frames together behind free bytes asks
// before it knows the frame: with `any_composition` there is room for a composition time that is
// not 0. Nothing: FLV cannot carry this (an unknown codec, a configuration of G.711, a composition
// time out of range or of a codec that has none).
std::optional<size_t> body_header_size(const media::PacketInfo& info, bool any_composition = false);

// A packet with the codec's own bytes (a configuration record, length-prefixed NAL units, a frame).
// Audio: sample rate and channels in the first byte of G.711, AAC, MP3 and Speex are flags that
// nobody relies on. Null: FLV cannot carry it, or it would be longer than kMaxTagBodySize.
Ref<media::MediaPacket> make_packet(const media::PacketInfo& info,
                                    int64_t time_ms,
                                    ByteSpan payload);

// The same without a copy: the first `room` bytes of `body` are free, the codec's own follow.
// `room` is what body_header_size() said; another one is right too, and costs a copy.
Ref<media::MediaPacket> make_packet(const media::PacketInfo& info,
                                    int64_t time_ms,
                                    Bytes body,
                                    size_t room);

}  // namespace weir::flv
