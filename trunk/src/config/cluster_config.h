// `cluster { }`: this server as one of several nodes that find each other's streams.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net_address.h"
#include "config/access_config.h"
#include "config/access_rules.h"

namespace weir::config {

struct ClusterConfig {
    bool enabled = false;
    std::string node;                // its name; empty: made of the host's
    std::string registry;            // URL of Redis; empty: none, only what is configured is known
    SecretSource registry_password;  // its text empty: none, or that of the URL
    std::string advertise;           // URL where other nodes pull; empty: none can
    SecretSource secret;             // of all nodes; signs what they ask each other
    Millis lease{5'000};
    Millis relay_linger{10'000};
    Millis relay_input_timeout{3'000};
    uint32_t relay_hops = 2;
    bool accept_without_registry = true;  // new publishers, while Redis cannot be asked

    std::vector<IpNetwork> allow_nodes;  // besides the addresses that others may have anyway

    bool allows(const NetAddress& address) const;  // allow_nodes names it

    bool operator==(const ClusterConfig&) const = default;
};

}  // namespace weir::config
