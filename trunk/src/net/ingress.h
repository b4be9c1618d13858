// Ingress: how the connections of one listener begin, before their own protocol: with the header of
// a PROXY protocol, a TLS handshake, both in this order, or neither.
//
// Sessions call begin() first thing in the coroutine of a connection, within the deadline of their
// handshake. Then TcpStream::peer() is the client that rules, the API and logs are about, and the
// stream reads and writes what is inside TLS.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"

namespace weir::io {
class Deadline;
class TcpStream;
class TlsAcceptor;
class TlsContext;
}  // namespace weir::io

namespace weir::net {

class TrustedProxies;

struct IngressStats {
    uint64_t proxied = 0;          // connections that a proxy spoke for
    uint64_t proxy_untrusted = 0;  // ended: the peer is not among trusted_proxies
    uint64_t proxy_malformed = 0;  // ended: no header, or a wrong one
    uint64_t proxy_timeouts = 0;
};

class Ingress {
  public:
    // What all listeners share; everything must outlive the ingresses.
    struct Shared {
        const TrustedProxies& proxies;
        io::TlsAcceptor& tls;
        IngressStats& stats;
    };

    // `context`: where the certificates in force are found, for a listener with TLS; else null.
    Ingress(const Shared& shared,
            bool proxy_protocol,
            const std::shared_ptr<const io::TlsContext>* context)
        : shared_(shared), proxy_protocol_(proxy_protocol), context_(context) {}

    // Yields. kTimeout, kInterrupted, kClosed, kDenied, kMalformed, kLimit: the connection is to be
    // closed.
    Error begin(io::TcpStream& stream, io::Deadline deadline) const;

    bool secure() const { return context_ != nullptr; }

    // A proxy speaks for the clients: who they are is known after begin() only.
    bool proxied() const { return proxy_protocol_; }

    bool proxy_protocol() const { return proxy_protocol_; }

  private:
    Error read_proxy_header(io::TcpStream& stream, io::Deadline deadline) const;

    Shared shared_;
    bool proxy_protocol_;
    const std::shared_ptr<const io::TlsContext>* context_;
};

// Who the client is, is known at the accept: no proxy speaks for it. `ingress` null: there is none.
inline bool client_is_known(const Ingress* ingress) {
    return ingress == nullptr || !ingress->proxied();
}

}  // namespace weir::net
