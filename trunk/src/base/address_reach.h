// From how far away an address can be reached: what decides whether the answer of a server may lead
// a connection there.
#pragma once

#include <cstdint>

#include "base/net_address.h"

namespace weir {

enum class AddressReach : uint8_t {
    kNone,  // no host: 0.0.0.0/8, ::, multicast, broadcast, reserved (240.0.0.0/4)
    kHost,  // loopback
    kLink,  // 169.254.0.0/16, fe80::/10; clouds give out secrets at 169.254.169.254
    kSite,  // RFC 1918, RFC 6598 (100.64.0.0/10), RFC 4193 (fc00::/7)
    kPublic,
};

// IPv6 addresses that hold an IPv4 address for a translator (64:ff9b::/96, RFC 6052) have the reach
// of that one.
AddressReach reach_of(const NetAddress& address);

}  // namespace weir
