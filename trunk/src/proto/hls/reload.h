// What a player of low latency says with its request for a media playlist: _HLS_msn, _HLS_part,
// _HLS_skip (draft-pantos-hls-rfc8216bis §6.2.5). Pure.
//
// Peers: http
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "proto/http/request.h"

namespace weir::hls {

struct Reload {
    std::optional<uint64_t> number;  // wait until this segment is in the playlist, or
    std::optional<uint64_t> part;    // this part of it
    bool skip = false;               // a delta update will do

    // kMalformed says what is wrong: a 400.
    static Result<Reload> parse(const http::Query& query);
};

}  // namespace weir::hls
