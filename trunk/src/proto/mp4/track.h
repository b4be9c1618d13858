// A track of an MP4 file: what its header says of the codec (ISO/IEC 14496-12 §8.5.2, 14496-15,
// and the bindings of each codec), and how frames as media::MediaPacket::payload() has them become
// samples. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::mp4 {

inline constexpr uint32_t kVideoTimescale = 90'000;

struct Track {
    media::Codec codec = media::Codec::kUnknown;
    bool video = false;
    uint32_t timescale = kVideoTimescale;  // of audio: its sample rate, so that no time is rounded
    uint32_t width = 0;                    // in pixels
    uint32_t height = 0;
    uint8_t channels = 0;
    Bytes entry;                                  // the sample entry, a whole box
    std::array<char, 3> language{'u', 'n', 'd'};  // ISO 639-2/T, lower case
    std::string name;                             // for people; empty: none

    bool operator==(const Track&) const = default;
};

// Whether a file can carry frames of this codec.
bool carries(media::Codec codec);

// Whether frames of this codec mean nothing without a configuration.
bool needs_config(media::Codec codec);

// `config`: the codec's configuration, empty where it has none. `frame`: the first frame, of video
// a key frame; codecs without a configuration describe themselves there. Nothing when these cannot
// be read, or the codec is not carried.
std::optional<Track> make_track(media::Codec codec, ByteSpan config, ByteSpan frame);

// The bytes of the sample that a frame is: AV1 loses its temporal delimiter. A view of the frame.
ByteSpan sample_of(media::Codec codec, ByteSpan frame);

// How long an audio frame is, in units of the track's timescale; 0: it does not say.
uint32_t audio_duration(const Track& track, ByteSpan config, ByteSpan frame);

}  // namespace weir::mp4
