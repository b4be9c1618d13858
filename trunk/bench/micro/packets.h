// Packets of made-up media, as a publisher of some bit rate sends them.
#pragma once

#include <array>
#include <cstdint>

#include "base/ref.h"
#include "media/packet.h"

namespace weir::micro {

inline constexpr int kFramesPerGop = 60;

// A GOP of 500 kbit/s at 30 frames/s has a key frame of about 20 KB and others of about 1.7 KB.
inline constexpr size_t kKeyBytes = 20'000;
inline constexpr size_t kFrameBytes = 1'700;
inline constexpr size_t kAudioBytes = 190;

inline Ref<media::MediaPacket> video_frame(bool key, int64_t time_ms, size_t size) {
    media::PacketInfo info;
    info.kind = media::TrackKind::kVideo;
    info.codec = media::Codec::kH264;
    info.key = key;
    info.payload_offset = 5;
    Bytes body(size, 0x55);
    body[0] = key ? 0x17 : 0x27;
    body[1] = 1;
    return make_ref<media::MediaPacket>(info, time_ms, std::move(body));
}

inline Ref<media::MediaPacket> audio_frame(int64_t time_ms, size_t size) {
    media::PacketInfo info;
    info.kind = media::TrackKind::kAudio;
    info.codec = media::Codec::kAac;
    info.payload_offset = 2;
    Bytes body(size, 0x33);
    body[0] = 0xaf;
    body[1] = 1;
    return make_ref<media::MediaPacket>(info, time_ms, std::move(body));
}

}  // namespace weir::micro
