#include "app/api/health_api.h"

namespace weir::app {
namespace {

constexpr int kUnavailable = 503;

std::string_view word_for(const Health& health) {
    return health.draining ? "draining" : "ok";
}

int status_for(const Health& health) {
    return health.draining ? kUnavailable : 200;
}

}  // namespace

void HealthApi::add_to(net::HttpRouter& router) {
    add_plain_to(router);
    net::HttpRouteOptions json;
    json.errors = http::ErrorFormat::kJson;
    router.add_prefix("/api/v1/health", json, [this](auto& exchange) { full(exchange); });
}

void HealthApi::add_plain_to(net::HttpRouter& router) {
    net::HttpRouteOptions open;
    open.access = net::HttpAccess::kOwnRules;  // supervisors ask without a login
    router.add_prefix("/healthz", open, [this](auto& exchange) { plain(exchange); });
}

void HealthApi::plain(net::HttpExchange& exchange) const {
    const Health health = health_();
    (void)exchange.respond(status_for(health), "text/plain", std::string(word_for(health)) + "\n",
                           {{"Cache-Control", "no-store"}});
}

void HealthApi::full(net::HttpExchange& exchange) const {
    const Health health = health_();
    const double uptime = static_cast<double>((MonoClock::now() - identity_.started).count()) / 1e6;
    net::Json body = net::envelope(identity_);
    body["data"] = {{"status", word_for(health)},
                    {"uptime_s", uptime},
                    {"publishers", health.clients.publishers},
                    {"players", health.clients.players}};
    (void)exchange.respond(status_for(health), "application/json", net::dumped(body) + "\n",
                           {{"Cache-Control", "no-store"}});
}

}  // namespace weir::app
