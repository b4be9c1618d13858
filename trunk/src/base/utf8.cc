#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weir {
namespace {

struct Range {
    uint32_t first;
    uint32_t last;
};

// Unicode 15: general categories Cc, Cf, Zl, Zp and Zs without U+0020, and the noncharacters that
// are not at the end of a plane.
constexpr std::array kHidden = {
    Range{0x00, 0x1f},       Range{0x7f, 0xa0},       Range{0xad, 0xad},
    Range{0x600, 0x605},     Range{0x61c, 0x61c},     Range{0x6dd, 0x6dd},
    Range{0x70f, 0x70f},     Range{0x890, 0x891},     Range{0x8e2, 0x8e2},
    Range{0x1680, 0x1680},   Range{0x180e, 0x180e},   Range{0x2000, 0x200f},
    Range{0x2028, 0x202f},   Range{0x205f, 0x206f},   Range{0x3000, 0x3000},
    Range{0xfdd0, 0xfdef},   Range{0xfeff, 0xfeff},   Range{0xfff9, 0xfffb},
    Range{0x110bd, 0x110bd}, Range{0x110cd, 0x110cd}, Range{0x13430, 0x1343f},
    Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff}};

// The last two code points of each plane (Unicode 15 §23.7).
bool ends_a_plane(uint32_t code) {
    return (code & 0xfffe) == 0xfffe;
}

uint32_t code_point(std::string_view character) {
    constexpr std::array<uint8_t, 5> kFirstBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = static_cast<unsigned char>(character[0]) & kFirstBits[character.size()];
    for (const char c : character.substr(1)) {
        code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
    }
    return code;
}

}  // namespace

size_t utf8_size(std::string_view text) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = at(0);
    const size_t size = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
    if (size == 0 || text.size() < size) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if ((at(i) & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (first == 0xe0 && at(1) < 0xa0) || (first == 0xf0 && at(1) < 0x90);
    const bool surrogate = first == 0xed && at(1) >= 0xa0;
    const bool too_high = first == 0xf4 && at(1) >= 0x90;
    return overlong || surrogate || too_high ? 0 : size;
}

bool is_plain_character(std::string_view character) {
    const uint32_t code = code_point(character);
    return !ends_a_plane(code) && std::ranges::none_of(kHidden, [code](const Range& range) {
        return code >= range.first && code <= range.last;
    });
}

}  // namespace weir
