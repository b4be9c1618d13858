// The HTTP side of the server: its two routers, what each request has to pass, and the API.
#include <algorithm>

#include "app/api/stream_json.h"
#include "app/run/server_impl.h"
#include "net/http/server.h"
#include "net/trusted_proxies.h"

namespace weir::app {

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
    if (exchange.encrypted()) {
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

// The clients are those of all processes, unless another process asks what is here.
Health Server::Impl::current_health(net::HttpExchange& exchange) const {
    Health now{.state = readiness.state(),
               .busy_ratio = readiness.busy_ratio(),
               .clients = remaining(),
               .registry = registry_state ? registry_state() : std::string(),
               .pid = ::getpid()};
    if (link == nullptr) {
        return now;
    }
    now.pid = ::getppid();  // the supervisor
    for (uint32_t i = 0; i < link->seat().count; i++) {
        if (i != link->seat().index && !exchange.by_process()) {
            const ProcessFigures figures = link->figures_of(i);
            const uint64_t known = figures.publishers + figures.players;
            now.clients.publishers += figures.publishers;
            now.clients.players += figures.players;
            now.clients.others += figures.clients - std::min(figures.clients, known);
        }
    }
    return now;
}

ProcessFigures Server::Impl::figures() const {
    const Remaining now = remaining();
    return {.busy = static_cast<uint64_t>(std::clamp(health.newest().busy, 0.0F, 1.0F) * 1'000),
            .clients = now.total(),
            .streams = health.newest().live,
            .publishers = now.publishers,
            .players = now.players,
            .pid = static_cast<uint64_t>(::getpid())};
}

// Routers and servers are there whatever is enabled: a reload may want them.
Error Server::Impl::fill_public() {
    net::StaticFilesOptions options;
    options.root = pages_folder(config.http_server.dir);
    options.no_file =
        "there is no such page; a stream is at /APP/STREAM.flv, .ts, .m3u8, .mpd, and its picture "
        "at .jpg; the page at / has a player for it";
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
    served.placement = services.placement;
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
    if (!config.cluster.enabled ||
        (request.headers.has(cluster::kRelayField) && request.path.ends_with(".flv") &&
         !relays.secret(exchange.by_process()).empty()) ||
        request.path == "/healthz" || request.path == "/readyz") {
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
    cluster_api.add_to(api_router);
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
    guard.add_to(api_router, who);
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
        return guard.admit(exchange, route) && !(process_api && process_api->serve(exchange));
    };
    api_http = net::HttpServer::create(api_router, std::move(guarded));
    add_processes_to(api_router, who, link, [this] { return figures(); });
    if (link != nullptr) {
        process_api.emplace(*link);
        api.set_live_elsewhere([this](bool history) {
            return process_api->ask_others(history ? "/live.json?history=1" : "/live.json");
        });
        net::HttpServerOptions of_processes;
        of_processes.header_timeout = config.handshake_timeout;
        peer_http = net::HttpServer::create(api_router, std::move(of_processes));
    }
    api.set_live_of_cluster([this] {
        std::vector<net::Json> items;
        const int64_t now = wall_time_ms();
        for (const StreamElsewhere& each : *streams_elsewhere.list()) {
            items.push_back(
                live_json_elsewhere(each.key, std::max<int64_t>(0, now - each.since_ms)));
        }
        return items;
    });
    return {};
}

void Server::Impl::set_up_api() {
    api.use(*workers);
    api.use(health);
    api.add_summary("log", log_json);
    api.add_summary("hooks", [this] { return hooks_json(hooks.stats()); });
    api.add_metrics([this](net::Exposition& text) { hook_metrics(text, hooks.stats()); });
    api.add_metrics([this](net::Exposition& text) { sources.add_metrics(text); });
    api.add_metrics([this](net::Exposition& text) { cluster_api.add_metrics(text); });
    api.add_metrics([this](net::Exposition& text) {
        text.single("weir_draining", "gauge", "Whether nobody new is let in: 1 after SIGQUIT.",
                    draining ? 1 : 0);
        text.single("weir_ready", "gauge", "Whether new clients should come here, as /readyz says.",
                    readiness.state() == Readiness::State::kReady ? 1 : 0);
    });
    if (link != nullptr) {
        api.add_metrics([this](net::Exposition& text) {
            const ConnectionExchange::Stats& moved = link->exchange().stats();
            text.single("weir_process_moved_total", "counter",
                        "Connections of players that this process gave to another one.",
                        moved.given);
            text.single("weir_process_bridged_total", "counter",
                        "Encrypted connections whose requests another process answers.",
                        public_http->stats().bridged);
            text.single("weir_process_move_waits_total", "counter",
                        "Moves that waited until the other process took those before them.",
                        moved.waited);
            text.single("weir_process_move_refused_total", "counter",
                        "Connections that stayed, as the other process did not take them.",
                        moved.refused);
            text.single("weir_process_move_lost_total", "counter",
                        "Connections that waited for a process that ended.", moved.lost);
            text.single("weir_process_received_total", "counter",
                        "Connections of players that this process got from another one.",
                        moved.taken);
        });
    }
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

}  // namespace weir::app
