// What the registry of a cluster has below a prefix, as a list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace weir::net {
class RedisRegistry;
}

namespace weir::app {

// Keys that one list looks at, and how long it may take.
inline constexpr size_t kMaxRegistryKeys = 100'000;
inline constexpr Millis kRegistryListTime{2'000};

// Keys below a prefix in order, each with its value where that is short enough to be a record.
struct RegistryList {
    std::vector<std::string> names;  // without the prefix
    std::vector<std::string> values;
    bool whole = true;  // false: there are more than kMaxRegistryKeys

    // Where a name stands; none: nowhere.
    std::optional<size_t> find(std::string_view name) const;

    // In a list of nodes: whether the node is there, and was not started anew since `boot`.
    bool lives(std::string_view node, std::string_view boot) const;
};

// Yields, for kRegistryListTime at most. By a connection of its own: neither claims nor the lease
// wait for it.
Error read_registry(net::RedisRegistry& registry, std::string_view prefix, RegistryList& out);

}  // namespace weir::app
