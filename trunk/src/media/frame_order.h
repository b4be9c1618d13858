// Whether frames of a video are shown in another order than they come (B-frames), and whether such
// frames are referred to by others: what WebRTC, which has no times of decoding, cannot play.
//
// Pure; a comparison for each frame, and only frames that are behind are looked into.
#pragma once

#include <cstdint>

#include "media/packet.h"

namespace weir::media {

class FrameOrder {
  public:
    // A frame of one track, time on the stream's timeline. `config`: the track's codec
    // configuration in force; null: unknown.
    void on_frame(const MediaPacket& frame, const MediaPacket* config);

    // The next frame is of another encoder.
    void clear() { *this = FrameOrder(); }

    // Some frame was shown before one that came earlier.
    bool reordered() const { return reordered_; }

    // Other frames refer to some such frame (B-pyramid): leaving these frames out breaks the video.
    bool referenced() const { return referenced_; }

  private:
    int64_t highest_shown_ms_ = INT64_MIN;  // since the last key frame
    bool reordered_ = false;
    bool referenced_ = false;
};

}  // namespace weir::media
