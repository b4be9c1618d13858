// VP9 frames (VP9 Bitstream & Decoding Process Specification §6.2, annex B): what the uncompressed
// header says, and superframes. No decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace weir::media::vp9 {

inline constexpr size_t kMaxFramesInSuperframe = 8;

struct FrameInfo {
    uint8_t profile = 0;
    bool key = false;
    bool intra_only = false;
    bool shown = false;
    bool show_existing = false;  // shows an earlier picture; the other fields are unset
    // Set by key and intra-only frames; other frames leave the defaults.
    uint8_t bit_depth = 8;
    uint8_t color_space = 0;  // §7.2.2; 0: not said
    bool full_range = false;
    bool subsampling_x = true;
    bool subsampling_y = true;
    uint32_t width = 0;  // in pixels; 0 in other frames
    uint32_t height = 0;
};

// Reads one frame, not a superframe. Nothing when it is too short or breaks the rules.
std::optional<FrameInfo> parse_frame(ByteSpan frame);

// The frames of a superframe (annex B), or the one frame that `data` is. Views of `data`.
class SuperframeView {
  public:
    explicit SuperframeView(ByteSpan data);

    std::span<const ByteSpan> frames() const { return {frames_.data(), count_}; }

  private:
    std::array<ByteSpan, kMaxFramesInSuperframe> frames_;
    size_t count_ = 0;
};

// Appends the index (annex B.2) that makes a superframe of the frames of these sizes, which stand
// one after the other at the end of `data`. At most kMaxFramesInSuperframe.
void append_superframe_index(std::span<const size_t> sizes, Bytes& data);

}  // namespace weir::media::vp9
