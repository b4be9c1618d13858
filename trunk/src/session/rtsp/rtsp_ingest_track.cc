#include "session/rtsp/rtsp_ingest_track.h"

#include <optional>
#include <string_view>

#include "base/log.h"
#include "proto/rtp/depacketizer.h"

namespace weir::session {
namespace {

constexpr size_t kMaxReason = 200;

std::string_view why_not(const sdp::RtspTrack& track) {
    if (!track.is_supported()) {
        return track.unsupported;
    }
    if (track.is_secure()) {
        return "encrypted RTP is not supported";
    }
    if (track.transport_stream) {
        return "";
    }
    const bool known =
        track.clock_hz > 0 && rtp::make_depacketizer(track.codec, 0, track.parameters) != nullptr;
    return known ? "" : "its codec is not supported";
}

}  // namespace

Result<std::vector<size_t>> choose_rtsp_tracks(const sdp::RtspDescription& description) {
    std::vector<size_t> chosen;
    std::string_view refusal;
    for (const media::TrackKind kind : {media::TrackKind::kVideo, media::TrackKind::kAudio}) {
        std::optional<size_t> found;
        for (size_t i = 0; i < description.tracks.size(); i++) {
            const sdp::RtspTrack& track = description.tracks[i];
            if (track.kind != kind) {
                continue;
            }
            if (const std::string_view why = why_not(track); !why.empty()) {
                refusal = refusal.empty() ? why : refusal;
                continue;
            }
            const bool better =
                !found || (description.tracks[*found].direction == sdp::Direction::kSendOnly &&
                           track.direction != sdp::Direction::kSendOnly);
            if (better) {
                found = i;
            }
        }
        if (found) {
            chosen.push_back(*found);
            if (description.tracks[*found].transport_stream) {
                break;  // the audio is inside
            }
        }
    }
    if (chosen.empty()) {
        return make_error(
            ErrorCode::kUnsupported, "no track of the server can be received: {}",
            refusal.empty() ? "there is no video and no audio" : log::escaped(refusal, kMaxReason));
    }
    return chosen;
}

std::string unused_rtsp_tracks(const sdp::RtspDescription& description) {
    std::string unused;
    for (const sdp::RtspTrack& track : description.tracks) {
        const std::string_view why = why_not(track);
        if (track.kind != media::TrackKind::kData && !why.empty()) {
            unused += fmt::format("{}{}: {}", unused.empty() ? "" : "; ",
                                  track.kind == media::TrackKind::kVideo ? "video" : "audio", why);
        }
    }
    return unused;
}

// A transport stream says by itself what is in it.
media::Description describe_rtsp_tracks(const std::vector<net::RtpIngestTrack>& tracks) {
    media::Description description;
    for (const net::RtpIngestTrack& track : tracks) {
        description.names_video = description.names_video || track.kind == media::TrackKind::kVideo;
        description.names_audio = description.names_audio || track.kind == media::TrackKind::kAudio;
    }
    return description;
}

net::RtpIngestTrack rtsp_ingest_track(const sdp::RtspTrack& track) {
    net::RtpIngestTrack made;
    made.transport_stream = track.transport_stream;
    made.kind = track.transport_stream ? media::TrackKind::kData : track.kind;
    made.codec = track.codec;
    made.payload_type = track.payload_type;
    made.clock_hz = track.clock_hz;
    made.channels = track.channels;
    made.config = track.config;
    made.parameter_sets = track.parameter_sets;
    made.parameters = track.parameters;
    return made;
}

}  // namespace weir::session
