#include "base/stream_path.h"

#include <algorithm>

#include "base/strings.h"

namespace weir {

Error check_stream_path(std::string_view path) {
    const auto is_control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7F;
    };
    if (std::ranges::any_of(path, is_control)) {
        return make_error(ErrorCode::kMalformed, "stream name with control characters");
    }
    const auto is_dots = [](std::string_view part) { return part == "." || part == ".."; };
    if (std::ranges::any_of(split(path, '/'), is_dots)) {
        return make_error(ErrorCode::kMalformed, "stream name with '.' or '..' as a part");
    }
    return {};
}

}  // namespace weir
