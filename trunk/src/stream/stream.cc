#include "stream/stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "media/audio_length.h"

namespace weir::stream {
namespace {

using media::PacketInfo;
using media::PacketRef;
using media::TrackKind;

bool is_state(const PacketInfo& info) {
    return info.config || info.metadata;
}

// Two packets that describe the same thing: the later replaces the earlier.
bool same_slot(const PacketInfo& a, const PacketInfo& b) {
    return a.kind == b.kind && a.track_id == b.track_id && a.config == b.config &&
           a.metadata == b.metadata && a.audience == b.audience;
}

bool is_audio_frame(const PacketInfo& info) {
    return info.kind == TrackKind::kAudio && !is_state(info) && !info.end;
}

// For whom keeps it longer than the GOP: it holds no block of a log, and nothing of what follows
// there.
PacketRef with_own_body(const PacketRef& packet) {
    const ByteSpan body = packet->body();
    return packet->has_own_body()
               ? packet
               : PacketRef(make_ref<media::MediaPacket>(packet->info(), packet->time_ms(),
                                                        Bytes(body.begin(), body.end())));
}

bool takes_frames(const PacketSink& sink) {
    return sink.audience() != media::Audience::kTransportStream;
}

bool is_for(media::Audience audience, const PacketSink& sink) {
    using media::Audience;
    const Audience own = sink.audience();
    switch (audience) {
        case Audience::kEverybody: return takes_frames(sink);
        case Audience::kAllButMpeg: return takes_frames(sink) && own != Audience::kMpeg;
        case Audience::kFlv: return own == Audience::kFlv || own == Audience::kMpeg;
        default: return own == audience;
    }
}

// What is for WebRTC alone is the audio as it was published, or one of the simulcast layers.
bool is_for(const PacketInfo& info, const PacketSink& sink) {
    if (sink.audience() == media::Audience::kOriginal &&
        info.audience == media::Audience::kWebRtc) {
        return info.kind == TrackKind::kAudio;
    }
    return is_for(info.audience, sink);
}

const Configs kNoConfigs;

constexpr size_t kAudioPlace = static_cast<size_t>(TrackKind::kAudio);
constexpr size_t kVideoPlace = static_cast<size_t>(TrackKind::kVideo);

size_t place_of(TrackKind kind) {
    return static_cast<size_t>(kind);
}

}  // namespace

std::string StreamKey::to_string() const {
    std::string text;
    if (vhost != kDefaultVhost) {
        text += vhost;
    }
    return text + "/" + app + "/" + name;
}

Stream::Stream(StreamKey key, const StreamOptions& options, MonoTime now, LifeObservers* of_all)
    : key_(std::move(key)),
      options_(options),
      live_since_(now),
      absent_since_(now),
      of_all_(of_all),
      since_(now) {}

Stream::~Stream() {
    WEIR_CHECK(publisher_ == nullptr && sinks_.empty());
}

Error Stream::busy() const {
    return make_error(ErrorCode::kBusy,
                      "{} is being published by another client; wait until it ends, or set "
                      "publish_conflict takeover",
                      key_.to_string());
}

std::string Stream::describe_holder(MonoTime now) const {
    const auto held_s = std::chrono::duration_cast<Seconds>(now - live_since_).count();
    return publisher_ ? fmt::format(" (by {} for {} s)", publisher_->describe(), held_s) : "";
}

bool Stream::relayed() const {
    return publisher_ != nullptr && !publisher_->relayed_from().empty();
}

Error Stream::may_publish(PublishConflict policy) const {
    return live() && !relayed() && policy == PublishConflict::kRefuse ? busy() : Error();
}

void Stream::want_key_frame_of(uint8_t layer) {
    if (publisher_) {
        publisher_->on_layer_wanted(layer);
    }
}

Error Stream::start_publish(Publisher& publisher, PublishConflict policy, MonoTime now) {
    if (publisher_) {
        WEIR_TRY(may_publish(policy));
        finish_entrance(now);
        Publisher* previous = publisher_;
        publisher_ = nullptr;
        previous->on_taken_over();
        tell([this](LifeObserver& observer) {
            observer.on_unpublish(*this, PublishEnd::kTakenOver);
        });
    }
    publisher_ = &publisher;
    live_since_ = now;
    begin_frames();
    forget_transport(StartLost::kPublisherCame);
    has_transport_ = false;
    bytes_received_before_ += bytes_received_;
    bytes_received_ = 0;
    dropped_configs_ = 0;
    tell([this](LifeObserver& observer) { observer.on_publish(*this); });
    return {};
}

// As of a publisher who has sent none yet.
void Stream::begin_frames() {
    timeline_.rebase();
    forget_gop(StartLost::kPublisherCame);
    previous_configs_ = std::move(configs_);
    configs_.clear();
    awaiting_key_ = true;
    first_video_track_ = first_audio_track_ = -1;
    video_present_ = false;
    presence_ = {};
    first_frame_.reset();
    entrance_.clear();
    audio_clock_.begin_publisher();
    description_ = {};
    video_ = {};
    audio_ = {};
    gop_stats_ = {};
    frame_order_.clear();
}

void Stream::end_frames(const Publisher& publisher) {
    if (publisher_ == &publisher) {
        begin_frames();
        previous_configs_.clear();  // who comes now was told nothing
    }
}

void Stream::end_publish(const Publisher& publisher, MonoTime now) {
    if (publisher_ != &publisher) {
        return;
    }
    finish_entrance(now);
    publisher_ = nullptr;
    absent_since_ = now;
    forget_gop(StartLost::kPublisherGone);
    forget_transport(StartLost::kPublisherGone);
    tell([this](LifeObserver& observer) { observer.on_unpublish(*this, PublishEnd::kLeft); });
}

void Stream::lose_publisher(MonoTime now) {
    if (publisher_ != nullptr) {
        Publisher& publisher = *publisher_;
        publisher.on_taken_over();
        end_publish(publisher, now);
    }
}

void Stream::describe(const Publisher& publisher, media::Description description) {
    if (publisher_ == &publisher) {
        if (description.unused_tracks.empty()) {
            description.unused_tracks = std::move(description_.unused_tracks);
        }
        description_ = std::move(description);
        // Who began with the audio that comes first would begin anew with the video.
        if (description_.names_video && !first_frame_ && !video_present_) {
            video_present_ = true;
            awaiting_key_ = true;
        }
    }
}

bool Stream::has_video() const {
    const TrackPresence& video = presence_[kVideoPlace];
    return !video.missing &&
           (video.came || config(TrackKind::kVideo) != nullptr || description_.names_video);
}

bool Stream::has_audio() const {
    const TrackPresence& audio = presence_[kAudioPlace];
    return !audio.missing &&
           (audio.came || config(TrackKind::kAudio) != nullptr || description_.names_audio);
}

void Stream::forget_gop(StartLost why) {
    gop_.clear();
    gop_configs_.clear();
    gop_bytes_ = 0;
    for (PacketSink* sink : sinks_) {
        if (takes_frames(*sink)) {
            sink->on_start_lost(why);
        }
    }
    tell([this, why](LifeObserver& observer) { observer.on_start_lost(*this, why); });
}

void Stream::end_transport(const Publisher& publisher) {
    if (publisher_ == &publisher) {
        forget_transport(StartLost::kPublisherCame);
        has_transport_ = false;
    }
}

void Stream::forget_transport(StartLost why) {
    transport_.clear();
    transport_bytes_ = 0;
    for (PacketSink* sink : sinks_) {
        if (!takes_frames(*sink)) {
            sink->on_start_lost(why);
        }
    }
}

void Stream::tell_codecs() {
    const uint8_t kinds = std::exchange(changed_codecs_, uint8_t{0});
    for (const TrackKind kind : {TrackKind::kAudio, TrackKind::kVideo}) {
        if ((kinds & (1u << static_cast<unsigned>(kind))) != 0) {
            tell([this, kind](LifeObserver& observer) { observer.on_codecs(*this, kind); });
        }
    }
}

// A codec configuration says that a track is there before its first frame comes: players wait for
// the key frame of a video that was announced, and their headers name the track.
void Stream::announce(const PacketInfo& info, MonoTime now) {
    if (!info.config) {
        return;
    }
    if (info.kind == TrackKind::kVideo && !video_present_) {
        video_present_ = true;
        awaiting_key_ = true;
        presence_[kVideoPlace].missing = false;
        presence_[kVideoPlace].last = now;
        forget_gop(StartLost::kVideoAppeared);
    }
}

bool Stream::config_fits(const media::MediaPacket& packet) const {
    size_t total = packet.body().size();
    if (total > kMaxConfigBytes) {
        return false;
    }
    for (const PacketRef& held : configs_) {
        total += same_slot(held->info(), packet.info()) ? 0 : held->body().size();
    }
    return total <= kMaxConfigTotal;
}

// Gives false when the same configuration is already in force: nothing to send.
bool Stream::take_config(const PacketRef& packet, MonoTime now) {
    const auto describes_same = [&](const PacketRef& held) {
        return same_slot(held->info(), packet->info());
    };
    auto slot = std::ranges::find_if(configs_, describes_same);
    if (slot == configs_.end()) {
        announce(packet->info(), now);
        if (packet->info().config) {
            note_codecs(packet->info().kind);
        }
        if (configs_.size() < kMaxConfigs) {
            configs_.push_back(packet);
        }
        auto before = std::ranges::find_if(previous_configs_, describes_same);
        return before == previous_configs_.end() ||
               !std::ranges::equal((*before)->body(), packet->body());
    }
    if (std::ranges::equal((*slot)->body(), packet->body())) {
        return false;
    }
    *slot = packet;
    if (packet->info().config) {
        note_codecs(packet->info().kind);
    }
    // Nobody may start before a changed video configuration and decode with the new one.
    if (packet->info().kind == TrackKind::kVideo && packet->info().config &&
        packet->info().audience == media::Audience::kEverybody) {
        frame_order_.clear();
        forget_gop(StartLost::kConfigChanged);
    }
    return true;
}

// Video decides where a player can start. False: the frame cannot be decoded by anybody, since no
// key frame came yet.
bool Stream::keep_video(const PacketInfo& info) {
    if (first_video_track_ < 0) {
        first_video_track_ = info.track_id;
    }
    if (!video_present_) {
        video_present_ = true;
        awaiting_key_ = true;
        forget_gop(StartLost::kVideoAppeared);
    }
    if (info.key && info.track_id == first_video_track_) {
        awaiting_key_ = false;
    }
    return !awaiting_key_;
}

void Stream::remember(const PacketRef& packet, bool start) {
    if (start) {
        begin_gop(packet);
    } else if (gop_.empty()) {
        return;
    }
    gop_.push_back(packet);
    gop_bytes_ += packet->body().size();
    limit_gop();
}

void Stream::limit_gop() {
    if (gop_bytes_ + gop_.size() * kFrameCost > options_.gop_cap_bytes) {
        forget_gop(StartLost::kGopOverTheCap);
    }
}

// Audio of the key frame's time and later has come before it: whoever starts at the key frame would
// have no audio until then.
void Stream::begin_gop(const PacketRef& key) {
    Configs early;
    if (key->info().kind == TrackKind::kVideo) {
        const auto is_early = [&key](const PacketRef& held) {
            return is_audio_frame(held->info()) && held->time_ms() >= key->time_ms();
        };
        std::ranges::copy_if(gop_configs_, std::back_inserter(early), is_early);
        std::ranges::copy_if(gop_, std::back_inserter(early), is_early);
        const int64_t latest = early.empty() ? 0 : early.back()->time_ms();
        std::erase_if(early, [latest](const PacketRef& held) {
            return held->time_ms() < latest - kMaxEarlyMs;
        });
        size_t bytes = 0;
        for (const PacketRef& held : early) {
            bytes += held->body().size();
        }
        if (bytes > kMaxEarlyBytes) {
            early.clear();
        }
    }
    gop_.clear();
    gop_bytes_ = 0;
    gop_configs_ = configs_;
    // A player that is told of a track waits for it.
    std::erase_if(gop_configs_, [this](const PacketRef& held) {
        const PacketInfo& info = held->info();
        return info.kind != TrackKind::kData && presence_[place_of(info.kind)].missing;
    });
    std::ranges::transform(early, std::back_inserter(gop_configs_), &with_own_body);
}

// Where its time is: a muxer that comes later writes it in order.
void Stream::keep_derived(const PacketRef& packet) {
    if (gop_.empty()) {
        return;
    }
    auto at = gop_.end();
    while (at - gop_.begin() > 1 && (*(at - 1))->time_ms() > packet->time_ms()) {
        --at;
    }
    gop_.insert(at, packet);
    gop_bytes_ += packet->body().size();
    limit_gop();
}

uint64_t Stream::own_gop_bytes() const {
    uint64_t bytes = 0;
    for (const std::vector<PacketRef>* list : {&gop_, &transport_}) {
        for (const PacketRef& held : *list) {
            bytes += held->has_own_body() ? held->body().size() : 0;
        }
    }
    return bytes;
}

std::vector<PacketRef> Stream::kept_audio(media::Audience audience) const {
    std::vector<PacketRef> kept;
    const auto wanted = [audience](const PacketRef& held) {
        return is_audio_frame(held->info()) && held->info().track_id == 0 &&
               held->info().audience == audience;
    };
    std::ranges::copy_if(gop_configs_, std::back_inserter(kept), wanted);
    std::ranges::copy_if(gop_, std::back_inserter(kept), wanted);
    return kept;
}

void Stream::count_video(const media::MediaPacket& packet, bool key, MonoTime now) {
    GopStats& gop = gop_stats_;
    if (key) {
        if (gop.key_frames > 0) {
            gop.last_ms = packet.time_ms() - gop.key_time_ms;
            gop.last_frames = gop.open_frames;
        }
        gop.key_frames++;
        gop.open_frames = 0;
        gop.key_time_ms = packet.time_ms();
        gop.key_at = now;
    }
    gop.open_frames++;
}

void Stream::sample(const RateClock& clock, MonoTime now) {
    Entrance::Ready ready;
    entrance_.release_old(ready);
    accept_all(ready, now);
    received_.sample(clock, bytes_received_);
    sent_.sample(clock, bytes_sent_);
    frames_.sample(clock, video_.frames);
}

// What a publisher sends is counted from when it came.
double Stream::receive_bps(const RateClock& clock, MonoTime now, Millis window) const {
    return live() ? 8 * received_.per_second(clock, now, live_since_, bytes_received_, window) : 0;
}

double Stream::send_bps(const RateClock& clock, MonoTime now, Millis window) const {
    return 8 * sent_.per_second(clock, now, since_, bytes_sent_, window);
}

double Stream::frame_rate(const RateClock& clock, MonoTime now, Millis window) const {
    return live() ? frames_.per_second(clock, now, live_since_, video_.frames, window) : 0;
}

const media::MediaPacket* Stream::key_frame() const {
    return gop_.empty() || !gop_.front()->info().key ? nullptr : gop_.front().get();
}

void Stream::give(PacketSink& sink, const PacketRef& packet, bool start) const {
    if (!is_for(packet->info(), sink)) {
        return;
    }
    if (!start) {
        sink.on_packet(packet, nullptr);
        return;
    }
    // RTP needs no early audio: what a player does first is to learn both clocks.
    const auto of_others = [&sink](const PacketRef& held) {
        return !is_for(held->info(), sink) ||
               (is_audio_frame(held->info()) && sink.audience() == media::Audience::kWebRtc);
    };
    if (std::ranges::none_of(gop_configs_, of_others)) {
        sink.on_packet(packet, &gop_configs_);
        return;
    }
    Configs configs = gop_configs_;
    std::erase_if(configs, of_others);
    sink.on_packet(packet, &configs);
}

void Stream::hand_out(const PacketRef& packet, bool start) {
    for (PacketSink* sink : sinks_) {
        give(*sink, packet, start);
    }
}

void Stream::publish(const Publisher& publisher, Ref<media::MediaPacket> packet, MonoTime now) {
    if (publisher_ != &publisher) {
        return;
    }
    bytes_received_ += has_transport_ ? 0 : packet->body().size();
    if (packet->info().kind != TrackKind::kVideo && !entrance_.has_waiting()) {
        accept(std::move(packet), now);
        return;
    }
    Entrance::Ready ready;
    if (packet->info().kind == TrackKind::kVideo) {
        entrance_.take(std::move(packet), ready);
        accept_all(ready, now);
    } else {
        entrance_.take_other(ready);
        accept_all(ready, now);
        accept(std::move(packet), now);
    }
}

void Stream::accept_all(Entrance::Ready& ready, MonoTime now) {
    if (entrance_.take_broken_key()) {
        forget_gop(StartLost::kConfigChanged);  // nobody can decode from there
    }
    for (Ref<media::MediaPacket>& packet : ready) {
        accept(std::move(packet), now);
    }
}

// The publisher goes.
void Stream::finish_entrance(MonoTime now) {
    Entrance::Ready ready;
    entrance_.release(ready);
    accept_all(ready, now);
    const EntranceStats& mended = entrance_.stats();
    if (mended.any() || audio_clock_.holes() > 0) {
        log::info(
            "mended stream={} messages_joined={} units_left_out={} messages_dropped={} "
            "pictures_damaged={} configs_made={} start_codes={} audio_holes={}: what the publisher "
            "sent was put in order",
            log::token(key_.to_string()), mended.messages_joined, mended.units_left_out,
            mended.messages_dropped, mended.pictures_damaged, mended.configs_made,
            mended.start_codes, audio_clock_.holes());
    }
}

// ---- tracks that come, and those that were only announced ----

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

bool Stream::accept_state(const Ref<media::MediaPacket>& packet, MonoTime now) {
    if (!config_fits(*packet)) {
        dropped_configs_++;
        return false;
    }
    packet->set_time_ms(timeline_.latest());
    if (!take_config(packet, now)) {
        tell_codecs();
        return false;
    }
    return true;
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

// Whether a player may begin here.
bool Stream::accept_audio(const PacketInfo& info, MonoTime now) {
    if (first_audio_track_ < 0) {
        first_audio_track_ = info.track_id;
    }
    note_presence(TrackKind::kAudio, now);
    note_absence(TrackKind::kVideo, now);
    return !video_present_;
}

// On the stream's timeline. Audio has the times of its samples.
int64_t Stream::time_of(const media::MediaPacket& packet, MonoTime now) {
    const PacketInfo& info = packet.info();
    const int64_t time = timeline_.map(info.kind, static_cast<uint32_t>(packet.time_ms()), now);
    if (info.kind != TrackKind::kAudio || info.track_id != first_audio_track_) {
        return time;
    }
    if (timeline_.shifts() != timeline_shifts_) {
        timeline_shifts_ = timeline_.shifts();
        audio_clock_.restart();
    }
    const media::MediaPacket* const described = config(TrackKind::kAudio);
    return audio_clock_.place(
        time, media::audio_length(info.codec, described ? described->payload() : ByteSpan(),
                                  packet.payload()));
}

void Stream::accept(Ref<media::MediaPacket> packet, MonoTime now) {
    const PacketInfo& info = packet->info();
    const bool video = info.kind == TrackKind::kVideo;
    const bool audio = info.kind == TrackKind::kAudio;
    bool start = false;
    if (is_state(info)) {
        if (!accept_state(packet, now)) {
            return;
        }
    } else if (video) {
        if (!accept_video(info, now)) {
            return;
        }
        start = info.key && info.track_id == first_video_track_;
    } else if (audio) {
        start = accept_audio(info, now);
    }
    if (audio || video) {
        TrackStats& track = video ? video_ : audio_;
        if (track.codec == media::Codec::kUnknown && info.codec != media::Codec::kUnknown) {
            note_codecs(info.kind);
        }
        track.codec = info.codec;
        track.bytes += packet->body().size();
        if (!is_state(info)) {
            track.frames++;
            packet->set_time_ms(time_of(*packet, now));
            if (video && info.track_id == first_video_track_) {
                count_video(*packet, start, now);
                frame_order_.on_frame(*packet, config(TrackKind::kVideo));
            }
        }
    } else {
        packet->set_time_ms(timeline_.latest());
    }
    const PacketRef frozen(packet);
    remember(frozen, start);
    hand_out(frozen, start && !gop_.empty());  // empty: the key frame alone is past the cap
    if (changed_codecs_ != 0) {
        tell_codecs();
    }
}

void Stream::publish_derived(const Publisher& publisher,
                             Ref<media::MediaPacket> packet,
                             MonoTime now) {
    const PacketInfo& info = packet->info();
    if (publisher_ != &publisher || info.audience == media::Audience::kEverybody) {
        return;
    }
    if (is_state(info)) {
        packet->set_time_ms(timeline_.latest());
    }
    const PacketRef frozen(packet);
    if (is_state(info) && (!config_fits(*packet) || !take_config(frozen, now))) {
        tell_codecs();
        return;
    }
    const bool start = info.kind == TrackKind::kAudio && !is_state(info) && !video_present_;
    if (start) {
        remember(frozen, true);
    } else {
        keep_derived(frozen);
    }
    hand_out(frozen, start && !gop_.empty());
    if (changed_codecs_ != 0) {
        tell_codecs();
    }
}

void Stream::publish_transport(const Publisher& publisher,
                               Ref<media::MediaPacket> packet,
                               MonoTime now) {
    if (publisher_ != &publisher) {
        return;
    }
    has_transport_ = true;
    bytes_received_ += packet->payload().size();
    packet->set_time_ms(std::chrono::duration_cast<Millis>(now - since_).count());
    if (packet->info().key) {
        transport_.clear();
        transport_bytes_ = 0;
    } else if (transport_bytes_ + packet->body().size() + transport_.size() * kFrameCost >
               options_.gop_cap_bytes) {
        forget_transport(StartLost::kGopOverTheCap);
    }
    const PacketRef frozen(packet);
    const bool start = frozen->info().key;
    if (start || !transport_.empty()) {
        transport_.push_back(frozen);
        transport_bytes_ += frozen->body().size();
    }
    for (PacketSink* sink : sinks_) {
        if (!takes_frames(*sink)) {
            sink->on_packet(frozen, start ? &kNoConfigs : nullptr);
        }
    }
}

void Stream::attach(PacketSink& sink) {
    sink.on_attach(*this);
    if (takes_frames(sink)) {
        for (size_t i = 0; i < gop_.size(); i++) {
            give(sink, gop_[i], i == 0);
        }
    } else {
        for (const PacketRef& packet : transport_) {
            sink.on_packet(packet, packet->info().key ? &kNoConfigs : nullptr);
        }
    }
    sinks_.push_back(&sink);
    if (sinks_.size() == 1) {
        tell([this](LifeObserver& observer) { observer.on_demand(*this); });
    }
    if (publisher_ != nullptr) {
        publisher_->on_sink();
    }
}

void Stream::detach(PacketSink& sink) {
    if (std::erase(sinks_, &sink) > 0 && sinks_.empty()) {
        tell([this](LifeObserver& observer) { observer.on_demand_gone(*this); });
    }
}

void Stream::note_new_player() {
    const bool old = gop_.empty() || gop_.back()->time_ms() - gop_.front()->time_ms() > kOldStartMs;
    if (old && video_present_) {
        want_key_frame();
    }
}

bool Stream::has_audience(media::Audience audience) const {
    return std::ranges::any_of(
        sinks_, [audience](const PacketSink* sink) { return is_for(audience, *sink); });
}

bool Stream::wants_frames() const {
    return std::ranges::any_of(sinks_, [](const PacketSink* sink) { return takes_frames(*sink); });
}

const media::MediaPacket* Stream::config(TrackKind kind) const {
    for (const PacketRef& held : configs_) {
        if (held->info().kind == kind && (held->info().config || kind == TrackKind::kData)) {
            return held.get();
        }
    }
    return nullptr;
}

}  // namespace weir::stream
