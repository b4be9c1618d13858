// Private to server.cc and server_http.cc: the parts of the server, in the order in which they are
// made.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <unistd.h>

#include "app/access/api_guard.h"
#include "app/access/config_policy.h"
#include "app/api/health_api.h"
#include "app/api/health_monitor.h"
#include "app/api/http_api.h"
#include "app/api/reload_api.h"
#include "app/cluster/cluster_api.h"
#include "app/cluster/cluster_service.h"
#include "app/cluster/node_name.h"
#include "app/cluster/streams_elsewhere.h"
#include "app/hooks/hook_service.h"
#include "app/processes/process_api.h"
#include "app/processes/process_placement.h"
#include "app/processes/process_streams.h"
#include "app/run/config_search.h"
#include "app/run/cpu_affinity.h"
#include "app/run/heap_keeper.h"
#include "app/run/listener_set.h"
#include "app/run/log_setup.h"
#include "app/run/page_security.h"
#include "app/run/plants.h"
#include "app/run/readiness.h"
#include "app/run/reload.h"
#include "app/run/server.h"
#include "app/run/stream_sources.h"
#include "app/run/tls_service.h"
#include "base/log.h"
#include "base/random.h"
#include "diagnosis/leak_api.h"
#include "diagnosis/memory_api.h"
#include "diagnosis/objects_api.h"
#include "diagnosis/process_stats.h"
#include "diagnosis/profile_api.h"
#include "diagnosis/profilers.h"
#include "io/runtime.h"
#include "io/unix_socket.h"
#include "io/worker_pool.h"
#include "net/cluster/relay_node.h"
#include "net/fanout.h"
#include "net/http/server.h"
#include "net/http/static_files.h"
#include "net/phone_lines.h"
#include "net/private_streams.h"
#include "proto/cluster/relay_field.h"
#include "proto/http/origin.h"

namespace weir::app {

struct Server::Impl {
    Impl(ConfigSource source, LoadedConfig loaded, ProcessLink* process_link, const Wiring& wire)
        : link(process_link),
          config(std::move(*loaded.outcome.config)),
          access(limits),
          policy(config, access, limits),
          guard(config, access, limits),
          fanout(registry),
          connections(config.max_connections),
          who(identity()),
          hooks(config, who),
          placement(make_placement(link, registry, config)),
          process_streams(make_process_streams(link, placement, registry)),
          cluster(config, registry, clients),
          services{registry,
                   fanout,
                   clients,
                   connections,
                   policy,
                   limits,
                   hooks,
                   &phones,
                   &private_streams,
                   &vod,
                   placement ? &*placement : nullptr,
                   &relays,
                   claims()},
          sources(config, services, who),
          health(services),
          api(services, who, protocols),
          cluster_api(who, cluster),
          streams_elsewhere(cluster),
          objects(who),
          health_api(
              who,
              {.health = [this](net::HttpExchange& exchange) { return current_health(exchange); },
               .is_local = [this](const auto& exchange) { return is_local(exchange); },
               .drain =
                   [this] {
                       if (link != nullptr) {
                           link->drain();
                           return true;
                       }
                       if (drain_asked) {
                           drain_asked();
                       }
                       return static_cast<bool>(drain_asked);
                   }}),
          leaks(clients, who),
          reloader(std::move(source),
                   {&config, &listeners, nullptr,
                    [this](const config::Config& next) { return check(next); },
                    [this](const config::Config& before) { reconfigure(before); },
                    [this] { keep_listeners(); }}),
          reload_api(who, reloader) {
        fanout.file_writes().set_wanted(config.sendfile);
        (void)fanout.file_writes().on();  // what the system forbids is in the log from the start
        relays.use(&sources.origins());
        relays.set_passes_on(
            [this](const stream::StreamKey& key) { return sources.origins().has(key); });
        wire({config, services, who,
              [this](size_t threads, size_t queue_limit) {
                  return make_workers(threads, queue_limit);
              },
              link},
             protocols);
        for (const auto& protocol : protocols.all()) {
            protocol->add_sources(sources.sources());
        }
        reloader.note_loaded(std::move(loaded.outcome.watched), std::move(loaded.signature));
    }

    static std::optional<ProcessPlacement> make_placement(ProcessLink* link,
                                                          stream::Registry& streams,
                                                          const config::Config& config) {
        return link != nullptr
                   ? std::optional<ProcessPlacement>(std::in_place, *link, link->exchange(),
                                                     streams, config.process_max_busy)
                   : std::nullopt;
    }

    static std::optional<ProcessStreams> make_process_streams(
        ProcessLink* link,
        const std::optional<ProcessPlacement>& placement,
        stream::Registry& streams) {
        return link != nullptr
                   ? std::optional<ProcessStreams>(std::in_place, *link, *placement, streams)
                   : std::nullopt;
    }

    // Who knows which names are free; null: nobody but this process.
    net::Claims* claims() {
        if (process_streams) {
            return &*process_streams;
        }
        return cluster.registry();
    }

    static net::ServerIdentity identity() {
        return {"vid-" + random_id(system_random(), 7), random_id(system_random(), 8),
                MonoClock::now()};
    }

    Error fill_public();
    Error fill_api();
    Error start_tls();
    Error start_access();
    void start_cluster();
    void start_process_streams();
    void add_listeners();
    Error open_listeners(const std::function<Error()>& before_serving);
    Error serve_at(const std::string& socket, net::HttpServer& server);
    void keep_listeners();
    std::vector<Diagnostic> check(const config::Config& next);
    void reconfigure(const config::Config& before);
    net::HttpServerOptions http_options();
    void add_hsts(net::HttpExchange& exchange);
    LiveView live_view(const net::HttpExchange& exchange);
    bool is_local(const net::HttpExchange& exchange) const;
    bool admit_while_draining(net::HttpExchange& exchange);
    Remaining remaining() const;
    Health current_health(net::HttpExchange& exchange) const;
    ProcessFigures figures() const;
    void warn_about_descriptors() const;
    void set_up_api();
    Result<std::unique_ptr<io::WorkerPool>> make_workers(size_t threads, size_t queue_limit);
    Error start_workers();

    ProcessLink* link;  // null: the only process
    config::Config config;
    net::Limits limits;
    AccessControl access;
    ConfigPolicy policy;
    ApiGuard guard;
    TlsService tls{[this] { return make_workers(TlsService::kWorkers, TlsService::kQueue); }};
    stream::Registry registry;
    net::Fanout fanout;
    net::ClientTable clients;
    net::ConnectionBudget connections;
    net::ServerIdentity who;
    HookService hooks;
    net::PhoneLinesPlace phones;
    net::PrivateStreams private_streams;
    net::VodPlace vod;
    std::optional<ProcessPlacement> placement;  // both of one of several processes
    std::optional<ProcessStreams> process_streams;
    net::RelayNode relays;
    ClusterService cluster;
    net::Services services;
    ProtocolSet protocols;
    StreamSources sources;
    HealthMonitor health;
    HttpApi api;
    ClusterApi cluster_api;
    StreamsElsewhere streams_elsewhere;
    diagnosis::ObjectsApi objects;
    HealthApi health_api;
    diagnosis::LeakApi leaks;
    std::unique_ptr<io::WorkerPool> workers;
    std::optional<TlsFiles> next_tls;  // of a reload that is under way
    std::shared_ptr<const AccessData> next_secrets;
    std::string next_pages;
    std::optional<cpu_set_t> start_mask;  // of this thread, before it was bound to cores
    std::optional<diagnosis::MemoryApi> memory;
    std::optional<diagnosis::ProfileApi> profiles;
    std::unique_ptr<net::StaticFiles> files;
    std::unique_ptr<net::StaticFiles> console;
    net::HttpRouter public_router;
    net::HttpRouter api_router{[] {
        net::HttpRouteOptions options;
        options.errors = http::ErrorFormat::kJson;
        return options;
    }()};
    std::unique_ptr<net::HttpServer> public_http;
    std::unique_ptr<net::HttpServer> api_http;
    std::optional<ProcessApi> process_api;       // both of one of several processes
    std::unique_ptr<net::HttpServer> peer_http;  // the API for the others
    HeapKeeper heap;
    ListenerSet listeners;
    Reloader reloader;
    ReloadApi reload_api;
    bool reload_waits = false;  // for its turn, by a signal: one is enough
    bool draining = false;
    Readiness readiness;
    // Of a cluster's registry: "ok", "away"; none where none is configured. Must not yield.
    std::function<std::string()> registry_state;
    std::function<void(const config::Config&)> told;  // of a reload
    std::function<void()> drain_asked;                // by the API
    io::TaskGroup tasks;
};

}  // namespace weir::app
