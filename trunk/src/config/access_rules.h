// Who may publish and play, by address: the rules of `security { allow|deny publish|play
// ADDRESS|CIDR|all; }`.
//
// Pure: no sockets, no names to resolve. IPv4 is kept mapped into IPv6, so that a peer of a
// dual-stack socket
// (::ffff:192.0.2.1) and one of an IPv4 socket match the same rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

enum class Action : uint8_t { kPublish, kPlay };

// "publish" or "play".
std::string_view to_string(Action action);

struct IpAddress {
    std::array<uint8_t, 16> bytes{};  // network order; IPv4 as ::ffff:a.b.c.d

    // "192.0.2.1", "2001:db8::1", "[2001:db8::1]", "::ffff:192.0.2.1", "fe80::1%eth0" (the zone is
    // dropped). No port.
    static std::optional<IpAddress> parse(std::string_view text);

    bool is_ipv4() const;      // mapped
    bool is_loopback() const;  // 127.0.0.0/8 or ::1

    // Without brackets; IPv4 as a dotted quad.
    std::string to_string() const;

    bool operator==(const IpAddress&) const = default;
};

// An address with the number of leading bits that count. Host bits are zero.
struct IpNetwork {
    IpAddress address;
    uint8_t bits = 0;  // 0..128, of the mapped form: 10.0.0.0/8 has 104

    // "10.0.0.0/8", "2001:db8::/32", or a single address. Host bits in `text` are cleared.
    static std::optional<IpNetwork> parse(std::string_view text);

    bool contains(const IpAddress& peer) const;

    // As one writes it: the prefix length of IPv4 is 0..32, and absent for a single address.
    std::string to_string() const;

    bool operator==(const IpNetwork&) const = default;
};

struct AccessRule {
    bool allow = false;
    Action action = Action::kPublish;
    std::optional<IpNetwork> network;  // none: all

    // As it stands in a file: "deny publish 10.0.0.0/8;".
    std::string to_string() const;

    bool operator==(const AccessRule&) const = default;
};

// The first rule for the action that matches the peer decides. When none does: publishing from
// loopback only, playing from everywhere.
class AccessRules {
  public:
    // What the rules say of a peer, without what is unwritten behind them.
    struct Verdict {
        enum class Kind : uint8_t { kNone, kAllow, kDeny } kind = Kind::kNone;
        bool all = false;                  // by a rule for all addresses
        const AccessRule* rule = nullptr;  // that decided; lives as long as the rules
    };

    Verdict verdict(Action action, const IpAddress& peer) const;

    // Whether an allow rule for the action is written.
    bool names_allowed(Action action) const;

    // What holds when no rule matches: publishing from loopback, playing from everywhere.
    static bool default_allows(Action action, const IpAddress& peer);

    void add(const AccessRule& rule) { rules_.push_back(rule); }

    const std::vector<AccessRule>& rules() const { return rules_; }

    bool allows(Action action, const IpAddress& peer) const;

    // `peer` as in IpAddress::parse; what is no address is refused.
    bool allows(Action action, std::string_view peer) const;

    bool operator==(const AccessRules&) const = default;

  private:
    std::vector<AccessRule> rules_;
};

// `section`: "vhost NAME". `denied_by`: the rule that decided; null: none did. One sentence for the
// log and the status to the peer, which names the line that would let it in: publishing from
// 203.0.113.9 is not allowed; add "security { allow publish 203.0.113.9; }" to vhost
// __defaultVhost__. Where a rule decided, it names the rule: that line must stand before it.
std::string refusal_text(Action action,
                         std::string_view peer,
                         std::string_view section,
                         const AccessRule* denied_by);

}  // namespace weir::config
