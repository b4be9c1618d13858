// Values of the RTP header extensions that WebRTC uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::rtp {

inline constexpr size_t kTransportSequenceSize =
    2;  // draft-holmer-rmcat-transport-wide-cc-extensions
inline constexpr size_t kAbsoluteSendTimeSize = 3;  // 24 bits, unsigned 6.18 fixed point seconds

inline constexpr uint64_t kAbsoluteSendTimeRangeUs = 64'000'000;

// The 24 bits of a time in microseconds that is not negative; wraps after 64 s.
constexpr uint32_t absolute_send_time(int64_t time_us) {
    const uint64_t within = static_cast<uint64_t>(time_us) % kAbsoluteSendTimeRangeUs;
    return static_cast<uint32_t>((within << 18U) / 1'000'000U);
}

// The other way round, 0 to 64 s.
constexpr int64_t absolute_send_time_us(uint32_t value) {
    return static_cast<int64_t>((uint64_t{value & 0xFFFFFFU} * 1'000'000U + (1U << 17U)) >> 18U);
}

// RFC 6464: 0 (loudest) to 127 -dBov (silence), and whether the sender thinks it is voice.
struct AudioLevel {
    uint8_t minus_dbov = 127;
    bool voice = false;
};

constexpr AudioLevel parse_audio_level(uint8_t value) {
    return {static_cast<uint8_t>(value & 0x7F), (value & 0x80) != 0};
}

}  // namespace weir::rtp
