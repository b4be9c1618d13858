// Where a SIP message came from and where one goes: a plain value.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/net_address.h"

namespace weir::sip {

enum class Transport : uint8_t { kUdp, kTcp, kTls };

// "UDP", as Via has it.
inline std::string_view to_string(Transport transport) {
    return transport == Transport::kUdp ? "UDP" : transport == Transport::kTcp ? "TCP" : "TLS";
}

struct Flow {
    Transport transport = Transport::kUdp;
    // The owner's number of a socket (UDP) or connection. Over TCP and TLS 0, or one that is
    // closed: the owner makes a connection to `remote`, and reports a failure as one of this flow.
    uint64_t connection = 0;
    NetAddress remote;
    NetAddress local;  // as the peer can reach it: Via and Contact name it

    bool reliable() const { return transport != Transport::kUdp; }

    bool operator==(const Flow&) const = default;
};

}  // namespace weir::sip
