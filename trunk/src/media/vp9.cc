#include "media/vp9.h"

#include <algorithm>

#include "media/bit_reader.h"

namespace weir::media::vp9 {
namespace {

constexpr uint32_t kFrameMarker = 2;
constexpr uint32_t kSyncCode = 0x498342;
constexpr uint32_t kColorSpaceRgb = 7;
constexpr uint8_t kMaxProfile = 3;

// color_config(), §6.2.2.
void read_color(BitReader& reader, FrameInfo& info) {
    if (info.profile >= 2) {
        info.bit_depth = reader.flag() ? 12 : 10;
    }
    info.color_space = static_cast<uint8_t>(reader.bits(3));
    const bool odd_profile = info.profile % 2 == 1;
    if (info.color_space != kColorSpaceRgb) {
        info.full_range = reader.flag();
        if (odd_profile) {
            info.subsampling_x = reader.flag();
            info.subsampling_y = reader.flag();
            reader.bit();
        }
        return;
    }
    info.full_range = true;
    info.subsampling_x = false;
    info.subsampling_y = false;
    if (!odd_profile) {
        reader.fail();  // RGB needs 4:4:4
    }
    reader.bit();
}

void read_size(BitReader& reader, FrameInfo& info) {
    info.width = reader.bits(16) + 1;
    info.height = reader.bits(16) + 1;
}

// What a frame of its own has behind the sync code.
void read_intra(BitReader& reader, FrameInfo& info) {
    if (reader.bits(24) != kSyncCode) {
        reader.fail();
    }
    if (info.key || info.profile > 0) {
        read_color(reader, info);
    }
    if (!info.key) {
        reader.skip(8);  // refresh_frame_flags
    }
    read_size(reader, info);
}

}  // namespace

std::optional<FrameInfo> parse_frame(ByteSpan frame) {
    BitReader reader(frame);
    FrameInfo info;
    if (reader.bits(2) != kFrameMarker) {
        return std::nullopt;
    }
    const uint32_t low = reader.bit();
    info.profile = static_cast<uint8_t>(reader.bit() << 1U | low);
    if (info.profile == kMaxProfile && reader.flag()) {
        return std::nullopt;  // reserved_zero
    }
    info.show_existing = reader.flag();
    if (info.show_existing) {
        reader.skip(3);
        info.shown = true;
        return reader.ok() ? std::optional(info) : std::nullopt;
    }
    info.key = !reader.flag();
    info.shown = reader.flag();
    const bool error_resilient = reader.flag();
    if (!info.key) {
        info.intra_only = !info.shown && reader.flag();
        if (!error_resilient) {
            reader.skip(2);  // reset_frame_context
        }
    }
    if (info.key || info.intra_only) {
        read_intra(reader, info);
    }
    return reader.ok() ? std::optional(info) : std::nullopt;
}

SuperframeView::SuperframeView(ByteSpan data) {
    frames_[0] = data;
    count_ = data.empty() ? 0 : 1;
    // Annex B: the last byte is 110, bytes of a size - 1 (2), frames - 1 (3); the same byte begins
    // the index.
    if (data.empty() || (data.back() & 0xE0) != 0xC0) {
        return;
    }
    const size_t size_bytes = size_t{1} + (data.back() >> 3 & 3);
    const size_t frames = size_t{1} + (data.back() & 7);
    const size_t index_size = 2 + size_bytes * frames;
    if (data.size() < index_size || data[data.size() - index_size] != data.back()) {
        return;
    }
    ByteReader index(data.last(index_size).subspan(1));
    ByteReader body(data.first(data.size() - index_size));
    std::array<ByteSpan, kMaxFramesInSuperframe> found;
    size_t count = 0;
    for (size_t i = 0; i < frames; i++) {
        size_t size = 0;
        for (size_t b = 0; b < size_bytes; b++) {
            size |= size_t{index.u8()} << (8 * b);
        }
        if (size > 0) {
            found[count++] = body.take(size);
        }
    }
    if (body.ok() && count > 0) {
        frames_ = found;
        count_ = count;
    }
}

void append_superframe_index(std::span<const size_t> sizes, Bytes& data) {
    const size_t largest = *std::max_element(sizes.begin(), sizes.end());
    size_t size_bytes = 1;
    while (size_bytes < 4 && largest >> (8 * size_bytes) != 0) {
        size_bytes++;
    }
    const auto marker = static_cast<uint8_t>(0xC0 | (size_bytes - 1) << 3 | (sizes.size() - 1));
    data.push_back(marker);
    for (size_t size : sizes) {
        for (size_t b = 0; b < size_bytes; b++) {
            data.push_back(static_cast<uint8_t>(size >> (8 * b)));
        }
    }
    data.push_back(marker);
}

}  // namespace weir::media::vp9
