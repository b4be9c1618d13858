#include "net/cluster/relay_node.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/net_address.h"
#include "base/strings.h"
#include "proto/http/origin.h"

namespace weir::net {

std::string_view to_string(RelayRefusal refusal) {
    switch (refusal) {
        case RelayRefusal::kUnsigned: return "unsigned";
        case RelayRefusal::kMalformed: return "malformed";
        case RelayRefusal::kLoop: return "loop";
        case RelayRefusal::kNotHere: return "not_here";
        case RelayRefusal::kEpoch: return "epoch";
    }
    return {};
}

std::string_view to_string(RelayEnd end) {
    switch (end) {
        case RelayEnd::kEnded: return "ended";
        case RelayEnd::kSilent: return "silent";
        case RelayEnd::kNotFound: return "not_found";
        case RelayEnd::kLoop: return "loop";
        case RelayEnd::kEpoch: return "epoch";
        case RelayEnd::kRefused: return "refused";
        case RelayEnd::kOther: return "other";
    }
    return {};
}

RelayEnd relay_end(const Error& why) {
    switch (why.code()) {
        case ErrorCode::kClosed: return RelayEnd::kEnded;
        case ErrorCode::kTimeout: return RelayEnd::kSilent;
        case ErrorCode::kNotFound: return RelayEnd::kNotFound;
        case ErrorCode::kLimit: return RelayEnd::kLoop;
        case ErrorCode::kBusy: return RelayEnd::kEpoch;
        case ErrorCode::kDenied: return RelayEnd::kRefused;
        default: return RelayEnd::kOther;
    }
}

bool RelayNode::is_called(std::string_view host, const NetAddress& address) const {
    const std::string name = to_lower(http::host_name(host));
    if (names_.empty() || std::ranges::find(names_, name) != names_.end()) {
        return true;
    }
    // Pages may be asked for by any address; of other nodes this one knows only that they are not
    // its own.
    if (const auto ip = NetAddress::parse_ip(name, address.port())) {
        return ip->is_loopback() || ip->same_ip(address);
    }
    return !name.empty() && http::is_own_host(host, names_);
}

void RelayNode::set_up(std::string node, std::string secret, uint32_t max_hops) {
    node_ = std::move(node);
    secret_ = std::move(secret);
    max_hops_ = max_hops;
}

void RelayNode::note_asked(const stream::StreamKey& key, std::vector<std::string> path) {
    if (asked_.size() >= kMaxAsked) {
        asked_.clear();
    }
    asked_[key] = std::move(path);
}

std::vector<std::string> RelayNode::take_asked(const stream::StreamKey& key) {
    const auto found = asked_.find(key);
    if (found == asked_.end()) {
        return {};
    }
    std::vector<std::string> path = std::move(found->second);
    asked_.erase(found);
    return path;
}

const std::vector<std::string>& RelayNode::upstream(const stream::StreamKey& key) const {
    static const std::vector<std::string> none;
    const auto found = upstream_.find(key);
    return found == upstream_.end() ? none : found->second;
}

}  // namespace weir::net
