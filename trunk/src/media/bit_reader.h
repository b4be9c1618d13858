// Reading of bit fields, most significant bit first, with the Exp-Golomb codes of H.264 and HEVC.
//
// Like ByteReader it fails once and for all: behind the end everything is 0 and ok() is false. For
// NAL units it leaves out the emulation prevention bytes (ITU-T H.264 §7.4.1: 3 in 0 0 3) as it
// goes, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::media {

class BitReader {
  public:
    enum class Escapes : uint8_t { kNone, kNalUnit };

    explicit BitReader(ByteSpan bytes, Escapes escapes = Escapes::kNone)
        : bytes_(bytes), nal_unit_(escapes == Escapes::kNalUnit) {}

    bool ok() const { return ok_; }

    // Bits that were read, escapes included.
    size_t position() const { return at_ * 8 - left_; }

    uint32_t bit() {
        if (left_ == 0 && !next_byte()) {
            return 0;
        }
        left_--;
        return static_cast<uint32_t>(current_) >> left_ & 1U;
    }

    bool flag() { return bit() != 0; }

    // count <= 32.
    uint32_t bits(unsigned count) {
        uint32_t value = 0;
        for (unsigned i = 0; i < count; i++) {
            value = value << 1U | bit();
        }
        return ok_ ? value : 0;
    }

    // Any number; the end of the input ends the loop.
    void skip(size_t count) {
        for (size_t i = 0; i < count && ok_; i++) {
            bit();
        }
    }

    // Unsigned Exp-Golomb code, ue(v) of H.264 §9.1; codes longer than 32 bits are a failure.
    uint32_t ue() {
        unsigned zeros = 0;
        while (ok_ && bit() == 0) {
            if (++zeros > 31) {
                fail();
            }
        }
        return ok_ ? (1U << zeros) - 1 + bits(zeros) : 0;
    }

    // Signed, se(v).
    int32_t se() {
        const uint32_t code = ue();
        const auto half = static_cast<int32_t>(code / 2 + code % 2);
        return code % 2 != 0 ? half : -half;
    }

    void fail() {
        ok_ = false;
        left_ = 0;
        at_ = bytes_.size();
    }

  private:
    bool next_byte() {
        if (nal_unit_ && zeros_ >= 2 && at_ < bytes_.size() && bytes_[at_] == 3) {
            at_++;
            zeros_ = 0;
        }
        if (at_ >= bytes_.size()) {
            fail();
            return false;
        }
        current_ = bytes_[at_++];
        zeros_ = current_ == 0 ? zeros_ + 1 : 0;
        left_ = 8;
        return true;
    }

    ByteSpan bytes_;
    size_t at_ = 0;
    size_t zeros_ = 0;  // how many zero bytes came last
    uint8_t current_ = 0;
    unsigned left_ = 0;  // bits of current_ that were not read yet
    bool nal_unit_ = false;
    bool ok_ = true;
};

}  // namespace weir::media
