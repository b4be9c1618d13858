// What a stream counts of its publisher's tracks. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "media/codec.h"

namespace weir::stream {

// Per publisher; cleared when a new one starts.
struct TrackStats {
    media::Codec codec = media::Codec::kUnknown;
    uint64_t frames = 0;
    uint64_t bytes = 0;
};

// Groups of pictures: what begins with a key frame of the first video track. Cleared as above.
struct GopStats {
    uint64_t key_frames = 0;
    int64_t last_ms = 0;       // stream time between the two newest key frames; 0: not two yet
    uint32_t last_frames = 0;  // of the video in between
    uint32_t open_frames = 0;  // since the newest, it included
    int64_t key_time_ms = 0;   // of the newest, on the stream's timeline
    MonoTime key_at{};         // when it came
};

// Whether a track that was announced comes, and goes on coming.
struct TrackPresence {
    // A track that was announced and never comes is not waited for any longer than this after the
    // first frame of the other one, and not spoken of until it comes.
    static constexpr Millis kPromiseHolds{2'000};
    // The other one goes on alone for so long: joiners no longer wait for a key frame.
    static constexpr Millis kGone{10'000};

    bool came = false;     // a frame
    bool missing = false;  // it was announced, or came, and the other one goes on alone
    MonoTime last{};       // frame
};

// Its place in a list of audio and video.
constexpr size_t place_of(media::TrackKind kind) {
    return static_cast<size_t>(kind);
}

}  // namespace weir::stream
