// The sources and forwards of the configuration, wired: what the configuration says, the loop
// check, the API. Protocols add what they can pull and forward (Protocol::add_sources).
#pragma once

#include <functional>

#include "app/api/sources_api.h"
#include "app/cluster/configured_origins.h"
#include "config/config.h"
#include "io/deadline.h"
#include "io/resolver.h"
#include "io/worker_pool.h"
#include "net/http/client.h"
#include "net/services.h"
#include "net/source/sources.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::net {
class PrivateStreams;
}

namespace weir::app {

class StreamSources {
  public:
    // `config` is that of the running server. All must outlive this.
    StreamSources(const config::Config& config,
                  const net::Services& services,
                  const net::ServerIdentity& identity);

    // Before the first listener. For reading the system's certificates, and writing sources_file.
    void set_workers(io::WorkerPool* workers) {
        dialer_.set_workers(workers);
        added_.set_workers(workers);
    }

    // Before start(): which streams another process of this machine brings. Must not yield.
    void set_elsewhere(std::function<bool(const stream::StreamKey&)> is_elsewhere) {
        is_elsewhere_ = std::move(is_elsewhere);
    }

    // Before start(): which of the configuration's sources of one stream this process has, of
    // several. Must not yield.
    void set_home(std::function<bool(const stream::StreamKey&)> is_home) {
        is_home_ = std::move(is_home);
    }

    // Blocks for the disk: reads sources_file.
    Error start();

    // The configuration has changed. Never yields.
    void reconfigure();

    void start_drain() { sources_.start_drain(); }

    // Yields. Before the fan-out stops.
    void stop(io::Deadline deadline) { sources_.stop(deadline); }

    void add_to(net::HttpRouter& router) { api_.add_to(router); }

    void add_metrics(net::Exposition& text) const { api_.add_metrics(text); }

    net::Sources& sources() { return sources_; }

    ConfiguredOrigins& origins() { return origins_; }

  private:
    std::vector<net::SourceSpec> named() const;
    bool is_private(const stream::StreamKey& key) const;
    bool has_vhost(std::string_view name) const;
    bool is_own(const io::SocketAddress& local, const io::SocketAddress& peer) const;

    const config::Config& config_;
    const net::PrivateStreams* private_streams_;  // null: there are none
    const bool has_others_;                       // nodes or processes
    ConfiguredOrigins origins_{config_};
    std::function<bool(const stream::StreamKey&)> is_elsewhere_;  // empty: nowhere else
    std::function<bool(const stream::StreamKey&)> is_home_;       // empty: all are here
    io::Resolver resolver_;
    net::HttpClient dialer_{resolver_};
    net::Sources sources_;
    AddedSources added_;
    SourcesApi api_;
};

}  // namespace weir::app
