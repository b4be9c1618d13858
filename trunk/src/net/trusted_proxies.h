// Whose word about the address of a client is taken: that of proxies in front of this server.
//
// Until an operator names proxies, loopback is believed, but never so far that somebody becomes a
// local client by it: a proxy on this machine makes everybody look local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/net_address.h"
#include "io/socket_address.h"

namespace weir::http {
class Fields;
}

namespace weir::net {

// Leading bits of an address, IPv4 mapped into IPv6 (10.0.0.0/8 has 104).
struct AddressRange {
    NetAddress::V6 ip{};
    uint8_t bits = 128;

    bool contains(const NetAddress& address) const;

    bool operator==(const AddressRange&) const = default;
};

// Who sent a request, as far as we believe it.
struct RequestOrigin {
    io::SocketAddress client;
    bool secure = false;     // the client spoke TLS, with us or with the proxy
    bool forwarded = false;  // through a proxy
    bool believed = false;   // and its fields are believed
};

// Whether a request has a field that a proxy adds, whatever it says.
bool names_a_proxy(const http::Fields& fields);

class TrustedProxies {
  public:
    // More proxies in a row than this are nobody's.
    static constexpr size_t kMaxHops = 32;

    // Replaces the default, loopback; empty: nobody is trusted.
    void set(std::vector<AddressRange> ranges);
    // Back to the default.
    void reset();

    bool trusts(const io::SocketAddress& address) const;

    // The sender of an HTTP request from its fields X-Forwarded-For, Forwarded, X-Real-IP and
    // X-Forwarded-Proto. From a trusted peer: the last address in the list that is no trusted proxy
    // itself. 0.0.0.0, which no rule for loopback takes, where a proxy does not say who it is, and
    // for requests of a local peer that carry such fields while it is not trusted.
    RequestOrigin origin_of(const io::SocketAddress& peer,
                            bool encrypted,
                            const http::Fields& fields) const;

  private:
    bool trusts(const NetAddress& address) const;
    NetAddress client_in(const std::vector<std::string_view>& hops) const;

    std::vector<AddressRange> ranges_;
    bool named_ = false;  // by the operator
};

}  // namespace weir::net
