#include "session/hls/hls_pump.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/gzip.h"
#include "base/log.h"
#include "base/random.h"
#include "base/steady_wall_time.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/play_rules.h"

namespace weir::session {
namespace {

constexpr size_t kTagSize = 12;

// What counts as one address.
NetAddress address_of(const net::Client& client) {
    return NetAddress::parse_ip(client.ip(), 0).value_or(NetAddress()).network();
}

const int g_kind = 0;  // its address stands for the kind

uint64_t bits_per_second(uint64_t bytes, int64_t duration_ms) {
    return duration_ms <= 0 ? 0 : bytes * 8'000 / static_cast<uint64_t>(duration_ms);
}

// With the audio track that has most.
uint64_t most_bytes(const net::Segment& segment) {
    if (segment.more_bytes.empty()) {
        return segment.bytes;
    }
    uint64_t audio = 0;
    for (const net::SegmentPart& part : segment.parts) {
        audio += part.bytes->bytes().size() - part.audio_at;
    }
    return segment.bytes - audio + std::max(audio, std::ranges::max(segment.more_bytes));
}

uint64_t now_s() {
    return static_cast<uint64_t>(wall_time_ms() / 1000);
}

}  // namespace

const net::PumpKind HlsPump::kKind{&g_kind, "hls", "hls pump"};

HlsPump::HlsPump(stream::Stream& stream,
                 const HlsOptions& options,
                 const net::PumpOptions& pump,
                 HlsNumbers& numbers,
                 HlsFolder* folder,
                 std::function<bool()> writes_here)
    : stream_(stream),
      options_(options),
      pump_(pump),
      numbers_(numbers),
      store_(options.segments, numbers.first(stream.key(), now_s())),
      folder_(folder),
      writes_here_(std::move(writes_here)),
      segmenter_(stream, options.container, store_),
      used_at_(MonoClock::now()),
      tag_(random_id(system_random(), kTagSize)) {
    store_.set_listener(this);
    fill_files();
}

HlsPump::~HlsPump() {
    end_all(net::EndClass::kStopping, "server stops");
    end_files();
    numbers_.note(stream_.key(), store_.next_number(), now_s());
}

// ---- waiting ----

Error HlsPump::wait_until(io::Deadline deadline, const std::function<bool()>& done) {
    const Stay stay(*this);
    while (!done()) {
        if (deadline.passed()) {
            return make_error(ErrorCode::kTimeout, "what was asked for did not come in time");
        }
        waiting_++;
        const Error error = signal_.wait_until(deadline, "a part of HLS");
        waiting_--;
        if (error.code() == ErrorCode::kInterrupted) {
            return make_error(ErrorCode::kInterrupted, "the server stops");
        }
    }
    return {};
}

Error HlsPump::wait_first(Millis absent, bool open_too) {
    constexpr Millis kLive{10'000};  // for the key frame of a stream that is there
    const auto deadline = io::Deadline::after(stream_.live() ? std::max(absent, kLive) : absent);
    return wait_variant(deadline, open_too, deadline.time() - kCutBefore);
}

// The first segment is not cut short where players of DASH have been told how long it will be, if
// it comes in time.
Error HlsPump::wait_variant(io::Deadline deadline, bool open_too, MonoTime cut_at) {
    return wait_until(deadline, [this, open_too, cut_at] {
        if (open_too) {
            return is_playable();
        }
        if (!told_ || MonoClock::now() >= cut_at) {
            segmenter_.finish_first(kFirstSegmentMs);
        }
        return store_.listed_complete() > 0;
    });
}

Error HlsPump::wait_open(io::Deadline deadline, AfterEnd after_end) {
    const bool waits = after_end == AfterEnd::kWait;
    const auto open = [this, waits] { return (store_.ended() && !waits) || store_.has_open(); };
    const bool soon = !store_.all().empty() && store_.all().back().expected_ms > 0;
    return soon || (waits && store_.ended()) ? wait_until(deadline, open) : Error();
}

Error HlsPump::wait_for(const std::function<bool()>& done) {
    return wait_until(io::Deadline::after(Seconds(3 * store_.target_seconds())), done);
}

Error HlsPump::wait_behind_end() {
    Error late = wait_until(io::Deadline::after(kOpenWait), [] { return false; });
    return late.code() == ErrorCode::kTimeout ? Error() : std::move(late);
}

bool HlsPump::has(uint64_t number, std::optional<uint64_t> part) const {
    if (store_.ended()) {
        return true;
    }
    const net::Segment* segment = store_.find(number);
    if (segment == nullptr) {
        return !store_.all().empty() && number < store_.all().front().number;
    }
    if (!part || *part < segment->parts.size()) {
        return part.has_value() || segment->complete;
    }
    // Behind its last part: the first one of the next segment is meant.
    return segment->complete && has(number + 1, 0);
}

// ---- playlists ----

size_t HlsPump::list_place(bool skip, hls::FileTrack track) {
    const size_t of = track == hls::FileTrack::kAll ? 0 : track == hls::FileTrack::kVideo ? 1 : 2;
    return 2 * of + (skip ? 1 : 0);
}

const std::string& HlsPump::media_playlist(bool skip, hls::FileTrack track) {
    auto& [text, version] = lists_[list_place(skip, track)];
    if (version == store_.version()) {
        return text;
    }
    version = store_.version();
    store_.fix_target();
    hls::MediaPlaylist playlist;
    playlist.mp4 = options_.container == net::SegmentContainer::kMp4;
    playlist.target_s = store_.target_seconds();
    playlist.part_target_ms = low_latency() ? store_.part_target_ms() : 0;
    playlist.discontinuity_sequence = store_.discontinuities_before();
    playlist.independent = store_.independent();
    playlist.ended = store_.ended();
    playlist.skip = skip;
    playlist.next_number = store_.next_number();
    const auto& all = store_.all();
    const size_t with_parts = store_.first_with_parts();
    int64_t behind_ms = 0;
    for (size_t i = all.size(); i > store_.first_listed(); i--) {
        const net::Segment& from = all[i - 1];
        if (!from.complete && playlist.part_target_ms == 0) {
            continue;
        }
        hls::PlaylistSegment segment{.number = from.number,
                                     .header = from.format->id,
                                     .duration_ms = from.duration_ms,
                                     .wall_ms = from.wall_ms,
                                     .discontinuity = from.discontinuity,
                                     .key = from.key,
                                     .complete = from.complete,
                                     .gap = !has_track(*from.format, track)};
        if (playlist.part_target_ms > 0 && i > with_parts) {
            for (const net::SegmentPart& part : from.parts) {
                segment.parts.push_back({part.duration_ms, part.independent});
            }
        }
        behind_ms += from.duration_ms;
        playlist.segments.push_back(std::move(segment));
    }
    std::ranges::reverse(playlist.segments);
    if (files_ != nullptr && files_->has_dvr()) {
        add_older(playlist, behind_ms);
    }
    text = hls::write_media_playlist(playlist);
    return text;
}

bool HlsPump::has_track(const net::SegmentFormat& format, hls::FileTrack track) {
    switch (track) {
        case hls::FileTrack::kAll: return true;
        case hls::FileTrack::kVideo: return !format.video_codecs.empty();
        default: return !format.audio_codecs.empty();
    }
}

bool HlsPump::is_playable() const {
    return store_.listed_complete() > 0 || (low_latency() && can_grow(store_));
}

std::string HlsPump::description(std::string_view folder,
                                 DashViewer& viewer,
                                 std::span<const DashVariant> variants) {
    if (!low_latency()) {
        return {};
    }
    store_.fix_target();
    dash::Presentation presentation = describe_segments(store_, true);
    std::vector<uint64_t> versions = {store_.version()};
    for (const DashVariant& variant : variants) {
        if (!viewer.variants || std::ranges::count(*viewer.variants, variant.number) > 0) {
            add_variant(variant, store_, ladder_, presentation);
        }
        versions.insert(versions.end(), {variant.number, variant.store->version()});
    }
    keep_audio(presentation, viewer.audio);
    if (!viewer.origin_ms && !presentation.periods.empty()) {
        viewer.origin_ms = viewer.near ? begin_of(presentation) : 0;
        viewer.variants.emplace();
        for (const dash::Quality& quality : presentation.periods.back().qualities) {
            viewer.variants->push_back(quality.variant);
        }
    }
    presentation.folder = folder;
    presentation.clock = hls::kClockName;
    presentation.origin_ms = viewer.origin_ms.value_or(0);
    presentation.filled = viewer.near;
    if (described_ != versions) {
        described_ = std::move(versions);
        described_ms_ = steady_wall_time_ms();
    }
    presentation.published_ms = described_ms_;
    told_ = true;
    // Players leave at the end: who comes behind it may have other tracks.
    if (store_.ended()) {
        everybody_.audio.reset();
    }
    return dash::write_mpd(presentation);
}

std::string HlsPump::media_tag(bool skip, hls::FileTrack track) const {
    const size_t place = list_place(skip, track);
    return fmt::format("{}.{}.{}", tag_, lists_[place].version, place);
}

const std::string& HlsPump::compressed(std::string_view tag, std::string_view text) {
    const auto known = std::ranges::find(compressed_, tag, &Compressed::tag);
    if (known != compressed_.end()) {
        return known->bytes;
    }
    compressed_.push_front({std::string(tag), gzip(text)});
    if (compressed_.size() > kMaxCompressed) {
        compressed_.pop_back();
    }
    return compressed_.front().bytes;
}

hls::Variant HlsPump::variant() const {
    hls::Variant variant;
    uint64_t bytes = 0;
    uint64_t frames = 0;
    int64_t duration_ms = 0;
    const auto& all = store_.all();
    for (size_t i = store_.first_listed(); i < all.size(); i++) {
        const net::Segment& segment = all[i];
        const uint64_t most = most_bytes(segment);
        bytes += most;
        frames += segment.video_frames;
        duration_ms += segment.duration_ms;
        // One that was cut short for the first viewer is mostly its key frame.
        if (segment.complete && segment.duration_ms >= options_.segments.fragment_ms / 2) {
            variant.bandwidth_bps =
                std::max(variant.bandwidth_bps, bits_per_second(most, segment.duration_ms));
        }
    }
    variant.average_bps = bits_per_second(bytes, duration_ms);
    variant.bandwidth_bps = std::max(variant.bandwidth_bps, variant.average_bps);
    variant.frame_rate =
        duration_ms > 0 ? static_cast<double>(frames) * 1000.0 / static_cast<double>(duration_ms)
                        : 0;
    if (!all.empty()) {
        const net::SegmentFormat& format = *all.back().format;
        variant.captions = store_.captions().names();
        variant.width = format.width;
        variant.height = format.height;
        variant.codecs = format.video_codecs;
        variant.codecs += variant.codecs.empty() || format.audio_codecs.empty() ? "" : ",";
        variant.codecs += format.audio_codecs;
    }
    return variant;
}

bool HlsPump::has_tracks_apart() const {
    return low_latency() && (files_ == nullptr || !files_->has_dvr());
}

bool HlsPump::has_renditions() const {
    return has_tracks_apart() && !store_.all().empty() && !store_.all().back().format->more.empty();
}

std::vector<hls::TrackName> HlsPump::track_folders() const {
    std::vector<hls::TrackName> folders;
    if (store_.all().empty()) {
        return folders;
    }
    const net::SegmentFormat& format = *store_.all().back().format;
    if (!format.video_codecs.empty()) {
        folders.push_back({.track = hls::FileTrack::kVideo});
    }
    if (!format.audio_codecs.empty()) {
        folders.push_back({.track = hls::FileTrack::kAudio});
    }
    for (const net::SegmentAudio& each : format.more) {
        folders.push_back({.track = hls::FileTrack::kMoreAudio, .id = each.id});
    }
    return folders;
}

hls::Variant HlsPump::apart_variant(std::string_view folder) const {
    hls::Variant out = variant();
    if (store_.all().empty()) {
        return out;
    }
    const net::SegmentFormat& format = *store_.all().back().format;
    for (const hls::TrackName& track : track_folders()) {
        const std::string uri =
            fmt::format("{}{}/{}", folder, hls::track_name(track), hls::kMediaPlaylistName);
        out.uri = out.uri.empty() ? uri : out.uri;
        if (track.track == hls::FileTrack::kAudio) {
            out.audio.push_back({.uri = uri,
                                 .name = format.audio_name,
                                 .language = format.audio_language,
                                 .channels = format.channels});
        } else if (track.track == hls::FileTrack::kMoreAudio) {
            const net::SegmentAudio& more = format.more[*format.find_more(track.id)];
            out.audio.push_back({.uri = uri,
                                 .name = more.name,
                                 .language = more.language,
                                 .channels = more.channels});
            // HE-AAC beside AAC: RFC 8216 §4.3.4.2 wants all of them.
            out.codecs += out.codecs.ends_with(more.codecs) ? "" : "," + more.codecs;
        }
    }
    return out;
}

std::optional<HlsPump::Newest> HlsPump::newest() const {
    const auto& all = store_.all();
    for (size_t i = all.size(); i > store_.first_listed(); i--) {
        const net::Segment& segment = all[i - 1];
        if (!segment.parts.empty()) {
            return Newest{segment.number, low_latency()
                                              ? std::optional<uint64_t>(segment.parts.size() - 1)
                                              : std::nullopt};
        }
    }
    return std::nullopt;
}

// ---- the disk ----

// What is complete goes there.
void HlsPump::fill_files() {
    const auto& all = store_.all();
    if (folder_ == nullptr || all.empty()) {
        return;
    }
    if (writes_here_ && stream_.live()) {
        elsewhere_ = !writes_here_();
    }
    if (elsewhere_) {
        if (files_ != nullptr) {
            std::exchange(files_, nullptr)->leave();
        }
        next_file_ = store_.next_number();
        return;
    }
    next_file_ = std::max(next_file_, all.front().number);
    const net::Segment* next = store_.find(next_file_);
    if (files_ == nullptr && next != nullptr && next->complete) {
        files_ = folder_->begin(stream_.key(), options_);
        folder_ = files_ == nullptr ? nullptr : folder_;
    }
    if (files_ == nullptr) {
        return;
    }
    for (; next != nullptr && next->complete; next = store_.find(++next_file_)) {
        store_.fix_target();
        files_->add(*next, {store_.target_seconds(), variant()});
    }
    if (store_.ended()) {
        files_->end({store_.target_seconds(), variant()});
    }
}

void HlsPump::end_files() {
    if (files_ != nullptr) {
        store_.end();  // fills them
    }
    if (files_ != nullptr) {
        std::exchange(files_, nullptr)->leave();
    }
    folder_ = nullptr;
}

// `behind_ms`: the length of what the playlist has already.
void HlsPump::add_older(hls::MediaPlaylist& playlist, int64_t behind_ms) {
    const uint64_t end =
        playlist.segments.empty() ? playlist.next_number : playlist.segments.front().number;
    hls::History::Listed listed = files_->older(end, behind_ms);
    if (listed.older.count == 0) {
        return;
    }
    if (playlist.skip) {
        files_->history().skip(listed, behind_ms, hls::kSkipTargets * playlist.target_s * 1000);
    }
    playlist.older = listed.older;
    playlist.discontinuity_sequence = listed.discontinuities_before;
    playlist.independent = playlist.independent && listed.independent;
}

// ---- sessions ----

HlsSession* HlsPump::find_session(std::string_view id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second->kicked) {
        return nullptr;
    }
    found->second->asked_at = used_at_ = MonoClock::now();
    return found->second.get();
}

bool HlsPump::was_kicked(std::string_view id) const {
    const auto found = sessions_.find(id);
    return (found != sessions_.end() && found->second->kicked) ||
           std::ranges::find(kicked_, id, &Kicked::id) != kicked_.end();
}

std::string_view HlsPump::find_looks(std::string_view looks) const {
    const auto found = looks_.find(looks);
    if (found != looks_.end()) {
        return found->second;
    }
    // Others may look the same: it is told for as long as a player that asks again and again takes
    // to notice.
    const MonoTime since = MonoClock::now() - idle_time();
    const auto kicked = std::ranges::find_if(
        kicked_, [&](const Kicked& each) { return each.looks == looks && each.since > since; });
    return kicked != kicked_.end() ? std::string_view(kicked->id) : std::string_view();
}

void HlsPump::set_looks(HlsSession& session, std::string_view id, std::string looks) {
    if (!session.looks.empty()) {
        looks_.erase(session.looks);
    }
    session.looks = std::move(looks);
    if (!session.looks.empty()) {
        looks_.insert_or_assign(session.looks, std::string(id));
    }
}

size_t& HlsPump::count_of(const HlsSession& session) {
    const bool dash = std::string_view(session.client->transport()) == counts_[1].transport;
    return counts_[dash ? 1 : 0].players;
}

HlsSession* HlsPump::add_session(std::string id, std::unique_ptr<net::Client> client) {
    const NetAddress from = address_of(*client);
    const auto begun = begun_.find(from);
    if (sessions_.size() >= kMaxSessions ||
        (begun != begun_.end() && begun->second >= options_.max_begun)) {
        return nullptr;
    }
    begun_[from]++;
    auto session = std::make_unique<HlsSession>(std::move(client));
    session->asked_at = used_at_ = MonoClock::now();
    session->client->kick = [at = session.get()] { at->kicked = true; };
    HlsSession* const added = session.get();
    count_of(*added)++;
    if (const auto [place, is_new] = sessions_.try_emplace(std::move(id)); is_new) {
        place->second = std::move(session);
    } else {
        end_session(*place->second, net::EndClass::kReplaced, "asked again");
        place->second = std::move(session);
    }
    return added;
}

void HlsPump::note_return(HlsSession& session) {
    if (std::exchange(session.returned, true)) {
        return;
    }
    const auto begun = begun_.find(address_of(*session.client));
    if (begun != begun_.end() && --begun->second == 0) {
        begun_.erase(begun);
    }
}

void HlsPump::end_session(HlsSession& session, net::EndClass why, std::string_view detail) {
    note_return(session);
    count_of(session)--;
    session.client->kick = nullptr;
    session.client->log_summary(why, detail);
}

void HlsPump::end_all(net::EndClass why, std::string_view detail) {
    for (const auto& [id, session] : sessions_) {
        end_session(*session, why, detail);
    }
    sessions_.clear();
    looks_.clear();
}

Millis HlsPump::idle_time() const {
    return std::max<Millis>(Seconds(kIdleTargets * store_.target_seconds()), kMinIdle);
}

void HlsPump::look(MonoTime now) {
    if (!stream_.live() && !store_.ended() && !store_.all().empty() &&
        now - stream_.absent_since() > pump_.wait_publisher) {
        store_.end();
    }
    for (auto at = sessions_.begin(); at != sessions_.end();) {
        HlsSession& session = *at->second;
        if (session.kicked) {
            kicked_.push_back({at->first, session.looks, now});
            if (kicked_.size() > kMaxKicked) {
                kicked_.pop_front();
            }
            end_session(session, net::EndClass::kKicked, "ended by the API");
        } else if (now - session.asked_at <= idle_time()) {
            ++at;
            continue;
        } else if (store_.ended()) {
            end_session(session, net::EndClass::kNoPublisher, "publisher gone");
        } else {
            end_session(session, net::EndClass::kPeerClosed, "asks for nothing any more");
        }
        if (!session.looks.empty()) {
            looks_.erase(session.looks);
        }
        at = sessions_.erase(at);
    }
}

void HlsPump::run() {
    for (;;) {
        if (io::sleep_for(kLook).code() == ErrorCode::kInterrupted) {
            return;
        }
        const MonoTime now = MonoClock::now();
        look(now);
        if (options_.always && stream_.live() && !stream_.relayed()) {
            continue;
        }
        if (files_ != nullptr && !store_.ended()) {
            continue;  // the end of its playlist is to be written
        }
        // Of a stream that never came there is nothing to keep.
        const Millis linger = store_.all().empty() ? kLook : kLinger;
        if (sessions_.empty() && staying_ == 0 && now - used_at_ > linger) {
            return;
        }
    }
}

}  // namespace weir::session
