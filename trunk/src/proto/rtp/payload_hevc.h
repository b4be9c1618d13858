// RTP payload of HEVC (RFC 7798): single NAL units (§4.4.1), AP (§4.4.2) and FU (§4.4.3), without
// decoding order numbers (sprop-max-don-diff 0). PACI packets are refused.
//
//     FU     F 49 layer tid (2 bytes) | S E type | piece of a NAL unit without its header
//     AP     F 48 layer tid (2 bytes) | size 2 | NAL unit | size 2 | NAL unit ...
//
// As in H.264, delimiters and filler data are not sent, and parameter sets come out as the
// configuration.
#pragma once

#include "proto/rtp/payload_nal.h"

namespace weir::rtp {

class HevcPacketizer final : public NalPacketizer {
  public:
    HevcPacketizer() : NalPacketizer(2) {}

    bool set_config(ByteSpan record) override;

  private:
    FrameKind inspect(ByteSpan frame, size_t length_size) const override;
    bool is_superfluous(ByteSpan nal) const override;
    void mark_aggregation(ByteSpan nal, bool first, uint8_t* header) const override;
    void write_fragment_header(ByteSpan nal, bool start, bool end, uint8_t* out) const override;
};

class HevcDepacketizer final : public NalDepacketizer {
  public:
    explicit HevcDepacketizer(size_t reserved_front = 0) : NalDepacketizer(reserved_front) {}

  private:
    bool begins_frame(ByteSpan payload) const override;
    bool add(ByteSpan payload) override;
    Completion complete(Frame& out) override;
    void reset() override;
    NalUse use_of(ByteSpan nal) const override;
    bool identify(ByteSpan nal, ParameterSet& out) const override;
    void note(ByteSpan nal) override;

    uint32_t width_ = 0;
    uint32_t height_ = 0;
    uint8_t temporal_id_ = 0;
    uint8_t temporal_layers_ = 1;
    bool slice_ = false;
    bool key_ = false;
    bool referenced_ = false;
};

}  // namespace weir::rtp
