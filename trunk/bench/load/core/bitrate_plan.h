// How large every frame of a synthetic stream is, so that the bit rate is exact: over each GOP the
// video bytes, and at any time the audio bytes, are what the rate asks for, within one byte and
// without drift.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace weir::load {

struct StreamShape {
    uint64_t bits_per_second = 500'000;       // audio included
    uint32_t fps = 30;                        // 1 to 240
    uint32_t gop = 60;                        // frames from key frame to key frame, 1 to 10,000
    uint64_t audio_bits_per_second = 64'000;  // 0: no audio
};

constexpr uint32_t kAudioRate = 48'000;         // samples per second
constexpr uint32_t kAudioFrameSamples = 1'024;  // samples per AAC frame

class BitratePlan {
  public:
    // kLimit: a value out of range, or frames too small to carry a stamp (the message says which
    // rate would do).
    static Result<BitratePlan> create(const StreamShape& shape);

    const StreamShape& shape() const { return shape_; }

    bool has_audio() const { return shape_.audio_bits_per_second > 0; }

    // Bytes of the n-th frame's message, from 0.
    uint32_t video_size(uint32_t sequence) const;
    uint32_t audio_size(uint32_t sequence) const;

    bool is_key(uint32_t sequence) const { return sequence % shape_.gop == 0; }

    // When the n-th frame is due, in milliseconds of the stream's own time.
    uint32_t video_time_ms(uint32_t sequence) const;
    uint32_t audio_time_ms(uint32_t sequence) const;

    // The same in microseconds, for pacing.
    uint64_t video_due_us(uint32_t sequence) const;
    uint64_t audio_due_us(uint32_t sequence) const;

  private:
    explicit BitratePlan(const StreamShape& shape) : shape_(shape) {}

    uint64_t gop_bytes(uint64_t gop_number) const;
    uint64_t key_bytes(uint64_t of_gop_bytes) const;

    StreamShape shape_;
};

}  // namespace weir::load
