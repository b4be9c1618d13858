// RTP payloads that are one frame of audio each: Opus (RFC 7587 §4.2), G.711 (RFC 3551 §4.5.14),
// G.722 (RFC 3551 §4.5.2) and Speex (RFC 5574 §2, where a frame may be several of Speex, as in
// FLV). The payload is the frame, whatever its marker says.
#pragma once

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

// How much time a payload is, in ticks of its RTP clock. 0: nothing of this codec, or another codec
// than those of this header.
uint32_t audio_ticks(media::Codec codec, uint32_t clock_hz, ByteSpan payload);

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
