// The head of the FLV tag body that a frame from RTP would have, for PlayerCheck. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "media/codec.h"

namespace weir::load {

inline constexpr size_t kMaxFlvHead = 5;

// AAC has 2 bytes, all others kMaxFlvHead.
size_t flv_head_size(media::Codec codec);

// `head` has so many bytes. Opus, G.711 and MP3 as audio of Enhanced RTMP.
void write_flv_head(std::span<uint8_t> head, media::Codec codec, bool key);

}  // namespace weir::load
