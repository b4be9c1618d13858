#include "proto/ws/frame.h"

#include <algorithm>

namespace weir::ws {

namespace {

constexpr uint8_t kFinBit = 0x80;
constexpr uint8_t kRsvBits = 0x70;
constexpr uint8_t kOpcodeBits = 0x0F;
constexpr uint8_t kMaskBit = 0x80;
constexpr uint8_t kLengthBits = 0x7F;
constexpr uint8_t kLength16 = 126;
constexpr uint8_t kLength64 = 127;

bool is_known(uint8_t opcode) {
    return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xA);
}

size_t write_header(
    uint8_t* out, Opcode opcode, uint64_t payload_bytes, bool fin, uint8_t mask_bit) {
    out[0] = static_cast<uint8_t>((fin ? kFinBit : 0) | static_cast<uint8_t>(opcode));
    switch (frame_header_size(payload_bytes)) {
        case 2: out[1] = static_cast<uint8_t>(mask_bit | payload_bytes); return 2;
        case 4:
            out[1] = mask_bit | kLength16;
            store_u16(out + 2, static_cast<uint16_t>(payload_bytes));
            return 4;
        default:
            out[1] = mask_bit | kLength64;
            store_u64(out + 2, payload_bytes);
            return 10;
    }
}

ByteSpan cut_for_control(Opcode opcode, ByteSpan payload) {
    return is_control(opcode) ? payload.first(std::min(payload.size(), kMaxControlPayload))
                              : payload;
}

}  // namespace

size_t write_frame_header(uint8_t* out, Opcode opcode, uint64_t payload_bytes, bool fin) {
    return write_header(out, opcode, payload_bytes, fin, 0);
}

size_t write_masked_frame_header(
    uint8_t* out, Opcode opcode, uint64_t payload_bytes, const MaskKey& key, bool fin) {
    size_t size = write_header(out, opcode, payload_bytes, fin, kMaskBit);
    std::copy(key.begin(), key.end(), out + size);
    return size + key.size();
}

void apply_mask(std::span<uint8_t> data, const MaskKey& key, uint64_t offset) {
    for (size_t i = 0; i < data.size(); i++) {
        data[i] ^= key[(offset + i) % key.size()];
    }
}

Bytes make_frame(Opcode opcode, ByteSpan payload) {
    payload = cut_for_control(opcode, payload);
    Bytes frame(frame_header_size(payload.size()) + payload.size());
    size_t header = write_frame_header(frame.data(), opcode, payload.size());
    std::copy(payload.begin(), payload.end(), frame.begin() + static_cast<std::ptrdiff_t>(header));
    return frame;
}

Bytes make_masked_frame(Opcode opcode, ByteSpan payload, const MaskKey& key) {
    payload = cut_for_control(opcode, payload);
    Bytes frame(frame_header_size(payload.size()) + key.size() + payload.size());
    size_t header = write_masked_frame_header(frame.data(), opcode, payload.size(), key);
    std::copy(payload.begin(), payload.end(), frame.begin() + static_cast<std::ptrdiff_t>(header));
    apply_mask(std::span(frame).subspan(header), key);
    return frame;
}

Bytes make_close_payload(CloseCode code, std::string_view reason) {
    size_t size = std::min(reason.size(), kMaxControlPayload - 2);
    // A cut must not leave half a UTF-8 sequence: step back over its continuation bytes.
    while (size > 0 && size < reason.size() &&
           (static_cast<uint8_t>(reason[size]) & 0xC0U) == 0x80) {
        size--;
    }
    Bytes payload;
    ByteWriter(payload).u16(static_cast<uint16_t>(code)).text(reason.substr(0, size));
    return payload;
}

Bytes make_close(CloseCode code, std::string_view reason) {
    return make_frame(Opcode::kClose, make_close_payload(code, reason));
}

HeaderStatus parse_frame_header(ByteSpan bytes, Role role, FrameHeader& out) {
    if (bytes.empty()) {
        return HeaderStatus::kNeedMore;
    }
    uint8_t opcode = bytes[0] & kOpcodeBits;
    if ((bytes[0] & kRsvBits) != 0 || !is_known(opcode)) {
        return HeaderStatus::kMalformed;
    }
    out.opcode = static_cast<Opcode>(opcode);
    out.fin = (bytes[0] & kFinBit) != 0;
    if (is_control(out.opcode) && !out.fin) {
        return HeaderStatus::kMalformed;
    }
    if (bytes.size() < 2) {
        return HeaderStatus::kNeedMore;
    }
    out.masked = (bytes[1] & kMaskBit) != 0;
    uint8_t length = bytes[1] & kLengthBits;
    if (out.masked != (role == Role::kServer) ||
        (is_control(out.opcode) && length > kMaxControlPayload)) {
        return HeaderStatus::kMalformed;
    }
    ByteReader reader(bytes.subspan(2));
    out.payload_bytes = length == kLength64   ? reader.u64()
                        : length == kLength16 ? reader.u16()
                                              : length;
    // RFC 6455 §5.2: the shortest form must be used, and the top bit of the 64 is 0. Checked before
    // the masking key, so that a bad length is an error at the same byte however the input is
    // split.
    if (reader.ok() &&
        ((length == kLength16 && out.payload_bytes < 126) ||
         (length == kLength64 && (out.payload_bytes <= 0xFFFF || out.payload_bytes >> 63U != 0)))) {
        return HeaderStatus::kMalformed;
    }
    if (out.masked) {
        ByteSpan key = reader.take(out.mask.size());
        std::copy(key.begin(), key.end(), out.mask.begin());
    }
    if (!reader.ok()) {
        return HeaderStatus::kNeedMore;
    }
    out.header_bytes = 2 + reader.position();
    return HeaderStatus::kDone;
}

}  // namespace weir::ws
