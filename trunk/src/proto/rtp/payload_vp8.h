// RTP payload of VP8 (RFC 7741).
//
//     |X|R|N|S|R| PID | X: |I|L|T|K| RSV | I: M and picture id 7 or 15 | L: TL0PICIDX |
//     | T or K: TID 2, Y, KEYIDX 5 | piece of the frame
//
// We send the descriptor with a 15-bit picture id and no temporal layers: what MediaPacket knows
// nothing of.
#pragma once

#include <cstdint>
#include <optional>

#include "media/vpx_config.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

// The payload descriptor, RFC 7741 §4.2.
struct Vp8Descriptor {
    bool start = false;      // S and partition 0: the frame begins here
    bool referenced = true;  // N is not set
    std::optional<uint16_t> picture_id;
    std::optional<uint8_t> tl0_picture_index;
    uint8_t temporal_id = 0;
    size_t size = 0;  // in bytes

    // Nothing when it is longer than the payload.
    static std::optional<Vp8Descriptor> parse(ByteSpan payload);
};

class Vp8Packetizer final : public Packetizer {
  public:
    explicit Vp8Packetizer(uint16_t first_picture_id = 0) : picture_id_(first_picture_id) {}

    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) override;

  private:
    uint16_t picture_id_;  // 15 bits
};

class Vp8Depacketizer final : public FrameAssembler {
  public:
    explicit Vp8Depacketizer(size_t reserved_front = 0) : FrameAssembler(reserved_front) {}

  private:
    bool begins_frame(ByteSpan payload) const override;
    bool continues_picture(ByteSpan payload) const override;
    bool add(ByteSpan payload) override;
    Completion complete(Frame& out) override;
    void reset() override;

    uint32_t width_ = 0;
    uint32_t height_ = 0;
    uint8_t version_ = 0;
    uint8_t temporal_id_ = 0;
    bool referenced_ = false;
};

}  // namespace weir::rtp
