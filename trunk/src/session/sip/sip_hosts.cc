#include "session/sip/sip_hosts.h"

#include <algorithm>
#include <utility>

namespace weir::session {

const SipHosts::Host* SipHosts::find(const NetAddress& address) const {
    const auto found = std::ranges::find_if(hosts_, [&](const Host& each) {
        return !each.address.empty() && each.address.same_ip(address);
    });
    return found == hosts_.end() ? nullptr : &*found;
}

SipHosts::Host* SipHosts::find(const NetAddress& address) {
    return const_cast<Host*>(std::as_const(*this).find(address));
}

SipHosts::Host& SipHosts::find_or_add(const NetAddress& address) {
    if (Host* const known = find(address)) {
        return *known;
    }
    Host& host = hosts_[next_];
    next_ = (next_ + 1) % kMaxHosts;
    host = {};
    host.address = address.with_port(0);
    return host;
}

void SipHosts::name(const NetAddress& host, size_t bytes) {
    if (host.empty()) {
        return;
    }
    Host& named = find_or_add(host);
    if (signalling_.empty()) {
        named.described = std::max(named.described, bytes);
    } else {
        named.budget.note_received(bytes);
    }
}

void SipHosts::trust(const NetAddress& signalling) {
    signalling_ = signalling.with_port(0);
    for (Host& each : hosts_) {
        each.budget.note_received(std::exchange(each.described, 0));
    }
}

void SipHosts::note_received(const NetAddress& from, size_t bytes, bool opens) {
    Host& host = find_or_add(from);
    host.budget.note_received(bytes);
    host.heard = host.heard || opens;
}

void SipHosts::doubt() {
    for (Host& each : hosts_) {
        each.heard = false;
    }
}

bool SipHosts::is_open(const NetAddress& to) const {
    if (signalling_.empty() || to.empty()) {
        return false;
    }
    const Host* const host = find(to);
    return to.same_ip(signalling_) || (host != nullptr && host->heard);
}

bool SipHosts::take(const NetAddress& to, size_t bytes) {
    if (is_open(to)) {
        return true;
    }
    Host* const host = find(to);
    return host != nullptr && host->budget.take(bytes);
}

}  // namespace weir::session
