#include "net/segments/more_audio.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "media/language.h"
#include "proto/mp4/codec_string.h"
#include "proto/mp4/fragment.h"

namespace weir::net {
namespace {

using media::PacketRef;

constexpr uint32_t kFirstId = 3;  // of a track in MP4: behind video and default audio

// What people choose by: the publisher's word, else the language.
std::string name_of(const media::AudioTrack& said, size_t place, const SegmentFormat& format) {
    const std::string_view language = media::language_name(said.language);
    const std::string name = !said.name.empty()       ? said.name
                             : !language.empty()      ? std::string(language)
                             : !said.language.empty() ? said.language
                                                      : fmt::format("Audio {}", place);
    const auto is_taken = [&format](const std::string& wanted) {
        return wanted == format.audio_name ||
               std::ranges::find(format.more, wanted, &SegmentAudio::name) != format.more.end();
    };
    std::string free = name;
    for (size_t number = place; is_taken(free); number++) {
        free = fmt::format("{} ({})", name, number);
    }
    return free;
}

media::AudioTrack said_of(const media::Description& said, uint8_t id) {
    const auto found = std::ranges::find(said.audio_tracks, id, &media::AudioTrack::id);
    return found != said.audio_tracks.end() ? *found : media::AudioTrack{.id = id};
}

}  // namespace

// Null: there are too many.
MoreAudio::Track* MoreAudio::track_of(const media::PacketInfo& info) {
    auto at = std::ranges::lower_bound(tracks_, info.track_id, {}, &Track::id);
    if (at == tracks_.end() || at->id != info.track_id) {
        if (tracks_.size() >= kMaxTracks) {
            return nullptr;
        }
        at = tracks_.emplace(at);
        at->id = info.track_id;
    }
    if (at->codec != info.codec) {
        at->codec = info.codec;
        at->config.clear();
        at->frames.clear();
        at->bytes = 0;
        at->format.reset();
    }
    return &*at;
}

const MoreAudio::Track* MoreAudio::find(uint8_t id) const {
    const auto at = std::ranges::find(tracks_, id, &Track::id);
    return at != tracks_.end() ? &*at : nullptr;
}

void MoreAudio::take_config(const PacketRef& packet, bool again) {
    const Track* const known = find(packet->info().track_id);
    if (again && known != nullptr && known->came && known->codec != packet->info().codec) {
        return;
    }
    Track* const track = track_of(packet->info());
    if (track == nullptr || std::ranges::equal(track->config, packet->payload())) {
        return;
    }
    track->config.assign(packet->payload().begin(), packet->payload().end());
    if (!decided_) {
        track->frames.clear();
        track->bytes = 0;
    }
    track->format.reset();
}

void MoreAudio::note(const media::MediaPacket& packet) {
    if (Track* const track = track_of(packet.info())) {
        track->came = true;
        track->last_ms = packet.time_ms();
    }
}

bool MoreAudio::take_frame(const PacketRef& packet) {
    note(*packet);
    Track* const track = track_of(packet->info());
    if (track == nullptr) {
        return false;
    }
    if (decided_ && !track->format) {
        pending_ = pending_ || fits(*track);
        return false;
    }
    const ByteSpan frame = packet->payload();
    const bool full = track->frames.size() >= kMaxFrames || track->bytes + frame.size() > kMaxBytes;
    const auto made = track->format ? track->format
                      : mp4::needs_config(track->codec) && track->config.empty()
                          ? std::nullopt
                          : mp4::make_track(track->codec, track->config, frame);
    if (full || !made) {
        return false;
    }
    const uint32_t nominal = mp4::audio_duration(*made, track->config, frame);
    const AudioChain::Place place = track->chain.place(packet->time_ms(), made->timescale, nominal);
    if (place.hole && !track->frames.empty()) {
        PartFrame& last = track->frames.back();
        last.duration = static_cast<uint32_t>(place.ticks - last.ticks);
    }
    track->frames.push_back({packet, place.ticks, place.duration});
    track->bytes += frame.size();
    return true;
}

bool MoreAudio::has_all(const media::Description& said, uint8_t main) const {
    return std::ranges::all_of(said.audio_tracks, [&](const media::AudioTrack& each) {
        const Track* const found = find(each.id);
        return each.id == main || each.implied || (found != nullptr && found->came);
    });
}

bool MoreAudio::wants_change(int64_t now_ms) {
    const bool gone =
        use_ == Use::kRenditions && std::ranges::any_of(tracks_, [&](const Track& track) {
            return track.fragment_id != 0 && now_ms - track.last_ms > kGoneMs;
        });
    if (!decided_ || !(std::exchange(pending_, false) || gone)) {
        return false;
    }
    if (now_ms - changes_since_ms_ > kForgetChangesMs) {
        changes_ = 0;
        changes_since_ms_ = now_ms;
    }
    if (changes_ >= kMaxChanges) {
        return false;
    }
    changes_++;
    return true;
}

// Beside the default track, if that is there.
bool MoreAudio::fits(const Track& track) const {
    const bool described = !mp4::needs_config(track.codec) || !track.config.empty();
    return described &&
           (use_ == Use::kRenditions ? track.codec == codec_ : codec_ != media::Codec::kUnknown);
}

// It can be described, and frames of it come.
bool MoreAudio::is_usable(const Track& track, int64_t now_ms) const {
    const bool known = mp4::needs_config(track.codec) || !track.frames.empty();
    return track.came && known && fits(track) && now_ms - track.last_ms <= kGoneMs;
}

void MoreAudio::decide(const media::Description& said,
                       uint8_t main,
                       media::Codec codec,
                       int64_t now_ms,
                       SegmentFormat& format) {
    decided_ = true;
    pending_ = false;
    codec_ = codec;
    for (Track& track : tracks_) {
        const ByteSpan frame =
            track.frames.empty() ? ByteSpan() : track.frames.front().packet->payload();
        track.format = is_usable(track, now_ms) ? mp4::make_track(track.codec, track.config, frame)
                                                : std::nullopt;
        track.fragment_id = 0;
        if (!track.format) {
            track.frames.clear();
            track.bytes = 0;
            continue;
        }
        if (format.more.empty()) {
            const media::AudioTrack first = said_of(said, main);
            format.audio_language = first.language;
            format.audio_name = name_of(first, 1, format);
        }
        const media::AudioTrack words = said_of(said, track.id);
        const size_t place = format.more.size() + 2;
        SegmentAudio audio;
        audio.id = track.id;
        audio.codecs = mp4::codec_string(track.codec, track.config);
        audio.sample_rate = track.format->timescale;
        audio.channels = track.format->channels;
        audio.language = words.language;
        audio.name = name_of(words, place, format);
        track.fragment_id = kFirstId + static_cast<uint32_t>(format.more.size());
        track.timescale = track.format->timescale;
        track.next_ticks = 0;
        track.format->language = media::language_code(audio.language);
        track.format->name = audio.name;
        mp4::write_header({&*track.format, 1}, audio.header, mp4::Length::kOpen, track.fragment_id);
        format.more.push_back(std::move(audio));
    }
}

std::vector<PartTrack> MoreAudio::part_tracks() const {
    std::vector<PartTrack> out;
    for (const Track& track : tracks_) {
        if (track.fragment_id == 0) {
            continue;
        }
        PacketRef config;
        if (!track.config.empty()) {
            media::PacketInfo info;
            info.kind = media::TrackKind::kAudio;
            info.codec = track.codec;
            info.track_id = track.id;
            info.config = true;
            config = make_ref<media::MediaPacket>(info, 0, Bytes(track.config));
        }
        out.push_back({*track.format, std::move(config)});
    }
    return out;
}

size_t MoreAudio::frames_until(const Track& track, std::optional<int64_t> until_ms) {
    const auto end = std::ranges::find_if(track.frames, [&](const PartFrame& frame) {
        return until_ms && frame.packet->time_ms() >= *until_ms;
    });
    return static_cast<size_t>(end - track.frames.begin());
}

std::vector<PartFrame> MoreAudio::take_frames(Track& track, size_t count) {
    const auto end = track.frames.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<PartFrame> out(std::make_move_iterator(track.frames.begin()),
                               std::make_move_iterator(end));
    track.frames.erase(track.frames.begin(), end);
    for (const PartFrame& frame : out) {
        track.bytes -= std::min<uint64_t>(frame.packet->payload().size(), track.bytes);
        track.next_ticks = frame.ticks + frame.duration;
    }
    return out;
}

std::vector<std::vector<PartFrame>> MoreAudio::take_frames(std::optional<int64_t> until_ms) {
    std::vector<std::vector<PartFrame>> out;
    for (Track& track : tracks_) {
        if (track.fragment_id != 0) {
            out.push_back(take_frames(track, frames_until(track, until_ms)));
        }
    }
    return out;
}

void MoreAudio::write_track(
    Track& track, int64_t start_ms, bool last, std::optional<int64_t> until_ms, Bytes& out) {
    const size_t came = frames_until(track, until_ms);
    const std::vector<PartFrame> frames =
        take_frames(track, last ? came : track.reserve.take(came));
    std::vector<mp4::SampleView> samples;
    size_t bytes = 0;
    for (const PartFrame& frame : frames) {
        samples.push_back({.data = mp4::sample_of(track.codec, frame.packet->payload()),
                           .duration = frame.duration});
        bytes += samples.back().data.size();
    }
    mp4::RunView run;
    run.track_id = track.fragment_id;
    number_ += 2;  // as Mp4PartWriter
    if (samples.empty()) {
        const auto start = static_cast<uint64_t>(std::max<int64_t>(start_ms, 0));
        run.decode_time = std::max(track.next_ticks, start * track.timescale / 1'000);
        mp4::write_empty_fragment(number_, run, out);
        return;
    }
    constexpr size_t kBoxes = 256;  // and those of each sample
    out.reserve(out.size() + bytes + kBoxes + 8 * samples.size());
    run.decode_time = frames.front().ticks;
    run.samples = samples;
    mp4::write_fragment(number_, {&run, 1}, out);
}

std::vector<Bytes> MoreAudio::write(int64_t start_ms,
                                    bool first,
                                    bool last,
                                    std::optional<int64_t> until_ms) {
    std::vector<Bytes> out;
    for (Track& track : tracks_) {
        if (track.fragment_id == 0) {
            continue;
        }
        out.emplace_back();
        if (first) {
            mp4::write_segment_type(out.back());
        }
        write_track(track, start_ms, last, until_ms, out.back());
    }
    return out;
}

void MoreAudio::restart(int64_t time_ms) {
    drop_frames();
    decided_ = false;
    for (Track& track : tracks_) {
        track.format.reset();
        track.fragment_id = 0;
        track.reserve.reset();
        track.chain.restart(time_ms);
    }
}

void MoreAudio::drop_frames() {
    for (Track& track : tracks_) {
        track.frames.clear();
        track.bytes = 0;
    }
}

void MoreAudio::forget() {
    tracks_.clear();
    decided_ = pending_ = false;
}

}  // namespace weir::net
