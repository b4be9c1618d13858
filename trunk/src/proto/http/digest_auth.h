// Digest and Basic authentication (RFC 7616, RFC 2617, RFC 7617) for protocols that have HTTP's
// fields: RTSP, SIP. Both sides: challenges of a server, answers of a client, and their check.
// Pure functions; nonces are in digest_nonce.h.
//
// Done: MD5, SHA-256 and their -sess forms, qop=auth and none (RFC 2069, as old cameras and live555
// use it), stale, opaque, several challenges. Not done: auth-int, userhash, Authentication-Info.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/fields.h"
#include "proto/http/user_info.h"

namespace weir::http {

inline constexpr size_t kMaxAuthBytes = 4096;  // of one field; a longer one counts as missing
inline constexpr size_t kMaxAuthParameters = 64;
inline constexpr size_t kMaxChallenges = 8;

enum class AuthScheme : uint8_t { kBasic, kDigest };

enum class DigestAlgorithm : uint8_t { kMd5, kMd5Sess, kSha256, kSha256Sess };

// "MD5", "SHA-256-sess" ...
std::string_view to_string(DigestAlgorithm algorithm);

// What a server asks for; the value of one WWW-Authenticate field.
struct Challenge {
    AuthScheme scheme = AuthScheme::kDigest;
    std::string realm = {};
    // Of Digest only.
    std::string nonce = {};
    std::string opaque = {};
    DigestAlgorithm algorithm = DigestAlgorithm::kMd5;
    bool names_algorithm = true;  // MD5 may stay unsaid; some old clients refuse to read it
    bool qop_auth = false;
    bool stale = false;  // the password was right, only the nonce is too old

    bool operator==(const Challenge&) const = default;
};

// All challenges of a field, in their order; one field may hold several. Those of other schemes,
// of unknown algorithms, with qop=auth-int only, or without a nonce are left out. Values may stand
// with or without quotes, as cameras write them.
std::vector<Challenge> parse_challenges(std::string_view value);

// Of all fields of that name, WWW-Authenticate as a rule.
std::vector<Challenge> parse_challenges(const Fields& fields, std::string_view name);

// The one to answer: SHA-256 before MD5 before Basic, which counts only where it is allowed (over
// TLS: it shows the password). nullptr: none.
const Challenge* strongest(const std::vector<Challenge>& challenges, bool allow_basic);

std::string write(const Challenge& challenge);

// What a client shows; the value of Authorization.
struct Credentials {
    AuthScheme scheme = AuthScheme::kDigest;
    std::string user;
    std::string password;  // of Basic only
    // Of Digest only.
    std::string realm;
    std::string nonce;
    std::string
        uri;  // as the client wrote it: whether it fits the request is the caller's to check
    std::string response;
    std::string opaque;
    std::string cnonce;
    std::string nc;
    DigestAlgorithm algorithm = DigestAlgorithm::kMd5;
    bool names_algorithm = false;
    bool qop_auth = false;

    bool operator==(const Credentials&) const = default;
};

// nullopt: another scheme, something is missing, or it cannot be checked (algorithm, qop). Without
// an algorithm, a response of 64 hex digits is SHA-256, and any other MD5.
std::optional<Credentials> parse_credentials(std::string_view value);

std::string write(const Credentials& credentials);

// What a client sends for a challenge. `cnonce`: random text of the caller, used where the
// challenge needs one; `count`: how often this nonce has been used, from 1 on.
Credentials answer(const Challenge& challenge,
                   const UserInfo& login,
                   std::string_view method,
                   std::string_view uri,
                   std::string_view cnonce,
                   uint32_t count);

// Whether these credentials were made with this password for this realm and method. Takes as long
// for a wrong password as for a right one. The caller checks the nonce, the uri, and whether the
// algorithm and scheme are those that it offered.
bool verify(const Credentials& credentials,
            std::string_view realm,
            std::string_view password,
            std::string_view method);

}  // namespace weir::http
