// The user name fragment and password of one generation of an ICE session (RFC 8445 §5.3).
//
// Fixed sizes, no heap: 8 characters of fragment (48 bits; it finds the session, nobody may guess
// another one's), 24 of password (144 bits; the standard asks for 24 and 128 bits). A password is a
// secret: never printed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"

namespace weir::ice {

inline constexpr size_t kUfragCharacters = 8;
inline constexpr size_t kPasswordCharacters = 24;
inline constexpr uint8_t kMaxMark = 63;

struct Credentials {
    std::array<char, kUfragCharacters> ufrag{};
    std::array<char, kPasswordCharacters> password{};

    // New ones; the caller sees to it that the fragment is not in use (and makes others if it is).
    // `mark`, at most kMaxMark: takes the place of the first character, for ufrag_mark() to find;
    // 42 bits remain.
    static Credentials make(RandomSource& random, std::optional<uint8_t> mark = std::nullopt);

    std::string_view ufrag_text() const { return {ufrag.data(), ufrag.size()}; }

    std::string_view password_text() const { return {password.data(), password.size()}; }

    ByteSpan key() const { return as_bytes(password_text()); }

    bool operator==(const Credentials&) const = default;
};

// The mark of a fragment that was made with one; none: it cannot have been.
std::optional<uint8_t> ufrag_mark(std::string_view ufrag);

// Those of the peer, from its offer or its ICE restart.
struct RemoteCredentials {
    std::string ufrag;     // 4 to 256 characters
    std::string password;  // 22 to 256

    ByteSpan key() const { return as_bytes(password); }
};

// The two parts of the USERNAME of a check, "<ours>:<theirs>" as seen by who receives it
// (RFC 8445 §7.2.2). Both are empty when there is no colon, or nothing in front of it.
struct UsernameView {
    std::string_view local;
    std::string_view remote;
};

UsernameView split_username(std::string_view username);

// Whether the text may be an ice-ufrag (4 to 256 characters) or ice-pwd (22 to 256) of a session
// description: letters, digits, '+' and '/' (RFC 8839 §5.4).
bool is_valid_ufrag(std::string_view text);
bool is_valid_password(std::string_view text);

}  // namespace weir::ice
