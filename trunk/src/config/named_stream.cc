#include "config/named_stream.h"

#include <utility>

#include "base/strings.h"
#include "proto/rtmp/stream_name.h"

namespace weir::config {

std::optional<stream::StreamKey> named_stream(std::string_view text, const stream::StreamKey& key) {
    const size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto filled = [&key](std::string_view part) {
        return replaced(replaced(std::string(part), "[app]", key.app), "[stream]", key.name);
    };
    rtmp::StreamName name;
    if (rtmp::parse_path(filled(text.substr(0, slash)), filled(text.substr(slash + 1)), name)) {
        return std::nullopt;
    }
    return stream::StreamKey{key.vhost, std::move(name.app), std::move(name.stream)};
}

}  // namespace weir::config
