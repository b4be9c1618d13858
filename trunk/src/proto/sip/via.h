// The Via field (RFC 3261 §20.42, RFC 3581): the way that a request came, and its answers go. Pure.
//
//     SIP/2.0/UDP host:port;branch=z9hG4bK...;rport;received=192.0.2.1
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/fields.h"
#include "proto/sip/parameters.h"

namespace weir::sip {

inline constexpr size_t kMaxVias = 64;  // of one message; RFC 4475 §3.1.1.7 has 34
inline constexpr std::string_view kBranchMagic = "z9hG4bK";  // RFC 3261 §8.1.1.7

struct Via {
    std::string transport;  // "UDP", "TCP", "TLS", or as it was sent
    std::string host;       // in lower case; an IPv6 address in its brackets
    uint16_t port = 0;      // 0: none
    Parameters parameters;

    static std::optional<Via> parse(std::string_view text);

    // All of a message, the newest first. nullopt: one is malformed, or there are too many.
    static std::optional<std::vector<Via>> parse_all(const http::Fields& fields);

    std::string write() const;

    std::string_view branch() const { return parameters.get("branch").value_or(""); }

    // Whether the branch tells this transaction from all others; the fallback of RFC 2543 where
    // not. The magic alone does not (RFC 4475 §3.2.1).
    bool has_unique_branch() const;

    bool operator==(const Via&) const = default;
};

// The fields with `top` in the place of the newest Via.
http::Fields with_top_via(const http::Fields& fields, const Via& top);

}  // namespace weir::sip
