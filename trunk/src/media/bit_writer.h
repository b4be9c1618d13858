// Writes bit fields and the Exp-Golomb codes of H.264 and HEVC (H.264 §9.1): the counterpart of
// BitReader.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::media {

class BitWriter {
  public:
    // The lowest `count` bits of `value`, the highest of them first.
    BitWriter& bits(unsigned count, uint64_t value) {
        for (unsigned i = count; i > 0; i--) {
            if (used_ % 8 == 0) {
                bytes_.push_back(0);
            }
            const auto bit = static_cast<unsigned>(value >> (i - 1) & 1U);
            bytes_.back() = static_cast<uint8_t>(bytes_.back() | bit << (7 - used_ % 8));
            used_++;
        }
        return *this;
    }

    BitWriter& flag(bool value) { return bits(1, value ? 1 : 0); }

    BitWriter& ue(uint32_t value) {
        const uint64_t code = uint64_t{value} + 1;
        unsigned zeros = 0;
        while (code >> (zeros + 1) != 0) {
            zeros++;
        }
        return bits(zeros, 0).bits(zeros + 1, code);
    }

    BitWriter& se(int32_t value) {
        const int64_t wide = value;
        return ue(static_cast<uint32_t>(value > 0 ? 2 * wide - 1 : -2 * wide));
    }

    // byte_alignment() of HEVC (H.265 §7.3.2.12): a bit 1, then zeros up to the end of the byte.
    BitWriter& byte_align() { return bits(1, 1).bits((8 - used_ % 8) % 8, 0); }

    // The last byte is filled up with zeros.
    const Bytes& bytes() const { return bytes_; }

    // As a NAL unit: stop bit and emulation prevention bytes (H.264 §7.3.1) behind the header.
    Bytes nal(const Bytes& header) const {
        BitWriter payload = *this;
        payload.bits(1, 1);
        Bytes unit = header;
        size_t zeros = 0;
        for (uint8_t byte : payload.bytes_) {
            if (zeros >= 2 && byte <= 3) {
                unit.push_back(3);
                zeros = 0;
            }
            unit.push_back(byte);
            zeros = byte == 0 ? zeros + 1 : 0;
        }
        return unit;
    }

  private:
    Bytes bytes_;
    size_t used_ = 0;  // bits
};

}  // namespace weir::media
