#include "proto/rtp/payload_ts.h"

namespace weir::rtp {
namespace {

constexpr uint8_t kSyncByte = 0x47;

}  // namespace

std::optional<ByteSpan> transport_packets(ByteSpan payload) {
    const ByteSpan whole = payload.first(payload.size() / kTsPacketSize * kTsPacketSize);
    for (size_t at = 0; at < whole.size(); at += kTsPacketSize) {
        if (whole[at] != kSyncByte) {
            return std::nullopt;
        }
    }
    return whole.empty() ? std::nullopt : std::optional(whole);
}

}  // namespace weir::rtp
