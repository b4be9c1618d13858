// Hops: where the answers of a server may lead. The operator names the first server; a redirect, or
// an address in an answer, names the next one.
//
// From a public address nothing leads to a private one, and from no other host to this one: such
// services are reachable for this server only, and rely on that. Within the site or the host of the
// first server everything is allowed, and public addresses are for everybody. TLS is never given
// up. How many hops there may be, and that a login goes to no other host, is the caller's business.
#pragma once

#include <functional>

#include "base/address_reach.h"
#include "base/error.h"
#include "base/net_address.h"

namespace weir::net {

// Whether a connection may go to that address; null: to any.
using AddressFilter = std::function<bool(const NetAddress&)>;

class Hops {
  public:
    // As if the first server had been reached at such an address, without TLS.
    explicit Hops(AddressReach first = AddressReach::kPublic) : first_(first) {}

    // The first server was reached there.
    void begin(const NetAddress& peer, bool tls) {
        first_ = reach_of(peer);
        tls_ = tls;
    }

    // The next server is about to be asked. kDenied: without TLS, after one with it.
    Error follow(bool tls);

    // Whether the next server may be at that address.
    bool allows(const NetAddress& to) const;

    // allows(), as it is now.
    AddressFilter filter() const {
        return [hops = *this](const NetAddress& to) { return hops.allows(to); };
    }

    AddressReach first() const { return first_; }

  private:
    AddressReach first_;
    bool tls_ = false;
};

}  // namespace weir::net
