// SIP and SIPS URIs (RFC 3261 §19.1) and tel URIs (RFC 3966), parsed, written and compared. Pure.
//
//     sip:user:password@host:port;parameters?headers
//     tel:+1-201-555-0123;parameters
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/sip/parameters.h"

namespace weir::sip {

inline constexpr size_t kMaxUriBytes = 2048;
inline constexpr size_t kMaxUriHeaders = 16;

enum class Scheme : uint8_t { kSip, kSips, kTel };

struct UriHeader {
    std::string name;
    std::string value;

    bool operator==(const UriHeader&) const = default;
};

struct SipUri {
    Scheme scheme = Scheme::kSip;
    std::string user;      // decoded; of tel: the number, as it was written
    std::string password;  // decoded; it never belongs in a log line
    std::string host;      // in lower case; an IPv6 address in its brackets; empty for tel
    uint16_t port = 0;     // 0: none
    Parameters parameters;
    std::vector<UriHeader> headers;

    // nullopt: another scheme, or malformed.
    static std::optional<SipUri> parse(std::string_view text);

    std::string write() const;

    // Without password and headers, for logs.
    std::string write_public() const;

    // Same scheme, user and host, in the form that a registrar knows an address by (RFC 3261 §10.3
    // step 5): without port, parameters and headers.
    std::string address_of_record() const;

    // RFC 3261 §19.1.4. Not transitive, since a parameter that only one of them has may not matter:
    // no key for tables.
    bool equivalent(const SipUri& other) const;

    // 5060, or 5061 for sips, where none is written.
    uint16_t port_or_default() const;

    bool operator==(const SipUri&) const = default;
};

// "example.com", "192.0.2.1" or "[2001:db8::1]", with nothing else.
bool is_host(std::string_view text);

// "host" or "host:port"; nullopt: neither. An IPv6 address stands in brackets (RFC 5118 §4.2).
struct HostPort {
    std::string host;
    uint16_t port = 0;
};

std::optional<HostPort> parse_host_port(std::string_view text);

// "[2001:db8::1]" without its brackets; any other text as it is.
std::string_view without_brackets(std::string_view host);

}  // namespace weir::sip
