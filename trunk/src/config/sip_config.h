// SIP, as the configuration says it.
#pragma once

#include <cstdint>
#include <optional>
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

// `extension`: a number of a user.
struct SipExtensionConfig {
    std::string number;
    std::string user;

    bool operator==(const SipExtensionConfig&) const = default;
};

// `register`: a provider or PBX where this server is a user.
struct SipRegisterConfig {
    std::string user;
    std::string domain;
    std::string login;
    std::optional<SecretSource> password;
    std::vector<std::string> servers;  // of proxy and backup, in their order
    Millis expires{300'000};
    std::vector<SipDialConfig> dial;

    bool operator==(const SipRegisterConfig&) const = default;
};

// `conference`: a number whose callers hear each other.
struct SipConferenceConfig {
    std::string number;
    std::string stream;  // APP/STREAM, that all of them are

    bool operator==(const SipConferenceConfig&) const = default;
};

// `outside`: numbers that users may call by a provider.
struct SipOutsideConfig {
    std::string prefix;
    std::string via;  // USER@HOST of a registration
    uint64_t max_calls = 0;
    uint64_t strip = 0;
    std::vector<std::string> users;  // empty: all

    bool operator==(const SipOutsideConfig&) const = default;
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
    std::vector<SipExtensionConfig> extensions;
    std::vector<std::string> call_hosts;  // of allow_calls
    std::vector<IpNetwork> call_networks;
    std::vector<SipRegisterConfig> registrations;
    std::vector<SipConferenceConfig> conferences;
    std::vector<std::string> line_domains;  // of rtmp_lines: HOST[:PORT], in lower case
    std::vector<SipOutsideConfig> outside;
    Millis timer_t1{0};
    uint8_t srtp = 0;         // optional, required, off
    uint16_t first_port = 0;  // of RTP
    uint16_t last_port = 0;
    NetAddress address;  // that phones reach; none: the one that they came to
    Millis rtp_timeout{0};
    uint32_t max_unproven_per_ip = 0;  // 0: any number
    bool jitter_buffer = false;
    bool phone_page = false;  // browsers may be phones

    bool operator==(const SipServerConfig&) const = default;
};

}  // namespace weir::config
