// Whether a stream can be played by WebRTC, told from what is known of it without a player: its
// codecs and the order of its frames. What the log writer finds later is the same
// (rtp_log_writer.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "media/codec.h"
#include "stream/stream.h"

namespace weir::session {

struct RtcPlayable {
    std::optional<bool> playable;  // none: not known yet
    std::string why;               // why not; or, where it can be played, what is left out
};

// So many frames show whether there are B-frames among them.
inline constexpr uint64_t kFramesToKnowOrder = 30;

// `refusal`: of a muxer of this stream, where there is one.
RtcPlayable rtc_playable(const stream::Stream& stream, std::string_view refusal = {});

// Codecs that RTP carries here; and of audio, those that are turned into one.
bool is_rtp_video(media::Codec codec);
bool is_rtp_audio(media::Codec codec);
bool is_bridged_audio(media::Codec codec);

// Why a video of H.264 or HEVC whose B-frames are referred to is refused. Literals.
std::string_view b_frame_refusal(media::Codec codec);

}  // namespace weir::session
