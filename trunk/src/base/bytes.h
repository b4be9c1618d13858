// Reading and writing of big-endian (network order) bytes.
//
// ByteReader has a sticky failure: reading past the end gives zeros and empty spans and clears
// ok(), so a parser reads all of its fields and checks once. ByteWriter appends to a caller's
// vector.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace weir {

using Bytes = std::vector<uint8_t>;
using ByteSpan = std::span<const uint8_t>;

inline ByteSpan as_bytes(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
  public:
    explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }

    bool empty() const { return at_ == bytes_.size(); }

    size_t position() const { return at_; }

    size_t remaining() const { return bytes_.size() - at_; }

    uint8_t u8() { return static_cast<uint8_t>(big_endian(1)); }

    uint16_t u16() { return static_cast<uint16_t>(big_endian(2)); }

    uint32_t u24() { return static_cast<uint32_t>(big_endian(3)); }

    uint32_t u32() { return static_cast<uint32_t>(big_endian(4)); }

    uint64_t u64() { return big_endian(8); }

    double f64() { return std::bit_cast<double>(u64()); }

    uint32_t le32() { return __builtin_bswap32(u32()); }

    // The next `size` bytes as a view of the input; empty (and not ok) when there are fewer.
    ByteSpan take(size_t size) {
        if (size > remaining()) {
            fail();
            return {};
        }
        ByteSpan view = bytes_.subspan(at_, size);
        at_ += size;
        return view;
    }

    ByteSpan rest() { return take(remaining()); }

    void skip(size_t size) { take(size); }

    // The next byte without consuming it; 0 at the end, which is no failure.
    uint8_t peek() const { return empty() ? uint8_t{0} : bytes_[at_]; }

    void fail() {
        ok_ = false;
        at_ = bytes_.size();
    }

  private:
    uint64_t big_endian(size_t size) {
        if (size > remaining()) {
            fail();
            return 0;
        }
        uint64_t value = 0;
        for (size_t i = 0; i < size; i++) {
            value = value << 8 | bytes_[at_ + i];
        }
        at_ += size;
        return value;
    }

    ByteSpan bytes_;
    size_t at_ = 0;
    bool ok_ = true;
};

class ByteWriter {
  public:
    explicit ByteWriter(Bytes& out) : out_(out) {}

    ByteWriter& u8(uint8_t value) { return big_endian(value, 1); }

    ByteWriter& u16(uint16_t value) { return big_endian(value, 2); }

    ByteWriter& u24(uint32_t value) { return big_endian(value, 3); }

    ByteWriter& u32(uint32_t value) { return big_endian(value, 4); }

    ByteWriter& u64(uint64_t value) { return big_endian(value, 8); }

    ByteWriter& f64(double value) { return u64(std::bit_cast<uint64_t>(value)); }

    ByteWriter& le32(uint32_t value) { return u32(__builtin_bswap32(value)); }

    ByteWriter& bytes(ByteSpan value) {
        out_.insert(out_.end(), value.begin(), value.end());
        return *this;
    }

    ByteWriter& text(std::string_view value) { return bytes(as_bytes(value)); }

    size_t size() const { return out_.size(); }

  private:
    ByteWriter& big_endian(uint64_t value, size_t size) {
        for (size_t i = size; i-- > 0;) {
            out_.push_back(static_cast<uint8_t>(value >> (8 * i)));
        }
        return *this;
    }

    Bytes& out_;
};

// Stores into a fixed place, for headers that are built on the stack.
inline void store_u16(uint8_t* at, uint16_t value) {
    at[0] = static_cast<uint8_t>(value >> 8);
    at[1] = static_cast<uint8_t>(value);
}

inline void store_u24(uint8_t* at, uint32_t value) {
    at[0] = static_cast<uint8_t>(value >> 16);
    at[1] = static_cast<uint8_t>(value >> 8);
    at[2] = static_cast<uint8_t>(value);
}

inline void store_u32(uint8_t* at, uint32_t value) {
    value = __builtin_bswap32(value);
    std::memcpy(at, &value, sizeof value);
}

inline void store_u64(uint8_t* at, uint64_t value) {
    value = __builtin_bswap64(value);
    std::memcpy(at, &value, sizeof value);
}

}  // namespace weir
