#include "app/api/health_api.h"

#include <fmt/format.h>

#include "proto/http/request.h"

namespace weir::app {
namespace {

constexpr int kOk = 200;
constexpr int kAccepted = 202;
constexpr int kUnavailable = 503;

// "ok", "ok registry=away", "busy media_thread=0.94".
std::string line_for(const Health& health) {
    std::string line(to_string(health.state));
    if (health.state == Readiness::State::kBusy) {
        line += fmt::format(" media_thread={:.2f}", health.busy_ratio);
    }
    if (!health.registry.empty() && health.registry != "ok") {
        line += " registry=" + health.registry;
    }
    return line;
}

net::Json data_of(const Health& health, const net::ServerIdentity& identity) {
    const double uptime = static_cast<double>((MonoClock::now() - identity.started).count()) / 1e6;
    net::Json data = {{"status", to_string(health.state)},
                      {"ready", health.state == Readiness::State::kReady},
                      {"uptime_s", uptime},
                      {"busy_ratio", health.busy_ratio},
                      {"publishers", health.clients.publishers},
                      {"players", health.clients.players}};
    if (!health.registry.empty()) {
        data["registry"] = health.registry;
    }
    return data;
}

}  // namespace

void HealthApi::add_to(net::HttpRouter& router) {
    add_plain_to(router);
    net::HttpRouteOptions json;
    json.errors = http::ErrorFormat::kJson;
    router.add_prefix("/api/v1/health", json, [this](auto& exchange) { full(exchange); });
    json.methods = http::method_bit(http::Method::kPost);
    router.add_prefix("/api/v1/drain", json, [this](auto& exchange) { drain(exchange); });
}

void HealthApi::add_plain_to(net::HttpRouter& router) {
    net::HttpRouteOptions open;
    open.access = net::HttpAccess::kOwnRules;  // supervisors and balancers ask without a login
    router.add_prefix("/healthz", open, [this](auto& exchange) { live(exchange); });
    router.add_prefix("/readyz", open, [this](auto& exchange) { ready(exchange); });
}

// Who is answered at all is answered by the media thread: it works.
void HealthApi::live(net::HttpExchange& exchange) const {
    (void)exchange.respond(kOk, "text/plain", "ok\n", {{"Cache-Control", "no-store"}});
}

void HealthApi::ready(net::HttpExchange& exchange) const {
    const Health health = asks_.health(exchange);
    std::string line = line_for(health);
    if (health.state == Readiness::State::kDraining && asks_.is_local(exchange)) {
        line += fmt::format(" {} pid={}", to_string(health.clients), health.pid);  // weir --drain
    }
    (void)exchange.respond(health.state == Readiness::State::kReady ? kOk : kUnavailable,
                           "text/plain", line + "\n", {{"Cache-Control", "no-store"}});
}

void HealthApi::full(net::HttpExchange& exchange) const {
    net::Json body = net::envelope(identity_);
    body["data"] = data_of(asks_.health(exchange), identity_);
    (void)exchange.respond(kOk, "application/json", net::dumped(body) + "\n",
                           {{"Cache-Control", "no-store"}});
}

void HealthApi::drain(net::HttpExchange& exchange) const {
    if (exchange.request().path != "/api/v1/drain") {
        (void)exchange.respond_error(404, "there is nothing below /api/v1/drain");
        return;
    }
    if (!asks_.drain()) {
        (void)exchange.respond_error(kUnavailable, "the server is about to start or to end");
        return;
    }
    Health health = asks_.health(exchange);
    health.state = Readiness::State::kDraining;
    net::Json body = net::envelope(identity_);
    body["data"] = data_of(health, identity_);
    (void)exchange.respond(kAccepted, "application/json", net::dumped(body) + "\n");
}

}  // namespace weir::app
