// SHA-256 of a certificate, as `a=fingerprint:sha-256 AB:CD:...` of SDP carries it (RFC 8122 §5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::dtls {

struct Fingerprint {
    std::array<uint8_t, 32> sha256{};

    bool operator==(const Fingerprint&) const = default;

    // 32 pairs of hex digits of either case, with colons between them; without the name of the
    // hash.
    static std::optional<Fingerprint> parse(std::string_view text);

    // Upper case, as RFC 8122 wants it written.
    std::string to_string() const;
};

}  // namespace weir::dtls
