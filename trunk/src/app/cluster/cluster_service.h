// The node's part in its cluster, wired: what the configuration says of the registry, and its
// connections. The API is in cluster_api.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/access/access_data.h"
#include "config/config.h"
#include "io/resolver.h"
#include "io/worker_pool.h"
#include "net/client_table.h"
#include "net/cluster/redis_registry.h"
#include "net/http/client.h"
#include "stream/registry.h"

namespace weir::io {
class Deadline;
}

namespace weir::app {

class ClusterService {
  public:
    // `config` is that of the running server. All must outlive this.
    ClusterService(const config::Config& config,
                   stream::Registry& streams,
                   net::ClientTable& clients);

    // Null where there is no registry: this node is alone, or knows its origins by configuration.
    net::RedisRegistry* registry() { return registry_.get(); }

    const net::RedisRegistry* registry() const { return registry_.get(); }

    const std::string& node() const { return self_.node; }

    const std::string& boot() const { return self_.boot; }

    // Ends the run of the source that publishes that stream here, if one does.
    std::function<void(const stream::StreamKey&)> kick_source = {};

    bool enabled() const { return config_.cluster.enabled; }

    // Before start(). For reading the system's certificates.
    void set_workers(io::WorkerPool* workers) { dialer_http_.set_workers(workers); }

    // The registry need not be reachable: it is tried until it is.
    Error start(const ClusterSecrets& secrets);

    // Yields. When all publishers have gone, so that their claims are given back.
    void stop(io::Deadline deadline);

  private:
    void kick(const stream::StreamKey& key, const std::string& node);

    const config::Config& config_;
    stream::Registry& streams_;
    net::ClientTable& clients_;
    cluster::NodeIdentity self_;
    io::Resolver resolver_;
    net::HttpClient dialer_http_{resolver_};
    std::unique_ptr<net::RedisDialer> dialer_;
    std::unique_ptr<net::RedisRegistry> registry_;
};

}  // namespace weir::app
