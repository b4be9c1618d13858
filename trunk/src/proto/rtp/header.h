// RTP packets (RFC 3550 §5.1) and their header extensions (RFC 8285): a view of a received packet,
// writing of a header, and rewriting of a sent packet in place. Sans-IO; nothing here allocates.
//
//     0               1               2               3
//    +---+-+-+-------+-+-------------+-------------------------------+
//    |V=2|P|X|  CC   |M|     PT      |       sequence number         |
//    +---+-+-+-------+-+-------------+-------------------------------+
//    |                           timestamp                           |
//    |                             SSRC                              |
//    |                   CSRC, CC times 4 bytes ...                  |
//    | X: profile 0xBEDE or 0x100n   | length in words of 4 bytes    |
//    | elements: id 4 bits, size - 1 4 bits, data | id 8, size 8, data
//    +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace weir::rtp {

inline constexpr size_t kFixedHeaderSize = 12;
inline constexpr size_t kMaxOneByteExtensionId = 14;  // RFC 8285 §4.2
inline constexpr size_t kMaxOneByteExtensionSize = 16;
inline constexpr size_t kMaxExtensionSize = 255;  // RFC 8285 §4.3
inline constexpr uint8_t kMaxPayloadType = 127;

// RTP and RTCP on one port (RFC 5761 §4): true when a packet's second byte is that of RTCP. Call it
// for packets whose first byte is 128 to 191.
constexpr bool is_rtcp(ByteSpan packet) {
    return packet.size() >= 2 && packet[1] >= 192 && packet[1] <= 223;
}

struct Extension {
    uint8_t id = 0;  // 1 to 14 for the one-byte form, 1 to 255 for the two-byte form
    ByteSpan data;
};

// A received packet; the bytes that it was parsed from must outlive it.
class PacketView {
  public:
    // Nothing when it is no RTP packet: version, header longer than the packet, wrong padding.
    // Elements of a broken extension block are ignored from the broken one on, which is no failure.
    static std::optional<PacketView> parse(ByteSpan packet);

    // The same for a packet that SRTP still protects: the padding, which is encrypted, is not
    // looked at, and payload() is everything behind the header.
    static std::optional<PacketView> parse_protected(ByteSpan packet);

    bool marker() const { return marker_; }

    uint8_t payload_type() const { return payload_type_; }

    uint16_t sequence() const { return sequence_; }

    uint32_t timestamp() const { return timestamp_; }

    uint32_t ssrc() const { return ssrc_; }

    // Without header and padding. Empty in packets that only probe for bandwidth.
    ByteSpan payload() const { return payload_; }

    // Fixed header, CSRCs and extensions, in bytes.
    size_t header_size() const { return header_size_; }

    size_t padding_size() const { return padding_size_; }

    bool has_extensions() const { return !extensions_.empty(); }

    // The data of the first element with that id; it may be empty.
    std::optional<ByteSpan> extension(uint8_t id) const;

    // Calls visit(const Extension&) for each element.
    template <typename Visit>
    void for_each_extension(Visit&& visit) const {
        size_t at = 0;
        Extension element;
        while (next_extension(at, element)) {
            visit(element);
        }
    }

  private:
    bool next_extension(size_t& at, Extension& out) const;

    ByteSpan payload_;
    ByteSpan extensions_;  // the elements, in the form that two_byte_ says
    size_t header_size_ = 0;
    uint32_t timestamp_ = 0;
    uint32_t ssrc_ = 0;
    uint16_t sequence_ = 0;
    uint8_t payload_type_ = 0;
    uint8_t padding_size_ = 0;
    bool marker_ = false;
    bool two_byte_ = false;
};

// What a written header says, besides its extensions.
struct Header {
    uint8_t payload_type = 0;
    bool marker = false;
    uint16_t sequence = 0;
    uint32_t timestamp = 0;
    uint32_t ssrc = 0;
};

// Bytes of a header with these extensions, a multiple of four. The one-byte form when all of them
// fit it (an empty element does not), else the two-byte form, which needs `a=extmap-allow-mixed` or
// ids that say so. Ids are not 0 and sizes at most kMaxExtensionSize.
size_t header_size(std::span<const Extension> extensions);

// Writes header_size(extensions) bytes and returns that.
size_t write_header(const Header& header, std::span<const Extension> extensions, uint8_t* out);

// Without extensions: 12 bytes.
size_t write_header(const Header& header, uint8_t* out);

// Overwrites the fixed header of a packet in place: payload type, marker, sequence, timestamp,
// SSRC. Padding, CSRCs and extensions stay. `packet` has at least 12 bytes.
void rewrite_header(const Header& header, uint8_t* packet);

// The data of an extension of a packet, to be overwritten in place (absolute send time, transport
// sequence number). Empty when the packet does not have it.
std::span<uint8_t> mutable_extension(std::span<uint8_t> packet, uint8_t id);

// Fields of a packet of at least 12 bytes that is known to be RTP.
inline uint16_t sequence_of(const uint8_t* packet) {
    return static_cast<uint16_t>(packet[2] << 8 | packet[3]);
}

inline uint32_t ssrc_of(const uint8_t* packet) {
    return static_cast<uint32_t>(packet[8]) << 24 | static_cast<uint32_t>(packet[9]) << 16 |
           static_cast<uint32_t>(packet[10]) << 8 | packet[11];
}

}  // namespace weir::rtp
