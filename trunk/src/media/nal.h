// Frames of length-prefixed NAL units, the form that H.264 and HEVC have in MP4, FLV and
// MediaPacket (ISO/IEC 14496-15 §5.3.3, §8.3.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::media {

// Goes over the NAL units of a frame; the frame must outlive what it gives. Empty units are left
// out.
//     for (NalReader nals(frame, 4); nals.next(nal);) { ... }  // then ok()
class NalReader {
  public:
    // length_size: bytes of a length, 1 to 4.
    NalReader(ByteSpan frame, size_t length_size) : reader_(frame), length_size_(length_size) {}

    bool next(ByteSpan& nal) {
        nal = {};
        while (nal.empty() && !reader_.empty()) {
            size_t size = 0;
            for (size_t i = 0; i < length_size_; i++) {
                size = size << 8U | reader_.u8();
            }
            nal = reader_.take(size);
        }
        return reader_.ok() && !nal.empty();
    }

    // False when a length went past the end of the frame; what came before it counts.
    bool ok() const { return reader_.ok(); }

  private:
    ByteReader reader_;
    size_t length_size_;
};

// True when the frame is whole units from its first byte to its last.
inline bool is_whole(ByteSpan frame, size_t length_size) {
    NalReader nals(frame, length_size);
    for (ByteSpan nal; nals.next(nal);) {
    }
    return nals.ok();
}

}  // namespace weir::media
