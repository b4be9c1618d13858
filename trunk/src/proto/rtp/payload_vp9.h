// RTP payload of VP9 (RFC 9628).
//
//     |I|P|L|F|B|E|V|Z| I: M and picture id 7 or 15 | L: TID 3, U, SID 3, D | L, not F: TL0PICIDX |
//     | F and P: up to three times P_DIFF 7, N | V: scalability structure | piece of a layer frame
//
// We send one spatial and one temporal layer in non-flexible mode, with a 15-bit picture id, and
// with key frames a structure in which each picture refers to the one before it. (Flexible mode
// would do as well, but receivers of earlier drafts read its references differently.) Spatial
// layers of one picture come out as one superframe (VP9 annex B).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "media/vp9.h"
#include "media/vpx_config.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

// The payload descriptor, RFC 9628 §4.2, as far as it matters here.
struct Vp9Descriptor {
    bool inter_predicted = false;  // P
    bool start = false;            // B: a layer frame begins
    bool end = false;              // E
    std::optional<uint16_t> picture_id;
    std::optional<uint8_t> tl0_picture_index;
    uint8_t temporal_id = 0;
    uint8_t spatial_id = 0;
    size_t size = 0;  // in bytes

    // Nothing when it is longer than the payload or names more than three references.
    static std::optional<Vp9Descriptor> parse(ByteSpan payload);
};

class Vp9Packetizer final : public Packetizer {
  public:
    explicit Vp9Packetizer(uint16_t first_picture_id = 0) : picture_id_(first_picture_id) {}

    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) override;

  private:
    uint16_t picture_id_;  // 15 bits
};

class Vp9Depacketizer final : public FrameAssembler {
  public:
    explicit Vp9Depacketizer(size_t reserved_front = 0) : FrameAssembler(reserved_front) {}

  private:
    bool begins_frame(ByteSpan payload) const override;
    bool continues_picture(ByteSpan payload) const override;
    bool add(ByteSpan payload) override;
    Completion complete(Frame& out) override;
    void reset() override;

    std::array<size_t, media::vp9::kMaxFramesInSuperframe> layer_sizes_{};
    size_t layers_ = 0;
    uint32_t width_ = 0;
    uint32_t height_ = 0;
    media::VpxConfig config_;
    uint8_t temporal_id_ = 0;
};

}  // namespace weir::rtp
