#include "net/ts/fec_blocks.h"

#include <algorithm>
#include <utility>

#include "proto/rtp/header.h"

namespace weir::net {
namespace {

constexpr uint8_t kVersion = 0x80;
constexpr uint8_t kVersionBits = 0xC0;
constexpr uint8_t kPadding = 0x20;
constexpr size_t kSsrcAt = 8;
constexpr size_t kTsPacket = 188;
constexpr uint8_t kTsSync = 0x47;

// `bytes` must be the RTP packet with that number; it is cut to the packets of the transport stream
// in it, since zeros may follow them.
bool finish(Bytes& bytes, uint16_t sequence, uint32_t ssrc) {
    if ((bytes[0] & kVersionBits) != kVersion) {
        return false;
    }
    bytes[0] &= static_cast<uint8_t>(~kPadding);  // its length was in the last byte
    const auto packet = rtp::PacketView::parse(bytes);
    if (!packet || packet->sequence() != sequence) {
        return false;
    }
    const ByteSpan payload = packet->payload();
    size_t used = 0;
    while (used + kTsPacket <= payload.size() && payload[used] == kTsSync) {
        used += kTsPacket;
    }
    if (used == 0) {
        return false;
    }
    bytes.resize(bytes.size() - payload.size() + used);
    // A relay may have changed that of the media, and not that in the parities.
    for (size_t i = 0; i < sizeof ssrc; i++) {
        bytes[kSsrcAt + i] = static_cast<uint8_t>(ssrc >> (24 - 8 * i));
    }
    return true;
}

}  // namespace

bool FecBlocks::add(const fec::BlockParityView& view, size_t missing) {
    auto its = std::ranges::find(blocks_, view.first, &Block::first);
    if (its == blocks_.end()) {
        if (blocks_.size() == kMaxBlocks) {
            return false;
        }
        its = blocks_.emplace(its);
        its->first = view.first;
        its->data = view.data;
        its->parities = view.parities;
        its->length = view.body.size();
        its->missing = missing;
    }
    if (its->data != view.data || its->parities != view.parities ||
        its->length != view.body.size()) {
        return false;
    }
    if (std::ranges::find(its->there, view.index, &Parity::index) == its->there.end()) {
        Parity& parity = its->there.emplace_back();
        parity.index = view.index;
        parity.body.assign(view.body.begin(), view.body.end());
    }
    return true;
}

void FecBlocks::note(uint16_t sequence) {
    for (Block& each : blocks_) {
        each.missing -= each.has(sequence) && each.missing > 0 ? 1U : 0U;
    }
}

std::optional<FecBlocks::Block> FecBlocks::take_whole() {
    const auto its = std::ranges::find_if(blocks_, &Block::is_enough);
    if (its == blocks_.end()) {
        return std::nullopt;
    }
    std::optional<Block> block = std::move(*its);
    blocks_.erase(its);
    return block;
}

std::vector<FecBlocks::Block> FecBlocks::take_if(
    const std::function<bool(uint16_t first)>& is_over) {
    std::vector<Block> taken;
    std::erase_if(blocks_, [&](Block& each) {
        const bool over = is_over(each.first);
        if (over) {
            taken.push_back(std::move(each));
        }
        return over;
    });
    return taken;
}

std::vector<FecBlocks::Packet> FecBlocks::recover(const Block& block,
                                                  uint32_t ssrc,
                                                  const Lookup& lookup) {
    const fec::CodePoints other = points_ == fec::CodePoints::kIntegers
                                      ? fec::CodePoints::kPowers
                                      : fec::CodePoints::kIntegers;
    for (const fec::CodePoints points : {points_, other}) {
        std::vector<Packet> packets = recover_with(points, block, ssrc, lookup);
        if (!packets.empty()) {
            points_ = points;
            return packets;
        }
    }
    return {};
}

std::vector<FecBlocks::Packet> FecBlocks::recover_with(fec::CodePoints points,
                                                       const Block& block,
                                                       uint32_t ssrc,
                                                       const Lookup& lookup) {
    std::vector<ByteSpan> media;
    std::vector<uint8_t> missing;
    for (uint8_t i = 0; i < block.data; i++) {
        media.push_back(lookup(static_cast<uint16_t>(block.first + i)));
        if (media.back().empty()) {
            missing.push_back(i);
        } else if (media.back().size() > block.length) {
            return {};
        }
    }
    if (missing.empty() || missing.size() > block.there.size()) {
        return {};
    }
    const fec::ReedSolomon& code = this->code(points, block);
    std::vector<uint8_t> indexes;
    std::vector<Bytes> rest;
    for (size_t row = 0; row < missing.size(); row++) {
        const Parity& parity = block.there[row];
        indexes.push_back(parity.index);
        Bytes& bytes = rest.emplace_back(parity.body);
        for (uint8_t i = 0; i < block.data; i++) {
            code.add(parity.index, i, media[i], bytes);
        }
    }
    code.solve({.packets = missing, .parities = indexes}, rest);
    std::vector<Packet> packets;
    for (size_t i = 0; i < missing.size(); i++) {
        const auto sequence = static_cast<uint16_t>(block.first + missing[i]);
        if (!finish(rest[i], sequence, ssrc)) {
            return {};
        }
        packets.push_back({.sequence = sequence, .datagram = std::move(rest[i])});
    }
    return packets;
}

const fec::ReedSolomon& FecBlocks::code(fec::CodePoints points, const Block& block) {
    if (!code_ || code_->points() != points || code_->data() != block.data ||
        code_->parities() != block.parities) {
        code_.emplace(points, block.data, block.parities);
    }
    return *code_;
}

}  // namespace weir::net
