#include "net/hops.h"

namespace weir::net {

Error Hops::follow(bool tls) {
    if (tls_ && !tls) {
        return make_error(ErrorCode::kDenied,
                          "a server that was asked by TLS leads to one without: not followed");
    }
    tls_ = tls;
    return {};
}

bool Hops::allows(const NetAddress& to) const {
    switch (reach_of(to)) {
        case AddressReach::kNone: return false;
        case AddressReach::kHost:
        case AddressReach::kLink: return reach_of(to) == first_;
        case AddressReach::kSite: return first_ != AddressReach::kPublic;
        case AddressReach::kPublic: return true;
    }
    return false;
}

}  // namespace weir::net
