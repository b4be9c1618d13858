#include "bench/load/core/html_text.h"

#include <cstddef>
#include <cstdint>

namespace weir::load {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

uint32_t byte_at(std::string_view text, size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// Length of the UTF-8 sequence that the text begins with; 0 when it is broken, overlong, a
// surrogate, beyond U+10FFFF, or one of the two last code points of the plane, which XML forbids.
size_t sequence_length(std::string_view text) {
    uint32_t first = byte_at(text, 0);
    if (first < 0x80) {
        return 1;
    }
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) {
        return 0;
    }
    uint32_t code = first & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((byte_at(text, i) & 0xC0U) != 0x80) {
            return 0;
        }
        code = code << 6U | (byte_at(text, i) & 0x3FU);
    }
    bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    bool forbidden = code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
    return overlong || surrogate || forbidden ? 0 : length;
}

}  // namespace

std::string html_escape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        size_t length = sequence_length(text);
        char c = text[0];
        bool control = length == 1 && (byte_at(text, 0) < 0x20 || c == 0x7F) && c != '\t' &&
                       c != '\n' && c != '\r';
        if (length == 0 || control) {
            out += kReplacement;
            length = 1;
        } else if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '"') {
            out += "&quot;";
        } else if (c == '\'') {
            out += "&#39;";
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace weir::load
