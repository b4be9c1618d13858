#include "proto/rtcp/packet.h"

namespace weir::rtcp {
namespace {

constexpr uint8_t kVersion2 = 2;
constexpr uint8_t kPaddingBit = 0x20;
constexpr uint8_t kCountBits = 0x1F;

}  // namespace

bool CompoundReader::next(PacketView& out) {
    if (reader_.empty()) {
        return false;
    }
    const uint8_t first = reader_.u8();
    out.type = static_cast<PacketType>(reader_.u8());
    out.count = first & kCountBits;
    out.body = reader_.take(size_t{4} * reader_.u16());
    if (first >> 6 != kVersion2) {
        reader_.fail();
    }
    // Deviation: RFC 3550 §6.4.1 wants padding in words; browsers pad transport-wide feedback by 1
    // to 3 bytes.
    if (reader_.ok() && (first & kPaddingBit) != 0) {
        const uint8_t padding = out.body.empty() ? uint8_t{0} : out.body.back();
        if (padding == 0 || padding > out.body.size()) {
            reader_.fail();
        } else {
            out.body = out.body.first(out.body.size() - padding);
        }
    }
    return reader_.ok();
}

}  // namespace weir::rtcp
