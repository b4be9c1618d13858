// Who the server is in DTLS: a key and a self-signed certificate made at start, and the settings of
// all handshakes.
//
// ECDSA on P-256, as RFC 8827 §6.5 demands of every WebRTC endpoint. Each start makes a new one:
// the fingerprint goes to the peer through signalling, so nothing is kept on disk. One object per
// process; it must outlive its Transports.
#pragma once

#include <memory>

#include "base/error.h"
#include "proto/dtls/fingerprint.h"

// OpenSSL's own name, so that its headers are not needed here.
struct ssl_ctx_st;

namespace weir::dtls {

class Identity {
  public:
    static Result<std::unique_ptr<Identity>> create();

    Identity(const Identity&) = delete;
    Identity& operator=(const Identity&) = delete;
    ~Identity() = default;

    const Fingerprint& fingerprint() const { return fingerprint_; }

    // For Handshake.
    ssl_ctx_st* context() const { return context_.get(); }

  private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };

    explicit Identity(ssl_ctx_st* context) : context_(context) {}

    Error set_certificate();
    Error set_options();

    std::unique_ptr<ssl_ctx_st, Free> context_;
    Fingerprint fingerprint_;
};

}  // namespace weir::dtls
