// RTP payloads that are one frame of audio each: Opus (RFC 7587 §4.2) and G.711 (RFC 3551 §4.5.14).
// The payload is the frame, whatever its marker says.
#pragma once

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

class AudioPacketizer final : public Packetizer {
  public:
    // A frame that does not fit into one packet is refused: neither format can cut it.
    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) override;
};

class AudioDepacketizer final : public FrameAssembler {
  public:
    explicit AudioDepacketizer(size_t reserved_front = 0) : FrameAssembler(reserved_front) {}

  private:
    bool begins_frame(ByteSpan /*payload*/) const override { return true; }

    bool ends_frame() const override { return true; }

    bool add(ByteSpan payload) override { return append(payload); }

    Completion complete(Frame& out) override;

    void reset() override {}
};

}  // namespace weir::rtp
