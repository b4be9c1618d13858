#include "proto/redis/reply.h"

#include <optional>

#include "base/strings.h"

namespace weir::redis {

bool Reply::is_error(std::string_view word) const {
    return is_error() && split_once(text, ' ').before == word;
}

bool parse_redirect(const Reply& reply, Redirect& out) {
    out.ask = reply.is_error("ASK");
    if (!out.ask && !reply.is_error("MOVED")) {
        return false;
    }
    const std::vector<std::string_view> words = split(reply.text, ' ');
    if (words.size() != 3) {
        return false;
    }
    const size_t colon = words[2].rfind(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const std::optional<uint64_t> port = parse_uint(words[2].substr(colon + 1), 1, UINT16_MAX);
    out.host = words[2].substr(0, colon);
    if (!port || out.host.size() > 255) {
        return false;
    }
    out.port = static_cast<uint16_t>(*port);
    return true;
}

}  // namespace weir::redis
