#include "app/run/server.h"

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
#include "app/hooks/hook_service.h"
#include "app/run/config_search.h"
#include "app/run/cpu_affinity.h"
#include "app/run/heap_keeper.h"
#include "app/run/listener_set.h"
#include "app/run/log_setup.h"
#include "app/run/page_security.h"
#include "app/run/plants.h"
#include "app/run/readiness.h"
#include "app/run/reload.h"
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
#include "io/worker_pool.h"
#include "net/http/static_files.h"
#include "proto/http/origin.h"

namespace weir::app {
namespace {

constexpr size_t kWorkerQueue = 1024;
constexpr uint64_t kTicksPerTidy = 10;     // of the health monitor
constexpr Millis kSecretsPeriod{2'000};    // how often their files are looked at
constexpr Millis kStopDeadline{700};       // "in under a second", with the flush of the log
constexpr uint64_t kOwnDescriptors = 192;  // listeners, logs, files, hook servers
// Of requests by other nodes of the cluster, whose signature is looked at where they are served.
constexpr std::string_view kRelayField = "Weir-Relay";

}  // namespace

struct Server::Impl {
    Impl(ConfigSource source, LoadedConfig loaded, const Wiring& wire)
        : config(std::move(*loaded.outcome.config)),
          access(limits),
          policy(config, access, limits),
          guard(config, access, limits),
          fanout(registry),
          connections(config.max_connections),
          who(identity()),
          hooks(config, who),
          services{registry, fanout, clients, connections,      policy,
                   limits,   hooks,  &phones, &private_streams, &vod},
          sources(config, services, who),
          health(services),
          api(services, who, protocols),
          objects(who),
          health_api(who,
                     {.health = [this] { return current_health(); },
                      .is_local = [this](const auto& exchange) { return is_local(exchange); },
                      .drain =
                          [this] {
                              if (drain_asked) {
                                  drain_asked();
                              }
                              return static_cast<bool>(drain_asked);
                          }}),
          leaks(clients, who),
          reloader(std::move(source),
                   {&config, &listeners, nullptr,
                    [this](const config::Config& next) { return check(next); },
                    [this](const config::Config& before) { reconfigure(before); }}),
          reload_api(who, reloader) {
        fanout.file_writes().set_wanted(config.sendfile);
        wire({config, services, who,
              [this](size_t threads, size_t queue_limit) {
                  return make_workers(threads, queue_limit);
              }},
             protocols);
        for (const auto& protocol : protocols.all()) {
            protocol->add_sources(sources.sources());
        }
        reloader.note_loaded(std::move(loaded.outcome.watched), std::move(loaded.signature));
    }

    static net::ServerIdentity identity() {
        return {"vid-" + random_id(system_random(), 7), random_id(system_random(), 8),
                MonoClock::now()};
    }

    Error fill_public();
    Error fill_api();
    Error start_tls();
    Error start_access();
    void add_listeners();
    Error open_listeners(const std::function<Error()>& before_serving);
    std::vector<Diagnostic> check(const config::Config& next);
    void reconfigure(const config::Config& before);
    net::HttpServerOptions http_options();
    void add_hsts(net::HttpExchange& exchange);
    LiveView live_view(const net::HttpExchange& exchange);
    bool is_local(const net::HttpExchange& exchange) const;
    bool admit_while_draining(net::HttpExchange& exchange);
    Remaining remaining() const;
    Health current_health() const;
    void warn_about_descriptors() const;
    void set_up_api();
    Result<std::unique_ptr<io::WorkerPool>> make_workers(size_t threads, size_t queue_limit);
    Error start_workers();

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
    net::Services services;
    ProtocolSet protocols;
    StreamSources sources;
    HealthMonitor health;
    HttpApi api;
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

net::HttpServerOptions Server::Impl::http_options() {
    net::HttpServerOptions options;
    options.admit = [this] { return connections.take(); };
    options.release = [this] { connections.give_back(); };
    options.header_timeout = config.handshake_timeout;
    options.proxies = &tls.proxies();
    options.places = &limits;
    return options;
}

// A proxy that ends TLS in front of this server speaks for itself.
void Server::Impl::add_hsts(net::HttpExchange& exchange) {
    if (exchange.connection().encrypted()) {
        if (std::string value = hsts_value(config, exchange.request().host); !value.empty()) {
            exchange.add_route_field("Strict-Transport-Security", std::move(value));
        }
    }
}

// Of the public server. How the server is concerns who sits at it, or who has a login of the API:
// nobody by a name of a stranger that points here, nor through a proxy.
LiveView Server::Impl::live_view(const net::HttpExchange& exchange) {
    if (guard.knows(exchange)) {
        return {config::StreamList::kAll, true};
    }
    const bool own = http::is_own_host(exchange.request().host, config.server_names);
    // Behind TLS a name is proven by its certificate.
    return {config.http_server.stream_list, is_local(exchange), !own && !exchange.secure()};
}

// Somebody who sits at this machine, by a name of its own.
bool Server::Impl::is_local(const net::HttpExchange& exchange) const {
    const http::Request& request = exchange.request();
    return http::is_own_host(request.host, config.server_names) && exchange.peer().is_loopback() &&
           !net::names_a_proxy(request.headers);
}

Health Server::Impl::current_health() const {
    return {readiness.state(), readiness.busy_ratio(), remaining(),
            registry_state ? registry_state() : std::string()};
}

// Routers and servers are there whatever is enabled: a reload may want them.
Error Server::Impl::fill_public() {
    net::StaticFilesOptions options;
    options.root = pages_folder(config.http_server.dir);
    files = std::make_unique<net::StaticFiles>(std::move(options), *workers);
    for (const auto& protocol : protocols.all()) {
        protocol->add_routes(public_router, api_router);
    }
    api.add_live_to(public_router,
                    [this](const net::HttpExchange& exchange) { return live_view(exchange); });
    health_api.add_plain_to(public_router);
    net::HttpRouteOptions open_to_all;
    open_to_all.cors = true;
    public_router.add_prefix("/", open_to_all, [this](net::HttpExchange& exchange) {
        for (const http::Field& field : frame_fields(config.http_server)) {
            exchange.add_route_field(field.name, field.value);
        }
        files->handle(exchange);
    });
    net::HttpServerOptions served = http_options();
    served.authorize = [this](net::HttpExchange& exchange, const net::HttpRoute*) {
        add_hsts(exchange);
        return !draining || admit_while_draining(exchange);
    };
    public_http = net::HttpServer::create(public_router, std::move(served));
    return {};
}

// Other nodes may still begin to pull what is published here, and whoever asks how the server is
// gets an answer.
bool Server::Impl::admit_while_draining(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    if (!config.cluster.enabled || request.headers.has(kRelayField) || request.path == "/healthz" ||
        request.path == "/readyz") {
        return true;
    }
    (void)exchange.respond_error(503, "this server is about to end; ask another");
    return false;
}

Error Server::Impl::fill_api() {
    api.add_to(api_router);
    objects.add_to(api_router);
    reload_api.add_to(api_router);
    sources.add_to(api_router);
    health_api.add_to(api_router);
    memory
        .emplace(who, services, *workers,
                 [this](diagnosis::MemoryReport& report) {
                     for (const auto& protocol : protocols.all()) {
                         protocol->add_memory(report);
                     }
                 })
        .add_to(api_router);
    WEIR_TRY(leaks.start(diagnosis::make_leak_tool(), [this] { return api_http->stats().open; }));
    leaks.add_to(api_router);
    profiles.emplace(who, *workers).add_to(api_router);
    add_plants(api_router, who);
    tls.add_to(api_router, who);
    api.add_metrics([this](net::Exposition& text) { tls.add_metrics(text); });
    api.add_live_to(api_router);
    net::StaticFilesOptions pages;
    pages.root = pages_folder(config.http_server.dir);
    pages.prefix = "/console";
    console = std::make_unique<net::StaticFiles>(std::move(pages), *workers);
    net::HttpRouteOptions page;
    page.access = net::HttpAccess::kOwnRules;  // it shows nothing before it has the token
    api_router.add_prefix("/console", page, [this](net::HttpExchange& exchange) {
        // Its buttons end sessions: no other site may put it under a click.
        exchange.add_route_field("X-Frame-Options", "DENY");
        exchange.add_route_field("Content-Security-Policy", "frame-ancestors 'none'");
        console->handle(exchange);
    });
    net::HttpServerOptions guarded = http_options();
    guarded.authorize = [this](net::HttpExchange& exchange, const net::HttpRoute* route) {
        add_hsts(exchange);
        return guard.admit(exchange, route);
    };
    api_http = net::HttpServer::create(api_router, std::move(guarded));
    return {};
}

void Server::Impl::set_up_api() {
    api.use(*workers);
    api.use(health);
    api.add_summary("log", log_json);
    api.add_summary("hooks", [this] { return hooks_json(hooks.stats()); });
    api.add_metrics([this](net::Exposition& text) { hook_metrics(text, hooks.stats()); });
    api.add_metrics([this](net::Exposition& text) { sources.add_metrics(text); });
    api.add_metrics([this](net::Exposition& text) {
        text.single("weir_draining", "gauge", "Whether nobody new is let in: 1 after SIGQUIT.",
                    draining ? 1 : 0);
        text.single("weir_ready", "gauge", "Whether new clients should come here, as /readyz says.",
                    readiness.state() == Readiness::State::kReady ? 1 : 0);
    });
    api.set_vhosts([this] {
        std::vector<VhostEntry> list;
        for (const config::VhostConfig& vhost : config.vhosts) {
            list.push_back({vhost.name, vhost.enabled});
        }
        return list;
    });
    api.set_http_port([this](bool encrypted) -> uint16_t {
        if (!config.http_server.enabled) {
            return 0;
        }
        // Browsers do not write the header of a proxy.
        const auto found =
            std::ranges::find_if(config.http_server.listen, [encrypted](const auto& each) {
                return each.ssl == encrypted && !each.proxy_protocol;
            });
        if (found == config.http_server.listen.end()) {
            return 0;
        }
        const auto address = io::SocketAddress::parse(found->address);
        return address.ok() ? address->port() : 0;
    });
    api.set_stream_series([this] { return config.http_api.metrics_per_stream; });
}

// Before the first listener.
Error Server::Impl::start_tls() {
    WEIR_TRY_ASSIGN(TlsFiles loaded, TlsService::load(config));
    WEIR_TRY(tls.use(std::move(loaded), config));
    return tasks.spawn("certificates", io::StackSize::kNormal, [this] { tls.watch(*workers); });
}

// Before the first listener.
Error Server::Impl::start_access() {
    limits.set_connections_per_address(config.max_connections_per_ip);
    WEIR_TRY_ASSIGN(std::shared_ptr<const AccessData> secrets, AccessData::load(config));
    access.use(std::move(secrets));
    return tasks.spawn("secrets", io::StackSize::kNormal, [this] {
        while (!io::sleep_for(kSecretsPeriod)) {
            access.refresh(config, *workers);
        }
    });
}

// Those of the protocols, then HTTP's.
void Server::Impl::add_listeners() {
    const auto add = [this](ListenerService service) {
        if (service.acceptors != nullptr && !service.serve) {
            service.serve = [this, scope = service.tls, acceptors = service.acceptors](
                                std::unique_ptr<io::TcpListener> listener,
                                const config::ListenAddress& address) {
                return acceptors->serve(std::move(listener), tls.ingress(scope, address));
            };
        }
        listeners.add(std::move(service));
    };
    for (const auto& protocol : protocols.all()) {
        for (ListenerService& service : protocol->listeners()) {
            add(std::move(service));
        }
    }
    add({.kind = "http",
         .scheme = "http",
         .path = "/",
         .tls = TlsScope::kHttp,
         .wanted =
             [](const config::Config& from) {
                 return from.http_server.enabled ? &from.http_server.listen : nullptr;
             },
         .acceptors = &public_http->acceptors()});
    add({.kind = "api",
         .scheme = "http",
         .path = "/api/v1/summaries",
         .tls = TlsScope::kApi,
         .wanted =
             [](const config::Config& from) {
                 return from.http_api.enabled ? &from.http_api.listen : nullptr;
             },
         .acceptors = &api_http->acceptors()});
}

Error Server::Impl::open_listeners(const std::function<Error()>& before_serving) {
    for (const auto& protocol : protocols.all()) {
        WEIR_TRY(protocol->prepare(config, *workers));
    }
    std::vector<ListenFailure> failures = listeners.prepare(listeners.wanted(config));
    for (size_t i = 1; i < failures.size(); i++) {
        log::error("{}: {}", failures[i].address.origin, failures[i].error.message());
    }
    if (!failures.empty()) {
        return std::move(failures[0].error).with_context(failures[0].address.origin);
    }
    if (before_serving) {
        if (Error failed = before_serving()) {
            listeners.abandon();
            return failed;
        }
    }
    return listeners.commit();
}

// May refuse a new configuration before anything is changed; may yield. The one list of who is
// asked.
std::vector<Diagnostic> Server::Impl::check(const config::Config& next) {
    std::vector<Diagnostic> errors;
    for (const auto& protocol : protocols.all()) {
        if (Error failed = protocol->prepare(next, *workers)) {
            errors.push_back({"", 0, 0, std::string(failed.message())});
        }
    }
    Error bad_log;
    Result<TlsFiles> read = make_error(ErrorCode::kSystem, "certificates were not read");
    Result<std::shared_ptr<const AccessData>> secrets =
        make_error(ErrorCode::kSystem, "secrets were not read");
    if (Error failed = workers->run([&] {
            bad_log = LogSetup::check(next);
            read = TlsService::load(next);
            secrets = AccessData::load(next);
            next_pages = pages_folder(next.http_server.dir);
        })) {
        read = std::move(failed);
    }
    if (bad_log) {
        errors.push_back({next.file, 0, 0, std::string(bad_log.message())});
    }
    if (read.ok()) {
        next_tls = std::move(*read);
    } else {
        errors.push_back({next.file, 0, 0, std::string(read.error().message())});
    }
    if (secrets.ok()) {
        next_secrets = std::move(*secrets);
    } else {
        errors.push_back({next.file, 0, 0, std::string(secrets.error().message())});
    }
    return errors;
}

// The one list of what a reload tells to whom: `config` is the new one. What is missing here reads
// it when it is needed (ConfigPolicy). Must not yield.
void Server::Impl::reconfigure(const config::Config& before) {
    if (told) {
        told(config);
    }
    connections.set_limit(config.max_connections);
    limits.set_connections_per_address(config.max_connections_per_ip);
    if (next_secrets) {
        access.use(std::exchange(next_secrets, nullptr));
    }
    if (next_tls) {
        if (Error failed = tls.use(*std::exchange(next_tls, std::nullopt), config)) {
            log::error("tls: the certificates in force stay: {}", failed.message());
        }
    }
    for (const auto& protocol : protocols.all()) {
        protocol->reconfigure(config);
    }
    files->set_root(next_pages);
    console->set_root(next_pages);
    public_http->set_header_timeout(config.handshake_timeout);
    api_http->set_header_timeout(config.handshake_timeout);
    sources.reconfigure();
    fanout.file_writes().set_wanted(config.sendfile);
    fanout.reconfigure([this](const stream::StreamKey& key) { return policy.pump_options(key); });
    if (config.max_connections != before.max_connections) {
        warn_about_descriptors();
    }
}

Remaining Server::Impl::remaining() const {
    Remaining now;
    clients.for_each([&now](const net::Client& client) {
        switch (client.role) {
            case net::ClientRole::kPublisher: now.publishers++; break;
            case net::ClientRole::kPlayer: now.players++; break;
            case net::ClientRole::kConnecting: now.others++; break;
        }
    });
    return now;
}

void Server::Impl::warn_about_descriptors() const {
    const uint64_t wanted = config.max_connections + kOwnDescriptors;
    const uint64_t limit = diagnosis::process_stats().max_descriptors;
    if (limit < wanted) {
        log::warn(
            "max_connections {} needs {} file descriptors, the limit is {}: raise it (ulimit -n "
            "{}, or LimitNOFILE in "
            "the service file) or lower max_connections",
            config.max_connections, wanted, limit, wanted);
    }
}

// Threads take over the cores of the one that makes them: this thread is on the workers' cores
// meanwhile, and on its own ones afterwards. Where nothing is configured nothing is touched.
Result<std::unique_ptr<io::WorkerPool>> Server::Impl::make_workers(size_t threads,
                                                                   size_t queue_limit) {
    const CoreNumbers own = config.cpu_affinity.numbers();
    const CoreNumbers of_workers = config.worker_cpu_affinity.numbers();
    if (own.empty() && of_workers.empty()) {
        return io::WorkerPool::create(threads, queue_limit);
    }
    WEIR_TRY_ASSIGN(const cpu_set_t mask,
                    start_mask ? Result<cpu_set_t>(*start_mask) : core_mask());
    start_mask = mask;
    WEIR_TRY(of_workers.empty() ? put_back(mask) : run_on_cores(of_workers));
    WEIR_TRY_ASSIGN(auto made, io::WorkerPool::create(threads, queue_limit));
    WEIR_TRY(own.empty() ? put_back(mask) : run_on_cores(own));
    return made;
}

Error Server::Impl::start_workers() {
    const CoreNumbers own = config.cpu_affinity.numbers();
    const CoreNumbers of_workers = config.worker_cpu_affinity.numbers();
    const CoreNumbers before = current_cores();
    WEIR_TRY_ASSIGN(workers, make_workers(config.worker_threads, kWorkerQueue));
    if (!own.empty() || !of_workers.empty()) {
        log::info("cores media={} workers={}", core_list_text(own.empty() ? before : own),
                  core_list_text(of_workers.empty() ? before : of_workers));
    }
    return {};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ConfigSource source,
                                              LoadedConfig loaded,
                                              const std::function<Error()>& before_serving,
                                              const Wiring& wire) {
    auto server = std::unique_ptr<Server>(
        new Server(std::make_unique<Impl>(std::move(source), std::move(loaded), wire)));
    Impl& impl = *server->impl_;
    impl.warn_about_descriptors();
    WEIR_TRY(impl.start_workers());
    impl.set_up_api();
    impl.reloader.use(*impl.workers);
    impl.hooks.set_workers(impl.workers.get());
    impl.sources.set_workers(impl.workers.get());
    impl.hooks.set_secrets([&impl](const config::VhostConfig& vhost) {
        const VhostSecrets* secrets = impl.access.data().find(vhost.section());
        return secrets != nullptr ? secrets->hook_secret : std::string();
    });
    Error failed = impl.fill_public();
    if (!failed) {
        failed = impl.fill_api();
    }
    if (!failed) {
        failed = impl.start_tls();
    }
    if (!failed) {
        failed = impl.start_access();
    }
    if (!failed) {
        impl.add_listeners();
        failed = impl.open_listeners(before_serving);
    }
    if (!failed) {
        for (const auto& protocol : impl.protocols.all()) {
            protocol->begin_serving();
        }
    }
    if (!failed) {
        failed = impl.sources.start();
    }
    if (!failed) {
        failed = impl.tasks.spawn("config watch", io::StackSize::kNormal,
                                  [&impl] { impl.reloader.watch(); });
    }
    if (!failed) {
        failed = impl.tasks.spawn("health", io::StackSize::kNormal, [&impl] {
            for (uint64_t ticks = 1; !io::sleep_for(HealthMonitor::kTick); ticks++) {
                impl.health.tick();
                impl.readiness.sample(MonoClock::now(), io::turn_stats().busy_us);
                if (ticks % kTicksPerTidy == 0) {
                    impl.heap.tidy();
                    impl.hooks.tidy(MonoClock::now());
                    for (const auto& protocol : impl.protocols.all()) {
                        protocol->tick();
                    }
                    diagnosis::limit_cpu_profile(MonoClock::now());
                }
            }
        });
    }
    if (failed) {
        server->stop();
        return failed;
    }
    impl.readiness.start();
    return server;
}

void Server::reload_soon(const char* why, std::function<void()> done) {
    Impl& impl = *impl_;
    if (impl.reload_waits) {
        return;
    }
    impl.reload_waits = true;
    Error failed = impl.tasks.spawn("reload", io::StackSize::kNormal, [&impl, why, done] {
        impl.reload_waits = false;
        (void)impl.reloader.reload(why);
        if (done) {
            done();
        }
    });
    if (failed) {
        impl.reload_waits = false;
        log::error("cannot reload: {}", failed.message());
    }
}

void Server::on_reconfigure(std::function<void(const config::Config&)> told) {
    impl_->told = std::move(told);
}

void Server::on_drain_asked(std::function<void()> drain) {
    impl_->drain_asked = std::move(drain);
}

Remaining Server::remaining() const {
    return impl_->remaining();
}

bool Server::draining() const {
    return impl_->draining;
}

void Server::start_drain() {
    if (impl_->draining) {
        return;
    }
    impl_->draining = true;
    impl_->readiness.drain();
    impl_->sources.start_drain();
    impl_->reloader.stop(io::Deadline::after(kStopDeadline));  // it would open listeners again
    for (const auto& protocol : impl_->protocols.all()) {
        protocol->start_drain();
    }
    if (impl_->public_http && impl_->config.cluster.enabled) {
        impl_->public_http->stop_keeping();
    } else if (impl_->public_http) {
        impl_->public_http->stop_accepting();
    }
}

void Server::stop() {
    const io::Deadline deadline = io::Deadline::after(kStopDeadline);
    const auto report = [](Error late) {
        if (late) {
            log::error("stopping: {}", late.message());
        }
    };
    impl_->reloader.stop(deadline);
    impl_->sources.stop(deadline);
    if (impl_->public_http) {
        report(impl_->public_http->stop(deadline));
    }
    if (impl_->api_http) {
        report(impl_->api_http->stop(deadline));
    }
    for (const auto& protocol : impl_->protocols.all()) {
        report(protocol->stop(deadline));
    }
    impl_->leaks.stop();
    impl_->fanout.stop(deadline);
    impl_->hooks.stop(deadline);  // everybody has left, and has to be told of
    impl_->tasks.interrupt_all();
    report(impl_->tasks.join_all(deadline));
}

}  // namespace weir::app
