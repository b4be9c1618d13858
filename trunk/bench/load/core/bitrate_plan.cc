#include "bench/load/core/bitrate_plan.h"

#include <algorithm>

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

// A key frame gets as many bytes as this many other frames.
constexpr uint64_t kKeyWeight = 8;

constexpr uint64_t kMaxBitsPerSecond = 1'000'000'000;

}  // namespace

Result<BitratePlan> BitratePlan::create(const StreamShape& shape) {
    if (shape.fps < 1 || shape.fps > 240) {
        return make_error(ErrorCode::kLimit, "frame rate {}: expected 1 to 240 frames per second",
                          shape.fps);
    }
    if (shape.gop < 1 || shape.gop > 10'000) {
        return make_error(ErrorCode::kLimit, "GOP of {} frames: expected 1 to 10000", shape.gop);
    }
    if (shape.bits_per_second > kMaxBitsPerSecond) {
        return make_error(ErrorCode::kLimit, "bit rate {}: at most {} bit/s", shape.bits_per_second,
                          kMaxBitsPerSecond);
    }
    BitratePlan plan(shape);
    if (plan.has_audio()) {
        uint64_t small = shape.audio_bits_per_second * kAudioFrameSamples / (8 * kAudioRate);
        if (small < kMinAudioSize || small + 1 > kMaxAudioSize) {
            return make_error(ErrorCode::kLimit, "audio rate {}: expected 0 or {} to {} bit/s",
                              shape.audio_bits_per_second,
                              (kMinAudioSize + 1) * 8 * kAudioRate / kAudioFrameSamples,
                              (kMaxAudioSize - 1) * 8 * kAudioRate / kAudioFrameSamples);
        }
    }
    uint64_t other = std::max<uint64_t>(kMinVideoSize, kMinKeySize / kKeyWeight + 1);
    uint64_t least = ((kKeyWeight + shape.gop - 1) * other + 1) * 8 * shape.fps / shape.gop + 1;
    if (shape.bits_per_second < shape.audio_bits_per_second + least) {
        return make_error(
            ErrorCode::kLimit,
            "bit rate {} is too low for {} fps, GOP {} and this audio: at least {} bit/s",
            shape.bits_per_second, shape.fps, shape.gop, shape.audio_bits_per_second + least);
    }
    if (plan.video_size(0) > kMaxVideoSize) {
        return make_error(ErrorCode::kLimit, "bit rate {} needs key frames of {} bytes: at most {}",
                          shape.bits_per_second, plan.video_size(0), kMaxVideoSize);
    }
    return plan;
}

uint64_t BitratePlan::gop_bytes(uint64_t gop_number) const {
    uint64_t rate = (shape_.bits_per_second - shape_.audio_bits_per_second) * shape_.gop;
    uint64_t unit = uint64_t{8} * shape_.fps;
    // The rate times the number of the GOP may pass 64 bits only after thousands of years of stream
    // time.
    return rate * (gop_number + 1) / unit - rate * gop_number / unit;
}

uint64_t BitratePlan::key_bytes(uint64_t of_gop_bytes) const {
    return shape_.gop == 1 ? of_gop_bytes
                           : of_gop_bytes * kKeyWeight / (kKeyWeight + shape_.gop - 1);
}

uint32_t BitratePlan::video_size(uint32_t sequence) const {
    uint64_t total = gop_bytes(sequence / shape_.gop);
    uint64_t key = key_bytes(total);
    uint64_t place = sequence % shape_.gop;
    if (place == 0) {
        return static_cast<uint32_t>(key);
    }
    uint64_t others = shape_.gop - 1;
    return static_cast<uint32_t>((total - key) * place / others -
                                 (total - key) * (place - 1) / others);
}

uint32_t BitratePlan::audio_size(uint32_t sequence) const {
    uint64_t rate = shape_.audio_bits_per_second * kAudioFrameSamples;
    uint64_t unit = uint64_t{8} * kAudioRate;
    return static_cast<uint32_t>(rate * (uint64_t{sequence} + 1) / unit - rate * sequence / unit);
}

uint64_t BitratePlan::video_due_us(uint32_t sequence) const {
    return uint64_t{sequence} * 1'000'000 / shape_.fps;
}

uint64_t BitratePlan::audio_due_us(uint32_t sequence) const {
    return uint64_t{sequence} * kAudioFrameSamples * 1'000'000 / kAudioRate;
}

uint32_t BitratePlan::video_time_ms(uint32_t sequence) const {
    return static_cast<uint32_t>(video_due_us(sequence) / 1000);
}

uint32_t BitratePlan::audio_time_ms(uint32_t sequence) const {
    return static_cast<uint32_t>(audio_due_us(sequence) / 1000);
}

}  // namespace weir::load
