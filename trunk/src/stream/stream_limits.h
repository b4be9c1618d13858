// StreamLimits: how much a stream keeps for its players.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "media/packet.h"

namespace weir::stream {

struct StreamLimits {
    static constexpr size_t kMaxConfigs = 32;  // codec configurations and metadata in force at once
    // Every player's start carries a copy of those in force: one larger than this is dropped, and
    // one that would take all of them over the total.
    static constexpr size_t kMaxConfigBytes = 64 * 1024;
    static constexpr size_t kMaxConfigTotal = 256 * 1024;
    // What a frame costs besides its body: the packet, its place in the list, the allocator's
    // headers.
    static constexpr uint64_t kFrameCost = sizeof(media::MediaPacket) + 64;
    // Audio that comes before the key frame of its time: so much of it is kept for those who start
    // there (an encoder needs longer for a picture than for its sound, the more the busier it is).
    static constexpr int64_t kMaxEarlyMs = 1'000;
    static constexpr size_t kMaxEarlyBytes = 64 * 1024;  // more: of the default track
    static constexpr int64_t kOldStartMs = 1'000;        // Stream::note_new_player()
    // A default audio track that was named is waited for so long once another one has come.
    static constexpr Millis kNamedAudioHolds{1'000};
};

}  // namespace weir::stream
