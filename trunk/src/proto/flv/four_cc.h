// Four-character codes of Enhanced RTMP v2 ("Enhanced Video", "Enhanced Audio"), for the reader and
// the writer of tag bodies.
#pragma once

#include <cstdint>
#include <string_view>

#include "media/codec.h"

namespace weir::flv {

constexpr uint32_t four_cc(std::string_view text) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[0])) << 24 |
           static_cast<uint32_t>(static_cast<uint8_t>(text[1])) << 16 |
           static_cast<uint32_t>(static_cast<uint8_t>(text[2])) << 8 |
           static_cast<uint8_t>(text[3]);
}

struct FourCcEntry {
    uint32_t code;
    media::TrackKind kind;
    media::Codec codec;
};

inline constexpr FourCcEntry kFourCcs[] = {
    {four_cc("avc1"), media::TrackKind::kVideo, media::Codec::kH264},
    {four_cc("hvc1"), media::TrackKind::kVideo, media::Codec::kHevc},
    {four_cc("av01"), media::TrackKind::kVideo, media::Codec::kAv1},
    {four_cc("vp09"), media::TrackKind::kVideo, media::Codec::kVp9},
    {four_cc("vp08"), media::TrackKind::kVideo, media::Codec::kVp8},
    {four_cc("mp4a"), media::TrackKind::kAudio, media::Codec::kAac},
    {four_cc("Opus"), media::TrackKind::kAudio, media::Codec::kOpus},
    {four_cc("fLaC"), media::TrackKind::kAudio, media::Codec::kFlac},
    {four_cc("ac-3"), media::TrackKind::kAudio, media::Codec::kAc3},
    {four_cc("ec-3"), media::TrackKind::kAudio, media::Codec::kEac3},
    {four_cc(".mp3"), media::TrackKind::kAudio, media::Codec::kMp3},
};

}  // namespace weir::flv
