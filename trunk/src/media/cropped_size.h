// The size of a picture in a sequence parameter set, which H.264 (§7.3.2.1.1) and HEVC (H.265
// §7.3.2.2.1) end in the same way: a flag, and what is cut off at each side. Private to media/.
#pragma once

#include <cstdint>

#include "media/bit_reader.h"

namespace weir::media {

inline constexpr uint32_t kMaxSidePixels = 16384;

// Reads the cropping, whose unit in pixels is `unit_x` by `unit_y`, and gives what is left of the
// coded size. Fails the reader, and leaves the results, when that is nothing or the coded size is
// over kMaxSidePixels.
inline void read_cropped_size(BitReader& reader,
                              uint64_t coded_width,
                              uint64_t coded_height,
                              uint64_t unit_x,
                              uint64_t unit_y,
                              uint32_t& width,
                              uint32_t& height) {
    uint64_t crop_x = 0;
    uint64_t crop_y = 0;
    if (reader.flag()) {
        crop_x = reader.ue() * unit_x;
        crop_x += reader.ue() * unit_x;
        crop_y = reader.ue() * unit_y;
        crop_y += reader.ue() * unit_y;
    }
    if (coded_width > kMaxSidePixels || coded_height > kMaxSidePixels || crop_x >= coded_width ||
        crop_y >= coded_height) {
        reader.fail();
        return;
    }
    width = static_cast<uint32_t>(coded_width - crop_x);
    height = static_cast<uint32_t>(coded_height - crop_y);
}

}  // namespace weir::media
