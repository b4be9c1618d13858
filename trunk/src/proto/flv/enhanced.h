// Values of the first bytes of Enhanced RTMP v2 bodies ("ExVideoTagHeader", "ExAudioTagHeader").
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weir::flv {

inline constexpr uint8_t kVideoExHeader = 0x80;  // bits of the first byte
inline constexpr uint8_t kAudioExHeader = 0x90;  // SoundFormat 9

// VideoFrameType.
inline constexpr uint8_t kKeyFrame = 1;
inline constexpr uint8_t kInterFrame = 2;
inline constexpr uint8_t kGeneratedKeyFrame = 4;
inline constexpr uint8_t kCommandFrame = 5;

// VideoPacketType and AudioPacketType agree in 0, 1, 2 and 7, and in 4, which is what PacketInfo
// calls metadata.
inline constexpr uint8_t kSequenceStart = 0;
inline constexpr uint8_t kCodedFrames = 1;
inline constexpr uint8_t kSequenceEnd = 2;
inline constexpr uint8_t kCodedFramesX = 3;  // video without composition time, which is 0
inline constexpr uint8_t kMetadata = 4;      // audio: MultichannelConfig
inline constexpr uint8_t kMpeg2TsSequenceStart = 5;
inline constexpr uint8_t kVideoMultitrack = 6;
inline constexpr uint8_t kAudioMultitrack = 5;
inline constexpr uint8_t kModEx = 7;

// AvMultitrackType.
inline constexpr uint8_t kOneTrack = 0;
inline constexpr uint8_t kManyTracks = 1;
inline constexpr uint8_t kManyTracksManyCodecs = 2;

// ModEx packets in front of one frame; the specification names one kind.
inline constexpr int kMaxModEx = 8;

// Skips ModEx packets and gives the packet type behind them. More than kMaxModEx fail the reader.
inline uint8_t skip_mod_ex(ByteReader& reader, uint8_t packet_type) {
    for (int i = 0; packet_type == kModEx && reader.ok(); i++) {
        if (i == kMaxModEx) {
            reader.fail();
            break;
        }
        size_t size = size_t{reader.u8()} + 1;
        if (size == 256) {
            size = size_t{reader.u16()} + 1;
        }
        reader.skip(size);
        packet_type = reader.u8() & 0x0F;  // the upper half is the kind of ModEx
    }
    return packet_type;
}

}  // namespace weir::flv
