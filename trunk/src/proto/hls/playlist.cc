#include "proto/hls/playlist.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "proto/hls/playlist_text.h"

namespace weir::hls {
namespace {

constexpr std::string_view kHeaderPrefix = "init-";
constexpr std::string_view kCaptionGroup = "cc";
constexpr std::string_view kKeySuffix = ".key";
constexpr size_t kMaxDigits = 18;

bool low_latency(const MediaPlaylist& playlist) {
    return playlist.part_target_ms > 0;
}

// Segments that end so long before the playlist's end that a delta update leaves them out.
size_t skipped(const MediaPlaylist& playlist) {
    int64_t behind_ms = 0;
    size_t count = playlist.segments.size();
    while (count > 0 && behind_ms < kSkipTargets * playlist.target_s * 1000) {
        behind_ms += playlist.segments[--count].duration_ms;
    }
    return count;
}

void write_head(const MediaPlaylist& playlist, size_t skip, std::string& out) {
    const int version = skip > 0 ? 9 : playlist.mp4 ? 6 : 3;
    out += fmt::format("#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-TARGETDURATION:{}\n", version,
                       playlist.target_s);
    if (low_latency(playlist)) {
        out += fmt::format(
            "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL={}.0,PART-HOLD-BACK={}\n"
            "#EXT-X-PART-INF:PART-TARGET={}\n",
            kSkipTargets * playlist.target_s, seconds(kHoldBackParts * playlist.part_target_ms),
            seconds(playlist.part_target_ms));
    }
    if (playlist.independent) {
        out += "#EXT-X-INDEPENDENT-SEGMENTS\n";
    }
    const uint64_t first = playlist.older.count > 0    ? playlist.older.first_number
                           : playlist.segments.empty() ? playlist.next_number
                                                       : playlist.segments.front().number;
    out += fmt::format("#EXT-X-MEDIA-SEQUENCE:{}\n", first);
    if (playlist.discontinuity_sequence > 0) {
        out += fmt::format("#EXT-X-DISCONTINUITY-SEQUENCE:{}\n", playlist.discontinuity_sequence);
    }
    if (skip > 0) {
        out += fmt::format("#EXT-X-SKIP:SKIPPED-SEGMENTS={}\n", skip);
    }
}

void write_parts(const MediaPlaylist& playlist, const PlaylistSegment& segment, std::string& out) {
    for (size_t i = 0; i < segment.parts.size(); i++) {
        out += fmt::format(
            "#EXT-X-PART:DURATION={},URI=\"{}{}\"{}{}\n", seconds(segment.parts[i].duration_ms),
            part_name(segment.number, i, playlist.mp4), kQueryMark,
            segment.parts[i].independent ? ",INDEPENDENT=YES" : "", segment.gap ? ",GAP=YES" : "");
    }
}

void write_map(uint64_t header, std::string& out) {
    out += fmt::format("#EXT-X-MAP:URI=\"{}{}\"\n", header_name(header), kQueryMark);
}

// What stands before its parts.
void begin_segment(const PlaylistSegment& segment, bool with_header, std::string& out) {
    if (segment.discontinuity) {
        out += "#EXT-X-DISCONTINUITY\n";
    }
    if (with_header) {
        // A header behind a key would be encrypted with it (§4.3.2.4).
        out += segment.key ? "#EXT-X-KEY:METHOD=NONE\n" : "";
        write_map(segment.header, out);
    }
    // For each, so that what is listed of the others does not matter.
    if (segment.key) {
        out += fmt::format("#EXT-X-KEY:METHOD=AES-128,URI=\"{}{}\"\n", key_name(*segment.key),
                           kQueryMark);
    }
    out += fmt::format("#EXT-X-PROGRAM-DATE-TIME:{}\n", write_time_point(segment.wall_ms));
}

// What stands behind its parts.
void end_segment(const PlaylistSegment& segment, bool mp4, std::string& out) {
    // §4.4.4.7 of the draft.
    out += fmt::format("{}#EXTINF:{},\n{}{}\n", segment.gap ? "#EXT-X-GAP\n" : "",
                       seconds(segment.duration_ms), segment_name(segment.number, mp4), kQueryMark);
}

constexpr std::string_view kVideoName = "video";
constexpr std::string_view kAudioName = "audio";

std::optional<uint64_t> number_of(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool canonical = text == "0" || !text.starts_with('0');
    return !text.empty() && text.size() <= kMaxDigits && canonical && error == std::errc() &&
                   end == text.data() + text.size()
               ? std::optional(value)
               : std::nullopt;
}

}  // namespace

std::string header_name(uint64_t id) {
    return fmt::format("{}{}.mp4", kHeaderPrefix, id);
}

std::string key_name(uint64_t id) {
    return fmt::format("{}{}", id, kKeySuffix);
}

std::string segment_name(uint64_t number, bool mp4) {
    return fmt::format("{}.{}", number, mp4 ? "m4s" : "ts");
}

std::string part_name(uint64_t number, uint64_t part, bool mp4) {
    return fmt::format("{}.{}.{}", number, part, mp4 ? "m4s" : "ts");
}

void write_segment(const PlaylistSegment& segment, bool mp4, bool with_header, std::string& out) {
    begin_segment(segment, mp4 && with_header, out);
    end_segment(segment, mp4, out);
}

std::string write_media_playlist(const MediaPlaylist& playlist) {
    const OlderSegments& older = playlist.older;
    const bool reaches = playlist.skip && older.skipped == older.count;
    const size_t skip = reaches ? skipped(playlist) : 0;
    std::string out;
    out.reserve(older.text.size() + 4'096);
    write_head(playlist, older.skipped + skip, out);
    std::optional<uint64_t> header;
    if (older.count > 0) {
        if (playlist.mp4 && older.missing_header) {
            write_map(*older.missing_header, out);
        }
        out += older.text;
        header = older.last_header;
    }
    for (size_t i = 0; i < playlist.segments.size(); i++) {
        const PlaylistSegment& segment = playlist.segments[i];
        const bool changes = playlist.mp4 && !segment.gap && header != segment.header;
        header = segment.gap ? header : segment.header;
        if (i < skip) {
            continue;
        }
        begin_segment(segment, changes, out);
        if (low_latency(playlist)) {
            write_parts(playlist, segment, out);
        }
        if (segment.complete) {
            end_segment(segment, playlist.mp4, out);
        }
    }
    if (playlist.ended) {
        out += "#EXT-X-ENDLIST\n";
    } else if (low_latency(playlist)) {
        const bool open = !playlist.segments.empty() && !playlist.segments.back().complete;
        if (open && playlist.segments.back().gap) {
            return out;
        }
        const uint64_t number = open ? playlist.segments.back().number : playlist.next_number;
        const uint64_t part = open ? playlist.segments.back().parts.size() : 0;
        out += fmt::format("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"{}{}\"\n",
                           part_name(number, part, playlist.mp4), kQueryMark);
    }
    return out;
}

namespace {

std::string group_of(size_t variant) {
    return variant == 0 ? "audio" : fmt::format("audio-{}", variant);
}

// RFC 8216 §4.3.4.1. A player that does not know what to choose takes the default one.
void write_renditions(const Variant& variant, std::string_view group, std::string& out) {
    for (const Rendition& each : variant.audio) {
        const bool first = &each == &variant.audio.front();
        out += fmt::format("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{}\",NAME=\"{}\"", group, each.name);
        if (!each.language.empty()) {
            out += fmt::format(",LANGUAGE=\"{}\"", each.language);
        }
        // Whoever asks for no language cannot mean one that has none.
        out += fmt::format(",DEFAULT={},AUTOSELECT={}", first ? "YES" : "NO",
                           first || !each.language.empty() ? "YES" : "NO");
        if (each.channels > 0) {
            out += fmt::format(",CHANNELS=\"{}\"", each.channels);
        }
        out += fmt::format(",URI=\"{}{}\"\n", each.uri, kQueryMark);
    }
}

}  // namespace

std::string write_multivariant(std::span<const Variant> variants) {
    std::string out = "#EXTM3U\n#EXT-X-VERSION:6\n";
    std::vector<std::string> captions;
    for (const Variant& variant : variants) {
        captions.insert(captions.end(), variant.captions.begin(), variant.captions.end());
    }
    std::ranges::sort(captions);
    const auto again = std::ranges::unique(captions);
    captions.erase(again.begin(), again.end());
    for (const std::string& name : captions) {
        out += fmt::format(
            "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"{0}\",NAME=\"{1}\","
            "INSTREAM-ID=\"{1}\",AUTOSELECT=YES\n",
            kCaptionGroup, name);
    }
    for (size_t i = 0; i < variants.size(); i++) {
        write_renditions(variants[i], group_of(i), out);
    }
    for (const Variant& variant : variants) {
        out += fmt::format("#EXT-X-STREAM-INF:BANDWIDTH={}",
                           std::max<uint64_t>(variant.bandwidth_bps, 1));
        if (variant.average_bps > 0) {
            out += fmt::format(",AVERAGE-BANDWIDTH={}", variant.average_bps);
        }
        if (!variant.codecs.empty()) {
            out += fmt::format(",CODECS=\"{}\"", variant.codecs);
        }
        if (variant.width > 0 && variant.height > 0) {
            out += fmt::format(",RESOLUTION={}x{}", variant.width, variant.height);
        }
        if (variant.frame_rate > 0) {
            out += fmt::format(",FRAME-RATE={:.3f}", variant.frame_rate);
        }
        if (!variant.audio.empty()) {
            const auto place = static_cast<size_t>(&variant - variants.data());
            out += fmt::format(",AUDIO=\"{}\"", group_of(place));
        }
        // NONE holds for all variants (§4.4.6.2). Where nothing is said, Shaka 5.2 looks for
        // captions in the newest segment, and ends with an error while that has parts only.
        if (!variant.captions.empty() || captions.empty()) {
            out += captions.empty() ? ",CLOSED-CAPTIONS=NONE"
                                    : fmt::format(",CLOSED-CAPTIONS=\"{}\"", kCaptionGroup);
        }
        out += fmt::format("\n{}{}\n", variant.uri, kQueryMark);
    }
    return out;
}

std::string first_stream_inf(std::string_view multivariant) {
    constexpr std::string_view kTag = "#EXT-X-STREAM-INF:";
    constexpr std::string_view kCaptions = ",CLOSED-CAPTIONS=";
    for (const std::string_view line : split(multivariant, '\n')) {
        if (line.starts_with(kTag)) {
            return std::string(line.substr(0, line.find(kCaptions)));  // they stand last
        }
    }
    return {};
}

std::string write_rendition_report(std::string_view uri,
                                   uint64_t number,
                                   std::optional<uint64_t> part) {
    return fmt::format("#EXT-X-RENDITION-REPORT:URI=\"{}{}\",LAST-MSN={}{}\n", uri, kQueryMark,
                       number, part ? fmt::format(",LAST-PART={}", *part) : "");
}

std::string with_query(std::string_view playlist, std::string_view query) {
    // A playlist of hours has thousands of addresses, and each viewer its own query.
    const std::string end = query.empty() ? "" : fmt::format("?{}", query);
    const auto marks = static_cast<size_t>(std::ranges::count(playlist, kQueryMark));
    std::string out(playlist.size() - marks + marks * end.size(), '\0');
    char* to = out.data();
    for (size_t left = marks; left > 0; left--) {
        const size_t mark = playlist.find(kQueryMark);
        to = std::copy_n(playlist.data(), mark, to);
        to = std::ranges::copy(end, to).out;
        playlist.remove_prefix(mark + 1);
    }
    std::ranges::copy(playlist, to);
    return out;
}

TrackName parse_track_name(std::string_view name) {
    if (name == kVideoName) {
        return {.track = FileTrack::kVideo};
    }
    if (!name.starts_with(kAudioName)) {
        return {};
    }
    name.remove_prefix(kAudioName.size());
    const auto id = number_of(name);
    return name.empty() ? TrackName{.track = FileTrack::kAudio}
           : id && *id <= std::numeric_limits<uint8_t>::max()
               ? TrackName{.track = FileTrack::kMoreAudio, .id = static_cast<uint8_t>(*id)}
               : TrackName();
}

std::string track_name(const TrackName& track) {
    switch (track.track) {
        case FileTrack::kAll: break;
        case FileTrack::kVideo: return std::string(kVideoName);
        case FileTrack::kAudio: return std::string(kAudioName);
        case FileTrack::kMoreAudio: return fmt::format("{}{}", kAudioName, track.id);
    }
    return {};
}

FileName parse_file_name(std::string_view name) {
    if (name == kMediaPlaylistName) {
        return {.kind = FileKind::kPlaylist};
    }
    if (name == kClockName) {
        return {.kind = FileKind::kClock};
    }
    if (name.ends_with(kKeySuffix)) {
        const auto id = number_of(name.substr(0, name.size() - kKeySuffix.size()));
        return id ? FileName{.kind = FileKind::kKey, .number = *id} : FileName();
    }
    FileName found;
    const bool header = name.starts_with(kHeaderPrefix) && name.ends_with(".mp4");
    found.mp4 = header || name.ends_with(".m4s");
    if (!found.mp4 && !name.ends_with(".ts")) {
        return {};
    }
    name.remove_prefix(header ? kHeaderPrefix.size() : 0);
    name.remove_suffix(found.mp4 ? 4 : 3);
    const size_t last = name.rfind('.');
    if (found.mp4 && last != std::string_view::npos) {
        const TrackName track = parse_track_name(name.substr(last + 1));
        found.track = track.track;
        found.track_id = track.id;
        name = track.track == FileTrack::kAll ? name : name.substr(0, last);
    }
    const size_t dot = name.find('.');
    const bool two = dot != std::string_view::npos;
    const auto number = number_of(name.substr(0, dot));
    const auto part = two ? number_of(name.substr(dot + 1)) : std::optional<uint64_t>(0);
    const bool whole = found.track == FileTrack::kAll;
    if (!number || !part || (header && two) || (!header && !whole && !two)) {
        return {};
    }
    found.kind = header ? FileKind::kHeader : two && whole ? FileKind::kPart : FileKind::kSegment;
    found.number = *number;
    found.part = *part;
    return found;
}

}  // namespace weir::hls
