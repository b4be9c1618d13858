#include "session/ts/fast_change_hints.h"

#include <algorithm>
#include <utility>

namespace weir::session {
namespace {

constexpr uint16_t kHuaweiPort = 8027;  // as networks with servers of that kind use it

}  // namespace

void FastChangeHints::note(MonoTime now,
                           const stream::StreamKey& key,
                           net::FastChangeTarget target) {
    std::erase_if(hints_,
                  [&](const Hint& each) { return each.key == key || now - each.noted > kLife; });
    if (hints_.size() == kMaxHints) {
        hints_.pop_front();
    }
    hints_.push_back({.key = key, .target = std::move(target), .noted = now});
}

std::optional<net::FastChangeTarget> FastChangeHints::take(MonoTime now,
                                                           const stream::StreamKey& key) {
    const auto its = std::ranges::find(hints_, key, &Hint::key);
    if (its == hints_.end()) {
        return std::nullopt;
    }
    std::optional<net::FastChangeTarget> target;
    if (now - its->noted <= kLife) {
        target = std::move(its->target);
    }
    hints_.erase(its);
    return target;
}

Result<net::FastChangeTarget> FastChangeHints::parse(std::string_view server,
                                                     std::string_view kind) {
    const std::optional<NetAddress> address = NetAddress::parse(server);
    if (!address || !address->is_v4() || address->is_any() || address->port() == 0 ||
        net::is_multicast(*address)) {
        return make_error(ErrorCode::kMalformed,
                          "?fcc= takes a numeric IPv4 address and a port (10.0.0.1:15970)");
    }
    net::FastChangeTarget target;
    target.server = *address;
    if (kind == "huawei" || (kind.empty() && address->port() == kHuaweiPort)) {
        target.kind = fcc::Kind::kHuawei;
    } else if (!kind.empty() && kind != "telecom") {
        return make_error(ErrorCode::kMalformed, "?fcc-type= is telecom or huawei");
    }
    return target;
}

}  // namespace weir::session
