// What a publisher says of its stream (metadata); hints for the API and for headers that go out
// before the first frame.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::media {

// The same video in one of several sizes (simulcast).
struct Layer {
    std::string name;    // of the publisher: "h"; untrusted, short
    uint32_t width = 0;  // pixels; 0: not known yet
    uint32_t height = 0;

    bool operator==(const Layer&) const = default;
};

struct Description {
    uint32_t width = 0;  // pixels; 0: not said
    uint32_t height = 0;
    double frame_rate = 0;  // frames per second; 0: not said
    bool names_video = false;
    bool names_audio = false;
    std::string encoder;  // untrusted
    // Tracks that are not passed on, for people: "audio: the payload format G726-32 is not
    // supported"; untrusted.
    std::string unused_tracks;
    std::vector<Layer> layers;  // by PacketInfo::layer; empty: no simulcast
};

}  // namespace weir::media
