// StreamKey: the name of a stream.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace weir::stream {

// Names a stream: vhost, app (may hold slashes) and stream name.
struct StreamKey {
    std::string vhost;
    std::string app;
    std::string name;

    auto operator<=>(const StreamKey&) const = default;

    // "/app/name", with "vhost" in front where it is not the default one; for logs and the API.
    std::string to_string() const;
};

inline constexpr std::string_view kDefaultVhost = "__defaultVhost__";

}  // namespace weir::stream
