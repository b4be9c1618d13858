#include "net/api/exposition.h"

#include "base/fnv.h"

namespace weir::net {

std::string label_value(std::string_view text) {
    std::string value;
    const std::string_view shown = text.substr(0, kMaxLabelBytes);
    for (char c : shown) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\' || c == '"') {
            value += '\\';
            value += c;
        } else if (byte < 0x20 || byte >= 0x7f || c == '%') {
            fmt::format_to(std::back_inserter(value), "%{:02X}", byte);
        } else {
            value += c;
        }
    }
    if (shown.size() < text.size()) {
        fmt::format_to(std::back_inserter(value), "~{:016x}", fnv1a(text));
    }
    return value;
}

}  // namespace weir::net
