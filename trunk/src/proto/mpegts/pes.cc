#include "proto/mpegts/pes.h"

#include <array>

#include "proto/mpegts/packet.h"

namespace weir::mpegts {
namespace {

constexpr size_t kStartSize = 6;  // prefix, stream_id, length
constexpr size_t kFixedSize = 9;
constexpr size_t kTimeSize = 5;

constexpr uint8_t kPtsFlag = 0x80;
constexpr uint8_t kDtsFlag = 0x40;
constexpr uint8_t kAlignedFlag = 0x04;

// Streams whose packets have no such header: maps, padding, private_stream_2, ECM, EMM, DSM-CC,
// H.222.1 type E, the directory (§2.4.3.7).
bool has_no_header(uint8_t stream_id) {
    switch (stream_id) {
        case 0xBC:
        case 0xBE:
        case 0xBF:
        case 0xF0:
        case 0xF1:
        case 0xF2:
        case 0xF8:
        case 0xFF: return true;
        default: return false;
    }
}

// Marker bits are not looked at: there are encoders that get them wrong.
uint64_t read_time(ByteReader& reader) {
    const uint64_t high = reader.u8() >> 1U & 7U;
    const uint64_t middle = reader.u16() >> 1U;
    const uint64_t low = reader.u16() >> 1U;
    return high << 30U | middle << 15U | low;
}

void write_time(uint8_t prefix, uint64_t time, uint8_t* out) {
    out[0] = static_cast<uint8_t>(prefix << 4U | (time >> 29U & 0x0E) | 1U);
    store_u16(out + 1, static_cast<uint16_t>((time >> 14U & 0xFFFE) | 1U));
    store_u16(out + 3, static_cast<uint16_t>((time << 1U & 0xFFFE) | 1U));
}

}  // namespace

PesHeader::Status PesHeader::parse(ByteSpan bytes, PesHeader& out) {
    constexpr std::array<uint8_t, 3> kPrefix = {0, 0, 1};
    for (size_t i = 0; i < kPrefix.size() && i < bytes.size(); i++) {
        if (bytes[i] != kPrefix[i]) {
            return Status::kMalformed;
        }
    }
    if (bytes.size() < kStartSize) {
        return Status::kNeedMore;
    }
    out = {};
    out.stream_id = bytes[3];
    const auto length = static_cast<size_t>(bytes[4] << 8 | bytes[5]);
    if (has_no_header(out.stream_id)) {
        out.size = kStartSize;
        out.payload_size = length;
        return Status::kDone;
    }
    if (bytes.size() < kFixedSize) {
        return Status::kNeedMore;
    }
    out.size = kFixedSize + bytes[8];
    if ((bytes[6] & 0xC0) != 0x80 || (length != 0 && kStartSize + length < out.size)) {
        return Status::kMalformed;
    }
    if (bytes.size() < out.size) {
        return Status::kNeedMore;
    }
    out.scrambled = (bytes[6] & 0x30) != 0;
    out.aligned = (bytes[6] & kAlignedFlag) != 0;
    if (length != 0) {
        out.payload_size = kStartSize + length - out.size;
    }
    ByteReader reader(bytes.subspan(kFixedSize, bytes[8]));
    const uint8_t flags = bytes[7];
    if ((flags & kPtsFlag) != 0 && reader.remaining() >= kTimeSize) {
        out.pts = read_time(reader);
        if ((flags & kDtsFlag) != 0 && reader.remaining() >= kTimeSize) {
            out.dts = read_time(reader);
        }
    }
    return Status::kDone;
}

size_t PesHeader::write(uint8_t* out) const {
    const size_t times = pts ? (dts ? 2 * kTimeSize : kTimeSize) : 0;
    const size_t whole = kFixedSize + times;
    const size_t length = payload_size.value_or(UINT16_MAX) + whole - kStartSize;
    store_u24(out, 1);
    out[3] = stream_id;
    store_u16(out + 4, static_cast<uint16_t>(length <= UINT16_MAX ? length : 0));
    out[6] = static_cast<uint8_t>(0x80 | (aligned ? kAlignedFlag : 0));
    out[7] = static_cast<uint8_t>((pts ? kPtsFlag : 0) | (pts && dts ? kDtsFlag : 0));
    out[8] = static_cast<uint8_t>(times);
    if (pts) {
        write_time(dts ? 3 : 2, *pts, out + kFixedSize);
        if (dts) {
            write_time(1, *dts, out + kFixedSize + kTimeSize);
        }
    }
    return whole;
}

}  // namespace weir::mpegts
