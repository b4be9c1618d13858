// TLS 1.2 and 1.3 for TcpStream: what is offered or expected (TlsContext), and the handshakes. The
// only place that knows OpenSSL for it is io/tls_*.cc.
//
// A handshake runs on a stream that nothing was read from or written to yet. When it has succeeded,
// the stream's own calls (read_some, try_writev ...) carry what is inside, for coroutines and for
// the pump alike; TcpStream::encrypted() says so. A failed one leaves the stream good for closing
// only.
//
// Contexts are immutable and shared: a handshake holds the one that was in force when it
// began, so a new set of certificates is a new context, and old connections keep theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// OpenSSL's own name, so that its headers are not needed here.
struct ssl_ctx_st;

namespace weir::io {

class Deadline;
class TcpStream;

struct TlsCertificateFiles {
    std::string certificate;  // PEM, the server's own first, then the chain
    std::string key;          // PEM, without a passphrase

    bool operator==(const TlsCertificateFiles&) const = default;
};

// What one certificate says.
struct TlsCertificateInfo {
    std::string file;
    std::vector<std::string> names;  // DNS names and addresses of the SAN; without one, the CN
    std::string issuer;
    std::string key;       // "RSA 2048", "EC 256"
    int64_t not_before_s;  // seconds since 1970
    int64_t not_after_s;
};

struct TlsClientOptions {
    bool verify = true;  // against the system's store, and the host's name; off: load clients only
    std::string ca_file = {};  // trusted besides the system's store; empty: none
};

class TlsContext {
  public:
    // Most certificates of one context.
    static constexpr size_t kMaxCertificates = 64;

    // For accepted connections. `files` are the certificates to choose from by the name that the
    // client asks for (SNI): an exact name, then a wildcard, else the first. Pairs of the same
    // names with keys of different kinds (RSA, EC) are offered together. Blocks on disk. The error
    // names the file and what to do.
    static Result<std::shared_ptr<const TlsContext>> server(
        std::span<const TlsCertificateFiles> files);

    // For connections that we open. Blocks on disk (the system's store: some 30 ms), so make one
    // and keep it.
    static Result<std::shared_ptr<const TlsContext>> client(const TlsClientOptions& options = {});

    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;
    ~TlsContext();

    // The certificates of a server, in the order of `files`.
    const std::vector<TlsCertificateInfo>& certificates() const { return certificates_; }

    // For io/tls_*.cc.
    ssl_ctx_st* raw() const;

    // The same, of the certificate for a name; the first when no name fits.
    ssl_ctx_st* raw_for(std::string_view host) const;

    bool verifies() const { return verifies_; }

  private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };

    // One per set of names.
    struct Entry {
        std::unique_ptr<ssl_ctx_st, Free> context;
        std::vector<std::string> names;
    };

    TlsContext() = default;
    Error add(const TlsCertificateFiles& files);

    std::vector<Entry> entries_;
    std::vector<TlsCertificateInfo> certificates_;
    bool verifies_ = false;
};

// What is wrong with the files though they can be used: "expired 3 days ago", "the key can be read
// by other users". Blocks on disk.
std::vector<std::string> tls_certificate_warnings(const TlsCertificateFiles& files,
                                                  const TlsCertificateInfo& info,
                                                  int64_t now_s);

// Yields. The handshake of a connection that we opened, with the name of the server as in the URL
// ("hooks.example.net", "192.0.2.1"). kDenied when its certificate is not good for that name: the
// message says why. kTimeout, kInterrupted, kClosed, kMalformed.
Error tls_connect(TcpStream& stream,
                  const TlsContext& context,
                  std::string_view host,
                  Deadline deadline);

}  // namespace weir::io
