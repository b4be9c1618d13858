// Retransmission as a stream of its own (RFC 4588 §4): an RTX packet is the original one with the
// SSRC, payload type and sequence number of the RTX stream, and the original sequence number in
// front of the payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "proto/rtp/header.h"

namespace weir::rtp {

inline constexpr size_t kRtxOverhead = 2;

// The original sequence number; nothing when the packet carries none, which is what senders use to
// probe for bandwidth (padding only).
inline std::optional<uint16_t> rtx_original_sequence(const PacketView& rtx) {
    const ByteSpan payload = rtx.payload();
    if (payload.size() < kRtxOverhead) {
        return std::nullopt;
    }
    return static_cast<uint16_t>(payload[0] << 8 | payload[1]);
}

// Writes the original packet into `out`, without padding: its header extensions are those of the
// RTX packet. Returns its size; 0 when the packet carries no original or `out` is too small.
size_t unwrap_rtx(ByteSpan packet,
                  const PacketView& rtx,
                  uint32_t ssrc,
                  uint8_t payload_type,
                  std::span<uint8_t> out);

// The other way round: writes the RTX packet of `packet` into `out`. `header` says payload type,
// sequence number and SSRC of the RTX stream; marker and timestamp are those of the packet. Returns
// its size; 0 when the packet is no RTP packet or `out` is too small.
size_t wrap_rtx(ByteSpan packet, const Header& header, std::span<uint8_t> out);

}  // namespace weir::rtp
