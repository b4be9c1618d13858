// FecBlocks: Reed-Solomon parities that wait for packets of their block (proto/fec/reed_solomon.h),
// and the packets that they give back. Which packets are there, its owner knows (FecRecovery).
// Pure.
//
// Networks differ in the points of their code, and nothing in the packets names them: they are
// found out by the sequence numbers of what is made, which must be those of what was missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "proto/fec/reed_solomon.h"

namespace weir::net {

class FecBlocks {
  public:
    static constexpr size_t kMaxBlocks = 16;

    struct Parity {
        uint8_t index = 0;
        Bytes body;
    };

    struct Block {
        uint16_t first = 0;
        uint8_t data = 0;
        uint8_t parities = 0;
        size_t length = 0;   // bytes of a packet
        size_t missing = 0;  // packets
        std::vector<Parity> there;

        bool has(uint16_t sequence) const { return static_cast<uint16_t>(sequence - first) < data; }

        bool is_enough() const { return there.size() >= missing; }
    };

    struct Packet {
        uint16_t sequence = 0;
        Bytes datagram;
    };

    // The packet with that number; empty: it is missing.
    using Lookup = std::function<ByteSpan(uint16_t)>;

    // One that waits; `missing` packets of its block are. False: there are too many blocks, or it
    // says something else than others of its block.
    bool add(const fec::BlockParityView& view, size_t missing);

    // That packet is there now.
    void note(uint16_t sequence);

    // A block with enough parities, which does not wait any longer; call it until there is none.
    std::optional<Block> take_whole();

    // Blocks for which `is_over` do not wait any longer.
    std::vector<Block> take_if(const std::function<bool(uint16_t first)>& is_over);

    // The missing packets of a block, in order. Nothing when the parities do not fit.
    std::vector<Packet> recover(const Block& block, uint32_t ssrc, const Lookup& lookup);

    bool empty() const { return blocks_.empty(); }

    void clear() { blocks_.clear(); }

  private:
    std::vector<Packet> recover_with(fec::CodePoints points,
                                     const Block& block,
                                     uint32_t ssrc,
                                     const Lookup& lookup);
    const fec::ReedSolomon& code(fec::CodePoints points, const Block& block);

    std::vector<Block> blocks_;
    std::optional<fec::ReedSolomon> code_;                 // the last one
    fec::CodePoints points_ = fec::CodePoints::kIntegers;  // that fitted last
};

}  // namespace weir::net
