// What a player of HLS takes from playlists (RFC 8216, draft-pantos-hls-rfc8216bis). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace weir::load {

struct HlsPart {
    std::string uri;
    int64_t duration_us = 0;
    bool independent = false;
};

struct HlsSegment {
    uint64_t number = 0;
    std::string uri;     // empty: it is not complete
    std::string header;  // URI of EXT-X-MAP; empty: none
    int64_t duration_us = 0;
    std::vector<HlsPart> parts;

    bool complete() const { return !uri.empty(); }
};

struct HlsList {
    int64_t target_us = 0;
    int64_t hold_back_us = 0;       // 3 targets unless it says
    int64_t part_hold_back_us = 0;  // 0: no low latency
    bool can_block = false;
    bool ended = false;
    std::vector<HlsSegment> segments;  // only the last may be incomplete
    uint64_t next_number = 0;          // behind all of them

    // Where to play first: the segment, and its part (0, or with low latency).
    struct Place {
        uint64_t number = 0;
        size_t part = 0;
    };

    // Not nearer to the end than the hold-back allows (draft §6.3.3), at an independent part.
    Place start(bool low_latency) const;

    // nullptr: it is not in the list.
    const HlsSegment* find(uint64_t number) const;
};

// kMalformed: says which line. kLimit.
Result<HlsList> parse_hls_list(std::string_view text);

// The URI of the first variant; of a media playlist: empty.
std::string first_variant(std::string_view text);

// A reference of the playlist at `base` (a path with its query): a path. kUnsupported: another
// server's.
Result<std::string> resolve_hls(std::string_view base, std::string_view reference);

}  // namespace weir::load
