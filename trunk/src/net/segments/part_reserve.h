// PartReserve: how many frames of an audio track the part that ends takes, so that the next one has
// some too.
//
// A transport stream may bring 320 ms of sound at a time (ffmpeg's does): parts of 200 ms then have
// all of it or none, and a player of that track alone takes a part without samples for broken. So
// after a part that got nothing, a frame of what comes is kept for the next one: as many as there
// were such parts, kMaxFrames at most. Tracks that come steadily are not held. Pure.
#pragma once

#include <algorithm>
#include <cstddef>

namespace weir::net {

class PartReserve {
  public:
    static constexpr size_t kMaxFrames = 4;

    // Of `came` frames, which are in no part yet; 0 only of none.
    size_t take(size_t came) {
        if (came == 0) {
            held_ = std::min(held_ + 1, kMaxFrames);
            return 0;
        }
        return came > held_ ? came - held_ : 1;
    }

    // Another format, or publisher.
    void reset() { held_ = 0; }

  private:
    size_t held_ = 0;
};

}  // namespace weir::net
