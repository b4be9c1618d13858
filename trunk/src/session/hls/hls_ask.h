// A request of HLS or DASH as it was understood. Internal to HlsService.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "proto/hls/playlist.h"
#include "session/hls/hls_pump.h"
#include "session/hls/hls_service.h"
#include "stream/stream_key.h"

namespace weir::session {

// What follows a stream's name in addresses.
inline constexpr std::string_view kListSuffix = ".m3u8";
inline constexpr std::string_view kDescriptionSuffix = ".mpd";
inline constexpr std::string_view kFolderSuffix = ".hls";

struct HlsService::Ask {
    stream::StreamKey key;
    HlsOptions options;
    hls::FileName file;
    std::string session_id;
    HlsPump* home = nullptr;        // of `key`: it has the sessions, also those of its variants
    HlsSession* session = nullptr;  // of `home`; after each wait: look_again()
    size_t variant = 0;             // 0: the stream itself
    hls::TrackName rendition;       // of HLS: the folder of one track
    std::string name;               // of the stream, as it was asked for
    bool dash = false;
    bool list = false;  // for a playlist or description, which may begin a session anew

    // The session may have ended, or been replaced, while the request waited.
    void look_again() { session = session != nullptr ? home->find_session(session_id) : nullptr; }

    // That is asked for, by folder (HLS) or by the name of a file (DASH).
    hls::TrackName track() const {
        return file.track == hls::FileTrack::kAll ? rendition
                                                  : hls::TrackName{file.track, file.track_id};
    }

    // As clients, hooks and the log have it.
    const char* transport() const { return dash ? "dash" : "hls"; }
};

// Cache-Control of what changes, and may be kept for so long. Varnish serves a kept answer for 10 s
// more (its default_grace) unless stale-while-revalidate (RFC 5861 §3) says otherwise.
inline std::string cache_for(int64_t seconds) {
    return fmt::format("max-age={}, stale-while-revalidate=0", seconds);
}

}  // namespace weir::session
