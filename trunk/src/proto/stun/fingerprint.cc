#include "proto/stun/fingerprint.h"

#include <array>

namespace weir::stun {

namespace {

constexpr uint32_t kReversedPolynomial = 0xEDB88320;
constexpr uint32_t kStunMask = 0x5354554E;

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < table.size(); byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) {
            value = (value & 1U) != 0 ? value >> 1U ^ kReversedPolynomial : value >> 1U;
        }
        table[byte] = value;
    }
    return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32(ByteSpan bytes) {
    uint32_t value = 0xFFFFFFFF;
    for (uint8_t byte : bytes) {
        value = value >> 8U ^ kTable[(value ^ byte) & 0xFFU];
    }
    return ~value;
}

uint32_t fingerprint_of(ByteSpan message) {
    return crc32(message) ^ kStunMask;
}

}  // namespace weir::stun
