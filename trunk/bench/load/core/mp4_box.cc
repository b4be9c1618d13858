#include "bench/load/core/mp4_box.h"

#include <algorithm>

namespace weir::load {
namespace {

constexpr size_t kShortHeader = 8;

BoxType printable(ByteSpan bytes) {
    BoxType type{};
    for (size_t i = 0; i < type.size() && i < bytes.size(); i++) {
        type[i] = bytes[i] < 0x20 || bytes[i] > 0x7E ? '?' : static_cast<char>(bytes[i]);
    }
    return type;
}

}  // namespace

Result<Mp4BoxHeader> parse_box_header(ByteSpan bytes,
                                      uint64_t at,
                                      uint64_t room,
                                      std::string_view around) {
    if (bytes.size() < kShortHeader || room < kShortHeader) {
        return make_error(ErrorCode::kMalformed,
                          "at byte {}: expected a box of at least {} bytes, {} are left of {}", at,
                          kShortHeader, room, around);
    }
    ByteReader reader(bytes);
    Mp4BoxHeader header;
    header.size = reader.u32();
    header.type = printable(reader.take(4));
    header.header_size = kShortHeader;
    if (header.size == 1) {
        header.size = reader.u64();
        header.header_size = kMaxBoxHeader;
    } else if (header.size == 0) {
        header.size = room;
    }
    if (!reader.ok() || header.size < header.header_size || header.size > room) {
        return make_error(ErrorCode::kMalformed,
                          "box '{}' at byte {}: its size is {}, expected {} to {} (the end of {})",
                          text_of(header.type), at, header.size, header.header_size, room, around);
    }
    return header;
}

Result<Mp4Box> Mp4Box::next(size_t& from) const {
    ByteSpan rest = content_.subspan(std::min(from, content_.size()));
    WEIR_TRY_ASSIGN(Mp4BoxHeader header,
                    parse_box_header(rest.first(std::min(rest.size(), kMaxBoxHeader)), at_ + from,
                                     rest.size(), fmt::format("box '{}'", type())));
    Mp4Box box(header.type, at_ + from + header.header_size,
               rest.subspan(header.header_size, header.size - header.header_size));
    from += header.size;
    return box;
}

Result<Mp4Box> Mp4Box::child(std::string_view type, size_t skip) const {
    for (size_t from = skip; from < content_.size();) {
        WEIR_TRY_ASSIGN(Mp4Box box, next(from));
        if (box.type() == type) {
            return box;
        }
    }
    return make_error(ErrorCode::kNotFound,
                      "box '{}' at byte {}: expected a box '{}' in it, "
                      "found none",
                      this->type(), at_, type);
}

Error Mp4Box::wrong(std::string_view expected, std::string_view found) const {
    return make_error(ErrorCode::kMalformed, "box '{}' at byte {}: expected {}, found {}", type(),
                      at_, expected, found);
}

}  // namespace weir::load
