#include "proto/fec/parity.h"

#include <algorithm>

namespace weir::fec {
namespace {

constexpr uint8_t kVersion = 0x80;      // 2, in the upper bits
constexpr uint8_t kVersionBits = 0xC0;  // of the first byte of RTP
constexpr uint8_t kFieldBits = 0x3F;    // P, X and CC
constexpr uint8_t kExtended = 0x80;     // E: the header has its last four bytes
constexpr uint8_t kRow = 0x40;          // D
constexpr uint8_t kTypeBits = 0x38;     // 0: XOR

bool is_rtp(ByteSpan packet) {
    return packet.size() > kRtpHeader && (packet[0] & kVersionBits) == kVersion;
}

}  // namespace

std::optional<ParityView> ParityView::parse(ByteSpan datagram) {
    if (!is_rtp(datagram) || datagram.size() <= kRtpHeader + kParityHeader) {
        return std::nullopt;
    }
    ParityView view;
    // Its P, X and CC are of others, and say nothing of this packet.
    view.bits = datagram[0] & kFieldBits;
    ByteReader reader(datagram.subspan(kRtpHeader));
    view.first = reader.u16();
    view.length = reader.u16();
    view.type = static_cast<uint8_t>((datagram[1] & 0x80U) | (reader.u8() & 0x7FU));
    reader.skip(3);  // the mask, which offset and count replace
    view.timestamp = reader.u32();
    const uint8_t kind = reader.u8();
    view.is_row = (kind & kRow) != 0;
    view.offset = reader.u8();
    view.count = reader.u8();
    view.body = datagram.subspan(kRtpHeader + kParityHeader);
    if ((kind & kTypeBits) != 0 || view.offset == 0 || view.count == 0 ||
        size_t{view.offset} * view.count > kMaxMatrix || view.body.size() > kMaxBody) {
        return std::nullopt;
    }
    return view;
}

bool ParityView::protects(uint16_t sequence) const {
    const auto at = static_cast<uint16_t>(sequence - first);
    return at < span() && at % offset == 0;
}

void Parity::add_body(ByteSpan body) {
    if (body_.size() < body.size()) {
        body_.resize(body.size());
    }
    for (size_t i = 0; i < body.size(); i++) {
        body_[i] ^= body[i];
    }
}

bool Parity::add(ByteSpan packet) {
    if (!is_rtp(packet) || packet.size() > kMaxDatagram) {
        return false;
    }
    const ByteSpan body = packet.subspan(kRtpHeader);
    bits_ = static_cast<uint8_t>(bits_ ^ (packet[0] & kFieldBits));
    type_ ^= packet[1];
    length_ ^= static_cast<uint16_t>(body.size());
    timestamp_ ^= ByteReader(packet.subspan(4)).u32();
    add_body(body);
    return true;
}

void Parity::add(const ParityView& parity) {
    bits_ ^= parity.bits;
    type_ ^= parity.type;
    length_ ^= parity.length;
    timestamp_ ^= parity.timestamp;
    add_body(parity.body);
}

std::optional<Bytes> Parity::recover(uint16_t sequence, uint32_t ssrc) const {
    if (length_ == 0 || length_ > body_.size()) {
        return std::nullopt;
    }
    // Behind its end, the lost packet counted as zeros.
    if (std::any_of(body_.begin() + length_, body_.end(), [](uint8_t byte) { return byte != 0; })) {
        return std::nullopt;
    }
    Bytes packet;
    packet.reserve(kRtpHeader + length_);
    ByteWriter writer(packet);
    writer.u8(kVersion | bits_).u8(type_).u16(sequence).u32(timestamp_).u32(ssrc);
    packet.insert(packet.end(), body_.begin(), body_.begin() + length_);
    return packet;
}

Bytes Parity::make(const ParityPlace& place) const {
    Bytes packet;
    packet.reserve(kRtpHeader + kParityHeader + body_.size());
    ByteWriter writer(packet);
    writer.u8(kVersion | bits_)
        .u8(static_cast<uint8_t>((type_ & 0x80U) | place.payload_type))
        .u16(place.sequence)
        .u32(0)
        .u32(0);
    writer.u16(place.first).u16(length_).u8(kExtended | (type_ & 0x7FU)).u24(0).u32(timestamp_);
    writer.u8(place.is_row ? kRow : 0).u8(place.offset).u8(place.count).u8(0);
    packet.insert(packet.end(), body_.begin(), body_.end());
    return packet;
}

void Parity::clear() {
    *this = Parity();
}

}  // namespace weir::fec
