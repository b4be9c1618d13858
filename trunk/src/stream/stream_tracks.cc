// Stream: which tracks there are, which are missing, and which audio is the default one.
#include <algorithm>

#include "stream/stream.h"

namespace weir::stream {

using media::PacketInfo;
using media::PacketRef;
using media::TrackKind;

// A frame of the other kind came: whether this one is missing.
void Stream::note_absence(TrackKind kind, MonoTime now) {
    TrackPresence& track = presence_[place_of(kind)];
    if (track.missing) {
        return;
    }
    const bool video = kind == TrackKind::kVideo;
    const Millis most = track.came ? TrackPresence::kGone : TrackPresence::kPromiseHolds;
    if (now - std::max(track.last, *first_frame_) <= most) {
        return;
    }
    track.missing = true;
    if (video) {
        video_present_ = false;
        awaiting_key_ = true;
    }
}

void Stream::note_presence(TrackKind kind, MonoTime now) {
    TrackPresence& track = presence_[place_of(kind)];
    first_frame_ = first_frame_.value_or(now);
    track.came = true;
    track.last = now;
    if (track.missing) {
        track.missing = false;
        repeat_configs(kind);
        note_codecs(kind);
    }
}

// Whoever began while the track was missing was not told its configuration.
void Stream::repeat_configs(TrackKind kind) {
    const Configs configs = configs_;
    for (const PacketRef& held : configs) {
        if (held->info().kind == kind) {
            const PacketRef again = make_ref<media::MediaPacket>(
                held->info(), timeline_.latest(), Bytes(held->body().begin(), held->body().end()));
            remember(again, false);
            hand_out(again, false);
        }
    }
}

bool Stream::accept_video(const PacketInfo& info, MonoTime now) {
    note_presence(TrackKind::kVideo, now);
    note_absence(TrackKind::kAudio, now);
    if (!keep_video(info)) {
        dropped_before_key_++;
        return false;
    }
    return true;
}

// Which track is the default one: behind a start the first frame may be of any (another node begins
// there), so that one counts which was named, as long as it may still come.
void Stream::choose_audio(const PacketInfo& info, MonoTime now) {
    if (first_audio_track_ >= 0) {
        return;
    }
    first_sound_ = first_sound_.value_or(now);
    const bool named = default_audio().value_or(info.track_id) == info.track_id;
    if (named || now - *first_sound_ >= kNamedAudioHolds) {
        first_audio_track_ = info.track_id;
    }
    // Who plays the default track alone was told the configuration of the other one.
    if (!named && first_audio_track_ >= 0 && timeline_.started()) {
        repeat_configs(TrackKind::kAudio);
    }
}

// Whether a player may begin here.
bool Stream::accept_audio(MonoTime now) {
    note_presence(TrackKind::kAudio, now);
    note_absence(TrackKind::kVideo, now);
    return !video_present_;
}

std::optional<uint8_t> Stream::default_audio() const {
    if (first_audio_track_ >= 0) {
        return static_cast<uint8_t>(first_audio_track_);
    }
    std::optional<uint8_t> named;
    for (const PacketRef& held : configs_) {
        const PacketInfo& info = held->info();
        if (info.kind == TrackKind::kAudio && info.config && (!named || info.track_id == 0)) {
            named = info.track_id;
        }
    }
    if (named) {
        return named;
    }
    return description_.audio_tracks.empty() ? std::nullopt
                                             : std::optional(description_.audio_tracks.front().id);
}

}  // namespace weir::stream
