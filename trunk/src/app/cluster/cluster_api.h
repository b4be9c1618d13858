// /api/v1/cluster, /api/v1/nodes, /api/v1/cluster/streams: this node in its cluster, and what the
// registry knows of all. And the metrics of the registry.
//
// Lists are read from Redis by a connection of their own, made for the request: neither claims nor
// the lease wait for them.
#pragma once

#include <string_view>
#include <vector>

#include "app/cluster/cluster_service.h"
#include "net/api/answer.h"
#include "net/api/exposition.h"
#include "net/http/router.h"

namespace weir::app {

struct RegistryList;

class ClusterApi {
  public:
    static constexpr size_t kMaxLists = 2;  // at a time
    // Of a stream, that are named; all are counted.
    static constexpr size_t kMaxEdges = 100;
    // Nodes that are asked what they pull, so many at a time (kMaxRelaysRecord bytes each).
    static constexpr size_t kMaxEdgeNodes = 2'000;
    static constexpr size_t kEdgeBatch = 64;

    // Must outlive this.
    ClusterApi(const net::ServerIdentity& identity, ClusterService& cluster)
        : identity_(identity), cluster_(cluster) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    void add_metrics(net::Exposition& text) const;

  private:
    using Edges =
        std::vector<std::vector<size_t>>;  // of each stream, places of nodes in their list

    void show_node(net::HttpExchange& exchange);
    void list_nodes(net::HttpExchange& exchange);
    void list_streams(net::HttpExchange& exchange);
    void kick_publisher(net::HttpExchange& exchange);
    // Answers with an error where there is no registry, or too many lists are read.
    bool may_list(net::HttpExchange& exchange);
    Error read_edges(const RegistryList& nodes, const RegistryList& streams, Edges& edges);

    net::ServerIdentity identity_;
    ClusterService& cluster_;
    size_t lists_ = 0;
};

}  // namespace weir::app
