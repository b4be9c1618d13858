#include "config/cluster_check.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/log.h"
#include "base/redact.h"
#include "proto/cluster/records.h"
#include "proto/redis/url.h"

namespace weir::config {
namespace {

std::string advertise_problem(const ClusterConfig& cluster) {
    const std::optional<http::Url> url = cluster::parse_node_url(cluster.advertise);
    if (!url) {
        return fmt::format("found advertise {}, expected http://HOST[:PORT] or https://HOST[:PORT]",
                           log::escaped(hidden_url(cluster.advertise)));
    }
    const std::optional<NetAddress> ip = NetAddress::parse_ip(url->host, url->port);
    if (cluster::is_local_name(url->host) ||
        (ip && !cluster::is_reachable(*ip) && !cluster.allows(*ip))) {
        return fmt::format(
            "found advertise {}, where no other machine can reach this one; expected an address or "
            "a name that the other nodes know (or allow_nodes with that address)",
            log::escaped(cluster.advertise));
    }
    return {};
}

std::string registry_problem(const ClusterConfig& cluster) {
    const Result<redis::Url> url = redis::Url::parse(cluster.registry);
    if (!url.ok()) {
        return fmt::format("found a registry that cannot be read: {}", url.error().message());
    }
    if (!url->password.empty() && !cluster.registry_password.text.empty()) {
        return "found a password in registry and registry_password; keep one";
    }
    if (cluster.enabled && cluster.secret.text.empty()) {
        return "found registry without secret; expected secret in the cluster block, the same at "
               "all nodes: it signs what they ask each other";
    }
    return {};
}

}  // namespace

bool ClusterConfig::allows(const NetAddress& address) const {
    const std::optional<IpAddress> ip = IpAddress::parse(address.ip_text());
    return ip && std::ranges::any_of(allow_nodes, [&ip](const IpNetwork& network) {
               return network.contains(*ip);
           });
}

std::vector<ClusterProblem> check_cluster(const ClusterConfig& cluster) {
    std::vector<ClusterProblem> problems;
    const auto add = [&problems](std::string_view directive, std::string message) {
        if (!message.empty()) {
            problems.push_back({directive, std::move(message)});
        }
    };
    if (!cluster.node.empty() && !cluster::is_node_name(cluster.node)) {
        add("node", fmt::format("found node {}, expected letters, digits, dots, dashes and "
                                "underscores, at most {}",
                                log::escaped(cluster.node), cluster::kMaxNodeName));
    }
    if (!cluster.advertise.empty()) {
        add("advertise", advertise_problem(cluster));
    }
    if (!cluster.registry.empty()) {
        add("registry", registry_problem(cluster));
    } else if (cluster.enabled && !cluster.registry_password.text.empty()) {
        add("registry_password", "found registry_password without registry; expected both");
    }
    return problems;
}

}  // namespace weir::config
