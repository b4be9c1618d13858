#include "proto/mpegts/section.h"

#include <array>

namespace weir::mpegts {
namespace {

constexpr uint32_t kPolynomial = 0x04C1'1DB7;
constexpr uint8_t kStuffing = 0xFF;  // instead of a table_id: no section follows

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); i++) {
        uint32_t value = i << 24U;
        for (int bit = 0; bit < 8; bit++) {
            value = value << 1U ^ ((value & 0x8000'0000) != 0 ? kPolynomial : 0);
        }
        table[i] = value;
    }
    return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32(ByteSpan bytes) {
    uint32_t crc = 0xFFFF'FFFF;
    for (const uint8_t byte : bytes) {
        crc = crc << 8U ^ kTable[crc >> 24U ^ byte];
    }
    return crc;
}

SectionAssembler::Next SectionAssembler::look(size_t& size) {
    constexpr size_t kLengthEnd = 3;
    if (!data_.empty() && data_[0] == kStuffing) {
        reset();
    }
    if (data_.size() < kLengthEnd) {
        return Next::kNeedMore;
    }
    size = kLengthEnd + ((data_[1] & size_t{0x0F}) << 8U | data_[2]);
    if (size > kMaxSectionBytes) {
        bad_++;
        reset();
        return Next::kNeedMore;
    }
    if (data_.size() < size) {
        return Next::kNeedMore;
    }
    // Tables with a CRC say so by their section_syntax_indicator.
    const bool whole = (data_[1] & 0x80) != 0 && size >= kSectionHeaderSize + kCrcSize &&
                       crc32(ByteSpan(data_).first(size)) == 0;
    return whole ? Next::kSection : Next::kBad;
}

}  // namespace weir::mpegts
