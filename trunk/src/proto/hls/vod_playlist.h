// A playlist over recorded files: RFC 8216 with byte ranges, so that nothing is copied.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::hls {

struct VodSegment {
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
    int64_t duration_ms = 0;
};

// A fragmented MP4 file, or a piece of one.
struct VodFile {
    std::string uri;              // with its query; no quotes, no line breaks
    uint64_t header_bytes = 0;    // which it begins with
    std::string header_uri = {};  // of another header, as `uri`; empty: there is none
    int64_t wall_ms = 0;          // of the first segment
    std::vector<VodSegment> segments;
};

enum class VodKind : uint8_t {
    kWhole,    // EXT-X-PLAYLIST-TYPE:VOD, with an end
    kGrowing,  // EVENT: more segments follow, and those that are there stay
};

// One presentation of all files, each of which begins with a discontinuity. The segments of one
// that grows have a target duration of 2 s at least, as theirs may not change.
std::string write_vod_playlist(std::span<const VodFile> files, VodKind kind = VodKind::kWhole);

}  // namespace weir::hls
