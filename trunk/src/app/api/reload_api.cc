#include "app/api/reload_api.h"

#include "proto/http/request.h"

namespace weir::app {
namespace {

constexpr std::string_view kPath = "/api/v1/reload";

}  // namespace

int status_of(const ReloadReport& report) {
    switch (report.outcome) {
        case ReloadReport::Outcome::kDone: return 200;
        case ReloadReport::Outcome::kRefused: return 400;
        case ReloadReport::Outcome::kConflict:
        case ReloadReport::Outcome::kBusy: return 409;
    }
    return 500;
}

net::Json reload_json(const net::ServerIdentity& identity, const ReloadReport& report) {
    net::Json body = net::envelope(identity);
    if (report.outcome != ReloadReport::Outcome::kDone) {
        body["code"] = status_of(report);
        body["error"] = "nothing was changed: the old configuration stays in force";
        net::Json errors = net::Json::array();
        for (const Diagnostic& error : report.errors) {
            errors.push_back({{"file", error.file},
                              {"line", error.line},
                              {"column", error.column},
                              {"message", error.message}});
        }
        body["errors"] = std::move(errors);
        return body;
    }
    net::Json changes = net::Json::array();
    bool restart = false;
    for (const config::SettingChange& change : report.changes) {
        restart = restart || change.effect == config::ChangeEffect::kRestart;
        changes.push_back({{"directive", change.directive},
                           {"vhost", change.vhost},
                           {"from", change.from},
                           {"to", change.to},
                           {"effect", to_string(change.effect)}});
    }
    body["data"] = {{"changes", std::move(changes)},
                    {"needs_restart", restart},
                    {"warnings", report.warnings},
                    {"took_ms", report.took.count()}};
    return body;
}

void ReloadApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    options.methods = http::method_bit(http::Method::kPost);
    router.add_prefix(std::string(kPath), options, [this](auto& exchange) { reload(exchange); });
}

void ReloadApi::reload(net::HttpExchange& exchange) {
    if (exchange.request().path != kPath) {
        (void)exchange.respond_error(404, "there is nothing below /api/v1/reload");
        return;
    }
    const ReloadReport report = reloader_.reload("api");
    (void)exchange.respond(status_of(report), "application/json",
                           net::dumped(reload_json(identity_, report)) + "\n");
}

}  // namespace weir::app
