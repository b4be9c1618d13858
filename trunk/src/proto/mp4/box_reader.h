// Boxes of ISO/IEC 14496-12 §4.2 as they are read. Pure.
#pragma once

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

}  // namespace weir::mp4
