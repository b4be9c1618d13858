#include "app/cluster/cluster_service.h"

#include <algorithm>
#include <utility>

#include "app/cluster/node_name.h"
#include "base/log.h"
#include "base/version.h"
#include "io/deadline.h"
#include "io/runtime.h"

namespace weir::app {
namespace {

net::RegistryOptions options_of(const config::ClusterConfig& cluster,
                                const cluster::NodeIdentity& self) {
    net::RegistryOptions options;
    options.self = self;
    options.advertise = cluster.advertise;
    while (options.advertise.ends_with('/')) {
        options.advertise.pop_back();
    }
    options.machine = machine_name();
    options.version = kVersion;
    options.lease = cluster.lease;
    options.accept_without_registry = cluster.accept_without_registry;
    options.allows_address = [cluster](const NetAddress& address) {
        return cluster.allows(address);
    };
    return options;
}

}  // namespace

ClusterService::ClusterService(const config::Config& config,
                               stream::Registry& streams,
                               net::ClientTable& clients)
    : config_(config),
      streams_(streams),
      clients_(clients),
      self_{node_name(config), random_id(system_random(), cluster::kBootIdLength)} {
    const config::ClusterConfig& cluster = config.cluster;
    Result<redis::Url> url = redis::Url::parse(cluster.registry);
    if (!cluster.enabled || cluster.registry.empty() || !url.ok()) {
        return;
    }
    dialer_ = std::make_unique<net::RedisDialer>(dialer_http_, std::move(*url));
    registry_ = std::make_unique<net::RedisRegistry>(*dialer_, streams, system_random(),
                                                     options_of(cluster, self_));
    registry_->on_kick = [this](const stream::StreamKey& key, const std::string& node) {
        kick(key, node);
    };
}

Error ClusterService::start(const ClusterSecrets& secrets) {
    if (registry_ == nullptr) {
        return {};
    }
    if (!secrets.registry_password.empty()) {
        dialer_->set_password(secrets.registry_password);
    }
    return registry_->start();
}

void ClusterService::stop(io::Deadline deadline) {
    if (registry_ != nullptr) {
        registry_->stop(deadline);
    }
}

void ClusterService::kick(const stream::StreamKey& key, const std::string& node) {
    const stream::Stream* const stream = streams_.find(key);
    net::Client* const client = stream != nullptr && stream->live()
                                    ? clients_.find(stream->publisher()->client_id())
                                    : nullptr;
    log::info("cluster: node {} wants the publisher of stream={} to be ended", node,
              log::token(key.to_string()));
    if (client == nullptr && kick_source) {
        kick_source(key);
    } else if (client != nullptr && client->kick) {
        client->kick();
    }
}

}  // namespace weir::app
