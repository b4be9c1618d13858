// Forward error correction of RTP by parity packets (SMPTE ST 2022-1, its header from RFC 2733).
// Media packets stand in a matrix of L columns and D rows, filled row by row; the parity of a
// column protects packets that are L apart, the parity of a row those of it. Pure.
//
// A parity packet is an RTP packet with this header behind its 12 bytes:
//
//     0               1               2               3
//    +-------------------------------+-------------------------------+
//    |      first sequence number    |        parity of lengths      |
//    +-+-------------+---------------+-------------------------------+
//    |E|parity of PT |                     mask                      |
//    +-+-------------+-----------------------------------------------+
//    |                      parity of timestamps                     |
//    +-+-+-----+-----+---------------+---------------+---------------+
//    |N|D|type |index|    offset     |     count     |   extension   |
//    +-+-+-----+-----+---------------+---------------+---------------+
//
// Lengths are those behind the 12 bytes of RTP; P, X, CC and M of the parity packet's own RTP
// header are parities of those of the media.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::fec {

inline constexpr size_t kRtpHeader = 12;
inline constexpr size_t kParityHeader = 16;
inline constexpr size_t kMaxDatagram = 1500;  // of media
inline constexpr size_t kMaxBody = kMaxDatagram - kRtpHeader;
inline constexpr size_t kMaxMatrix = 400;  // L x D

// A received parity packet; the bytes that it was parsed from must outlive it.
struct ParityView {
    uint16_t first = 0;   // sequence number of the first protected packet
    uint8_t offset = 0;   // between them: L of a column, 1 of a row
    uint8_t count = 0;    // of protected packets: D of a column, L of a row
    bool is_row = false;  // D: as the sender says
    uint8_t bits = 0;     // P, X, CC of RTP, in their places
    uint8_t type = 0;     // M and PT of RTP, in their places
    uint16_t length = 0;
    uint32_t timestamp = 0;
    ByteSpan body;

    // Nothing when it is no parity packet: too short, another code than XOR, protects nothing, more
    // than kMaxMatrix, or more than kMaxBody.
    static std::optional<ParityView> parse(ByteSpan datagram);

    // Sequence numbers from the first protected packet to the last one, both included.
    size_t span() const { return size_t{offset} * (count - 1U) + 1; }

    // Whether that packet is protected by it.
    bool protects(uint16_t sequence) const;
};

// Where parity packets of a matrix stand: what make() needs besides the parity.
struct ParityPlace {
    uint16_t first = 0;
    uint8_t offset = 1;
    uint8_t count = 1;
    bool is_row = false;
    uint16_t sequence = 0;  // of the parity packet itself
    uint8_t payload_type = 96;
};

// The XOR of packets: of all that a parity packet protects, to make it; of it and all but one of
// them, to have that one again.
class Parity {
  public:
    // A media packet, an RTP packet of at most kMaxDatagram. False: it is none; nothing was added.
    bool add(ByteSpan packet);

    void add(const ParityView& parity);

    // What is left: the packet with that number. Nothing when the lengths do not fit: the packets
    // were not those that the parity was made of.
    std::optional<Bytes> recover(uint16_t sequence, uint32_t ssrc) const;

    // The parity packet of what was added.
    Bytes make(const ParityPlace& place) const;

    void clear();

  private:
    void add_body(ByteSpan body);

    uint8_t bits_ = 0;
    uint8_t type_ = 0;
    uint16_t length_ = 0;
    uint32_t timestamp_ = 0;
    Bytes body_;  // as long as the longest
};

}  // namespace weir::fec
