#include "proto/mpegts/packet.h"

namespace weir::mpegts {
namespace {

constexpr uint8_t kErrorBit = 0x80;
constexpr uint8_t kStartBit = 0x40;
constexpr uint8_t kFieldBit = 0x20;
constexpr uint8_t kPayloadBit = 0x10;

constexpr uint8_t kDiscontinuityFlag = 0x80;
constexpr uint8_t kRandomAccessFlag = 0x40;
constexpr uint8_t kPcrFlag = 0x10;
constexpr size_t kPcrSize = 6;

// Times that far from 0 come from a peer that only jumps; then counting begins anew.
constexpr int64_t kFarthest = int64_t{1} << 60U;

// §2.4.3.4. `field`: behind its length.
void read_field(ByteSpan field, Packet& out) {
    if (field.empty()) {
        return;  // a single byte of stuffing
    }
    const uint8_t flags = field[0];
    out.discontinuity = (flags & kDiscontinuityFlag) != 0;
    out.random_access = (flags & kRandomAccessFlag) != 0;
    if ((flags & kPcrFlag) != 0 && field.size() > kPcrSize) {
        ByteReader reader(field.subspan(1, kPcrSize));
        const uint64_t high = reader.u32();
        const uint64_t low = reader.u16();
        out.pcr = (high << 1U | low >> 15U) * kPcrPerTick + (low & 0x1FFU);
    }
}

}  // namespace

std::optional<Packet> Packet::parse(ByteSpan bytes) {
    Packet out;
    out.transport_error = (bytes[1] & kErrorBit) != 0;
    out.unit_start = (bytes[1] & kStartBit) != 0;
    out.pid = static_cast<uint16_t>((bytes[1] & 0x1F) << 8 | bytes[2]);
    out.scrambled = (bytes[3] & 0xC0) != 0;
    out.has_payload = (bytes[3] & kPayloadBit) != 0;
    out.counter = bytes[3] & 0x0F;
    size_t at = kHeaderSize;
    if ((bytes[3] & kFieldBit) != 0) {
        const size_t size = bytes[at++];
        // §2.4.3.5: 183 without a payload, less with one.
        if (at + size > kPacketSize || (out.has_payload && at + size == kPacketSize)) {
            return out.transport_error ? std::optional(out) : std::nullopt;
        }
        read_field(bytes.subspan(at, size), out);
        at += size;
    } else if (!out.has_payload) {
        return out.transport_error ? std::optional(out) : std::nullopt;
    }
    if (out.has_payload) {
        out.payload = bytes.subspan(at, kPacketSize - at);
    }
    return out;
}

int64_t TimeUnwrapper::unwrap(uint64_t time) {
    constexpr int64_t kHalf = int64_t{1} << 32U;
    const auto value = static_cast<int64_t>(time & kTimeMask);
    if (!last_ || *last_ > kFarthest || *last_ < -kFarthest) {
        last_ = value;
        return value;
    }
    int64_t step = static_cast<int64_t>((time - static_cast<uint64_t>(*last_)) & kTimeMask);
    if (step >= kHalf) {
        step -= 2 * kHalf;
    }
    last_ = *last_ + step;
    return *last_;
}

}  // namespace weir::mpegts
