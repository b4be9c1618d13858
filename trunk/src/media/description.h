// What a publisher says of its stream (metadata); hints for the API and for headers that go out
// before the first frame.
#pragma once

#include <cstddef>
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

// One of several audio tracks.
struct AudioTrack {
    uint8_t id = 0;             // PacketInfo::track_id
    std::string language = {};  // BCP 47: "en"; empty: not said
    std::string name = {};      // of the publisher: "Commentary"; untrusted, short; empty: not said
    bool implied = false;       // the publisher did not name it: it may not be there

    bool operator==(const AudioTrack&) const = default;
};

struct Description {
    // Audio tracks of a stream that are used; packets of others are left out of files and segments.
    static constexpr size_t kMaxAudioTracks = 8;

    uint32_t width = 0;  // pixels; 0: not said
    uint32_t height = 0;
    double frame_rate = 0;  // frames per second; 0: not said
    bool names_video = false;
    bool names_audio = false;
    std::string encoder;  // untrusted
    // Tracks that are not passed on, for people: "audio: the payload format G726-32 is not
    // supported"; untrusted.
    std::string unused_tracks;
    std::vector<Layer> layers;             // by PacketInfo::layer; empty: no simulcast
    std::vector<AudioTrack> audio_tracks;  // the default one first; empty: there is one, or unknown
};

}  // namespace weir::media
