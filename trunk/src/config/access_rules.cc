#include "config/access_rules.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::config {

namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr uint8_t kMappedBits = 96;
constexpr uint8_t kAllBits = 128;

}  // namespace

std::string_view to_string(Action action) {
    return action == Action::kPublish ? "publish" : "play";
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
        text = text.substr(1, text.size() - 2);
    }
    bool v6 = text.find(':') != std::string_view::npos;
    if (v6) {
        text = text.substr(0, text.find('%'));
    }
    char terminated[INET6_ADDRSTRLEN];
    if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) {
        return std::nullopt;
    }
    std::memcpy(terminated, text.data(), text.size());
    terminated[text.size()] = '\0';

    IpAddress address;
    if (v6) {
        return inet_pton(AF_INET6, terminated, address.bytes.data()) == 1 ? std::optional(address)
                                                                          : std::nullopt;
    }
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.bytes.begin());
    return inet_pton(AF_INET, terminated, &address.bytes[12]) == 1 ? std::optional(address)
                                                                   : std::nullopt;
}

bool IpAddress::is_ipv4() const {
    return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin());
}

bool IpAddress::is_loopback() const {
    if (is_ipv4()) {
        return bytes[12] == 127;
    }
    return std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) &&
           bytes[15] == 1;
}

std::string IpAddress::to_string() const {
    char text[INET6_ADDRSTRLEN];
    if (is_ipv4()) {
        inet_ntop(AF_INET, &bytes[12], text, sizeof text);
    } else {
        inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
    }
    return text;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
    Halves parts = split_once(text, '/');
    std::optional<IpAddress> address = IpAddress::parse(parts.before);
    if (!address) {
        return std::nullopt;
    }
    IpNetwork network{*address, kAllBits};
    if (parts.found) {
        // "::ffff:10.0.0.0/104" counts the bits of the mapped form, "10.0.0.0/8" those of IPv4.
        bool dotted = parts.before.find(':') == std::string_view::npos;
        std::optional<uint64_t> bits = parse_uint(parts.after, 0, dotted ? 32 : kAllBits);
        if (!bits) {
            return std::nullopt;
        }
        network.bits = static_cast<uint8_t>(*bits + (dotted ? kMappedBits : 0));
    }
    for (size_t i = 0; i < network.address.bytes.size(); i++) {
        size_t kept = std::clamp<size_t>(network.bits, i * 8, i * 8 + 8) - i * 8;
        network.address.bytes[i] &= static_cast<uint8_t>(0xff00 >> kept);
    }
    return network;
}

// All addresses of IPv4 begin as ::ffff:0:0/96: a shorter prefix of zeros would contain each.
bool IpNetwork::contains(const IpAddress& peer) const {
    if (peer.is_ipv4() && bits < kMappedBits) {
        return false;
    }
    size_t whole = bits / 8;
    if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<ptrdiff_t>(whole),
                    peer.bytes.begin())) {
        return false;
    }
    size_t rest = bits % 8;
    if (rest == 0) {
        return true;
    }
    auto mask = static_cast<uint8_t>(0xff00 >> rest);
    return ((address.bytes[whole] ^ peer.bytes[whole]) & mask) == 0;
}

std::string IpNetwork::to_string() const {
    if (bits == kAllBits) {
        return address.to_string();
    }
    bool dotted = address.is_ipv4() && bits >= kMappedBits;
    return fmt::format("{}/{}", address.to_string(), dotted ? bits - kMappedBits : bits);
}

std::string AccessRule::to_string() const {
    return fmt::format("{} {} {};", allow ? "allow" : "deny", config::to_string(action),
                       network ? network->to_string() : "all");
}

bool AccessRules::default_allows(Action action, const IpAddress& peer) {
    return action == Action::kPlay || peer.is_loopback();
}

AccessRules::Verdict AccessRules::verdict(Action action, const IpAddress& peer) const {
    for (const AccessRule& rule : rules_) {
        if (rule.action == action && (!rule.network || rule.network->contains(peer))) {
            return {rule.allow ? Verdict::Kind::kAllow : Verdict::Kind::kDeny,
                    !rule.network.has_value(), &rule};
        }
    }
    return {};
}

bool AccessRules::names_allowed(Action action) const {
    return std::ranges::any_of(
        rules_, [action](const AccessRule& rule) { return rule.allow && rule.action == action; });
}

bool AccessRules::allows(Action action, const IpAddress& peer) const {
    const Verdict verdict = this->verdict(action, peer);
    return verdict.kind == Verdict::Kind::kNone ? default_allows(action, peer)
                                                : verdict.kind == Verdict::Kind::kAllow;
}

bool AccessRules::allows(Action action, std::string_view peer) const {
    std::optional<IpAddress> address = IpAddress::parse(peer);
    return address && allows(action, *address);
}

std::string refusal_text(Action action,
                         std::string_view peer,
                         std::string_view section,
                         const AccessRule* denied_by) {
    std::optional<IpAddress> address = IpAddress::parse(peer);
    std::string shown = address ? address->to_string() : std::string(peer);
    if (denied_by != nullptr) {
        return fmt::format(
            "{}ing from {} is not allowed: of the rules of {}, \"{}\" is the first one that fits; "
            "put \"allow {} {};\" before it",
            to_string(action), shown, section, denied_by->to_string(), to_string(action), shown);
    }
    return fmt::format("{}ing from {} is not allowed; add \"security {{ allow {} {}; }}\" to {}",
                       to_string(action), shown, to_string(action), shown, section);
}

}  // namespace weir::config
