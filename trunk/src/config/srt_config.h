// SRT, as the configuration says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/access_config.h"
#include "config/listen_address.h"

namespace weir::config {

struct SrtServerConfig {
    bool enabled = false;
    std::vector<ListenAddress> listen;  // UDP
    std::string default_stream;         // APP/STREAM; empty: none
    uint32_t max_connections = 0;
    uint32_t max_connections_per_ip = 0;  // 0: any number
    uint64_t max_bitrate = 0;             // bits per second

    bool operator==(const SrtServerConfig&) const = default;
};

// What a vhost says of SRT connections.
struct SrtConfig {
    SecretSource passphrase;     // its text empty: no encryption
    uint8_t key_bytes = 16;      // of the key that is made of it
    Millis latency{120};         // at least
    uint64_t max_bandwidth = 0;  // bits per second to one player; 0: any

    bool operator==(const SrtConfig&) const = default;
};

}  // namespace weir::config
