#include "net/segments/segmenter.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/steady_wall_time.h"
#include "media/language.h"
#include "proto/mp4/codec_string.h"

namespace weir::net {
namespace {

using media::PacketInfo;
using media::PacketRef;
using media::TrackKind;

constexpr uint64_t kTicksPerMs = mp4::kVideoTimescale / 1000;
constexpr uint32_t kUsualFrameTicks = 40 * kTicksPerMs;  // of a video frame that none follows

bool is_frame(const PacketInfo& info) {
    return info.kind != TrackKind::kData && !info.config && !info.metadata && !info.end;
}

ByteSpan config_of(const PacketRef& config) {
    return config ? config->payload() : ByteSpan();
}

}  // namespace

// The wall clock is that of the newest packet: it came just now.
Segmenter::Segmenter(stream::Stream& stream, SegmentContainer container, SegmentStore& store)
    : Segmenter(stream, PartWriter::create(container), store) {}

Segmenter::Segmenter(stream::Stream& stream,
                     std::unique_ptr<PartWriter> writer,
                     SegmentStore& store)
    : stream_(stream), store_(store), writer_(std::move(writer)) {
    wall_offset_ms_ = wall_time_ms() - stream.timeline().latest();
    clock_set_by_ms_ = wall_time_ms() - steady_wall_time_ms();
    gop_ms_ = last_gop_ms_ = stream.gop().last_ms;
    if (stream.has_video()) {
        const int64_t open_ms =
            stream.gop().key_frames > 0 ? stream.timeline().latest() - stream.gop().key_time_ms : 0;
        store_.expect(std::min(std::max(last_gop_ms_, open_ms), kMaxSegmentMs));
    }
    if (writer_->has_more_audio()) {
        more_audio_ = std::make_unique<MoreAudio>(MoreAudio::Use::kFile);
    } else if (writer_->keeps_tracks_apart() && store.cipher() == nullptr) {
        more_audio_ = std::make_unique<MoreAudio>();
    }
    // Behind a key frame in the middle of a stream, the first frames of its other audio tracks may
    // come later than a part is long.
    joins_ =
        more_audio_ && stream.description().audio_tracks.size() > 1 ? MonoClock::now() : MonoTime();
    settling_ = MonoClock::now() - std::max(stream.live_since(), joins_) <
                Millis(store.options().settle_ms);
    stream_.attach(*this);
    filling_ = false;
}

Segmenter::~Segmenter() {
    stream_.detach(*this);
}

bool Segmenter::reference_is(TrackKind kind) const {
    const bool video =
        format_ ? format_tracks_[kPartVideo].has_value() : !tracks_[kPartVideo].frames.empty();
    return (kind == TrackKind::kVideo) == video;
}

// Null: of one that is not taken.
Segmenter::Track* Segmenter::track_of(const PacketInfo& info) {
    if (info.kind == TrackKind::kData || info.metadata || info.end) {
        return nullptr;
    }
    const bool video = info.kind == TrackKind::kVideo;
    Track& track = tracks_[video ? kPartVideo : kPartAudio];
    if (!track.id) {
        track.id = video ? info.track_id : stream_.default_audio().value_or(info.track_id);
    }
    if (*track.id != info.track_id) {
        return nullptr;
    }
    if (track.codec != info.codec) {
        track.codec = info.codec;
        track.config = nullptr;
        wait_for_start(track);
    }
    return &track;
}

// Of one besides the default track, which is known.
bool Segmenter::is_more_audio(const PacketInfo& info) const {
    const Track& audio = tracks_[kPartAudio];
    return more_audio_ && info.kind == TrackKind::kAudio && !info.metadata && !info.end &&
           audio.id && *audio.id != info.track_id;
}

void Segmenter::take_config(const PacketRef& packet, bool again) {
    Track* const track = track_of(packet->info());
    if (is_more_audio(packet->info())) {
        more_audio_->take_config(packet, again);
        return;
    }
    if (track == nullptr) {
        return;
    }
    const bool same =
        track->config && std::ranges::equal(track->config->payload(), packet->payload());
    // It is kept for long, and must not keep what follows it in a log.
    track->config = packet->has_own_body()
                        ? packet
                        : PacketRef(make_ref<media::MediaPacket>(
                              packet->info(), packet->time_ms(),
                              Bytes(packet->body().begin(), packet->body().end())));
    track->nal_length = media::nal_length_size(track->codec, packet->payload());
    if (!same) {
        wait_for_start(*track);
    }
}

// Null: there are none.
void Segmenter::take_configs(const stream::Configs* start) {
    if (start == nullptr) {
        return;
    }
    for (const PacketRef& each : *start) {
        if (each->info().config) {
            take_config(each, true);
        }
    }
}

// The track is not any more what the format says of it, or its frames are that are gathered.
void Segmenter::wait_for_start(Track& track) {
    if (running_ && (format_ || !track.frames.empty())) {
        track.waits = true;
        renew_ = true;
    }
}

void Segmenter::on_packet(const PacketRef& packet, const stream::Configs* start) {
    if (settling_) {
        if (holds_early(packet, start)) {
            return;
        }
        if (!settling_) {
            release_early();
        }
    }
    take(packet, start);
}

bool Segmenter::tracks_are_known() const {
    const Track& audio = tracks_[kPartAudio];
    return tracks_[kPartVideo].id && audio.came &&
           (audio.config || !mp4::needs_config(audio.codec)) &&
           (!more_audio_ || more_audio_->has_all(stream_.description(), *audio.id));
}

// False: it is to be taken; and what was held before it, where nothing is settling any more.
bool Segmenter::holds_early(const PacketRef& packet, const stream::Configs* start) {
    const PacketInfo& info = packet->info();
    if (info.config) {
        return false;  // of a track: it is taken, and what waits is decided with the next frame
    }
    take_configs(start);
    if (Track* const track = is_frame(info) ? track_of(info) : nullptr) {
        track->came = true;
    } else if (is_frame(info) && is_more_audio(info)) {
        more_audio_->note(*packet);
    }
    const int64_t settle_ms = store_.options().settle_ms;
    const bool late =
        MonoClock::now() - std::max(stream_.live_since(), joins_) >= Millis(settle_ms) ||
        (!early_.empty() && packet->time_ms() - early_.front().packet->time_ms() >= settle_ms) ||
        early_.size() >= kMaxPartFrames || early_bytes_ >= kMaxPartBytes;
    if (!late && !tracks_are_known()) {
        early_.push_back({packet, start != nullptr ? std::optional(*start) : std::nullopt});
        early_bytes_ += packet->body().size();
        return true;
    }
    settling_ = false;
    waited_ = late && joins_ <= stream_.live_since();
    return false;
}

void Segmenter::release_early() {
    if (early_.empty()) {
        return;
    }
    wall_offset_ms_ = wall_time_ms() - stream_.timeline().latest();
    const bool filled = std::exchange(filling_, true);
    for (const Early& each : std::exchange(early_, {})) {
        take(each.packet, each.start ? &*each.start : nullptr);
    }
    filling_ = filled;
    early_bytes_ = 0;
}

void Segmenter::take(const PacketRef& packet, const stream::Configs* start) {
    const PacketInfo& info = packet->info();
    take_configs(start);
    if (info.config) {
        take_config(packet);
        return;
    }
    Track* const track = is_frame(info) ? track_of(info) : nullptr;
    if (is_frame(info) && is_more_audio(info)) {
        take_more_audio(packet);
        return;
    }
    if (track != nullptr) {
        track->came = true;
        if (running_ && !renew_ && is_hole_before(*packet)) {
            end_before_hole(*packet);
        }
    }
    if (track == nullptr || !writer_->carries(info.codec) ||
        (mp4::needs_config(info.codec) && !track->config)) {
        left_out_ += is_frame(info) ? 1U : 0U;
        if (start == nullptr || info.kind == TrackKind::kAudio) {
            return;
        }
    }
    if (start != nullptr) {
        const bool first = !running_;
        begin_at(*packet);
        take_frame(packet);
        // Behind it, as the first frame says which track cuts the parts.
        for (size_t i = 0; first && i < start->size(); i++) {
            const PacketRef& early = (*start)[i];
            if (!is_frame(early->info())) {
                continue;
            }
            if (is_more_audio(early->info())) {
                take_more_audio(early);
            } else if (track_of(early->info()) != nullptr) {
                take_frame(early);
            }
        }
    } else if (running_) {
        take_frame(packet);
    }
}

void Segmenter::take_more_audio(const PacketRef& packet) {
    const bool fits = writer_->carries(packet->info().codec);
    left_out_ += !running_ || (fits && more_audio_->take_frame(packet)) ? 0U : 1U;
}

// A cursor may begin here, so a segment may.
void Segmenter::begin_at(const media::MediaPacket& packet) {
    const int64_t now_ms = packet.time_ms();
    const bool fresh = !running_ || renew_;
    if (fresh) {
        end_segment(now_ms, true);
        if (!filling_) {
            wall_offset_ms_ = wall_time_ms() - now_ms;
            date_off_.restart();
        }
        discontinuity_ = store_.segments_made() > 0;
        format_ = nullptr;
        captions_ = {};
        for (Track& track : tracks_) {
            track.waits = false;
        }
        tracks_[kPartVideo].next_ticks.reset();
        audio_chain_.restart(now_ms);
        sound_reserve_.reset();
        if (more_audio_) {
            more_audio_->restart(now_ms);
        }
        running_ = true;
        renew_ = false;
        part_start_ms_ = segment_start_ms_ = last_key_ms_ = newest_ms_ = end_ms_ = now_ms;
        return;
    }
    const int64_t gop_ms = now_ms - last_key_ms_;
    const int64_t next_gop_ms = std::max(gop_ms, last_gop_ms_);  // a scene may have cut this one
    last_key_ms_ = now_ms;
    gop_ms_ = std::abs(gop_ms - last_gop_ms_) <= kGopJitterMs ? gop_ms : 0;
    last_gop_ms_ = gop_ms;
    const bool repairs = packet.info().kind == TrackKind::kVideo && !begins_with_key();
    if (repairs || now_ms - segment_start_ms_ >= least_length_ms(gop_ms, next_gop_ms)) {
        cut_part_before(packet);
        end_segment(now_ms, false);
    }
}

// A key frame so far from the beginning of its segment begins the next one: it is the nearest to
// `fragment`, or the one after it, `next_gop_ms` away, would make the segment longer than it may
// be.
int64_t Segmenter::least_length_ms(int64_t gop_ms, int64_t next_gop_ms) const {
    const int64_t nearest = store_.options().fragment_ms - gop_ms / 2;
    const int64_t longest = store_.longest_ms().value_or(kMaxSegmentMs);
    return gop_ms >= longest ? nearest
                             : std::min(nearest, longest - next_gop_ms - kGopJitterMs + 1);
}

// The segment that the next part will be of.
bool Segmenter::begins_with_key() const {
    if (store_.has_open() && !store_.all().back().parts.empty()) {
        return store_.all().back().parts.front().independent;
    }
    const std::vector<PartFrame>& frames = tracks_[kPartVideo].frames;
    return frames.empty() || frames.front().packet->info().key;
}

// No track has had a frame for a while, and of that nothing can be listed: no part may be so long,
// nor any segment. Video alone that only comes irregularly is not cut where a player would have to
// wait for a key frame then.
bool Segmenter::is_hole_before(const media::MediaPacket& packet) const {
    const int64_t now_ms = packet.time_ms();
    if (now_ms - newest_ms_ > store_.longest_ms().value_or(kMaxSegmentMs)) {
        return true;
    }
    const Track& sound = tracks_[kPartAudio];
    const bool audio = (format_ ? format_tracks_[kPartAudio].has_value() : sound.came) &&
                       newest_ms_ - sound.last_ms < kHoleMs;
    const int64_t interval_ms = tracks_[kPartVideo].last_duration / kTicksPerMs;
    const int64_t least = audio ? kHoleMs : std::max(kHoleMs, kHoleIntervals * interval_ms);
    return (audio || packet.info().key) && now_ms - end_ms_ >= least;
}

// What came ends where its last frame does, and the times of what follows are told by a
// discontinuity: "timestamp sequence", RFC 8216 §4.3.2.3.
void Segmenter::end_before_hole(const media::MediaPacket& packet) {
    const int64_t now_ms = packet.time_ms();
    end_segment(end_ms_, true);
    drop_frames();
    discontinuity_ = store_.segments_made() > 0;
    video_late_ = false;
    last_key_ms_ += now_ms - end_ms_;  // no GOP is longer by it
    part_start_ms_ = segment_start_ms_ = newest_ms_ = end_ms_ = now_ms;
}

// Of the last video frame the length is known now: it goes into the part that ends here.
void Segmenter::cut_part_before(const media::MediaPacket& packet) {
    Track& video = tracks_[kPartVideo];
    if (packet.info().kind == TrackKind::kVideo && !video.frames.empty()) {
        PartFrame& last = video.frames.back();
        const uint64_t ticks = std::max<uint64_t>(
            static_cast<uint64_t>(packet.time_ms()) * kTicksPerMs, last.ticks + 1);
        last.duration = static_cast<uint32_t>(ticks - last.ticks);
        video.last_duration = last.duration;
    }
    end_part(packet.time_ms(), true);
}

void Segmenter::take_frame(const PacketRef& packet) {
    const PacketInfo& info = packet->info();
    const size_t place = info.kind == TrackKind::kVideo ? kPartVideo : kPartAudio;
    Track& track = tracks_[place];
    if (track.waits || !writer_->carries(info.codec)) {
        left_out_++;
        return;
    }
    if (format_ && !format_tracks_[place]) {
        // A track that was not there when the format was decided.
        renew_ = renew_ || mp4::make_track(info.codec, config_of(track.config), packet->payload());
        left_out_++;
        return;
    }
    cut_parts_for(*packet, track);
    const int64_t time_ms = packet->time_ms();
    uint64_t length = 0;  // in ms
    if (info.kind == TrackKind::kVideo) {
        video_late_ = false;
        length = add_video(packet) / kTicksPerMs;
    } else {
        length = add_audio(packet);
    }
    track.bytes += packet->payload().size();
    track.last_ms = time_ms;
    newest_ms_ = std::max(newest_ms_, time_ms);
    end_ms_ = std::max(end_ms_, time_ms + static_cast<int64_t>(length));
    renew_ = renew_ || (more_audio_ && more_audio_->wants_change(newest_ms_));
}

// The parts that end before this frame of `track`.
void Segmenter::cut_parts_for(const media::MediaPacket& packet, const Track& track) {
    const int64_t time_ms = packet.time_ms();
    const int64_t part_ms = store_.options().part_ms;
    const size_t waiting = tracks_[0].frames.size() + tracks_[1].frames.size();
    const uint64_t bytes = tracks_[0].bytes + tracks_[1].bytes + packet.payload().size();
    const bool full = waiting >= kMaxPartFrames || (waiting > 0 && bytes > kMaxPartBytes);
    const bool video = packet.info().kind == TrackKind::kVideo;
    if (reference_is(packet.info().kind)) {
        const int64_t interval = std::max<int64_t>(time_ms - track.last_ms, 0);
        if (track.frames.empty() || (!full && time_ms - part_start_ms_ + interval / 2 < part_ms)) {
            return;
        }
        if (video && track.frames.size() > 1 && time_ms - part_start_ms_ > 2 * part_ms) {
            end_part(track.last_ms, false);  // its last frame is so long that it is a part
        }
        cut_part_before(packet);
    } else if (full) {
        end_part(time_ms, true);
    } else if (video_late_ || time_ms - part_start_ms_ >= std::max(kMaxHeldMs, 3 * part_ms)) {
        cut_audio_parts(time_ms);
    }
}

// The video does not come: parts of audio as long as usual, and segments, if it stays away.
void Segmenter::cut_audio_parts(int64_t time_ms) {
    const SegmentOptions& options = store_.options();
    const Track& video = tracks_[kPartVideo];
    video_late_ = true;
    const std::vector<PartFrame>& sounds = tracks_[kPartAudio].frames;
    for (int64_t before = -1; part_start_ms_ != before && !sounds.empty();) {
        before = part_start_ms_;
        // Where audio is missing, too, the part is longer by that.
        const int64_t from_ms = std::max(part_start_ms_, sounds.front().packet->time_ms());
        if (time_ms - from_ms < options.part_ms) {
            return;
        }
        // Its last picture must not wait for one that may never come, and have that one's time.
        const bool gone = part_start_ms_ - video.last_ms >= options.fragment_ms;
        end_part(from_ms + options.part_ms, gone && !video.frames.empty());
        if (gone && part_start_ms_ - segment_start_ms_ >= options.fragment_ms) {
            end_segment(part_start_ms_, false);
        }
    }
}

// How long it probably is, in ticks.
uint32_t Segmenter::add_video(const PacketRef& packet) {
    Track& track = tracks_[kPartVideo];
    media::find_captions(track.codec, packet->payload(), track.nal_length, captions_);
    store_.note_captions(captions_);
    uint64_t ticks = static_cast<uint64_t>(packet->time_ms()) * kTicksPerMs;
    if (track.next_ticks) {
        ticks = std::max(ticks, *track.next_ticks);
    }
    if (!track.frames.empty()) {
        PartFrame& last = track.frames.back();
        last.duration = static_cast<uint32_t>(ticks - last.ticks);
        track.last_duration = last.duration;
    }
    const uint32_t duration = track.last_duration > 0 ? track.last_duration : kUsualFrameTicks;
    track.frames.push_back({packet, ticks, duration});
    track.next_ticks = ticks + 1;  // times rise
    return duration;
}

// How long it is, in ms.
uint32_t Segmenter::add_audio(const PacketRef& packet) {
    Track& track = tracks_[kPartAudio];
    const ByteSpan config = config_of(track.config);
    const auto made = format_ && format_tracks_[kPartAudio]
                          ? std::optional(format_tracks_[kPartAudio]->track)
                          : mp4::make_track(track.codec, config, packet->payload());
    if (!made) {
        left_out_++;
        return 0;
    }
    const uint32_t nominal = mp4::audio_duration(*made, config, packet->payload());
    const AudioChain::Place place = audio_chain_.place(packet->time_ms(), made->timescale, nominal);
    if (place.hole && !track.frames.empty()) {
        PartFrame& last = track.frames.back();  // a fragment cannot have a gap
        last.duration = static_cast<uint32_t>(place.ticks - last.ticks);
    }
    track.frames.push_back({packet, place.ticks, place.duration});
    return static_cast<uint32_t>(uint64_t{nominal} * 1000 / made->timescale);
}

// With what is known when the first part ends.
bool Segmenter::decide_format() {
    PartTracks found;
    auto format = make_ref<SegmentFormat>();
    for (size_t i = 0; i < tracks_.size(); i++) {
        Track& track = tracks_[i];
        // Announced audio counts for as long as it may still come in time.
        const bool known = track.config && stream_.has_audio() && (track.came || !waited_) &&
                           writer_->carries(track.codec);
        if (track.frames.empty() && (i == kPartVideo || !known)) {
            continue;
        }
        const ByteSpan frame =
            track.frames.empty() ? ByteSpan() : track.frames.front().packet->payload();
        auto made = mp4::make_track(track.codec, config_of(track.config), frame);
        if (!made) {
            left_out_ += track.frames.size();
            track.frames.clear();
            track.bytes = 0;
            continue;
        }
        if (i == kPartVideo) {
            format->width = made->width;
            format->height = made->height;
        } else {
            format->sample_rate = made->timescale;
            format->channels = made->channels;
        }
        (i == kPartVideo ? format->video_codecs : format->audio_codecs) =
            mp4::codec_string(track.codec, config_of(track.config));
        found[i] = PartTrack{std::move(*made), track.config};
    }
    if (!found[kPartVideo] && !found[kPartAudio]) {
        return false;
    }
    describe_more_audio(found, *format);
    format_tracks_ = std::move(found);
    format->header = writer_->begin(format_tracks_);
    format->video_header = writer_->track_header(kPartVideo);
    format->audio_header = writer_->track_header(kPartAudio);
    format->id = store_.next_number();
    clock_ = {format->id, part_start_ms_,
              wall_of(part_start_ms_) + steady_wall_time_ms() - wall_time_ms()};
    clock_off_.restart();
    format_ = format;
    return true;
}

// The default track then has a language and a name as well.
void Segmenter::describe_more_audio(PartTracks& tracks, SegmentFormat& format) {
    if (!more_audio_) {
        return;
    }
    const Track& audio = tracks_[kPartAudio];
    std::optional<PartTrack>& main = tracks[kPartAudio];
    more_audio_->decide(stream_.description(), audio.id.value_or(0),
                        main ? audio.codec : media::Codec::kUnknown, newest_ms_, format);
    if (!format.more.empty()) {
        main->track.language = media::language_code(format.audio_language);
        main->track.name = format.audio_name;
    }
    if (writer_->has_more_audio()) {
        std::ranges::move(more_audio_->part_tracks(), tracks.begin() + kPartMoreAudio);
    }
}

// Where begin_at() will cut it.
int64_t Segmenter::expected_ms(int64_t start_ms) const {
    if (gop_ms_ <= 0 || gop_ms_ >= kMaxSegmentMs) {
        return 0;
    }
    const int64_t least = start_ms + least_length_ms(gop_ms_, gop_ms_);
    int64_t cut_ms = last_key_ms_ + gop_ms_;
    if (cut_ms < least) {
        cut_ms += (least - cut_ms + gop_ms_ - 1) / gop_ms_ * gop_ms_;
    }
    const int64_t length = cut_ms - start_ms;
    return length <= store_.longest_ms().value_or(kMaxSegmentMs) ? length : 0;
}

void Segmenter::follow_clock(int64_t start_ms) {
    const int64_t off_ms = steady_wall_time_ms() - clock_.steady_of(stream_.timeline().latest());
    if (clock_off_.check(off_ms)) {
        clock_ = {store_.next_number(), start_ms, clock_.steady_of(start_ms) + off_ms};
    }
}

// Where the system's clock was set, dates begin anew behind a discontinuity. Else none goes back,
// and they move little at a time: where that is not enough, the next segments do the rest.
void Segmenter::follow_server_clock(int64_t start_ms) {
    const int64_t set_by_ms = wall_time_ms() - steady_wall_time_ms();
    const bool was_set =
        std::abs(set_by_ms - std::exchange(clock_set_by_ms_, set_by_ms)) >= kDateStepMs;
    const int64_t off_ms = wall_time_ms() - stream_.timeline().latest() - wall_offset_ms_;
    if (was_set) {
        wall_offset_ms_ += off_ms;
        discontinuity_ = store_.segments_made() > 0;
        date_off_.restart();
    } else if (date_off_.check(off_ms)) {
        const int64_t length_ms =
            store_.all().empty() ? kMaxDateMoveMs : start_ms - store_.all().back().start_ms;
        wall_offset_ms_ +=
            std::clamp(off_ms, -std::min(kMaxDateMoveMs, length_ms - 1), kMaxDateMoveMs);
    }
}

// The publisher's clock dates the segments where it is passed on; else ours does.
void Segmenter::follow_dates() {
    const std::optional<int64_t> publisher_us =
        stream_.publisher_clock().wall_offset_us(stream_.timeline());
    writer_->set_wall_offset(publisher_us);
    const bool was_publishers = std::exchange(publisher_dates_, publisher_us.has_value());
    const int64_t offset_ms = publisher_us ? *publisher_us / 1000 : wall_offset_ms_;
    const int64_t change_ms = std::abs(offset_ms - date_offset_ms_);
    if (publisher_us && was_publishers && change_ms <= kMaxDateOffMs) {
        return;
    }
    if ((publisher_us || was_publishers) && change_ms >= kDateStepMs) {
        discontinuity_ = discontinuity_ || store_.segments_made() > 0;
    }
    date_offset_ms_ = offset_ms;
}

void Segmenter::open_segment(int64_t start_ms) {
    if (!filling_) {
        follow_server_clock(start_ms);
        follow_clock(start_ms);
    }
    follow_dates();
    store_.open(format_, start_ms, start_ms + date_offset_ms_, std::exchange(discontinuity_, false),
                expected_ms(start_ms), clock_);
    segment_start_ms_ = start_ms;
}

// What the part that ends has of the default audio track. Where each track is a rendition, no part
// of any is to be without samples.
std::span<const PartFrame> Segmenter::sounds_until(std::optional<int64_t> until_ms) {
    const std::vector<PartFrame>& sounds = tracks_[kPartAudio].frames;
    const auto end = std::ranges::find_if(sounds, [&](const PartFrame& frame) {
        return until_ms && frame.packet->time_ms() >= *until_ms;
    });
    const auto came = static_cast<size_t>(end - sounds.begin());
    const bool holds = !ending_ && !format_->more.empty();
    return {sounds.data(), holds ? sound_reserve_.take(came) : came};
}

// `all`: the last video frame, too, whose length may not be known.
void Segmenter::end_part(int64_t end_ms, bool all) {
    if (!format_ && !decide_format()) {
        drop_frames();
        part_start_ms_ = end_ms;
        return;
    }
    Track& video = tracks_[kPartVideo];
    Track& audio = tracks_[kPartAudio];
    const size_t held = !all && !video.frames.empty() ? 1 : 0;
    const std::span<const PartFrame> frames(video.frames.data(), video.frames.size() - held);
    // Behind a part of audio comes the next one; beside video all of it that came goes along.
    const std::optional<int64_t> until_ms =
        video_late_ && !all ? std::optional(end_ms) : std::nullopt;
    const std::span<const PartFrame> sounds = sounds_until(until_ms);
    if (frames.empty() && sounds.empty()) {
        return;
    }
    if (all && !frames.empty()) {
        PartFrame& last = video.frames.back();
        const auto end = static_cast<uint64_t>(end_ms) * kTicksPerMs;
        if (end > last.ticks) {  // what follows begins there
            last.duration =
                static_cast<uint32_t>(std::min<uint64_t>(last.duration, end - last.ticks));
        }
        video.next_ticks = last.ticks + last.duration;
    }
    if (end_ms - segment_start_ms_ > store_.longest_ms().value_or(INT64_MAX) &&
        part_start_ms_ > segment_start_ms_) {
        store_.close();
    }
    if (!store_.has_open()) {
        open_segment(part_start_ms_);
    }
    const bool first = store_.all().back().parts.empty();
    const bool independent =
        format_tracks_[kPartVideo] ? !frames.empty() && frames.front().packet->info().key : true;
    SegmentStore::NewPart part;
    part.independent = independent;
    part.composition_ms = frames.empty() ? 0 : frames.front().packet->info().composition_ms;
    write_tracks({frames, sounds}, first, until_ms, part);
    const auto count = static_cast<uint32_t>(frames.size());
    video.frames.erase(video.frames.begin(),
                       video.frames.begin() + static_cast<std::ptrdiff_t>(count));
    audio.frames.erase(audio.frames.begin(),
                       audio.frames.begin() + static_cast<std::ptrdiff_t>(sounds.size()));
    for (Track& track : tracks_) {
        track.bytes = 0;
        for (const PartFrame& frame : track.frames) {
            track.bytes += frame.packet->payload().size();
        }
    }
    part.duration_ms = std::max<int64_t>(end_ms - part_start_ms_, 1);
    part.video_frames = count;
    part_start_ms_ = std::max(end_ms, part_start_ms_ + 1);
    store_.add_part(std::move(part));
    const Segment& segment = store_.all().back();
    const uint64_t bytes =
        std::accumulate(segment.more_bytes.begin(), segment.more_bytes.end(), segment.bytes);
    if (segment.duration_ms >= kMaxSegmentMs || bytes >= kMaxSegmentBytes) {
        store_.close();
        segment_start_ms_ = part_start_ms_;
    }
}

// `until_ms`: later frames of more audio tracks are of the next part; nothing: all that came go.
void Segmenter::write_tracks(const PartFrames& frames,
                             bool first,
                             std::optional<int64_t> until_ms,
                             SegmentStore::NewPart& part) {
    const bool has_more = !format_->more.empty();
    if (has_more && writer_->has_more_audio()) {
        const std::vector<std::vector<PartFrame>> more = more_audio_->take_frames(until_ms);
        PartFrames all = frames;
        std::ranges::copy(more, all.begin() + kPartMoreAudio);
        writer_->write(all, first, part.bytes);
        return;
    }
    writer_->fill_from(has_more ? std::optional(part_start_ms_) : std::nullopt);
    part.audio_at = writer_->write(frames, first, part.bytes);
    if (has_more) {
        part.more = more_audio_->write(part_start_ms_, first, ending_, until_ms);
    }
}

void Segmenter::end_segment(int64_t end_ms, bool all) {
    // Frames of before a new configuration cannot be described any more, where nobody has yet.
    if (all && running_ && (format_ || !renew_)) {
        // What is there ends where its last picture would have ended, whatever follows: audio that
        // goes beyond it must not make the part longer than parts may be.
        const Track& video = tracks_[kPartVideo];
        const int64_t last = video.frames.empty() || video_late_
                                 ? std::max(video.last_ms, tracks_[kPartAudio].last_ms)
                                 : video.last_ms;
        const auto frame_ms = static_cast<int64_t>(video.last_duration / kTicksPerMs);
        ending_ = true;
        end_part(std::min(end_ms, last + std::max<int64_t>(frame_ms, 1)), true);
        ending_ = false;
    }
    store_.close();
    segment_start_ms_ = end_ms;
    part_start_ms_ = end_ms;
}

void Segmenter::drop_frames() {
    for (Track& track : tracks_) {
        track.frames.clear();
        track.bytes = 0;
    }
    if (more_audio_) {
        more_audio_->drop_frames();
    }
}

void Segmenter::finish_first(int64_t least_ms) {
    if (store_.segments_made() > 0 || !store_.has_open() ||
        store_.all().back().duration_ms < least_ms) {
        return;
    }
    store_.close();
    segment_start_ms_ = part_start_ms_;
}

void Segmenter::on_start_lost(stream::StartLost why) {
    using stream::StartLost;
    if (why == StartLost::kGopOverTheCap || why == StartLost::kConfigChanged) {
        return;  // who reads goes on; a configuration is seen when it comes
    }
    if (running_) {
        end_segment(part_start_ms_ + kMaxSegmentMs, true);
        running_ = false;
    }
    drop_frames();
    early_.clear();
    early_bytes_ = 0;
    settling_ = settling_ || (why == StartLost::kPublisherCame && store_.options().settle_ms > 0);
    video_late_ = false;
    if (why != StartLost::kVideoAppeared) {
        waited_ = false;
        if (more_audio_) {
            more_audio_->forget();
        }
        for (Track& track : tracks_) {
            track.id.reset();
            track.came = false;
        }
    }
}

}  // namespace weir::net
