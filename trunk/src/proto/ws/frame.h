// WebSocket frames (RFC 6455 §5): header codec, masking, and ready-made control frames. Sans-IO.
//
//     0               1               2               3
//    +-+---+-------+-+-------------+-------------------------------+
//    |F|RSV|opcode |M| length (7)  | 16 or 64 bits more of length  |
//    |I|000|  (4)  |A|             | when the 7 bits are 126, 127  |
//    +-+---+-------+-+-------------+-------------------------------+
//    | masking key (4 bytes, when M) | payload ...                 |
//    +-------------------------------+-----------------------------+
//
// A server writes unmasked frames and reads masked ones, a client the other way round. No extension
// is spoken: a set RSV bit is a protocol error. The write functions of headers allocate nothing:
// the pump calls them per flush.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace weir::ws {

enum class Opcode : uint8_t {
    kContinuation = 0x0,
    kText = 0x1,
    kBinary = 0x2,
    kClose = 0x8,
    kPing = 0x9,
    kPong = 0xA,
};

// True for close, ping and pong (RFC 6455 §5.5): at most 125 bytes, never fragmented.
constexpr bool is_control(Opcode opcode) {
    return (static_cast<uint8_t>(opcode) & 0x8U) != 0;
}

// Status codes of a close frame (RFC 6455 §7.4.1) that we send.
enum class CloseCode : uint16_t {
    kNormal = 1000,
    kGoingAway = 1001,
    kProtocolError = 1002,
    kUnsupportedData = 1003,
    kInvalidPayload = 1007,
    kPolicy = 1008,
    kTooBig = 1009,
    kInternalError = 1011,
};

// Which side reads: a server expects masked frames, a client unmasked ones.
enum class Role : uint8_t { kServer, kClient };

inline constexpr size_t kMaxServerFrameHeader = 10;  // bytes that write_frame_header() may write
inline constexpr size_t kMaxFrameHeader = 14;        // with a masking key
inline constexpr size_t kMaxControlPayload = 125;    // RFC 6455 §5.5

using MaskKey = std::array<uint8_t, 4>;

// Size of an unmasked header for a payload of so many bytes: 2, 4 or 10.
constexpr size_t frame_header_size(uint64_t payload_bytes) {
    return payload_bytes < 126 ? 2 : payload_bytes <= 0xFFFF ? 4 : 10;
}

// Writes an unmasked (server) header into `out`, which has room for kMaxServerFrameHeader bytes.
// Gives its size. `fin` false: more fragments of this message follow.
size_t write_frame_header(uint8_t* out, Opcode opcode, uint64_t payload_bytes, bool fin = true);

// The same with a masking key (client); room for kMaxFrameHeader bytes. The payload must then go
// through apply_mask().
size_t write_masked_frame_header(
    uint8_t* out, Opcode opcode, uint64_t payload_bytes, const MaskKey& key, bool fin = true);

// Masks or unmasks in place. `offset` is the position of data[0] in the frame's payload.
void apply_mask(std::span<uint8_t> data, const MaskKey& key, uint64_t offset = 0);

// Whole frames for conversations (not for the pump). Control payloads over kMaxControlPayload are
// cut.
Bytes make_frame(Opcode opcode, ByteSpan payload);
Bytes make_masked_frame(Opcode opcode, ByteSpan payload, const MaskKey& key);

// Payload of a close frame: two bytes of code and a UTF-8 reason, cut to fit. For
// make_frame(Opcode::kClose, ...).
Bytes make_close_payload(CloseCode code, std::string_view reason);

// A whole unmasked (server) close frame.
Bytes make_close(CloseCode code, std::string_view reason);

struct FrameHeader {
    Opcode opcode = Opcode::kContinuation;
    bool fin = true;
    bool masked = false;
    MaskKey mask{};
    uint64_t payload_bytes = 0;
    size_t header_bytes = 0;  // of this header itself
};

enum class HeaderStatus : uint8_t { kDone, kNeedMore, kMalformed };

// Parses one frame header from the front of `bytes`. kMalformed: RSV bits, unknown opcode, a
// control frame that is long or fragmented, a length that is not in its shortest form or has its
// top bit set, a mask where `role` forbids it or none where it demands one.
HeaderStatus parse_frame_header(ByteSpan bytes, Role role, FrameHeader& out);

}  // namespace weir::ws
