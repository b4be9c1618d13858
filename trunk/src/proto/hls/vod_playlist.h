// A playlist over files that are finished: RFC 8216 with byte ranges, so that nothing is copied.
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
    std::string uri;  // with its query; no quotes, no line breaks
    uint64_t header_bytes = 0;
    int64_t wall_ms = 0;  // of the first segment
    std::vector<VodSegment> segments;
};

// One presentation of all files, each of which begins with a discontinuity.
std::string write_vod_playlist(std::span<const VodFile> files);

}  // namespace weir::hls
