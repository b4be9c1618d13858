#include "media/vp8.h"

namespace weir::media::vp8 {
namespace {

constexpr uint32_t kStartCode = 0x9D012A;
constexpr uint16_t kSideBits = 0x3FFF;  // the two bits above are for scaling

uint16_t le16(ByteReader& reader) {
    const uint8_t low = reader.u8();
    return static_cast<uint16_t>(reader.u8() << 8 | low);
}

}  // namespace

std::optional<FrameInfo> parse_frame(ByteSpan frame) {
    // RFC 6386 §9.1: bit 0: 0 for key frames; version 3 bits; show_frame; size of the first
    // partition, 19 bits; little endian.
    ByteReader reader(frame);
    const uint8_t first = reader.u8();
    reader.skip(2);
    FrameInfo info;
    info.key = (first & 1) == 0;
    info.version = first >> 1 & 7;
    info.shown = (first & 0x10) != 0;
    if (info.key) {
        if (reader.u24() != kStartCode) {
            return std::nullopt;
        }
        info.width = le16(reader) & kSideBits;
        info.height = le16(reader) & kSideBits;
    }
    return reader.ok() ? std::optional(info) : std::nullopt;
}

}  // namespace weir::media::vp8
