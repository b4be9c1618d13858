// Protocol: what app/ knows of a protocol. Each has one class of this kind in a file of its own,
// and one row in app/protocols/wiring.cc; nothing else in app/ names it.
//
// Calls come in this order: add_routes(), listeners(), prepare(), begin_serving(), then any number
// of reloads (prepare(), reconfigure()), start_drain() perhaps, stop(). What is shown may be asked
// for at any time; none of that yields.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/api/answer.h"

namespace weir::config {
struct Config;
}

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::io {
class Deadline;
class WorkerPool;
}  // namespace weir::io

namespace weir::net {
class Exposition;
class HttpRouter;
class Sources;
}  // namespace weir::net

namespace weir::stream {
class Stream;
}

namespace weir::app {

struct ListenerService;

// One way by which clients publish or play: what net::Client::transport() says.
struct Transport {
    std::string_view name;  // "ws-flv"
    // Not empty: its players have a count of their own besides, players_NAME of a stream's JSON and
    // weir_stream_NAME_players, and are called this there. For names that are older than `viewers`.
    std::string_view counted_as = {};
};

class Protocol {
  public:
    Protocol() = default;
    virtual ~Protocol() = default;
    Protocol(const Protocol&) = delete;
    Protocol& operator=(const Protocol&) = delete;

    // A literal: "rtmp". Its part of the summaries has this name.
    virtual std::string_view name() const = 0;

    // In the order in which lists show them. Literals.
    virtual std::span<const Transport> transports() const = 0;

    // ---- life ----

    // `open`: of the public server, `api`: of the API. This object outlives both.
    virtual void add_routes(net::HttpRouter& open, net::HttpRouter& api) {
        (void)open;
        (void)api;
    }

    // Says by which schemes of addresses it brings streams from other servers and sends them on.
    virtual void add_sources(net::Sources& sources) { (void)sources; }

    // Asked once. What serves them lives as long as this object.
    virtual std::vector<ListenerService> listeners();

    // Yields if it likes. `next` may come into force: at the start, or by a reload. An error
    // refuses it. `workers` go on until stop() has returned.
    virtual Error prepare(const config::Config& next, io::WorkerPool& workers) {
        (void)next;
        (void)workers;
        return {};
    }

    // The listeners are open, and the process is the user that it stays.
    virtual void begin_serving() {}

    // By a reload; the listeners have changed already.
    virtual void reconfigure(const config::Config& config) { (void)config; }

    // Every 10 s: for lines of the log. Never yields.
    virtual void tick() {}

    // Yields if it likes. Takes no new session; those that are there go on. Its listeners are
    // closed by this, where it has any.
    virtual void start_drain() {}

    // Yields. Ends everything. HTTP has ended, and the fan-out goes on.
    virtual Error stop(io::Deadline deadline);

    // ---- what is shown ----

    // Members of GET /api/v1/features.
    virtual void add_features(net::Json& features) const { (void)features; }

    // Its part of GET /api/v1/summaries; null: it has none.
    virtual net::Json summary() const { return nullptr; }

    // Members of /live.json's head: ports of addresses that pages show.
    virtual void add_page_facts(net::Json& head) const { (void)head; }

    // Members of a stream's JSON, in the API and in /live.json.
    virtual void add_stream_facts(const stream::Stream& stream, net::Json& json) const {
        (void)stream;
        (void)json;
    }

    // Its series of /metrics: names begin with weir_ and the protocol's, labels have few values.
    virtual void add_metrics(net::Exposition& text) const { (void)text; }

    virtual void add_memory(diagnosis::MemoryReport& report) const { (void)report; }
};

// All that the server speaks, in the order of the wiring.
class ProtocolSet {
  public:
    void add(std::unique_ptr<Protocol> protocol) { all_.push_back(std::move(protocol)); }

    const std::vector<std::unique_ptr<Protocol>>& all() const { return all_; }

    std::vector<Transport> transports() const {
        std::vector<Transport> found;
        for (const auto& protocol : all_) {
            const std::span<const Transport> more = protocol->transports();
            found.insert(found.end(), more.begin(), more.end());
        }
        return found;
    }

  private:
    std::vector<std::unique_ptr<Protocol>> all_;
};

}  // namespace weir::app
