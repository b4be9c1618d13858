#include "session/webrtc/rtc_playable.h"

#include <fmt/format.h>

namespace weir::session {
namespace {

using media::Codec;

void add(std::string& text, std::string_view more) {
    text += text.empty() ? "" : "; ";
    text += more;
}

bool may_have_b_frames(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kHevc;
}

}  // namespace

bool is_rtp_video(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kHevc || codec == Codec::kVp8 ||
           codec == Codec::kVp9 || codec == Codec::kAv1;
}

bool is_rtp_audio(Codec codec) {
    return codec == Codec::kOpus || codec == Codec::kG711A || codec == Codec::kG711U;
}

bool is_bridged_audio(Codec codec) {
    return codec == Codec::kAac || codec == Codec::kMp3;
}

std::string_view b_frame_refusal(Codec codec) {
    return codec == Codec::kHevc
               ? "its B-frames are referred to by others, which WebRTC cannot show in order: "
                 "encode without B-frames (x265: bframes=0), or without b-pyramid"
               : "its B-frames are referred to by others, which WebRTC cannot show in order: "
                 "encode without B-frames (x264: bframes=0, or tune=zerolatency), or without "
                 "b-pyramid";
}

RtcPlayable rtc_playable(const stream::Stream& stream, std::string_view refusal) {
    const Codec video = stream.has_video() ? stream.video().codec : Codec::kUnknown;
    const Codec audio = stream.has_audio() ? stream.audio().codec : Codec::kUnknown;
    if (!stream.live() || (video == Codec::kUnknown && audio == Codec::kUnknown)) {
        return {};
    }
    if (!refusal.empty()) {
        return {false, std::string(refusal)};
    }
    const media::FrameOrder& order = stream.frame_order();
    RtcPlayable result;
    if (video != Codec::kUnknown) {
        if (!is_rtp_video(video)) {
            return {false, fmt::format("WebRTC does not carry its video codec, {}",
                                       media::to_string(video))};
        }
        if (order.referenced()) {
            return {false, std::string(b_frame_refusal(video))};
        }
        if (may_have_b_frames(video) && stream.video().frames < kFramesToKnowOrder &&
            stream.gop().key_frames < 2) {
            return {};
        }
        if (order.reordered()) {
            add(result.why, "its B-frames are left out, so that it looks less smooth");
        }
        if (video == Codec::kHevc) {
            add(result.why, "only browsers that take H.265 by WebRTC show it");
        }
    }
    const bool sound = is_rtp_audio(audio) || is_bridged_audio(audio);
    if (audio != Codec::kUnknown && !sound) {
        if (video == Codec::kUnknown) {
            return {false, fmt::format("WebRTC does not carry its audio codec, {}",
                                       media::to_string(audio))};
        }
        add(result.why, fmt::format("it has no sound there: WebRTC does not carry {}",
                                    media::to_string(audio)));
    }
    result.playable = true;
    return result;
}

}  // namespace weir::session
