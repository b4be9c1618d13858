// Boxes of ISO/IEC 14496-12 §4.2 as they are read. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace weir::mp4 {

inline constexpr size_t kBoxHead = 8;
inline constexpr size_t kLargeBoxHead = 16;

struct BoxHead {
    uint64_t size = 0;
    size_t head = 0;
    std::string_view type;  // a view of what was read
};

// §4.2; nothing: too few bytes, or a size that cannot be. A box "to the end of the file" (size 0)
// is none that we write.
inline std::optional<BoxHead> read_head(ByteSpan bytes) {
    if (bytes.size() < kBoxHead) {
        return std::nullopt;
    }
    ByteReader reader(bytes);
    BoxHead box{.size = reader.u32(), .head = kBoxHead, .type = as_text(reader.take(4))};
    if (box.size == 1) {
        box.size = reader.u64();
        box.head = kLargeBoxHead;
    }
    if (!reader.ok() || box.size < box.head) {
        return std::nullopt;
    }
    return box;
}

// visit(type, content, offset of the content) for each box that stands whole in `bytes`.
template <typename Visit>
void for_each_box(ByteSpan bytes, Visit&& visit) {
    size_t at = 0;
    while (const auto box = read_head(bytes.subspan(at))) {
        if (box->size > bytes.size() - at) {
            return;
        }
        const auto size = static_cast<size_t>(box->size);
        visit(box->type, bytes.subspan(at + box->head, size - box->head), at + box->head);
        at += size;
    }
}

// A full box.
struct FullHead {
    uint8_t version;
    uint32_t flags;
};

inline FullHead read_full(ByteReader& reader) {
    const uint8_t version = reader.u8();
    return {version, reader.u24()};
}

// Fills in `id`, `timescale` and `video` of `track` by its TrackBox (§8.3). visit(type, content)
// for each other box of its MediaBox (§8.4).
template <typename Track, typename Visit>
void read_track_box(ByteSpan trak, Track& track, Visit&& visit) {
    for_each_box(trak, [&](std::string_view type, ByteSpan content, size_t) {
        if (type == "tkhd") {
            ByteReader reader(content);
            reader.skip(read_full(reader).version == 0 ? 8 : 16);
            track.id = reader.u32();
        } else if (type == "mdia") {
            for_each_box(content, [&](std::string_view inner, ByteSpan media, size_t) {
                ByteReader reader(media);
                if (inner == "mdhd") {
                    reader.skip(read_full(reader).version == 0 ? 8 : 16);
                    track.timescale = std::max<uint32_t>(reader.u32(), 1);
                } else if (inner == "hdlr") {
                    reader.skip(8);
                    track.video = as_text(reader.take(4)) == "vide";
                } else {
                    visit(inner, media);
                }
            });
        }
    });
}

}  // namespace weir::mp4
