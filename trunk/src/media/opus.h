// Opus packets (RFC 6716 §3.1) and the identification header (RFC 7845 §5.1) that is the sequence
// header of Enhanced RTMP. No decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::opus {

inline constexpr uint32_t kClockHz = 48'000;         // whatever the input rate was
inline constexpr uint32_t kMaxPacketSamples = 5760;  // 120 ms, RFC 6716 §3.2.5
inline constexpr uint16_t kDefaultPreSkip = 312;     // samples an encoder looks ahead, 6.5 ms

// Samples per channel at kClockHz. Nothing for an empty packet or one of more than 120 ms.
std::optional<uint32_t> packet_samples(ByteSpan packet);

// Whether the packet was encoded in stereo; a decoder gives any number of channels it is asked for.
bool is_stereo(ByteSpan packet);

// OpusHead for one or two channels (mapping family 0).
Bytes build_head(uint8_t channels, uint16_t pre_skip = kDefaultPreSkip);

// Channel count of an OpusHead; nothing when it is none.
std::optional<uint8_t> head_channels(ByteSpan head);

}  // namespace weir::media::opus
