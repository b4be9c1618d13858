// The Media Presentation Description of a live stream (ISO/IEC 23009-1), as it is written: dynamic,
// segments by their times, which are listed. Pure.
//
// Addresses end in kQueryMark, as those of HLS playlists do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::dash {

inline constexpr char kQueryMark = '\x01';

// How far players of low latency stay behind, in milliseconds (ServiceDescription).
inline constexpr int64_t kLatencyTargetMs = 1'500;
// Period::early_ms, where the time of the stream allows it: longer than a player stays behind.
inline constexpr int64_t kEarlyMs = kLatencyTargetMs + 500;

struct Segment {
    int64_t start_ms = 0;  // in the time of its stream
    int64_t duration_ms = 0;
};

// One track of one quality. Views must outlive the description that is written.
struct Track {
    std::string name;         // "video", "audio", "audio1": of its files, too
    std::string_view codecs;  // RFC 6381
    uint64_t bandwidth_bps = 0;
    uint32_t width = 0;  // of video, in pixels
    uint32_t height = 0;
    double frame_rate = 0;           // 0: unknown
    uint32_t sample_rate = 0;        // of audio, in Hz
    uint8_t channels = 0;            // 0: unknown
    std::string_view captions = {};  // of video: "CC1", "CC1;CC3"; empty: none
    std::string_view language = {};  // of audio, BCP 47; empty: not known
    std::string_view label = {};     // of audio, for people; empty: there is one track
};

// What one stream has of a period; all of its tracks have the same segments.
struct Quality {
    size_t variant = 0;       // 0: the stream itself; else its files are in the folder "2/"
    uint64_t files = 0;       // in the names of its headers and segments
    int64_t start_ms = 0;     // Period::wall_ms in the time of this stream
    int64_t part_ms = 0;      // the last segment grows by so much; 0: all are complete
    bool independent = true;  // every segment begins with a key frame
    std::vector<Segment> segments = {};  // at least one, in order
    std::vector<Track> tracks = {};      // at least one
};

// From a discontinuity of the stream to the next, or to where the publisher's clock is followed.
// Tracks of all qualities that a player can switch between are one AdaptationSet. Of several audio
// tracks the first is the main one.
struct Period {
    uint64_t id = 0;
    int64_t wall_ms = 0;  // when its time began, since the epoch
    // The period starts so much earlier than that. dash.js 5 begins kLatencyTargetMs behind, or at
    // the start of the period where that is later. There it does not seek, and Chromium decodes
    // nothing before dash.js corrects the place, at the end of the first segment.
    int64_t early_ms = 0;
    std::vector<Quality> qualities = {};  // at least one; the first is the stream itself
};

// Files are "init-7.video.mp4" and "7.16000.video.m4s": Quality::files, time, track.
struct Presentation {
    std::string_view folder;  // of all files: "stream.hls/"; may be empty
    std::string_view clock;   // the file in it that tells the time (ISO 8601)
    // availabilityStartTime, since the epoch: the same in all descriptions that one player is
    // given. What is listed may have begun before it.
    int64_t origin_ms = 0;
    bool filled = false;       // from the start of a period on: what has gone is one segment more
    int64_t published_ms = 0;  // since the epoch: what it says became so
    int64_t target_ms = 0;     // no segment of the stream is longer, when rounded to seconds
    bool ended = false;        // nothing will follow
    std::vector<Period> periods;
};

// A Representation is "video", "audio" of the stream itself, "video-2-7" of its second variant: of
// other files it has another id, as players keep the header of one that they know.
std::string write_mpd(const Presentation& presentation);

// Each address with `query` as with hls::with_query(), written for XML.
std::string with_query(std::string_view mpd, std::string_view query);

}  // namespace weir::dash
