// Feedback of a receiver (RFC 4585, RFC 5104, draft-alvestrand-rmcat-remb): reading of NACK, PLI,
// FIR and REMB. CompoundWriter (proto/rtcp/writer.h) writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "proto/rtcp/packet.h"

namespace weir::rtcp {

inline constexpr size_t kNackEntrySize = 4;
inline constexpr size_t kFirEntrySize = 8;

// What all feedback starts with.
struct FeedbackSources {
    uint32_t sender_ssrc = 0;
    uint32_t media_ssrc = 0;
};

// A generic NACK (RFC 4585 §6.2.1); the packet must outlive it. One entry of four bytes names up
// to 17 lost packets, so the bytes of a datagram bound what it can ask for.
struct NackView {
    FeedbackSources sources;
    ByteSpan entries;

    // Calls visit(uint16_t sequence) for each packet that was not received.
    template <typename Visit>
    void for_each_lost(Visit&& visit) const {
        for (size_t at = 0; at + kNackEntrySize <= entries.size(); at += kNackEntrySize) {
            const auto first = static_cast<uint16_t>(entries[at] << 8 | entries[at + 1]);
            const auto mask = static_cast<uint16_t>(entries[at + 2] << 8 | entries[at + 3]);
            visit(first);
            for (unsigned bit = 0; bit < 16; bit++) {
                if ((mask >> bit & 1U) != 0) {
                    visit(static_cast<uint16_t>(first + bit + 1));
                }
            }
        }
    }
};

// Each gives nothing when the packet is something else or malformed.
std::optional<NackView> parse_nack(const PacketView& packet);

// PLI: the sources, nothing else.
std::optional<FeedbackSources> parse_picture_loss(const PacketView& packet);

// FIR: the sequence number of the command for that source. The same number again is a repetition,
// not another request (RFC 5104 §4.3.1.1). The media source of the header is 0 and of no use.
std::optional<uint8_t> find_full_intra_request(const PacketView& packet, uint32_t ssrc);

// REMB (draft-alvestrand-rmcat-remb-03 §2.2): the bit rate that a receiver can take over the
// sources it names, together.
struct BitrateLimit {
    uint64_t bits_per_second = 0;
    uint32_t sender_ssrc = 0;
    ByteSpan sources;  // four bytes each
};

std::optional<BitrateLimit> parse_bitrate_limit(const PacketView& packet);

}  // namespace weir::rtcp
