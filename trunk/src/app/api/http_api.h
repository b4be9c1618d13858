// The HTTP API (port 1985): what is served, who is connected, how the process and the machine are,
// and /metrics; and /live.json of the public server.
//
// JSON in the form {"code":0,"server":..,"service":..,"pid":..,"data" or the resource's name: ..}
// that users of this field's servers know (doc/api.md). One file for each kind of resource: api/.
// Lists yield in between; so does whatever reads /proc.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/api/live_list.h"
#include "app/api/metrics.h"
#include "app/api/system_probe.h"
#include "config/access_config.h"
#include "net/api/answer.h"
#include "net/services.h"

namespace weir::io {
class WorkerPool;
}

namespace weir::net {
class HttpExchange;
class HttpRouter;
}  // namespace weir::net

namespace weir::stream {
class Stream;
struct StreamKey;
}  // namespace weir::stream

namespace weir::app {

class HealthMonitor;
class ProtocolSet;

// A section of the configuration, as the API shows it.
struct VhostEntry {
    std::string name;
    bool enabled = true;
};

// What whoever asks for /live.json may know.
struct LiveView {
    config::StreamList list = config::StreamList::kAll;
    bool health = true;
    // Asked by a name that is not the server's own: a page of a stranger may read the answer (DNS
    // rebinding), so the address that asks counts for nothing.
    bool stranger = false;
    // Of a server of several processes: what this one has.
    bool alone = false;
};

class HttpApi {
  public:
    // `protocols` must outlive this.
    HttpApi(const net::Services& services,
            net::ServerIdentity identity,
            const ProtocolSet& protocols);

    // ---- before the first request ----

    // Whoever reads /proc; without it that is done in place.
    void use(io::WorkerPool& workers);

    // Whose plots the page shows; must outlive this.
    void use(const HealthMonitor& health) { health_ = &health; }

    // Asked at each request, since a configuration may change.
    void set_vhosts(std::function<std::vector<VhostEntry>()> vhosts) {
        vhosts_ = std::move(vhosts);
    }

    void set_stream_series(std::function<size_t()> most) { stream_series_ = std::move(most); }

    // Port of the public server with or without TLS, for links of the console; 0: none.
    void set_http_port(std::function<uint16_t(bool tls)> port) { http_port_ = std::move(port); }

    // Of a server of several processes: what the others answer to /live.json of their API, each for
    // itself. May yield; bounded in time.
    void set_live_elsewhere(std::function<std::vector<std::string>(bool history)> ask);

    // After set_live_elsewhere(). In a cluster, `ask` gives the streams of other nodes, as entries
    // of /live.json. It may yield, and is bounded in time.
    void set_live_of_cluster(std::function<std::vector<net::Json>()> ask) {
        (live_elsewhere_ ? live_of_all_ : live_).set_cluster(std::move(ask));
    }

    // One more part of the summaries, under that name.
    void add_summary(std::string name, std::function<net::Json()> part) {
        summaries_parts_.emplace_back(std::move(name), std::move(part));
    }

    // One more part of /metrics.
    void add_metrics(MetricsPart part) { metrics_parts_.push_back(std::move(part)); }

    // The API's routes, and an answer to every path that has none: the router is asked for the
    // others when somebody wants the list. This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // GET /live.json: all that is live, for the console; with `process` in the query, in this
    // process.
    void add_live_to(net::HttpRouter& router);

    // The same as far as `view` says at each request, for pages of the public server.
    void add_live_to(net::HttpRouter& router,
                     std::function<LiveView(const net::HttpExchange&)> view);

  private:
    using Handler = void (HttpApi::*)(net::HttpExchange&);

    // index_api.cc
    void add_exact(net::HttpRouter& router, const char* path, Handler handler);
    void index(net::HttpExchange& exchange);
    void not_found(net::HttpExchange& exchange);
    void openapi(net::HttpExchange& exchange);

    // streams_api.cc
    void streams(net::HttpExchange& exchange);
    void list_streams(net::HttpExchange& exchange);
    void end_stream(net::HttpExchange& exchange, const stream::Stream& stream);
    void vhosts(net::HttpExchange& exchange);
    net::Json vhost_json(const VhostEntry& vhost) const;

    // clients_api.cc
    void clients(net::HttpExchange& exchange);
    void list_clients(net::HttpExchange& exchange);
    void kick_clients(net::HttpExchange& exchange);

    // system_api.cc
    bool read_system(net::HttpExchange& exchange, SystemFigures& figures);
    void versions(net::HttpExchange& exchange);
    void summaries(net::HttpExchange& exchange);
    void rusages(net::HttpExchange& exchange);
    void self_proc_stats(net::HttpExchange& exchange);
    void system_proc_stats(net::HttpExchange& exchange);
    void meminfos(net::HttpExchange& exchange);
    void authors(net::HttpExchange& exchange);
    void features(net::HttpExchange& exchange);
    void metrics(net::HttpExchange& exchange);

    // live_api.cc
    void live(net::HttpExchange& exchange, const LiveView& view);
    bool plays_openly(const net::HttpExchange& exchange,
                      const LiveView& view,
                      const stream::StreamKey& key) const;
    net::Json health_json(bool history) const;
    net::Json health_of_all(bool history, const std::vector<net::Json>& elsewhere) const;

    net::Services services_;
    net::ServerIdentity identity_;
    const ProtocolSet& protocols_;
    io::WorkerPool* workers_ = nullptr;
    const HealthMonitor* health_ = nullptr;
    std::function<std::vector<VhostEntry>()> vhosts_;
    std::function<size_t()> stream_series_;
    std::function<uint16_t(bool tls)> http_port_;
    std::vector<std::pair<std::string, std::function<net::Json()>>> summaries_parts_;
    std::vector<MetricsPart> metrics_parts_;
    const net::HttpRouter* router_ = nullptr;
    SystemProbe probe_;
    LiveList live_;
    LiveList live_of_all_;  // processes
    std::function<std::vector<std::string>(bool history)> live_elsewhere_;
};

}  // namespace weir::app
