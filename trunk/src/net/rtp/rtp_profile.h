// What one way of playing over RTP takes: the profile of an RtpLogWriter. One static object per way
// (session/webrtc has WebRTC's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "media/codec.h"
#include "media/packet.h"

namespace weir::net {

// Tracks of an RtpLog.
inline constexpr uint8_t kRtpAudioTrack = 0;
inline constexpr uint8_t kRtpVideoTrack = 1;  // of simulcast layer 0; the others follow

struct RtpProfile {
    media::Audience audience = media::Audience::kFlv;

    // Size of a payload in the log. A packet also has a header and, where it is sealed, a tag.
    size_t max_payload_bytes = 1400;

    enum class BFrames : uint8_t {
        kSend,      // in the order of decoding; the time of a packet is that of showing
        kLeaveOut,  // players show frames as they come; who refers to them cannot be played at all
    };

    BFrames b_frames = BFrames::kSend;

    // Whether players take a codec; those that have no RTP payload format here are left out anyway.
    bool (*takes)(media::Codec codec) = [](media::Codec) { return true; };

    // With kLeaveOut: why a stream cannot be played whose B-frames are referred to. Literals.
    std::string_view (*b_frame_refusal)(media::Codec codec) = nullptr;

    // Simulcast layers of the video that have a track of their own in the log; 1: no simulcast.
    size_t video_layers = 1;
};

}  // namespace weir::net
