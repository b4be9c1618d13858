// What the URL of a request names: a stream, and perhaps one of its tracks. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/policy.h"
#include "stream/stream_key.h"

namespace weir::session {

inline constexpr size_t kMaxRtspName = 1024;  // of app and of name, as in RTMP

struct RtspTarget {
    stream::StreamKey key;
    std::optional<uint8_t> track;  // of a player: see control_of()
    std::string url;               // of the whole, without query and track: for Content-Base
    std::string query;             // as it came, without a track
    std::string path;              // decoded, without a slash in front
    std::string vhost;             // that was asked for
    std::string token;             // ?key=, ?token=
    bool srtp = false;             // ?srtp, ?srtp=1: a player wants RTP/SAVP

    // "rtsp://host/app/stream?key=KEY/trackID=0", with the track behind the path or the query.
    // kMalformed.
    static Result<RtspTarget> parse(std::string_view url, const net::Policy& policy);
};

}  // namespace weir::session
