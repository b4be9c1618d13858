// The first bytes of a tag body (FLV 10.1 Annex E, Enhanced RTMP v2), in front of a codec's own
// bytes: what parse_tag_body() reads. For media that did not come as FLV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/codec.h"

namespace weir::flv {

inline constexpr size_t kMaxBodyHeader = 5;

enum class BodyKind : uint8_t { kFrame, kKeyFrame, kConfig };

// 0: the codec cannot be carried, or (G.711) has no configuration.
size_t body_header_size(media::Codec codec, BodyKind kind);

// Writes that many bytes. Composition time 0. Sound: the number of channels is only said for G.711
// and AAC, where it is a flag that nobody relies on.
size_t write_body_header(media::Codec codec, BodyKind kind, std::span<uint8_t> out);

}  // namespace weir::flv
