#include "proto/rtp/payload_audio.h"

namespace weir::rtp {

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
