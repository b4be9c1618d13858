// Streams that players ask for by an address: what their keys say. Pure.
//
//     app "udp", name "239.1.1.1:5000"                        a multicast group
//     app "rtsp/camera:8554/live", name "ch1?playseek=..."    a stream of an RTSP server
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "net/source/source_url.h"
#include "stream/stream_key.h"

namespace weir::net {

inline constexpr std::string_view kRtspApp = "rtsp";

struct AskedStream {
    SourceUrl url;      // without playseek
    std::string range;  // of PLAY, as playseek says; empty: from the start

    // kMalformed: the key is of no such stream.
    static Result<AskedStream> of(const stream::StreamKey& key);

    // "20260101120000-20260101130000" to "clock=20260101T120000Z-20260101T130000Z"; without an end:
    // "20260101120000-" or "20260101120000". Times are UTC unless a zone follows ("GMT", "Z",
    // "+0100", "-05:30", "GMT+8"), may be written as ISO 8601 has it ("2026-01-01T12:00:00.5Z"), or
    // be seconds or milliseconds since 1970; parts of a second are dropped. "30-60" to "npt=30-60";
    // what has a unit stays as it is. kMalformed.
    static Result<std::string> range_of(std::string_view playseek);
};

}  // namespace weir::net
