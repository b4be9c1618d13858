#include "proto/rtp/payload_audio.h"

#include "media/opus.h"
#include "media/speex.h"

namespace weir::rtp {

uint32_t audio_ticks(media::Codec codec, uint32_t clock_hz, ByteSpan payload) {
    switch (codec) {
        case media::Codec::kOpus: return media::opus::packet_samples(payload).value_or(0);
        case media::Codec::kG711A:
        case media::Codec::kG711U:
        case media::Codec::kG722: return static_cast<uint32_t>(payload.size());
        case media::Codec::kSpeex:
            // 20 ms a frame, whatever the band (RFC 5574 §1).
            return static_cast<uint32_t>(media::speex::count_frames(payload)) * (clock_hz / 50);
        default: return 0;
    }
}

bool AudioPacketizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    if (frame.empty() || frame.size() > max_payload) {
        return false;
    }
    sink.on_payload({&frame, 1}, true);
    return true;
}

FrameAssembler::Completion AudioDepacketizer::complete(Frame& out) {
    out.key = true;
    return Completion::kFrame;
}

}  // namespace weir::rtp
