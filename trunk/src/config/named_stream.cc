#include "config/named_stream.h"

#include <utility>

#include "proto/rtmp/stream_name.h"

namespace weir::config {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.replace(at, what.size(), by);
        at += by.size();
    }
    return text;
}

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
