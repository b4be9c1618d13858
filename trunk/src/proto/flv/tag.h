// FLV (Adobe FLV 10.1 annex E): file header, tag headers, and what the first bytes of a tag body
// say.
//
//   file     "FLV" 1 | flags 1 | 9 (4 bytes) | previous tag size 0 (4 bytes)
//   tag      type 1 | body size 3 | timestamp 3 | timestamp bits 24..31 1 | stream id 3 | body |
//   previous tag size 4
//
// The writers allocate nothing. Tag bodies are those of RTMP audio, video and data messages,
// Enhanced RTMP v1 and v2 included.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "media/codec.h"
#include "media/packet.h"

namespace weir::flv {

inline constexpr size_t kFileHeaderSize = 13;  // with the first previous tag size
inline constexpr size_t kTagHeaderSize = 11;
inline constexpr size_t kTagTrailerSize = 4;  // previous tag size
inline constexpr uint32_t kMaxTagBodySize = 0xFFFFFF;

// Tag types; equal to the RTMP message types.
inline constexpr uint8_t kAudioTag = 8;
inline constexpr uint8_t kVideoTag = 9;
inline constexpr uint8_t kScriptTag = 18;

uint8_t tag_type(media::TrackKind kind);

// Nothing for types that are none of the three.
std::optional<media::TrackKind> track_kind(uint8_t tag_type);

// Each writes exactly the size of its name to `out` and returns it.
size_t write_file_header(bool has_audio, bool has_video, uint8_t* out);
// `stream_id`: 24 bits, 0 in FLV; between nodes it says for whom the tag is.
size_t write_tag_header(
    uint8_t tag_type, uint32_t timestamp, uint32_t body_size, uint8_t* out, uint32_t stream_id = 0);
size_t write_tag_trailer(uint32_t body_size, uint8_t* out);

// Bytes of a whole tag with its trailer.
constexpr size_t tag_size(size_t body_size) {
    return kTagHeaderSize + body_size + kTagTrailerSize;
}

// What a body is. Nothing when it is empty (in audio a "silence" message) or too short for its own
// header; such bodies are to be dropped. Unknown codecs are no failure: they are passed through as
// kOtherVideo, kOtherAudio. `key` is false for configuration, metadata and end of sequence whatever
// the frame type bits say. Multitrack: track id, codec and payload of the first track. Audio
// MultichannelConfig is `metadata`, not `config`: it stands beside the sequence header instead of
// replacing it.
std::optional<media::PacketInfo> parse_tag_body(media::TrackKind kind, ByteSpan body);

}  // namespace weir::flv
