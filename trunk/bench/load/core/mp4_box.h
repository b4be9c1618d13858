// Boxes of an MP4 file that is held in memory in part: each knows where it stands in the file, so
// that errors can say it, and none reaches beyond the one around it (ISO 14496-12 §4.2).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace weir::load {

// Four characters; what cannot be printed is '?'.
using BoxType = std::array<char, 4>;

inline std::string_view text_of(const BoxType& type) {
    return {type.data(), type.size()};
}

// The header of a box: | size 4 | type 4 | [size 8, when the first is 1] |
struct Mp4BoxHeader {
    BoxType type{};
    uint64_t header_size = 0;
    uint64_t size = 0;  // of the whole box
};

constexpr size_t kMaxBoxHeader = 16;

// `bytes`: the beginning of the box, kMaxBoxHeader bytes or what is there; `at`: its place in the
// file; `room`: bytes until the end of what is around it, named `around`. kMalformed.
Result<Mp4BoxHeader> parse_box_header(ByteSpan bytes,
                                      uint64_t at,
                                      uint64_t room,
                                      std::string_view around);

// A view of a box's content in memory; the bytes must outlive it.
class Mp4Box {
  public:
    Mp4Box(const BoxType& type, uint64_t at, ByteSpan content)
        : type_(type), at_(at), content_(content) {}

    std::string_view type() const { return text_of(type_); }

    // Place of the content in the file.
    uint64_t at() const { return at_; }

    ByteSpan content() const { return content_; }

    // The first box of that type inside, `skip` bytes behind the beginning of the content.
    // kNotFound names both; kMalformed when a box before it is broken.
    Result<Mp4Box> child(std::string_view type, size_t skip = 0) const;

    // Calls visit(box), which gives an Error, for every box inside.
    template <typename Visit>
    Error each(Visit visit, size_t skip = 0) const {
        for (size_t from = skip; from < content_.size();) {
            WEIR_TRY_ASSIGN(Mp4Box box, next(from));
            WEIR_TRY(visit(box));
        }
        return {};
    }

    // "box 'stsz' at byte 123: expected WHAT, found ..." of this box.
    Error wrong(std::string_view expected, std::string_view found) const;

  private:
    // The box at that offset of the content; moves it behind the box.
    Result<Mp4Box> next(size_t& from) const;

    BoxType type_;
    uint64_t at_;
    ByteSpan content_;
};

}  // namespace weir::load
