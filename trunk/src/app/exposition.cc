#include "app/exposition.h"

namespace weir::app {

std::string label_value(std::string_view text) {
    std::string value;
    for (char c : text) {
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
    return value;
}

}  // namespace weir::app
