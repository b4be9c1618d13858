// Forward error correction of RTP by Reed-Solomon parities, as IPTV networks send it beside a
// group. Of each `data` packets that follow each other, all of them with their RTP headers and
// padded with zeros to one length, `parities` more are made; any `data` of them all give back the
// others. Pure.
//
// A parity packet is an RTP packet with this header behind its 12 bytes:
//
//     0               1               2               3
//    +-------------------------------+-------------------------------+
//    |     first sequence number     |     last sequence number      |
//    +---------------+---------------+-------------------------------+
//    |   parities    |     index     |      bytes of the parity      |
//    +---------------+---------------+-------------------------------+
//    |    bytes of a data packet     |           reserved            |
//    +-------------------------------+-------------------------------+
//
// There is no standard of it. Bytes are of GF(256), x^8 + x^4 + x^3 + x^2 + 1. The bytes at one
// place of the data packets are the values of a polynomial at the first `data` points, those of the
// parities its values at the points behind them. Networks differ in what these points are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "proto/fec/parity.h"

namespace weir::fec {

// A received parity packet; the bytes that it was parsed from must outlive it.
struct BlockParityView {
    static constexpr size_t kHeader = 12;
    static constexpr size_t kMaxPackets = 255;  // of data and parities
    static constexpr uint8_t kMaxParities = 32;

    uint16_t first = 0;    // sequence number of the first data packet
    uint8_t data = 0;      // packets
    uint8_t parities = 0;  // packets
    uint8_t index = 0;     // of this one among the parities
    ByteSpan body;         // as long as a data packet is padded to

    // Nothing when it is none: its header does not fit its length, kMaxPackets, kMaxParities or
    // kMaxDatagram.
    static std::optional<BlockParityView> parse(ByteSpan datagram);

    // What parse() takes; `sequence` is that of the packet itself.
    Bytes write(uint16_t sequence, uint8_t payload_type) const;
};

enum class CodePoints : uint8_t {
    kIntegers,  // 0, 1, 2, ... as elements of the field
    kPowers,    // 1, 2, 4, ...: the powers of the generator
};

// The code of one shape. Making it costs data x (data + parities) multiplications.
class ReedSolomon {
  public:
    // data and parities: at least 1, together at most BlockParityView::kMaxPackets; parities at
    // most kMaxParities.
    ReedSolomon(CodePoints points, uint8_t data, uint8_t parities);

    CodePoints points() const { return points_; }

    uint8_t data() const { return data_; }

    uint8_t parities() const { return parities_; }

    // Adds the share of a data packet, or takes it away, which is the same, to a parity that is at
    // least as long.
    void add(uint8_t parity, uint8_t packet, ByteSpan bytes, std::span<uint8_t> to) const;

    // Data packets that are missing and as many parities that are there.
    struct Erasures {
        std::span<const uint8_t> packets;   // numbers, each once
        std::span<const uint8_t> parities;  // indexes, each once
    };

    // `rest` are the parities that are there, of one length, without the shares of the packets that
    // are there: afterwards they are the missing packets.
    void solve(const Erasures& erasures, std::span<Bytes> rest) const;

  private:
    uint8_t factor(uint8_t parity, uint8_t packet) const {
        return factors_[size_t{parity} * data_ + packet];
    }

    CodePoints points_;
    uint8_t data_;
    uint8_t parities_;
    std::vector<uint8_t> factors_;  // row by row: one for each parity
};

}  // namespace weir::fec
