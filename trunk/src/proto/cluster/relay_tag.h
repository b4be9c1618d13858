// What relays say beside an FLV tag: in its stream id, which FLV has no use for, for whom the audio
// is, so that the node that gets it publishes it as it was published here. Pure.
#pragma once

#include <cstdint>

#include "media/packet.h"

namespace weir::cluster {

inline constexpr uint32_t kRelayedWebRtc = 1;
inline constexpr uint32_t kRelayedAllButMpeg = 2;

constexpr uint32_t relay_stream_id(media::Audience audience) {
    switch (audience) {
        case media::Audience::kWebRtc: return kRelayedWebRtc;
        case media::Audience::kAllButMpeg: return kRelayedAllButMpeg;
        default: return 0;
    }
}

// Of audio only. Numbers that nobody knows: everybody.
constexpr media::Audience relayed_audience(uint32_t stream_id) {
    switch (stream_id) {
        case kRelayedWebRtc: return media::Audience::kWebRtc;
        case kRelayedAllButMpeg: return media::Audience::kAllButMpeg;
        default: return media::Audience::kEverybody;
    }
}

}  // namespace weir::cluster
