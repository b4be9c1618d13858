#include "app/server.h"

#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "app/config_policy.h"
#include "app/cpu_affinity.h"
#include "app/diagnosis/leak_api.h"
#include "app/diagnosis/memory_api.h"
#include "app/diagnosis/objects_api.h"
#include "app/diagnosis/profile_api.h"
#include "app/diagnosis/profilers.h"
#include "app/heap_keeper.h"
#include "app/http_api.h"
#include "app/plants.h"
#include "app/process_stats.h"
#include "app/rtc_candidates.h"
#include "app/rtc_json_api.h"
#include "app/rtc_log.h"
#include "base/log.h"
#include "base/random.h"
#include "io/worker_pool.h"
#include "net/http/static_files.h"
#include "session/flv/flv_routes.h"
#include "session/rtmp/rtmp_server.h"
#include "session/webrtc/rtc_routes.h"
#include "session/webrtc/rtc_server.h"

namespace weir::app {
namespace {

constexpr size_t kWorkerQueue = 1024;
constexpr int kUdpBuffer = 4 << 20;
constexpr Millis kSamplePeriod{10'000};   // rates of the API
constexpr Millis kStopDeadline{800};      // "in under a second"
constexpr uint64_t kOwnDescriptors = 64;  // listeners, logs, files: what is not a connection

// "http://localhost:8080/" for a listener on every address, else its own one.
std::string clickable(std::string_view scheme,
                      const io::SocketAddress& address,
                      std::string_view path) {
    const std::string host =
        address.is_any() ? fmt::format("localhost:{}", address.port()) : address.to_string();
    return fmt::format("{}://{}{}", scheme, host, path);
}

}  // namespace

struct Server::Impl {
    explicit Impl(Config c)
        : config(std::move(c)),
          policy(config),
          fanout(registry),
          connections(config.max_connections),
          services{registry, fanout, clients, connections, policy},
          rtmp(services, rtmp_options()),
          flv(services),
          rtc(services, rtc_options()),
          rtc_routes(services, rtc, ice_servers()),
          who(identity()),
          rtc_json(who, rtc_routes),
          api(services, who, &rtc, rtmp_port()),
          objects(who),
          leaks(clients, who) {}

    session::RtmpServerOptions rtmp_options() const {
        session::RtmpServerOptions options;
        options.chunk_size = config.chunk_size;
        options.handshake = config.handshake_timeout;
        return options;
    }

    session::RtcServerOptions rtc_options() const {
        session::RtcServerOptions options;
        options.candidates = config.rtc_server.candidates;
        options.max_sessions = config.rtc_server.max_sessions;
        options.opus_bits_per_second = config.rtc_server.opus_bitrate;
        options.aac_bits_per_second = config.rtc_server.aac_bitrate;
        options.key_frame_interval = config.rtc_server.key_frame_interval;
        options.max_tcp_connections = config.max_connections;
        return options;
    }

    std::vector<session::IceServer> ice_servers() const {
        std::vector<session::IceServer> servers;
        for (const IceServerConfig& each : config.rtc_server.ice_servers) {
            servers.push_back({each.url, each.username, each.credential});
        }
        return servers;
    }

    uint16_t rtmp_port() const {
        const auto first = io::SocketAddress::parse(config.listen.at(0).address);
        return first.ok() ? first->port() : 0;
    }

    static ServerIdentity identity() {
        return {"vid-" + random_id(system_random(), 7), random_id(system_random(), 8),
                MonoClock::now()};
    }

    template <typename Serve>
    Error open(const std::vector<ListenAddress>& addresses,
               std::string_view scheme,
               std::string_view path,
               Serve&& serve);
    Error open_rtmp();
    Error open_http();
    Error open_api();
    Error open_rtc();
    std::unique_ptr<net::HttpServer> make_http(const net::HttpRouter& router);
    void warn_about_descriptors() const;
    void log_rtc();
    Error make_workers();
    Error start_workers();

    Config config;
    ConfigPolicy policy;
    stream::Registry registry;
    net::Fanout fanout;
    net::ClientTable clients;
    net::ConnectionBudget connections;
    net::Services services;
    session::RtmpServer rtmp;
    session::FlvRoutes flv;
    session::RtcServer rtc;
    session::RtcRoutes rtc_routes;
    ServerIdentity who;
    RtcJsonApi rtc_json;
    HttpApi api;
    ObjectsApi objects;
    LeakApi leaks;
    std::unique_ptr<io::WorkerPool> workers;
    std::optional<MemoryApi> memory;
    std::optional<ProfileApi> profiles;
    std::unique_ptr<net::StaticFiles> files;
    net::HttpRouter public_router;
    net::HttpRouter api_router{[] {
        net::HttpRouteOptions options;
        options.errors = net::HttpErrorFormat::kJson;
        return options;
    }()};
    std::unique_ptr<net::HttpServer> public_http;
    std::unique_ptr<net::HttpServer> api_http;
    HeapKeeper heap;
    RtcLog rtc_log;
    io::TaskGroup tasks;
};

template <typename Serve>
Error Server::Impl::open(const std::vector<ListenAddress>& addresses,
                         std::string_view scheme,
                         std::string_view path,
                         Serve&& serve) {
    for (const ListenAddress& listen : addresses) {
        Result<io::SocketAddress> address = io::SocketAddress::parse(listen.address);
        if (!address.ok()) {
            return std::move(address).take_error().with_context(listen.origin);
        }
        Result<std::unique_ptr<io::TcpListener>> listener = io::TcpListener::listen(*address);
        if (!listener.ok()) {
            return std::move(listener).take_error().with_context(listen.origin);
        }
        log::info("listening {}", clickable(scheme, (*listener)->local(), path));
        WEIR_TRY(serve(std::move(*listener)));
    }
    return {};
}

Error Server::Impl::open_rtmp() {
    return open(config.listen, "rtmp", "/live/livestream",
                [this](std::unique_ptr<io::TcpListener> listener) {
                    return rtmp.serve(std::move(listener));
                });
}

std::unique_ptr<net::HttpServer> Server::Impl::make_http(const net::HttpRouter& router) {
    net::HttpServerOptions options;
    options.admit = [this] { return connections.take(); };
    options.release = [this] { connections.give_back(); };
    options.header_timeout = config.handshake_timeout;
    return net::HttpServer::create(router, std::move(options));
}

Error Server::Impl::open_http() {
    if (!config.http_server.enabled) {
        return {};
    }
    net::StaticFilesOptions options;
    options.root = config.http_server.dir;
    files = std::make_unique<net::StaticFiles>(std::move(options), *workers);
    flv.add_to(public_router);
    rtc_routes.add_to(public_router);
    rtc_json.add_to(public_router);
    api.add_live_to(public_router);
    net::HttpRouteOptions open_to_all;
    open_to_all.cors = true;
    public_router.add_prefix("/", open_to_all,
                             [this](net::HttpExchange& exchange) { files->handle(exchange); });
    public_http = make_http(public_router);
    return open(config.http_server.listen, "http", "/",
                [this](std::unique_ptr<io::TcpListener> listener) {
                    return public_http->serve(std::move(listener));
                });
}

Error Server::Impl::open_api() {
    if (!config.http_api.enabled) {
        return {};
    }
    api.add_to(api_router);
    objects.add_to(api_router);
    memory.emplace(who, services, &rtc, *workers).add_to(api_router);
    WEIR_TRY(leaks.start(make_leak_tool(), [this] { return api_http->stats().open; }));
    leaks.add_to(api_router);
    profiles.emplace(who, *workers).add_to(api_router);
    add_plants(api_router, who);
    rtc_routes.add_to(api_router);  // where clients made for SRS expect them
    rtc_json.add_to(api_router);
    api_http = make_http(api_router);
    return open(config.http_api.listen, "http", "/api/v1/summaries",
                [this](std::unique_ptr<io::TcpListener> listener) {
                    return api_http->serve(std::move(listener));
                });
}

Error Server::Impl::open_rtc() {
    if (!config.rtc_server.enabled) {
        return {};
    }
    WEIR_TRY(rtc.start(workers.get()));
    for (const ListenAddress& listen : config.rtc_server.listen) {
        Result<io::SocketAddress> address = io::SocketAddress::parse(listen.address);
        if (!address.ok()) {
            return std::move(address).take_error().with_context(listen.origin);
        }
        io::UdpOptions options;
        options.receive_buffer_bytes = kUdpBuffer;
        options.send_buffer_bytes = kUdpBuffer;
        Result<std::unique_ptr<io::UdpSocket>> socket = io::UdpSocket::bind(*address, options);
        if (!socket.ok()) {
            return std::move(socket).take_error().with_context(listen.origin);
        }
        if ((*socket)->receive_buffer_bytes() < kUdpBuffer) {
            log::warn(
                "the kernel gives {} KiB of receive buffer to the UDP port, {} were asked for: "
                "bursts may be lost; sysctl net.core.rmem_max={} raises it (doc/performance.md)",
                (*socket)->receive_buffer_bytes() / 1024, kUdpBuffer / 1024, kUdpBuffer);
        }
        const io::SocketAddress bound = (*socket)->local();
        log::info("listening udp://{} for WebRTC", bound.to_string());
        WEIR_TRY(rtc.serve(std::move(*socket)));
        if (!config.rtc_server.tcp) {
            continue;
        }
        Result<std::unique_ptr<io::TcpListener>> listener = io::TcpListener::listen(bound);
        if (!listener.ok()) {
            return std::move(listener).take_error().with_context(listen.origin);
        }
        log::info("listening tcp://{} for WebRTC", (*listener)->local().to_string());
        WEIR_TRY(rtc.serve(std::move(*listener)));
    }
    log::info("webrtc candidates {}", rtc.candidate_text());
    return {};
}

void Server::Impl::log_rtc() {
    if (!rtc.serving()) {
        return;
    }
    if (const std::optional<std::string> line = rtc_log.line(RtcFigures::of(rtc))) {
        if (rtc_log.dropped()) {
            log::warn("{}", *line);
        } else {
            log::info("{}", *line);
        }
    }
}

void Server::Impl::warn_about_descriptors() const {
    const uint64_t wanted = config.max_connections + kOwnDescriptors;
    const uint64_t limit = process_stats().max_descriptors;
    if (limit < wanted) {
        log::warn(
            "max_connections {} needs {} file descriptors, the limit is {}: raise it (ulimit -n "
            "{}, or LimitNOFILE in "
            "the service file) or lower max_connections",
            config.max_connections, wanted, limit, wanted);
    }
}

Error Server::Impl::make_workers() {
    WEIR_TRY_ASSIGN(workers, io::WorkerPool::create(config.worker_threads, kWorkerQueue));
    return {};
}

// Threads take over the cores of the one that makes them: this thread is on the workers' cores
// meanwhile, and on its own ones afterwards. Where nothing is configured nothing is touched.
Error Server::Impl::start_workers() {
    const CoreNumbers own = config.cpu_affinity.numbers();
    const CoreNumbers of_workers = config.worker_cpu_affinity.numbers();
    if (own.empty() && of_workers.empty()) {
        return make_workers();
    }
    const CoreNumbers before = current_cores();
    WEIR_TRY_ASSIGN(const cpu_set_t mask, core_mask());
    WEIR_TRY(run_on_cores(of_workers));
    WEIR_TRY(make_workers());
    WEIR_TRY(own.empty() ? put_back(mask) : run_on_cores(own));
    log::info("cores media={} workers={}", core_list_text(own.empty() ? before : own),
              core_list_text(of_workers.empty() ? before : of_workers));
    return {};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() = default;

// What the environment says instead of the configuration.
Error apply_environment(Config& config) {
    if (!config.rtc_server.enabled) {
        return {};
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread yet
    const char* own = std::getenv("WEIR_CANDIDATE");
    const char* plain = std::getenv("CANDIDATE");  // NOLINT(concurrency-mt-unsafe)
    WEIR_TRY_ASSIGN(RtcCandidates chosen,
                    choose_candidates(config.rtc_server.candidates, own, plain));
    log::info("webrtc candidates from={}", chosen.source);
    config.rtc_server.candidates = std::move(chosen.addresses);
    return {};
}

Result<std::unique_ptr<Server>> Server::start(Config config) {
    WEIR_TRY(apply_environment(config));
    auto server = std::unique_ptr<Server>(new Server(std::make_unique<Impl>(std::move(config))));
    Impl& impl = *server->impl_;
    impl.warn_about_descriptors();
    WEIR_TRY(impl.start_workers());
    Error failed = impl.open_rtmp();
    if (!failed) {
        failed = impl.open_rtc();
    }
    if (!failed) {
        failed = impl.open_http();
    }
    if (!failed) {
        failed = impl.open_api();
    }
    if (!failed) {
        failed = impl.tasks.spawn("client rates", io::StackSize::kNormal, [&impl] {
            while (!io::sleep_for(kSamplePeriod)) {
                impl.clients.sample(MonoClock::now());
                impl.heap.tidy();
                impl.log_rtc();
                limit_cpu_profile(MonoClock::now());
            }
        });
    }
    if (failed) {
        server->stop();
        return failed;
    }
    return server;
}

void Server::stop() {
    const io::Deadline deadline = io::Deadline::after(kStopDeadline);
    const auto report = [](Error late) {
        if (late) {
            log::error("stopping: {}", late.message());
        }
    };
    report(impl_->rtmp.stop(deadline));
    if (impl_->public_http) {
        report(impl_->public_http->stop(deadline));
    }
    if (impl_->api_http) {
        report(impl_->api_http->stop(deadline));
    }
    report(impl_->rtc.stop(deadline));
    impl_->leaks.stop();
    impl_->fanout.stop(deadline);
    impl_->tasks.interrupt_all();
    report(impl_->tasks.join_all(deadline));
}

}  // namespace weir::app
