// Nonces of a server that remembers none (RFC 7616 §3.3): the time, and a MAC over it, so that one
// which the server made is told from any other, and an old one from a fresh one. Pure functions.
//
// A nonce may be used many times while it is fresh; use counts (nc of qop=auth) are not checked:
// some RTSP clients send the same one with each request, and those of RFC 2069 none. `scope` binds
// it to something, the address of the client as a rule.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http {

// Random, made once by the owner; whoever knows it can make nonces.
using NonceKey = std::array<uint8_t, 32>;

inline constexpr size_t kNonceText = 48;  // 16 hex digits of time, 32 of a MAC

enum class NonceState : uint8_t {
    kFresh,
    kStale,    // ours, but too old: challenge again with stale=true, and nobody asks the user
    kForeign,  // not made with this key for this scope
};

// `now` is of any clock that does not go back; the same one for both.
std::string make_nonce(const NonceKey& key, std::string_view scope, std::chrono::seconds now);

NonceState check_nonce(std::string_view nonce,
                       const NonceKey& key,
                       std::string_view scope,
                       std::chrono::seconds now,
                       std::chrono::seconds lifetime);

}  // namespace weir::http
