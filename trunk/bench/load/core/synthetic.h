// The synthetic stream: FLV tag bodies of H.264 and AAC that any decoder takes (a grey picture of
// 320x180 and silence), of any wanted size, with a stamp and verifiable filler in places that
// decoders skip.
//
//   video: | FLV header 5 | length 4 | SEI unit: 06, message { 05 size UUID stamp }, message { 05
//   size UUID filler },
//            [03 00], 80 | length 4 | slice |
//   audio: | AF 01 | data stream element: 81 size "weir" stamp filler | a silent channel, end |
//
// The slice holds no residual: 240 flat macroblocks in a key frame, 240 skipped ones in the others.
// The optional two bytes of video and one byte of audio make every total size possible where the
// size fields grow by a byte.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

#include "bench/load/core/stamp.h"

namespace weir::load {

// Frame sizes in bytes that always work: smaller ones cannot hold the stamp.
constexpr uint32_t kMinVideoSize = 120;
constexpr uint32_t kMinKeySize = 400;
constexpr uint32_t kMaxVideoSize = 8U << 20;
constexpr uint32_t kMinAudioSize = 72;
constexpr uint32_t kMaxAudioSize = 510;

constexpr size_t kUuidSize = 16;
using Uuid = std::span<const uint8_t, kUuidSize>;

// Marks of the two SEI messages and of the audio data element.
Uuid stamp_uuid();
Uuid filler_uuid();
ByteSpan audio_mark();

// The bytes in front of the stamp in its SEI message: 05, size, UUID.
constexpr size_t kStampMessageHead = 2 + kUuidSize;

// The NAL unit of the picture with its length in front; a function of the stamp only.
ByteSpan picture_unit(const Stamp& stamp);

// The audio bytes behind the filler.
ByteSpan silence(bool padded);

// Tag bodies. `size` bytes are written to `out` (replacing its content); stamp.filler is set by the
// call. A frame is a key frame when stamp.place is 0. Sizes below the minimum are a bug of the
// caller.
void build_video(Bytes& out, uint32_t size, Stamp& stamp);
void build_audio(Bytes& out, uint32_t size, Stamp& stamp);

// Sequence headers: AVCDecoderConfigurationRecord (ISO 14496-15 §5.3.3.1), AudioSpecificConfig (ISO
// 14496-3 §1.6.2.1).
Bytes video_config();
Bytes audio_config();

constexpr uint32_t kPictureWidth = 320;
constexpr uint32_t kPictureHeight = 180;

// Size of the SEI unit with that much filler, without the padding.
uint32_t sei_unit_size(uint32_t filler);

// Bytes of stamp and filler in the audio data element, mark included.
uint32_t audio_data_size(uint32_t filler);

}  // namespace weir::load
