// Names of a cluster's nodes, boots and streams, as they stand in keys and records of the registry.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cluster {

inline constexpr size_t kMaxNodeName = 64;
inline constexpr size_t kBootIdLength = 16;
// Of a stream's name as it is written in a key. A longer one cannot be claimed.
inline constexpr size_t kMaxStreamText = 2048;

// All keys are in one slot of Redis Cluster by the tag.
inline constexpr std::string_view kNodePrefix = "{weir}:n:";
inline constexpr std::string_view kStreamPrefix = "{weir}:s:";
inline constexpr std::string_view kRelaysPrefix = "{weir}:r:";
inline constexpr std::string_view kEventChannel = "{weir}:ev";

// Letters, digits, dots, dashes and underscores, at most kMaxNodeName.
bool is_node_name(std::string_view text);

// kBootIdLength lower-case letters and digits.
bool is_boot_id(std::string_view text);

struct StreamName {
    std::string vhost;
    std::string app;  // may hold slashes
    std::string name;

    auto operator<=>(const StreamName&) const = default;
};

// "VHOST/APP/NAME". What is neither a letter, a digit, one of "-._~" nor a slash of the app is
// %XX, so no two streams have the same text.
std::string stream_text(const StreamName& stream);

// None: that is no text of stream_text().
std::optional<StreamName> parse_stream_text(std::string_view text);

std::string node_key(std::string_view node);
std::string stream_key(std::string_view stream_text);
std::string relays_key(std::string_view node);

}  // namespace weir::cluster
