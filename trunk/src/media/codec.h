// Names of tracks and codecs.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::media {

enum class TrackKind : uint8_t { kAudio, kVideo, kData };

enum class Codec : uint8_t {
    kUnknown,
    // video
    kH264,
    kHevc,
    kAv1,
    kVp8,
    kVp9,
    kOtherVideo,  // Sorenson H.263, Screen, VP6: passed through
    // audio
    kAac,
    kMp3,
    kOpus,
    kG711A,
    kG711U,
    kAc3,
    kEac3,
    kFlac,
    kSpeex,
    kG722,  // of telephony: FLV has no form for it, so no packet of a stream has it
    kPcm,
    kOtherAudio,
};

// "H264", "HEVC", "AV1", "AAC" ...: the spelling of the API.
std::string_view to_string(Codec codec);

std::string_view to_string(TrackKind kind);

}  // namespace weir::media
