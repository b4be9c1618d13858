// RTP payload of AAC as mpeg4-generic (RFC 3640): modes AAC-hbr (§3.3.6) and AAC-lbr (§3.3.5), and
// any other set of fields in the AU headers.
//
//     bits of AU headers 2 | AU header: size 13, index 3 | ... | AU | AU ...
//
// A packet has whole access units or a piece of one (§3.1). A piece does not say where in its unit
// it belongs, but how long the unit is: it is given out only when no packet is missing and the
// lengths add up. Interleaved units (AU-Index-delta over 0, §3.2.3.2) are refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

inline constexpr size_t kMaxAudioUnits = 128;             // in a packet
inline constexpr size_t kMaxAudioUnitSize = 0xFFFF;       // that is received
inline constexpr size_t kMaxHbrUnitSize = (1 << 13) - 1;  // that is sent: 13 bits

// Writes AAC-hbr: one unit in a packet, or pieces of one that does not fit.
class AacPacketizer final : public Packetizer {
  public:
    // A frame over kMaxHbrUnitSize is refused.
    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) override;
};

class AacDepacketizer final : public Depacketizer {
  public:
    explicit AacDepacketizer(const PayloadParameters& parameters = {}, size_t reserved_front = 0)
        : Depacketizer(reserved_front),
          fields_(parameters.au_header),
          unit_ticks_(parameters.unit_ticks) {}

    FeedStatus feed(ByteSpan payload, const PayloadInfo& info) override;

  private:
    bool read_headers(ByteReader& payload);
    bool size_units(size_t bytes, bool marker);
    FeedStatus take_piece(ByteSpan piece, const PayloadInfo& info);
    FeedStatus take_units(ByteSpan data, uint32_t rtp_time);
    FeedStatus refuse();
    void give_unit(ByteSpan unit, uint32_t rtp_time);
    void drop_pieces();

    AuHeaderFields fields_;
    uint32_t unit_ticks_;
    // Of the packet in hand.
    std::array<uint16_t, kMaxAudioUnits> sizes_{};
    size_t count_ = 0;
    // The unit in pieces.
    Bytes pieces_;
    size_t whole_size_ = 0;  // 0: there is none
    uint32_t pieces_time_ = 0;
    bool after_loss_ = false;
};

}  // namespace weir::rtp
