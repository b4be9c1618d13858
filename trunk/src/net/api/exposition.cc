#include "net/api/exposition.h"

#include <fmt/format.h>

#include "base/fnv.h"

namespace weir::net {

void Exposition::append(fmt::string_view format, fmt::format_args args) {
    text_ += fmt::vformat(format, args);
}

std::string label_value(std::string_view text) {
    std::string value;
    const std::string_view shown = text.substr(0, kMaxLabelBytes);
    for (char c : shown) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\' || c == '"') {
            value += '\\';
            value += c;
        } else if (byte < 0x20 || byte >= 0x7f || c == '%') {
            value += fmt::format("%{:02X}", byte);
        } else {
            value += c;
        }
    }
    if (shown.size() < text.size()) {
        value += fmt::format("~{:016x}", fnv1a(text));
    }
    return value;
}

}  // namespace weir::net
