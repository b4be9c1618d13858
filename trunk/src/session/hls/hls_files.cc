// HlsService: what stands in a stream's folder, for who was let in: playlists, segments, parts.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/steady_wall_time.h"
#include "io/deadline.h"
#include "proto/dash/mpd.h"
#include "proto/hls/playlist_text.h"
#include "proto/http/accept_encoding.h"
#include "proto/http/access_token.h"
#include "proto/http/byte_range.h"
#include "proto/http/target.h"
#include "session/hls/hls_ask.h"
#include "session/hls/hls_service.h"

namespace weir::session {
namespace {

constexpr std::string_view kMp4Type = "video/mp4";
constexpr std::string_view kTsType = "video/mp2t";
constexpr std::string_view kDescriptionType = "application/dash+xml";
constexpr uint64_t kMaxAhead = 2;        // segments, §6.2.5.2 of the draft
constexpr int64_t kMediaMaxAge = 3'600;  // seconds; a name never means other bytes

// Of segments and parts.
std::string media_cache(bool has_session) {
    return fmt::format("{}max-age={}, immutable", has_session ? "private, " : "", kMediaMaxAge);
}

// Nothing: one of both is not live.
std::optional<LadderLead> lead_of(const stream::Stream& other, const stream::Stream& home) {
    if (!other.live() || !home.live()) {
        return std::nullopt;
    }
    const MonoTime settled = MonoClock::now() - kLadderSettles;
    return LadderLead{.lead_ms = other.timeline().latest() - home.timeline().latest(),
                      .settled = other.live_since() <= settled && home.live_since() <= settled};
}

std::string etag_of(std::string_view text) {
    // Each viewer's playlist is a text of its own: a byte at a time is too slow here.
    return fmt::format("\"{:016x}\"", std::hash<std::string_view>()(text));
}

// As HlsService::piece_of has the bytes.
const Bytes& header_of(const net::SegmentFormat& format, const hls::TrackName& track) {
    switch (track.track) {
        case hls::FileTrack::kAll: return format.header;
        case hls::FileTrack::kVideo: return format.video_header;
        case hls::FileTrack::kAudio: break;
        case hls::FileTrack::kMoreAudio:
            if (const auto more = format.find_more(track.id)) {
                return format.more[*more].header;
            }
            break;
    }
    return format.audio_header;
}

// 1.22 takes the start of a period for the time from now until it can be played, and adds the first
// segment's distance from availabilityStartTime to the place of the segment that it looks for.
bool is_gstreamer(const http::Request& request) {
    return request.headers.get("User-Agent").value_or("").starts_with("GStreamer");
}

}  // namespace

// Yields.
void HlsService::serve_playlist(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    const http::Request& request = exchange.request();
    const auto reload = hls::Reload::parse(request.query);
    if (!reload.ok()) {
        refuse(exchange, reload.error());
        return;
    }
    const HlsPump::Stay stay(pump);
    if (ask.variant > 0 && !wait_variant(pump, io::Deadline::after(HlsPump::kVariantWait), false)) {
        refuse(exchange, 503, "that variant has nothing to play yet");
        return;
    }
    ask.look_again();
    const net::SegmentStore& store = pump.store();
    const bool low_latency = pump.low_latency();
    if (ask.rendition.track != hls::FileTrack::kAll && !low_latency) {
        refuse(exchange, 404, "one track is not to be had of this stream");
        return;
    }
    const bool blocks = low_latency && reload->number.has_value();
    if (blocks && !store.ended()) {
        if (*reload->number >= store.next_number() + kMaxAhead) {
            refuse(exchange, 400, "_HLS_msn is more than two segments ahead", true);
            return;
        }
        if (!pump.has(*reload->number, reload->part)) {
            stats_.blocked++;
            if (pump.wait_for([&] { return pump.has(*reload->number, reload->part); })) {
                refuse(exchange, 503, "that part of the playlist did not come in time", true);
                return;
            }
            ask.look_again();
        }
    }
    stats_.playlists++;
    const bool skip = low_latency && reload->skip;
    std::string list = pump.media_playlist(skip, ask.rendition.track);
    const bool one_track = ask.rendition.track != hls::FileTrack::kAll;
    const std::string reports = !low_latency || store.ended() ? ""
                                : one_track                   ? track_reports(ask)
                                                              : rendition_reports(ask);
    list += reports;
    const std::string query = http::carried_query(request.query_text, ask.session_id);
    const std::string text = hls::with_query(list, query);
    const std::string tag =
        fmt::format("{}\n{}\n{}", pump.media_tag(skip, ask.rendition.track), query, reports);
    // Appendix B.1 of the draft: what a player waited for does not change; other answers do soon.
    const std::string cache =
        has_sessions(ask.key, ask.options)
            ? "no-cache"
            : cache_for(blocks ? 6 * store.target_seconds()
                               : std::max<int64_t>(store.target_seconds() / 2, 1));
    serve_text(exchange, ask, pump, hls::kPlaylistType, text, tag, cache);
}

// Yields. Until the stream and its variants can be described, or do not come in time: who asks for
// the first time gets all that begin by then. kInterrupted. `variants` is good until the next wait.
Error HlsService::wait_described(const Ask& ask,
                                 HlsPump& pump,
                                 std::vector<DashVariant>& variants) {
    if (!pump.low_latency()) {
        return {};
    }
    const bool first =
        ask.session != nullptr ? !ask.session->dash.origin_ms : !pump.was_described();
    if (!first) {
        keep_variants(ask);
    }
    const std::vector<HlsPump*> others = first ? wait_variants(ask, true) : variant_pumps(ask);
    std::deque<HlsPump::Stay> stays;
    for (HlsPump* const other : others) {
        if (other != nullptr) {
            stays.emplace_back(*other);
        }
    }
    // A player that has read a segment to its end wants to know of the next: ffmpeg takes the same
    // one again where the list does not have it.
    const auto deadline = io::Deadline::after(HlsPump::kOpenWait);
    // Behind the end of a stream ffmpeg asks again at once, some hundred times a second.
    const auto after_end = first ? HlsPump::AfterEnd::kReturn : HlsPump::AfterEnd::kWait;
    if (Error late = pump.wait_open(deadline, after_end); late.code() == ErrorCode::kInterrupted) {
        return late;
    }
    for (size_t i = 0; i < others.size(); i++) {
        if (others[i] == nullptr || !others[i]->low_latency()) {
            continue;
        }
        if (Error late = others[i]->wait_open(deadline); late.code() == ErrorCode::kInterrupted) {
            return late;
        }
        others[i]->note_told();
        variants.push_back({.number = i + 1, .store = &others[i]->store()});
    }
    // Of one moment, which the waits are not.
    for (DashVariant& variant : variants) {
        variant.lead = lead_of(others[variant.number - 1]->stream(), pump.stream());
    }
    return {};
}

// Yields.
void HlsService::serve_description(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    std::vector<DashVariant> variants;
    if (const Error late = wait_described(ask, pump, variants)) {
        refuse(exchange, late);
        return;
    }
    if (!pump.is_playable()) {
        refuse(exchange, 503, "there is nothing to play yet");
        return;
    }
    ask.look_again();
    const std::string folder = fmt::format("{}{}/", http::percent_encoded(ask.name), kFolderSuffix);
    if (ask.session != nullptr) {
        ask.session->dash.near = is_gstreamer(exchange.request());
    }
    // Without a session all have the same description.
    DashViewer& viewer = ask.session == nullptr ? pump.everybody() : ask.session->dash;
    const std::string text = pump.description(folder, viewer, variants);
    if (text.empty()) {
        refuse(exchange, 404, "DASH needs hls { container fmp4; encrypt off; }");
        return;
    }
    stats_.playlists++;
    const bool sessions = has_sessions(ask.key, ask.options);
    const std::string full =
        dash::with_query(text, http::carried_query(exchange.request().query_text, ask.session_id));
    serve_text(exchange, ask, pump, kDescriptionType, full, full,
               sessions ? "no-cache" : cache_for(1));
}

// Yields. A clock that players of DASH set theirs by (ISO/IEC 23009-1 §5.8.4.11).
void HlsService::serve_clock(net::HttpExchange& exchange) {
    (void)exchange.respond(200, "text/plain", write_time_point(steady_wall_time_ms()),
                           {{"Cache-Control", "no-store"}});
}

// Yields. `tag`: the text, or what it is made of.
void HlsService::serve_text(net::HttpExchange& exchange,
                            Ask& ask,
                            HlsPump& pump,
                            std::string_view type,
                            const std::string& text,
                            std::string_view tag,
                            std::string_view cache) {
    http::Fields fields = {{"Cache-Control", std::string(cache)}, {"ETag", etag_of(tag)}};
    if (ask.session == nullptr) {
        fields.set("ETag", "W/" + etag_of(tag));  // of the same text, compressed or not
        fields.add("Vary", "Accept-Encoding");
    }
    const std::string_view known = exchange.request().headers.get("If-None-Match").value_or("");
    if (!known.empty() && known == fields.get("ETag").value_or("")) {
        (void)exchange.respond(304, {}, {}, fields);
        return;
    }
    // What is the same for all is compressed once; what is each viewer's own would cost each time.
    if (ask.session != nullptr || !http::accepts_gzip(exchange.request().headers)) {
        count_sent(ask, pump, text.size());
        (void)exchange.respond(200, type, text, fields);
        return;
    }
    const std::string& small = pump.compressed(tag, text);
    fields.add("Content-Encoding", "gzip");
    count_sent(ask, pump, small.size());
    (void)exchange.respond(200, type, std::string(small), fields);
}

// ---- media ----

// Yields.
void HlsService::serve_media(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    const HlsPump::Stay stay(pump);
    const bool mp4 = pump.options().container == net::SegmentContainer::kMp4;
    if (ask.file.kind == hls::FileKind::kKey) {
        serve_key(exchange, ask, pump);
        return;
    }
    if (ask.file.track != hls::FileTrack::kAll && pump.store().cipher() != nullptr) {
        refuse(exchange, 404, "encrypted segments are not for DASH");
        return;
    }
    if (ask.rendition.track != hls::FileTrack::kAll && !pump.low_latency()) {
        refuse(exchange, 404, "one track is not to be had of this stream");
        return;
    }
    if (ask.file.mp4 != mp4) {
        refuse(exchange, 404, "this stream has segments in another container");
        return;
    }
    switch (ask.file.kind) {
        case hls::FileKind::kHeader: serve_header(exchange, ask, pump); return;
        case hls::FileKind::kPart: serve_part(exchange, ask, pump); return;
        default: serve_segment(exchange, ask, pump); return;
    }
}

// Yields. To whoever may have the segments.
void HlsService::serve_key(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    const net::SegmentCipher* const cipher = pump.store().cipher();
    const uint64_t id = ask.file.number;
    if (cipher == nullptr || id >= pump.store().next_number() || !cipher->is_key_id(id)) {
        refuse(exchange, 404, "no such key");
        return;
    }
    const net::SegmentCipher::Key key = cipher->key(id);
    count_sent(ask, pump, key.size());
    (void)exchange.respond(200, "application/octet-stream", as_text(key),
                           {{"Cache-Control", "no-store"}});
}

// Yields.
void HlsService::serve_header(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    const net::SegmentFormat* const format = pump.store().find_format(ask.file.number);
    const Bytes* const header = format != nullptr ? &header_of(*format, ask.track()) : nullptr;
    if (header == nullptr || header->empty()) {
        serve_stored(exchange, ask, pump);
        return;
    }
    stats_.headers++;
    count_sent(ask, pump, header->size());
    const std::string text(as_text(*header));
    (void)exchange.respond(200, kMp4Type, text,
                           {{"Cache-Control", fmt::format("max-age={}", kMediaMaxAge)}});
}

// For a track that is not there, or not any more, the default one stands in: who has chosen it
// hears that.
HlsService::Piece HlsService::piece_of(const net::Segment& segment,
                                       size_t number,
                                       const hls::TrackName& track) {
    const net::SegmentPart& part = segment.parts[number];
    const ByteSpan all = part.bytes->bytes();
    if (track.track == hls::FileTrack::kAll) {
        return {part.bytes, all};
    }
    if (track.track == hls::FileTrack::kVideo) {
        return {part.bytes, all.first(part.audio_at)};
    }
    const auto more = track.track == hls::FileTrack::kMoreAudio
                          ? segment.format->find_more(track.id)
                          : std::nullopt;
    if (more && *more < part.more.size()) {
        return {part.more[*more], part.more[*more]->bytes()};
    }
    return {part.bytes, all.subspan(part.audio_at)};
}

// Yields.
void HlsService::serve_segment(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    const net::SegmentStore& store = pump.store();
    const bool one_track = ask.file.track != hls::FileTrack::kAll;
    const net::Segment* segment =
        one_track ? store.find_at(ask.file.number, ask.file.part) : store.find(ask.file.number);
    if (segment == nullptr && one_track) {
        if (is_behind_period(ask, pump)) {
            refuse(exchange, 404, "this period has ended: what follows is in the next one");
            return;
        }
        segment = next_segment(ask, pump);
        ask.look_again();
    }
    if (segment == nullptr && !one_track && pump.files() != nullptr) {
        segment = pump.files()->find_waiting(ask.file.number);
    }
    if (segment == nullptr || !HlsPump::has_track(*segment->format, ask.track().track) ||
        (!segment->complete && !(one_track && pump.low_latency()))) {
        serve_stored(exchange, ask, pump);
        return;
    }
    stats_.segments++;
    if (!segment->complete) {
        serve_growing(exchange, ask, pump, segment->number);
        return;
    }
    std::vector<Piece> pieces;
    pieces.reserve(segment->parts.size());
    for (size_t i = 0; i < segment->parts.size(); i++) {
        pieces.push_back(piece_of(*segment, i, ask.track()));
    }
    serve_bytes(exchange, ask, pump, pieces);
}

// Yields. Whether it is behind the end of a period that is not the newest one any more; then it has
// waited.
bool HlsService::is_behind_period(const Ask& ask, HlsPump& pump) {
    const std::deque<net::Segment>& all = pump.store().all();
    const auto last = std::find_if(all.rbegin(), all.rend(), [&](const net::Segment& segment) {
        return segment.format->id == ask.file.number;
    });
    return last != all.rend() && last != all.rbegin() &&
           static_cast<int64_t>(ask.file.part) > last->start_ms && !pump.wait_behind_end();
}

// Yields. For a player of DASH that goes on by itself where its description ends: the segment that
// follows the newest one, when it begins. Null: it is not that which was asked for.
const net::Segment* HlsService::next_segment(const Ask& ask, HlsPump& pump) {
    const net::SegmentStore& store = pump.store();
    if (store.all().empty() || store.ended() || !pump.low_latency()) {
        return nullptr;
    }
    const net::Segment& newest = store.all().back();
    const auto time_ms = static_cast<int64_t>(ask.file.part);
    const int64_t target_ms = store.target_seconds() * 1000;
    if (newest.format->id != ask.file.number || time_ms <= newest.start_ms ||
        time_ms > newest.start_ms + newest.duration_ms + target_ms) {
        return nullptr;
    }
    const uint64_t number = store.next_number();
    if (pump.wait_for([&] { return store.ended() || store.find(number) != nullptr; })) {
        return nullptr;
    }
    const net::Segment* const next = store.find(number);
    const bool meant = next != nullptr && next->format->id == ask.file.number &&
                       std::abs(next->start_ms - time_ms) <= target_ms;
    return meant ? next : nullptr;
}

// Yields. Each part of the segment when it has been made, for players of DASH: a chunk.
void HlsService::serve_growing(net::HttpExchange& exchange,
                               Ask& ask,
                               HlsPump& pump,
                               uint64_t number) {
    const net::SegmentStore& store = pump.store();
    if (exchange.begin_open(200, kMp4Type,
                            {{"Cache-Control", media_cache(ask.session != nullptr)}})) {
        return;
    }
    if (exchange.request().is_head()) {
        (void)exchange.finish();
        return;
    }
    ask.look_again();
    for (size_t next = 0;;) {
        const net::Segment* segment = store.find(number);
        if (segment != nullptr && next < segment->parts.size()) {
            const Piece piece = piece_of(*segment, next++, ask.track());
            count_sent(ask, pump, piece.bytes.size());
            if (exchange.write(piece.bytes)) {
                return;
            }
            ask.look_again();
            continue;
        }
        if (segment != nullptr && segment->complete) {
            (void)exchange.finish();
            return;
        }
        const auto more = [&] {
            const net::Segment* const now = store.find(number);
            return now == nullptr || now->complete || now->parts.size() > next;
        };
        // Without an end the player sees that it was cut off.
        if (segment == nullptr || pump.wait_for(more)) {
            return;
        }
        ask.look_again();
    }
}

// Yields. The hinted part is answered when it is there.
void HlsService::serve_part(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    const net::SegmentStore& store = pump.store();
    const hls::FileName& file = ask.file;
    if (store.cipher() != nullptr) {
        refuse(exchange, 404, "encrypted segments have no parts");
        return;
    }
    const net::Segment* segment = store.find(file.number);
    const uint64_t there = segment != nullptr ? segment->parts.size() : 0;
    const bool hinted =
        file.part == there && !store.ended() &&
        (segment != nullptr ? !segment->complete : file.number == store.next_number());
    const auto part_is_there = [&] {
        const net::Segment* const now = store.find(file.number);
        return store.ended() || store.next_number() > file.number + 1 ||
               (now != nullptr && (now->complete || now->parts.size() > file.part));
    };
    if (hinted && pump.wait_for(part_is_there)) {
        refuse(exchange, 503, "that part did not come in time", true);
        return;
    }
    segment = store.find(file.number);
    if (segment == nullptr || segment->parts.size() <= file.part ||
        !HlsPump::has_track(*segment->format, ask.track().track)) {
        refuse(exchange, 404, "no such part");
        return;
    }
    ask.look_again();
    stats_.parts++;
    const Piece piece = piece_of(*segment, file.part, ask.track());
    serve_bytes(exchange, ask, pump, {&piece, 1});
}

// Yields. What memory does not have any more, and the disk does (`dvr`).
void HlsService::serve_stored(net::HttpExchange& exchange, Ask& ask, HlsPump& pump) {
    HlsArchive* const files = pump.files();
    const bool header = ask.file.kind == hls::FileKind::kHeader;
    const bool whole = ask.track().track == hls::FileTrack::kAll;
    const std::string file = files == nullptr || !whole ? ""
                             : header                   ? files->header_file(ask.file.number)
                                                        : files->segment_file(ask.file.number);
    if (file.empty()) {
        refuse(exchange, 404, header ? "no such header" : "no such segment");
        return;
    }
    (header ? stats_.headers : stats_.segments)++;
    const uint64_t sent =
        folders_.answer(exchange, files->root(), file, ask.file.mp4 ? kMp4Type : kTsType,
                        media_cache(ask.session != nullptr));
    ask.look_again();
    count_sent(ask, pump, sent);
}

// Yields. `pieces` hold the bytes, whatever becomes of the stream.
void HlsService::serve_bytes(net::HttpExchange& exchange,
                             Ask& ask,
                             HlsPump& pump,
                             std::span<const Piece> pieces) {
    uint64_t size = 0;
    for (const Piece& piece : pieces) {
        size += piece.bytes.size();
    }
    http::ByteRange range{0, size};
    int status = 200;
    http::Fields fields = {{"Cache-Control", media_cache(ask.session != nullptr)},
                           {"Accept-Ranges", "bytes"}};
    const auto asked = exchange.request().headers.get("Range");
    switch (http::parse_byte_range(asked.value_or(""), size, range)) {
        case http::RangeStatus::kWhole: range = {0, size}; break;
        case http::RangeStatus::kPart:
            status = 206;
            fields.add("Content-Range", fmt::format("bytes {}-{}/{}", range.offset,
                                                    range.offset + range.length - 1, size));
            break;
        case http::RangeStatus::kUnsatisfiable:
            stats_.refused++;
            (void)exchange.respond_error(416, "the range lies outside of the segment",
                                         {{"Content-Range", fmt::format("bytes */{}", size)}});
            return;
    }
    count_sent(ask, pump, range.length);
    std::vector<ByteSpan> body;
    for (const Piece& piece : pieces) {
        const uint64_t begin = std::min<uint64_t>(range.offset, piece.bytes.size());
        const ByteSpan part = piece.bytes.subspan(
            begin, std::min<uint64_t>(piece.bytes.size() - begin, range.length));
        range.offset -= begin;
        range.length -= part.size();
        if (!part.empty()) {
            body.push_back(part);
        }
    }
    (void)exchange.respond_parts(status, ask.file.mp4 ? kMp4Type : kTsType, body, fields);
}

// Media, and playlists.
void HlsService::count_sent(Ask& ask, HlsPump& pump, uint64_t bytes) {
    pump.stream().note_sent(bytes);
    if (ask.session == nullptr) {
        return;
    }
    net::Client& client = *ask.session->client;
    client.sent_bytes += bytes;
    const bool media =
        ask.file.kind == hls::FileKind::kSegment || ask.file.kind == hls::FileKind::kPart;
    if (media && client.first_frame_ms < 0) {
        client.first_frame_ms = static_cast<int32_t>(
            std::chrono::duration_cast<Millis>(MonoClock::now() - client.since()).count());
    }
}

}  // namespace weir::session
