#include "net/http/server.h"

#include <cstdlib>

#include <unistd.h>

#include "app/run/server_impl.h"
#include "base/strings.h"
#include "net/datagram_ports.h"
#include "proto/http/origin.h"
#include "proto/http/url.h"

namespace weir::app {
namespace {

constexpr size_t kWorkerQueue = 1024;
constexpr uint64_t kTicksPerTidy = 10;     // of the health monitor
constexpr Millis kSecretsPeriod{2'000};    // how often their files are looked at
constexpr Millis kStopDeadline{700};       // "in under a second", with the flush of the log
constexpr uint64_t kOwnDescriptors = 192;  // listeners, logs, files, hook servers

}  // namespace

// Before the first listener.
Error Server::Impl::start_tls() {
    WEIR_TRY_ASSIGN(TlsFiles loaded, TlsService::load(config));
    WEIR_TRY(tls.use(std::move(loaded), config));
    return tasks.spawn("certificates", io::StackSize::kNormal, [this] { tls.watch(*workers); });
}

// Before the first listener.
Error Server::Impl::start_access() {
    limits.set_connections_per_address(config.max_connections_per_ip, config.max_connections);
    WEIR_TRY_ASSIGN(std::shared_ptr<const AccessData> secrets, AccessData::load(config));
    access.use(std::move(secrets));
    if (link != nullptr) {
        access.share_challenges(link->secret("rtmp challenges"));
    }
    return tasks.spawn("secrets", io::StackSize::kNormal, [this] {
        while (!io::sleep_for(kSecretsPeriod)) {
            access.refresh(config, *workers);
        }
    });
}

// Under which other nodes ask this one. Without `advertise` it is not known.
std::vector<std::string> relay_names(const config::Config& config) {
    const Result<http::Url> url = http::Url::parse(config.cluster.advertise);
    if (config.cluster.advertise.empty() || !url.ok()) {
        return {};
    }
    std::vector<std::string> names = config.server_names;
    std::string own = to_lower(http::host_name(url->authority()));
    if (own.ends_with('.')) {
        own.pop_back();  // the root
    }
    names.push_back(std::move(own));
    return names;
}

// Before the first listener. What is needed for `origin` holds without a cluster, too.
void Server::Impl::start_cluster() {
    const std::string& secret = access.data().cluster.secret;
    net::RedisRegistry* const others = cluster.registry();
    relays.use(claims());
    relays.set_names(relay_names(config));
    sources.origins().use_next(others);
    if (process_streams) {
        // One process more may be in between.
        relays.set_up(node_name(config), secret, config.cluster.relay_hops + 1);
        const Sha256Digest own = link->secret("relays");
        relays.set_process_secret(std::string(as_text(own)));
        start_process_streams();
    } else {
        relays.set_up(node_name(config), secret, config.cluster.relay_hops);
    }
    if (others == nullptr) {
        return;
    }
    relays.may_connect = [others](const NetAddress& at) { return others->may_connect(at); };
    registry_state = [others] { return others->status().up ? "ok" : "away"; };
    others->on_claimed_elsewhere = [this](const stream::StreamKey& key, uint64_t epoch) {
        sources.sources().end_run(key, epoch);
        sources.sources().retry_now(key);
    };
    cluster.kick_source = [this](const stream::StreamKey& key) {
        (void)sources.sources().kick(key);
    };
    others->on_origin_changed = [this](const stream::StreamKey& key) {
        sources.sources().retry_now(key);
    };
    others->facts = [this] {
        net::NodeFacts facts;
        facts.state = draining ? cluster::NodeState::kDraining : cluster::NodeState::kServing;
        facts.busy_permille = static_cast<uint32_t>(health.newest().busy * 1'000);
        facts.bits_per_second = uint64_t{1'000} * health.newest().sent_kbps;
        return facts;
    };
}

// Streams of the other processes are pulled from there; what no process has, its home brings.
void Server::Impl::start_process_streams() {
    ProcessStreams& streams = *process_streams;
    streams.use(cluster.registry(), &sources.origins());
    relays.use(static_cast<net::Origins*>(&streams));
    relays.set_passes_on([this](const stream::StreamKey& key) {
        return process_streams->is_home(key) || sources.origins().has(key);
    });
    sources.set_elsewhere(
        [this](const stream::StreamKey& key) { return !process_streams->is_home(key); });
    sources.set_home(
        [this](const stream::StreamKey& key) { return link->home_of(key) == link->seat().index; });
    streams.on_owner = [this](const stream::StreamKey& key, uint64_t) {
        sources.sources().retry_now(key);
    };
    streams.on_given_up = [this](const stream::StreamKey& key) {
        (void)sources.sources().begin_missing(key);
    };
    streams.on_homes = [this] { sources.reconfigure(); };
}

// Those of the protocols, then HTTP's.
void Server::Impl::add_listeners() {
    if (link != nullptr) {
        listeners.set_open_tcp(
            [this](const std::string& address) { return link->listen(address); });
        listeners.set_open_udp([this](const std::string& address, const io::UdpOptions& options) {
            return link->open_udp(address, options);
        });
    }
    const auto add = [this](ListenerService service) {
        if (link != nullptr && service.acceptors != nullptr) {
            link->exchange().add(std::string(service.kind), [to = service.acceptors](auto stream) {
                to->give(std::move(stream));
            });
        }
        if (link != nullptr && service.one_port) {
            service.datagrams->share(link->datagrams());
        }
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
    if (link != nullptr) {
        link->exchange().add_inside("http", [this](auto inside, const io::SocketAddress& local) {
            public_http->give_inside(std::move(inside), local);
        });
    }
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
    WEIR_TRY(listeners.commit());
    keep_listeners();
    if (link != nullptr) {
        const uint32_t own = link->seat().index;
        WEIR_TRY(serve_at(ProcessStreams::socket_of(*link, own), *public_http));
        WEIR_TRY(serve_at(ProcessApi::socket_of(*link, own), *peer_http));
    }
    return {};
}

// A unix socket, for the other processes.
Error Server::Impl::serve_at(const std::string& socket, net::HttpServer& server) {
    WEIR_TRY_ASSIGN(io::OwnFd listening, io::open_unix_listening(socket));
    WEIR_TRY_ASSIGN(auto listener, io::TcpListener::adopt(std::move(listening)));
    return server.serve(std::move(listener));
}

// The supervisor has its own copies of them.
void Server::Impl::keep_listeners() {
    if (link != nullptr) {
        link->keep(listeners.opened_addresses(draining ? "api" : ""));
    }
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
    limits.set_connections_per_address(config.max_connections_per_ip, config.max_connections);
    relays.set_names(relay_names(config));
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
    const bool one_port = link != nullptr && config.rtc_server.single_port;
    const uint64_t peers = one_port ? config.rtc_server.max_sessions : 0;
    // An encrypted connection whose requests another process answers has two.
    const uint64_t connected = uint64_t{config.max_connections} * (link != nullptr ? 2 : 1);
    const uint64_t wanted = connected + peers + kOwnDescriptors;
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
                                              ProcessLink* link,
                                              const Wiring& wire) {
    auto server = std::unique_ptr<Server>(
        new Server(std::make_unique<Impl>(std::move(source), std::move(loaded), link, wire)));
    Impl& impl = *server->impl_;
    impl.warn_about_descriptors();
    WEIR_TRY(impl.start_workers());
    impl.set_up_api();
    impl.reloader.use(*impl.workers);
    impl.hooks.set_workers(impl.workers.get());
    impl.sources.set_workers(impl.workers.get());
    impl.cluster.set_workers(impl.workers.get());
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
        impl.start_cluster();
        impl.add_listeners();
        failed = impl.open_listeners(before_serving);
    }
    if (!failed) {
        for (const auto& protocol : impl.protocols.all()) {
            protocol->begin_serving();
        }
    }
    if (!failed) {
        failed = impl.cluster.start(impl.access.data().cluster);
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
                if (impl.link != nullptr) {
                    impl.link->beat(impl.figures());
                }
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
    if (link != nullptr) {
        link->ready();
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

size_t Server::bridges() const {
    return impl_->public_http->stats().bridges;
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
    impl_->keep_listeners();
}

void Server::stop() {
    const io::Deadline deadline = io::Deadline::after(kStopDeadline);
    const auto report = [](Error late) {
        if (late) {
            log::error("stopping: {}", late.message());
        }
    };
    if (impl_->link != nullptr) {
        impl_->link->exchange().clear();
    }
    impl_->reloader.stop(deadline);
    impl_->sources.stop(deadline);
    if (impl_->public_http) {
        report(impl_->public_http->stop(deadline));
    }
    if (impl_->api_http) {
        report(impl_->api_http->stop(deadline));
    }
    if (impl_->peer_http) {
        report(impl_->peer_http->stop(deadline));
    }
    for (const auto& protocol : impl_->protocols.all()) {
        report(protocol->stop(deadline));
    }
    impl_->leaks.stop();
    impl_->fanout.stop(deadline);
    impl_->cluster.stop(deadline);
    impl_->hooks.stop(deadline);  // everybody has left, and has to be told of
    impl_->tasks.interrupt_all();
    report(impl_->tasks.join_all(deadline));
}

}  // namespace weir::app
