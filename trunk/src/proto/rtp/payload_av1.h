// RTP payload of AV1 ("RTP Payload Format For AV1", AOMedia, version 1.0.0).
//
//     |Z|Y| W |N|-|-|-| size (leb128), OBU or a piece of one | ... | the last one without a size
//                       when W says how many there are (1 to 3)
//
// Z: the first one continues that of the packet before; Y: the last one goes on in the next packet;
// N: a coded video sequence begins. Temporal delimiters, tile lists and padding are not sent (§5),
// OBUs go without their own size field.
#pragma once

#include <cstdint>

#include "media/av1.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

class Av1Packetizer final : public Packetizer {
  public:
    bool set_config(ByteSpan record) override;
    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) override;

  private:
    Bytes config_obus_;  // go before a key frame without a sequence header
};

class Av1Depacketizer final : public FrameAssembler {
  public:
    explicit Av1Depacketizer(size_t reserved_front = 0) : FrameAssembler(reserved_front) {}

  private:
    bool begins_frame(ByteSpan payload) const override;

    // A temporal unit has frames that are not shown, and layers: its time tells where it ends.
    bool begins_picture(ByteSpan /*payload*/) const override { return false; }

    bool continues_picture(ByteSpan payload) const override;

    bool has_picture() const override { return frame_ || in_obu_; }

    bool is_cut() const override { return in_obu_; }

    bool add(ByteSpan payload) override;
    Completion complete(Frame& out) override;
    void reset() override;

    bool add_element(ByteSpan element, bool continues, bool goes_on);
    bool finish_obu();

    size_t obu_at_ = 0;  // where the OBU in pieces begins in data()
    bool in_obu_ = false;
    bool frame_ = false;  // there is some of a frame in data()
    uint32_t width_ = 0;
    uint32_t height_ = 0;
    Bytes config_;
};

}  // namespace weir::rtp
