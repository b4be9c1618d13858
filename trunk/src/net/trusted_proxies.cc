#include "net/trusted_proxies.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/strings.h"
#include "proto/http/fields.h"

namespace weir::net {
namespace {

// Somebody behind a proxy that does not say who.
const NetAddress& unknown_client() {
    static const NetAddress address = NetAddress::from_v4({0, 0, 0, 0}, 0);
    return address;
}

// "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711".
std::optional<NetAddress> parse_hop(std::string_view text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    if (text.size() > NetAddress::kMaxText) {
        return std::nullopt;
    }
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
        return NetAddress::parse_ip(text.substr(1, text.size() - 2), 0);
    }
    if (const auto address = NetAddress::parse_ip(text, 0)) {
        return address;
    }
    return NetAddress::parse(text);
}

// The address of `for=` in an element of RFC 7239 Forwarded; empty when it has none.
std::string_view for_parameter(std::string_view element) {
    for (const std::string_view pair : split(element, ';')) {
        const Halves halves = split_once(pair, '=');
        if (http::equal_ignoring_case(http::trimmed(halves.before), "for")) {
            return http::trimmed(halves.after);
        }
    }
    return {};
}

// The last hops of a list field that may come several times, in order. One more than is allowed
// when there are too many.
std::vector<std::string_view> last_hops(const http::Fields& fields, std::string_view name) {
    std::vector<std::string_view> hops;
    for (const http::Field& field : fields) {
        if (!http::equal_ignoring_case(field.name, name)) {
            continue;
        }
        for (const std::string_view hop : split(field.value, ',')) {
            if (const std::string_view text = http::trimmed(hop); !text.empty()) {
                hops.push_back(text);
            }
        }
    }
    if (hops.size() > TrustedProxies::kMaxHops + 1) {
        hops.erase(hops.begin(), hops.end() - TrustedProxies::kMaxHops - 1);
    }
    return hops;
}

// What the proxies say, the nearest one last; from the first field that is there.
std::vector<std::string_view> hops_in(const http::Fields& fields) {
    std::vector<std::string_view> hops = last_hops(fields, "X-Forwarded-For");
    if (!hops.empty()) {
        return hops;
    }
    hops = last_hops(fields, "Forwarded");
    for (std::string_view& hop : hops) {
        hop = for_parameter(hop);
    }
    if (hops.empty()) {
        hops = last_hops(fields, "X-Real-IP");
    }
    return hops;
}

}  // namespace

bool names_a_proxy(const http::Fields& fields) {
    // Besides the usual ones those of large networks that proxy: Cloudflare, Akamai, Fastly.
    constexpr std::string_view kFields[] = {
        "X-Forwarded-For",     "Forwarded",        "X-Real-IP",
        "X-Forwarded-Proto",   "X-Forwarded-Host", "Via",
        "CF-Connecting-IP",    "True-Client-IP",   "X-Client-IP",
        "X-Cluster-Client-IP", "Fastly-Client-IP"};
    return std::ranges::any_of(kFields, [&](std::string_view each) { return fields.has(each); });
}

bool AddressRange::contains(const NetAddress& address) const {
    constexpr unsigned kByte = 8;
    constexpr unsigned kMappedBits = 96;
    if (address.is_v4() && bits < kMappedBits) {
        return false;  // a range of IPv6: all of IPv4, mapped, begins with zeros
    }
    const NetAddress::V6& other = address.v6();
    const size_t whole = bits / kByte;
    if (!std::equal(ip.begin(), ip.begin() + static_cast<ptrdiff_t>(whole), other.begin())) {
        return false;
    }
    const unsigned rest = bits % kByte;
    return rest == 0 || ((ip[whole] ^ other[whole]) >> (kByte - rest)) == 0;
}

void TrustedProxies::set(std::vector<AddressRange> ranges) {
    ranges_ = std::move(ranges);
    named_ = true;
}

void TrustedProxies::reset() {
    ranges_.clear();
    named_ = false;
}

bool TrustedProxies::trusts(const NetAddress& address) const {
    if (!named_) {
        return address.is_loopback();
    }
    return std::ranges::any_of(ranges_,
                               [&](const AddressRange& range) { return range.contains(address); });
}

bool TrustedProxies::trusts(const io::SocketAddress& address) const {
    return trusts(address.net_address());
}

// From the nearest proxy back, as long as the next one is trusted to say who came to it.
NetAddress TrustedProxies::client_in(const std::vector<std::string_view>& hops) const {
    NetAddress client = unknown_client();
    for (size_t i = hops.size(); i > 0; i--) {
        const std::optional<NetAddress> hop = parse_hop(hops[i - 1]);
        if (!hop || hops.size() - i >= kMaxHops) {
            return unknown_client();
        }
        client = *hop;
        if (!trusts(client)) {
            return client;
        }
    }
    // All are trusted: the farthest is the client, on a machine of the operator's. Where no proxy
    // was named, that this machine's own word makes a client local is too much: a proxy that hands
    // a client's own field on would say the same.
    return named_ ? client : unknown_client();
}

RequestOrigin TrustedProxies::origin_of(const io::SocketAddress& peer,
                                        bool encrypted,
                                        const http::Fields& fields) const {
    RequestOrigin origin{peer, encrypted, false, false};
    if (!net::names_a_proxy(fields)) {
        return origin;
    }
    if (!trusts(peer)) {
        if (peer.is_loopback()) {
            origin.client = io::SocketAddress::of(unknown_client());
            origin.forwarded = true;
        }
        return origin;
    }
    origin.forwarded = true;
    origin.believed = true;
    const std::vector<std::string_view> protocols = last_hops(fields, "X-Forwarded-Proto");
    origin.secure =
        protocols.empty() ? encrypted : http::equal_ignoring_case(protocols.back(), "https");
    const std::vector<std::string_view> hops = hops_in(fields);
    if (!hops.empty()) {
        origin.client = io::SocketAddress::of(client_in(hops));
    } else if (!named_) {
        origin.client = io::SocketAddress::of(unknown_client());
    }
    return origin;
}

}  // namespace weir::net
