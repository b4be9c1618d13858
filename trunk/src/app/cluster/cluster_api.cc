#include "app/cluster/cluster_api.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "app/api/listing.h"
#include "app/cluster/registry_list.h"
#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "proto/http/request.h"

namespace weir::app {
namespace {

constexpr std::string_view kNodesPath = "/api/v1/nodes";
constexpr std::string_view kClusterPath = "/api/v1/cluster";
constexpr std::string_view kStreamsPath = "/api/v1/cluster/streams";

double seconds_of(Micros span) {
    return static_cast<double>(span.count()) / 1e6;
}

net::Json node_json(const std::string& name, const cluster::NodeRecord& node, bool self) {
    return {{"node", name},
            {"self", self},
            {"boot", node.boot},
            {"url", node.url},
            {"machine", node.machine},
            {"state", to_string(node.state)},
            {"busy", node.busy_permille / 1000.0},
            {"bits_per_second", node.bits_per_second},
            {"version", node.version},
            {"since_ms", node.since_ms}};
}

// Nothing lies below the resources.
bool is_below(net::HttpExchange& exchange, std::string_view resource) {
    std::string_view path = exchange.request().path;
    if (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    if (path == resource) {
        return false;
    }
    (void)exchange.respond_error(404, "there is nothing of that name");
    return true;
}

// What is not given fits everything. Views of the query.
struct StreamFilterView {
    std::optional<std::string_view> vhost;
    std::optional<std::string_view> app;
    std::optional<std::string_view> name;
    std::optional<std::string_view> node;

    bool fits(const cluster::StreamName& stream, std::string_view by) const {
        return (!vhost || *vhost == stream.vhost) && (!app || *app == stream.app) &&
               (!name || *name == stream.name) && (!node || *node == by);
    }
};

}  // namespace

void ClusterApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    const auto add = [&](std::string_view path, auto handler) {
        router.add_prefix(std::string(path), options, std::move(handler));
    };
    add(kNodesPath, [this](net::HttpExchange& exchange) { list_nodes(exchange); });
    add(kClusterPath, [this](net::HttpExchange& exchange) { show_node(exchange); });
    options.methods |= http::method_bit(http::Method::kDelete);
    options.access = net::HttpAccess::kOperate;
    add(kStreamsPath, [this](net::HttpExchange& exchange) {
        if (is_below(exchange, kStreamsPath)) {
            return;
        }
        if (exchange.request().method == http::Method::kDelete) {
            kick_publisher(exchange);
        } else {
            list_streams(exchange);
        }
    });
}

void ClusterApi::show_node(net::HttpExchange& exchange) {
    if (is_below(exchange, kClusterPath)) {
        return;
    }
    net::Json body = net::envelope(identity_);
    net::Json node = {
        {"enabled", cluster_.enabled()}, {"node", cluster_.node()}, {"boot", cluster_.boot()}};
    if (const net::RedisRegistry* const registry = cluster_.registry()) {
        const net::RegistryStatus status = registry->status();
        const net::RegistryCounts counts = registry->counts();
        net::Json age = nullptr;
        if (status.lease_age) {
            age = std::chrono::duration_cast<Millis>(*status.lease_age).count();
        }
        node["url"] = registry->options().advertise;
        node["registry"] = {{"url", cluster_.registry()->dialer().url().shown()},
                            {"state", status.up ? "up" : "away"},
                            {"since_ms", status.since_ms},
                            {"last_error", status.last_error},
                            {"lease", status.lease},
                            {"lease_age_ms", age},
                            {"name_taken", status.name_taken}};
        node["claims"] = {{"held", status.claims},
                          {"provisional", status.provisional},
                          {"won", counts.won},
                          {"refused", counts.refused},
                          {"lost", counts.lost}};
        node["epoch_conflicts"] = counts.epoch_conflicts;
    }
    body["cluster"] = std::move(node);
    net::answer(exchange, body);
}

bool ClusterApi::may_list(net::HttpExchange& exchange) {
    if (cluster_.registry() == nullptr) {
        (void)exchange.respond_error(404, "this node has no registry (cluster { registry; })");
        return false;
    }
    if (lists_ >= kMaxLists) {
        (void)exchange.respond_error(503, "other lists of the cluster are being read",
                                     {{"Retry-After", "1"}});
        return false;
    }
    return true;
}

// Yields. Which nodes pull a stream, by its place in `streams`.
Error ClusterApi::read_edges(const RegistryList& nodes, const RegistryList& streams, Edges& edges) {
    const io::Deadline deadline = io::Deadline::after(kRegistryListTime);
    WEIR_TRY_ASSIGN(const std::unique_ptr<net::RedisLink> link,
                    cluster_.registry()->dialer().dial());
    const size_t count = std::min(nodes.names.size(), kMaxEdgeNodes);
    ListText pace;
    for (size_t begin = 0; begin < count; begin += kEdgeBatch) {
        const size_t end = std::min(count, begin + kEdgeBatch);
        std::vector<redis::Command> commands;
        for (size_t i = begin; i < end; i++) {
            commands.push_back({"GETRANGE", cluster::relays_key(nodes.names[i]), "0",
                                std::to_string(cluster::kMaxRelaysRecord)});
        }
        WEIR_TRY_ASSIGN(const std::vector<redis::Reply> replies,
                        link->exchange(commands, deadline));
        for (size_t i = begin; i < end; i++) {
            const auto record = cluster::RelaysRecordView::parse(replies[i - begin].text);
            if (!record || !cluster::is_node_name(nodes.names[i]) ||
                !nodes.lives(nodes.names[i], record->boot)) {
                continue;
            }
            for (const std::string_view name : record->streams) {
                const std::optional<size_t> at = streams.find(name);
                if (at && (edges[*at].empty() || edges[*at].back() != i)) {
                    edges[*at].push_back(i);
                }
            }
            pace.pause_if_long();
        }
    }
    return {};
}

void ClusterApi::list_nodes(net::HttpExchange& exchange) {
    if (is_below(exchange, kNodesPath)) {
        return;
    }
    const Result<Page> page = Page::read(exchange.request().query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    if (!may_list(exchange)) {
        return;
    }
    RegistryList list;
    lists_++;
    const Error failed = read_registry(*cluster_.registry(), cluster::kNodePrefix, list);
    lists_--;
    if (failed) {
        (void)exchange.respond_error(503, failed.message());
        return;
    }
    ListText text;
    uint64_t total = 0;
    for (size_t i = 0; i < list.names.size(); i++) {
        const std::optional<cluster::NodeRecord> node = cluster::NodeRecord::parse(list.values[i]);
        if (node && cluster::is_node_name(list.names[i]) && page->has(total++)) {
            text.add(node_json(list.names[i], *node, node->boot == cluster_.boot()));
            text.pause_if_long();
        }
    }
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "nodes"));
}

void ClusterApi::list_streams(net::HttpExchange& exchange) {
    const http::Query& query = exchange.request().query;
    const Result<Page> page = Page::read(query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    if (!may_list(exchange)) {
        return;
    }
    const StreamFilterView filter{query.get("vhost"), query.get("app"), query.get("stream"),
                                  query.get("node")};
    RegistryList nodes;
    RegistryList streams;
    Edges edges;
    lists_++;
    Error failed = read_registry(*cluster_.registry(), cluster::kNodePrefix, nodes);
    if (!failed) {
        failed = read_registry(*cluster_.registry(), cluster::kStreamPrefix, streams);
    }
    if (!failed) {
        edges.resize(streams.names.size());
        failed = read_edges(nodes, streams, edges);
    }
    lists_--;
    if (failed) {
        (void)exchange.respond_error(503, failed.message());
        return;
    }
    ListText text;
    uint64_t total = 0;
    for (size_t i = 0; i < streams.names.size(); i++) {
        text.pause_if_long();
        const auto record = cluster::StreamRecord::parse(streams.values[i]);
        const auto name = cluster::parse_stream_text(streams.names[i]);
        if (!record || !name) {
            continue;
        }
        if (nodes.lives(record->node, record->boot) && filter.fits(*name, record->node) &&
            page->has(total++)) {
            net::Json pulled_by = net::Json::array();
            for (size_t k = 0; k < std::min(edges[i].size(), kMaxEdges); k++) {
                pulled_by.push_back(nodes.names[edges[i][k]]);
            }
            text.add({{"vhost", name->vhost},
                      {"app", name->app},
                      {"name", name->name},
                      {"node", record->node},
                      {"self", record->boot == cluster_.boot()},
                      {"epoch", record->epoch},
                      {"since_ms", record->since_ms},
                      {"edges", std::move(pulled_by)},
                      {"edge_count", edges[i].size()}});
        }
    }
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "streams"));
}

void ClusterApi::kick_publisher(net::HttpExchange& exchange) {
    const http::Query& query = exchange.request().query;
    const auto app = query.get("app");
    const auto name = query.get("stream");
    if (cluster_.registry() == nullptr) {
        (void)exchange.respond_error(404, "this node has no registry (cluster { registry; })");
        return;
    }
    if (!app || !name) {
        (void)exchange.respond_error(400, "say which stream: ?app=APP&stream=STREAM, and &vhost=");
        return;
    }
    const stream::StreamKey key{std::string(query.get_or("vhost", stream::kDefaultVhost)),
                                std::string(*app), std::string(*name)};
    if (const Error failed = cluster_.registry()->kick(key)) {
        (void)exchange.respond_error(failed.code() == ErrorCode::kNotFound ? 404 : 503,
                                     failed.message());
        return;
    }
    log::info("api kicked the publisher of stream={} in the cluster ip={}",
              log::token(key.to_string()), exchange.peer().host());
    net::answer(exchange, net::envelope(identity_));
}

void ClusterApi::add_metrics(net::Exposition& text) const {
    const net::RedisRegistry* const registry = cluster_.registry();
    if (registry == nullptr) {
        return;
    }
    const net::RegistryStatus status = registry->status();
    const net::RegistryCounts counts = registry->counts();
    text.single("weir_cluster_registry_up", "gauge", "Whether Redis answers this node.",
                status.up ? 1 : 0);
    text.single("weir_cluster_lease_age_seconds", "gauge",
                "Since the node's lease was extended last; -1: never.",
                status.lease_age ? seconds_of(*status.lease_age) : -1.0);
    text.histogram("weir_cluster_commands_seconds", "Commands of Redis, by their round trip.",
                   net::RedisClientStats::kBoundsMs, 1e-3, counts.redis.took, counts.redis.seconds);
    constexpr std::string_view kClaims = "weir_claims_total";
    text.head(kClaims, "counter", "Names that this node asked the registry for.");
    const std::array<std::pair<std::string_view, uint64_t>, 5> results{
        {{"won", counts.won},
         {"refused", counts.refused},
         {"lost", counts.lost},
         {"provisional", counts.provisional},
         {"unknown", counts.unknown}}};
    for (const auto& [result, count] : results) {
        text.sample(kClaims, count, fmt::format("{{result=\"{}\"}}", result));
    }
    text.single("weir_cluster_claims", "gauge", "Streams that this node has claimed.",
                status.claims);
    text.single("weir_cluster_lookups_total", "counter", "Streams that the registry was asked for.",
                counts.lookups);
    text.single("weir_epoch_conflicts_total", "counter",
                "Claims that were lost, and records that were older than what was seen.",
                counts.epoch_conflicts);
    text.single("weir_cluster_unreadable_total", "counter",
                "Records, leases and events of the registry that do not hold.", counts.unreadable);
}

}  // namespace weir::app
