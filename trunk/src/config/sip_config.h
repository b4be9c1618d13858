// SIP, as the configuration says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net_address.h"
#include "config/access_config.h"
#include "config/access_rules.h"
#include "config/listen_address.h"

namespace weir::config {

struct SipUserConfig {
    std::string name;
    SecretSource password;

    bool operator==(const SipUserConfig&) const = default;
};

// `dial`: what a number means.
struct SipDialConfig {
    std::string number;
    std::string play;     // APP/STREAM
    std::string publish;  // APP/STREAM; empty: sip/CALL-ID

    bool operator==(const SipDialConfig&) const = default;
};

struct SipServerConfig {
    bool enabled = false;
    std::vector<ListenAddress> listen;      // TCP, and TLS
    std::vector<ListenAddress> listen_udp;  // the same without TLS
    std::string realm;
    uint8_t digest = 0;  // md5, sha256, both
    std::vector<SipUserConfig> users;
    std::vector<IpNetwork> trunks;
    std::vector<SipDialConfig> dial;
    uint16_t first_port = 0;  // of RTP
    uint16_t last_port = 0;
    NetAddress address;  // that phones reach; none: the one that they came to
    Millis rtp_timeout{0};

    bool operator==(const SipServerConfig&) const = default;
};

}  // namespace weir::config
