// RTP packets for tests, and the time they live in.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "proto/rtp/header.h"

namespace weir::rtp::test {

inline constexpr uint32_t kSsrc = 0x11223344;
inline constexpr uint32_t kRtxSsrc = 0x55667788;
inline constexpr uint8_t kPayloadType = 96;
inline constexpr uint8_t kRtxPayloadType = 97;

// Tests begin at an hour of the monotonic clock, so that nothing depends on zero.
inline constexpr MonoTime kStart{Seconds(3600)};

inline Bytes make_packet(const Header& header, ByteSpan payload) {
    Bytes bytes(kFixedHeaderSize);
    write_header(header, bytes.data());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

// Its payload is its sequence number, so that one can see what came out.
inline Bytes media_packet(uint16_t sequence, uint32_t timestamp = 0, size_t size = 20) {
    Bytes payload(size, static_cast<uint8_t>(sequence));
    store_u16(payload.data(), sequence);
    return make_packet({kPayloadType, false, sequence, timestamp, kSsrc}, payload);
}

}  // namespace weir::rtp::test
