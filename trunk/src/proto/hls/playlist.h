// Playlists of HTTP Live Streaming (RFC 8216; tags of low latency: draft-pantos-hls-rfc8216bis) as
// they are written. Pure.
//
// The addresses in a playlist are relative to it, and all end in kQueryMark: with_query() puts what
// a viewer was let in with there, so that the text is made once for all viewers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::hls {

inline constexpr std::string_view kPlaylistType = "application/vnd.apple.mpegurl";
inline constexpr char kQueryMark = '\x01';

struct PlaylistPart {
    int64_t duration_ms = 0;
    bool independent = false;
};

struct PlaylistSegment {
    uint64_t number = 0;
    uint64_t header = 0;  // id of its EXT-X-MAP
    int64_t duration_ms = 0;
    int64_t wall_ms = 0;  // of its first frame, since the epoch
    bool discontinuity = false;
    std::optional<uint64_t> key = {};      // id of its EXT-X-KEY; nothing: it is not encrypted
    bool complete = true;                  // false: only the last, which has parts alone
    bool gap = false;                      // there is nothing to load of it
    std::vector<PlaylistPart> parts = {};  // empty: they are not listed
};

// Segments in front of those of a playlist, whose lines were written before (history.h).
struct OlderSegments {
    size_t count = 0;
    uint64_t first_number = 0;
    uint64_t last_header = 0;                     // in force behind them
    std::optional<uint64_t> missing_header = {};  // of the first, where the text does not name it
    size_t skipped = 0;                           // of these are not in the text
    std::string_view text = {};
};

struct MediaPlaylist {
    bool mp4 = true;  // else transport streams
    int64_t target_s = 1;
    int64_t part_target_ms = 0;  // 0: no low latency
    uint64_t discontinuity_sequence = 0;
    bool independent = false;
    bool ended = false;
    bool skip = false;         // what is old enough is left out (EXT-X-SKIP)
    uint64_t next_number = 0;  // of the segment behind the last
    OlderSegments older = {};
    std::vector<PlaylistSegment> segments;
};

// How far from the end a delta update reaches at least, in target durations (§4.4.3.8 of the
// draft).
inline constexpr int64_t kSkipTargets = 6;
// How far from the end low-latency players stay, in parts; at least 3.
inline constexpr int64_t kHoldBackParts = 3;

std::string write_media_playlist(const MediaPlaylist& playlist);

// Appends the lines of a complete segment, as they stand in a playlist without parts.
void write_segment(const PlaylistSegment& segment, bool mp4, bool with_header, std::string& out);

// One of several audio tracks (EXT-X-MEDIA), with a media playlist of its own.
struct Rendition {
    std::string uri;
    std::string name;
    std::string language = {};  // BCP 47; empty: not known
    uint8_t channels = 0;       // 0: not known
};

// One quality of a presentation.
struct Variant {
    std::string uri;  // of its media playlist
    std::string codecs;
    uint64_t bandwidth_bps = 0;  // of the segment with most
    uint64_t average_bps = 0;
    uint32_t width = 0;  // 0: no video
    uint32_t height = 0;
    double frame_rate = 0;                   // 0: unknown
    std::vector<std::string> captions = {};  // within the video, as INSTREAM-ID names them
    // The default one first; then `uri` has no audio, unless it has nothing else. Empty: it has its
    // audio itself.
    std::vector<Rendition> audio = {};
};

// `variants`: at least one, in the order of preference.
std::string write_multivariant(std::span<const Variant> variants);

// The line of the first variant of a playlist of write_multivariant(), for that of another stream:
// without its captions, whose group stands in its own. Empty: there is none.
std::string first_stream_inf(std::string_view multivariant);

// What a media playlist says of the present of another one, for players of low latency that change
// to it (EXT-X-RENDITION-REPORT); a line, behind the playlist.
std::string write_rendition_report(std::string_view uri,
                                   uint64_t number,
                                   std::optional<uint64_t> part);

// Each address with `query`, without a '?' in front; may be empty.
std::string with_query(std::string_view playlist, std::string_view query);

// ---- what players ask for ----

// "index.m3u8", "init-7.mp4", "12.m4s", "12.3.m4s", "12.ts", "12.3.ts", "7.key"; and those of DASH:
// "time", "init-7.video.mp4", "7.16000.audio.m4s", "7.16000.audio1.m4s".
enum class FileKind : uint8_t { kPlaylist, kHeader, kSegment, kPart, kKey, kClock, kUnknown };

enum class FileTrack : uint8_t { kAll, kVideo, kAudio, kMoreAudio };

// Of one track of a stream: "video", "audio" (the default one), "audio3".
struct TrackName {
    FileTrack track = FileTrack::kAll;
    uint8_t id = 0;  // of kMoreAudio

    bool operator==(const TrackName&) const = default;
};

// kAll: it is none.
TrackName parse_track_name(std::string_view name);
std::string track_name(const TrackName& track);

struct FileName {
    FileKind kind = FileKind::kUnknown;
    uint64_t number = 0;  // of a segment, or of the first segment with that header
    uint64_t part = 0;    // of a segment of one track: its time, in milliseconds
    bool mp4 = true;
    FileTrack track = FileTrack::kAll;
    uint8_t track_id = 0;  // of kMoreAudio

    bool operator==(const FileName&) const = default;
};

FileName parse_file_name(std::string_view name);

inline constexpr std::string_view kMediaPlaylistName = "index.m3u8";
inline constexpr std::string_view kClockName = "time";
std::string header_name(uint64_t id);
std::string key_name(uint64_t id);
std::string segment_name(uint64_t number, bool mp4);
std::string part_name(uint64_t number, uint64_t part, bool mp4);

}  // namespace weir::hls
