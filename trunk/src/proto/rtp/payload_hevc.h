// RTP payload of HEVC (RFC 7798): single NAL units (§4.4.1), AP (§4.4.2) and FU (§4.4.3). Out
// without decoding order numbers (sprop-max-don-diff 0); in also with them, while units come in the
// order of decoding. PACI packets are refused.
//
//     FU     F 49 layer tid (2 bytes) | S E type | piece of a NAL unit without its header
//     AP     F 48 layer tid (2 bytes) | size 2 | NAL unit | size 2 | NAL unit ...
//
// With decoding order numbers: 2 bytes behind the header of single units and of AP, and behind the
// third byte of the first FU; 1 byte before each further size in AP.
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
    explicit HevcDepacketizer(size_t reserved_front = 0, const PayloadParameters& parameters = {})
        : NalDepacketizer(reserved_front), numbered_(parameters.decoding_order_numbers) {}

  private:
    bool begins_frame(ByteSpan payload) const override;
    bool begins_picture(ByteSpan payload) const override;
    bool continues_picture(ByteSpan payload) const override;

    bool has_picture() const override { return slice_ || in_fragment(); }

    bool is_cut() const override { return in_fragment(); }

    bool add(ByteSpan payload) override;
    bool add_single(ByteSpan header, ByteSpan body);
    Completion complete(Frame& out) override;
    void reset() override;
    NalUse use_of(ByteSpan nal) const override;
    bool identify(ByteSpan nal, ParameterSet& out) const override;
    void note(ByteSpan nal) override;

    // Bytes of a decoding order number (DONL).
    size_t order_size() const { return numbered_ ? 2 : 0; }

    bool numbered_;
    uint32_t width_ = 0;
    uint32_t height_ = 0;
    uint8_t temporal_id_ = 0;
    uint8_t temporal_layers_ = 1;
    bool slice_ = false;
    bool key_ = false;
    bool referenced_ = false;
};

}  // namespace weir::rtp
