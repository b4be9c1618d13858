// RTP payload of MPEG transport streams (MP2T, RFC 2250 §2): whole packets of 188 bytes, one behind
// the other.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"

namespace weir::rtp {

inline constexpr size_t kTsPacketSize = 188;

// The whole packets of a payload, a view of it; nothing when it has none, or something that does
// not begin with the sync byte 0x47. What remains behind the last whole packet is left out.
std::optional<ByteSpan> transport_packets(ByteSpan payload);

}  // namespace weir::rtp
