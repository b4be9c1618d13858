// A key frame as a JPEG picture (ITU-T T.81), by libavcodec. Blocking, for worker threads.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"
#include "media/codec.h"

namespace weir::transcode {

struct KeyFrameView {
    media::Codec codec = media::Codec::kH264;
    ByteSpan config;   // its configuration record; empty where the codec has none
    ByteSpan payload;  // as FLV and MP4 have it
};

// Width times height, of what is decoded: 4096 x 2304.
inline constexpr int64_t kMaxPicturePixels = int64_t{4096} * 2304;

// The colours of the whole range that JPEG has, the size of the video. kUnsupported: this build or
// this machine cannot decode it; kMalformed: the frame cannot be decoded, or is too large.
Result<Bytes> make_jpeg(const KeyFrameView& frame);

}  // namespace weir::transcode
