#include "session/rtsp/rtsp_ingest_track.h"

#include <optional>
#include <string_view>

#include "base/log.h"
#include "proto/flv/packet_maker.h"
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

// Enhanced RTMP, in whose form packets are, has a name for its codec.
bool may_be_one_of_several(const sdp::RtspTrack& track) {
    media::PacketInfo info;
    info.kind = media::TrackKind::kAudio;
    info.codec = track.codec;
    info.multitrack = true;
    return flv::body_header_size(info).has_value();
}

// `found`: audio tracks, in their order. All of them, or the first one.
void add_audio(const std::vector<size_t>& found,
               const std::vector<const sdp::RtspTrack*>& tracks,
               std::vector<size_t>& chosen) {
    size_t count = 0;
    for (const size_t index : found) {
        if (count == media::Description::kMaxAudioTracks) {
            return;
        }
        if (count == 0 || may_be_one_of_several(*tracks[index])) {
            chosen.push_back(index);
            count++;
        }
    }
}

// Null: it cannot be received. `announced`: all come in the direction that is wanted.
std::vector<size_t> choose(const std::vector<const sdp::RtspTrack*>& tracks, bool announced) {
    std::vector<size_t> chosen;
    std::vector<size_t> audio;
    std::optional<size_t> video;
    std::optional<size_t> loudspeaker;
    for (size_t i = 0; i < tracks.size(); i++) {
        if (tracks[i] == nullptr) {
            continue;
        }
        const bool wanted = announced || tracks[i]->direction != sdp::Direction::kSendOnly;
        if (tracks[i]->kind == media::TrackKind::kAudio) {
            if (wanted) {
                audio.push_back(i);
            } else {
                loudspeaker = loudspeaker.value_or(i);
            }
        } else if (!video || (wanted && !announced &&
                              tracks[*video]->direction == sdp::Direction::kSendOnly)) {
            video = i;
        }
    }
    if (audio.empty() && loudspeaker) {
        audio.push_back(*loudspeaker);
    }
    if (video) {
        chosen.push_back(*video);
    }
    if (!video || !tracks[*video]->transport_stream) {  // there the audio is inside
        add_audio(audio, tracks, chosen);
    }
    return chosen;
}

}  // namespace

Result<std::vector<size_t>> choose_rtsp_tracks(const sdp::RtspDescription& description) {
    std::vector<const sdp::RtspTrack*> tracks;
    std::string_view refusal;
    for (const sdp::RtspTrack& track : description.tracks) {
        const std::string_view why = why_not(track);
        const bool media = track.kind != media::TrackKind::kData;
        tracks.push_back(media && why.empty() ? &track : nullptr);
        refusal = media && refusal.empty() ? why : refusal;
    }
    std::vector<size_t> chosen = choose(tracks, false);
    if (chosen.empty()) {
        return make_error(
            ErrorCode::kUnsupported, "no track of the server can be received: {}",
            refusal.empty() ? "there is no video and no audio" : log::escaped(refusal, kMaxReason));
    }
    return chosen;
}

std::vector<size_t> choose_announced_tracks(const std::vector<RtspAnnounced>& tracks) {
    std::vector<const sdp::RtspTrack*> coming;
    for (const RtspAnnounced& each : tracks) {
        coming.push_back(each.comes() ? &each.track : nullptr);
    }
    return choose(coming, true);
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

RtspIncoming rtsp_incoming(const sdp::RtspTrack& track) {
    return {.setup = rtsp_ingest_track(track), .language = track.language, .name = track.name};
}

// A transport stream says by itself what is in it.
media::Description number_rtsp_tracks(std::vector<RtspIncoming>& tracks) {
    media::Description description;
    uint8_t number = 0;
    for (const bool comes : {true, false}) {
        for (RtspIncoming& track : tracks) {
            const media::TrackKind kind = track.setup.kind;
            description.names_video = description.names_video || kind == media::TrackKind::kVideo;
            description.names_audio = description.names_audio || kind == media::TrackKind::kAudio;
            if (kind != media::TrackKind::kAudio || track.comes != comes) {
                continue;
            }
            track.setup.number = number++;
            if (comes) {
                description.audio_tracks.push_back(
                    {track.setup.number, track.language, track.name});
            }
        }
    }
    if (description.audio_tracks.size() == 1) {  // there is nothing to choose
        description.audio_tracks.clear();
    }
    return description;
}

}  // namespace weir::session
