// Who a client of RTSP is: Authorization (Digest, Basic, Bearer) and the challenges that ask for
// it (RFC 2326 §14, RFC 7616, RFC 7617). Never yields.
//
// Basic shows the password, so it is offered and taken over TLS only.
#pragma once

#include <string>

#include "net/policy.h"
#include "proto/http/digest_nonce.h"
#include "proto/rtsp/message.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::session {

// What a client has proven or shown; for net::AccessRequest.
struct RtspLogin {
    std::string user;
    std::string scope;
    std::string token;

    bool empty() const { return user.empty() && token.empty(); }
};

class RtspAuth {
  public:
    static constexpr std::string_view kRealm = "weir";
    // A client asks again with the next nonce by itself, without its user (stale).
    static constexpr Seconds kNonceLifetime{300};

    RtspAuth();

    // Nonces of others with the same key are good here, too.
    void share(const http::NonceKey& key) { nonces_ = key; }

    struct Question {
        const rtsp::Request& request;
        const stream::StreamKey& key;
        const io::SocketAddress& peer;
        bool publishes = false;
        bool encrypted = false;
    };

    struct Answer {
        RtspLogin login;
        bool shown = false;  // there was an Authorization that could be checked
        bool stale = false;  // its nonce was too old
    };

    Answer check(const Question& question, const net::Policy& policy) const;

    // Adds the challenges to a 401. SHA-256 first, as the stronger one; clients that read one
    // challenge only take the last. Both with qop="auth"; an answer may do without.
    void challenge(const Question& question, bool stale, rtsp::Response& answer) const;

  private:
    http::NonceKey nonces_;
};

}  // namespace weir::session
