// Who may call: users of the configuration by Digest (RFC 3261 §22, RFC 8760), and addresses of
// trunks. Who guesses passwords is slowed down, by address. Never yields.
#pragma once

#include <string>

#include "net/address_rates.h"
#include "proto/http/digest_nonce.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"
#include "session/sip/sip_options.h"

namespace weir::session {

class SipAccess {
  public:
    // A phone asks again with the next nonce by itself (stale).
    static constexpr Seconds kNonceLifetime{300};
    static constexpr net::BucketOptions kWrongPasswords{.per_second = 0.2, .burst = 10};

    SipAccess();

    struct Answer {
        enum class Kind : uint8_t {
            kAllowed,
            kChallenge,  // answer 401 with `headers`
            kRefused,    // 403: too many wrong passwords of this address, or nobody may
        };

        Kind kind = Kind::kRefused;
        std::string user;  // kAllowed: who it is; empty: a trunk
        http::Fields headers;
    };

    // `by_line`: it comes from this server itself, whose lines have one address: that is no trunk,
    // and whoever guesses is slowed down by SipLines.
    Answer check(const sip::Request& request,
                 const sip::Flow& flow,
                 const SipServerOptions& options,
                 MonoTime now,
                 bool by_line);

  private:
    Answer challenge(const NetAddress& peer, bool stale, const SipServerOptions& options) const;

    http::NonceKey nonces_;
    net::AddressRates wrong_;
};

}  // namespace weir::session
