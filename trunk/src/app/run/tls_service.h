// TLS of the server: the certificates in force for each kind of listener, how its connections begin
// (net::Ingress), the look at the files every so often, and what API, metrics and log say of them.
//
// A new configuration comes in two steps, so that a broken one changes nothing: load() on a worker,
// then use(). Connections that are there keep the certificate with which they began.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/run/tls_scope.h"
#include "base/log.h"
#include "config/config.h"
#include "io/tls.h"
#include "io/tls_acceptor.h"
#include "io/worker_pool.h"
#include "net/api/answer.h"
#include "net/api/exposition.h"
#include "net/ingress.h"
#include "net/trusted_proxies.h"

namespace weir::net {
class HttpRouter;
}

namespace weir::app {

// The files of a configuration, read.
struct TlsFiles {
    // What tells that a file is another one than before.
    struct Stamp {
        std::string path;
        int64_t changed_ns = 0;
        uint64_t inode = 0;
        int64_t bytes = -1;  // -1: not there

        bool operator==(const Stamp&) const = default;
    };

    std::array<std::shared_ptr<const io::TlsContext>, kTlsScopes> contexts;  // null: no certificate
    std::array<std::vector<io::TlsCertificateFiles>, kTlsScopes> sources;
    std::vector<Stamp> stamps;
    std::vector<std::string> warnings;
};

// What is wrong with the certificates of a configuration that is right otherwise: errors with their
// lines, and warnings (expired, a key that others can read). Blocks on disk. For `weir -t`, the
// start and a reload.
struct CertificateCheck {
    std::vector<Diagnostic> errors;
    std::vector<std::string> warnings;
};

CertificateCheck check_certificates(const config::Config& config);

class TlsService {
  public:
    static constexpr size_t kWorkers = 2;  // for handshakes alone: a slow disk must not delay them
    static constexpr size_t kQueue = io::TlsAcceptor::kMaxOnWorkers;
    static constexpr int64_t kWarnDays = 14;  // before a certificate ends
    // Tickets of clients are sealed with keys that a context makes itself; so long they hold.
    static constexpr Millis kTicketKeyAge{12 * 3600 * 1000};

    using MakeWorkers = std::function<Result<std::unique_ptr<io::WorkerPool>>()>;

    // `make_workers` is called when the first listener with TLS comes.
    explicit TlsService(MakeWorkers make_workers) : make_workers_(std::move(make_workers)) {}

    ~TlsService() = default;
    TlsService(const TlsService&) = delete;
    TlsService& operator=(const TlsService&) = delete;

    // Blocks on disk: at start, or on a worker. The error names the file.
    static Result<TlsFiles> load(const config::Config& config);

    // From now on. Also takes over trusted_proxies and ssl_certificate_watch. kSystem when the
    // first TLS listener comes and there are no threads for it; then nothing has changed.
    Error use(TlsFiles files, const config::Config& config);

    // Yields. Reads the files of the configuration in force anew, on `disk`.
    Error reload_certificates(io::WorkerPool& disk);

    // How the connections of a listener begin; null: at once with their own protocol.
    std::shared_ptr<const net::Ingress> ingress(TlsScope scope,
                                                const config::ListenAddress& listen);

    const net::TrustedProxies& proxies() const { return proxies_; }

    // Yields. The body of a coroutine: looks at the files, warns of certificates that end, until it
    // is interrupted.
    void watch(io::WorkerPool& disk);

    // GET /api/v1/tls: certificates, handshakes, proxies. This object must outlive the router's
    // server.
    void add_to(net::HttpRouter& router, const net::ServerIdentity& identity);

    net::Json json(int64_t now_s) const;
    void add_metrics(net::Exposition& text) const;

  private:
    void warn_of_the_end(int64_t now_s);
    void look(io::WorkerPool& disk);

    MakeWorkers make_workers_;
    std::unique_ptr<io::WorkerPool> workers_;
    io::TlsAcceptor acceptor_{nullptr};
    net::TrustedProxies proxies_;
    net::IngressStats stats_;
    TlsFiles files_;
    Millis watch_{0};
    MonoTime loaded_at_{};
    uint64_t reloads_ = 0;
    uint64_t failed_reloads_ = 0;
    std::vector<TlsFiles::Stamp> refused_;  // files that were changed and cannot be used
};

}  // namespace weir::app
