// /live.json: what is live and, for whoever may know it, how the server is. No client, no address
// of anybody.
#include <cmath>

#include "app/access/open_to_all.h"
#include "app/api/health_monitor.h"
#include "app/api/http_api.h"
#include "app/api/live_merge.h"
#include "net/hooks.h"
#include "net/http/router.h"
#include "net/policy.h"
#include "net/trusted_proxies.h"
#include "proto/http/request.h"
#include "proto/http/response.h"

namespace weir::app {
namespace {

double rounded(float value) {
    return std::round(static_cast<double>(value) * 1000) / 1000;
}

}  // namespace

// The newest figures and, with `history`, those of the last minutes as one list for each: oldest
// first, kPeriod apart.
net::Json HttpApi::health_json(bool history) const {
    if (health_ == nullptr) {
        return nullptr;
    }
    const HealthPoint& now = health_->newest();
    net::Json json = {{"time_ms", now.wall_ms},
                      {"period_ms", (HealthMonitor::kTick * HealthMonitor::kTicksPerPoint).count()},
                      {"uptime_s", (MonoClock::now() - identity_.started).count() / 1'000'000},
                      {"cpu", rounded(now.cpu)},
                      {"busy", rounded(now.busy)},
                      {"memory_kib", now.memory_kib},
                      {"recv_kbps", now.received_kbps},
                      {"send_kbps", now.sent_kbps},
                      {"players", now.players},
                      {"live", now.live},
                      {"drops", now.drops}};
    if (!history) {
        return json;
    }
    net::Json lists = {{"time_ms", net::Json::array()},   {"cpu", net::Json::array()},
                       {"busy", net::Json::array()},      {"memory_kib", net::Json::array()},
                       {"recv_kbps", net::Json::array()}, {"send_kbps", net::Json::array()},
                       {"players", net::Json::array()},   {"live", net::Json::array()},
                       {"drops", net::Json::array()}};
    for (const HealthPoint& point : health_->history()) {
        lists["time_ms"].push_back(point.wall_ms);
        lists["cpu"].push_back(rounded(point.cpu));
        lists["busy"].push_back(rounded(point.busy));
        lists["memory_kib"].push_back(point.memory_kib);
        lists["recv_kbps"].push_back(point.received_kbps);
        lists["send_kbps"].push_back(point.sent_kbps);
        lists["players"].push_back(point.players);
        lists["live"].push_back(point.live);
        lists["drops"].push_back(point.drops);
    }
    json["history"] = std::move(lists);
    return json;
}

void HttpApi::set_live_elsewhere(std::function<std::vector<std::string>(bool history)> ask) {
    live_elsewhere_ = std::move(ask);
    live_of_all_.set_others([this] { return live_elsewhere_(false); });
}

// Yields, when the history of the others has to be asked for.
net::Json HttpApi::health_of_all(bool history, const std::vector<net::Json>& elsewhere) const {
    std::vector<net::Json> all{health_json(history)};
    if (!history) {
        all.insert(all.end(), elsewhere.begin(), elsewhere.end());
    } else {
        for (const std::string& text : live_elsewhere_(true)) {
            all.push_back(LiveLinesView::health_in(text));
        }
    }
    return merge_health(all);
}

void HttpApi::add_live_to(net::HttpRouter& router) {
    add_live_to(router, [](const net::HttpExchange& exchange) {
        return LiveView{.alone = exchange.request().query.get("process").has_value()};
    });
}

void HttpApi::add_live_to(net::HttpRouter& router,
                          std::function<LiveView(const net::HttpExchange&)> view) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix("/live.json", options, [this, view = std::move(view)](auto& exchange) {
        live(exchange, view(exchange));
    });
}

// Whether whoever asks could play the stream as he is: without a key, and without a hook server
// that has to say yes; a page of a stranger, whatever the address that asks.
bool HttpApi::plays_openly(const net::HttpExchange& exchange,
                           const LiveView& view,
                           const stream::StreamKey& key) const {
    const auto allowed = [&](const io::SocketAddress& peer) {
        return services_.policy.plays_openly({.key = key,
                                              .peer = peer,
                                              .http = &exchange.request(),
                                              .secure = exchange.secure(),
                                              .transport = "flv"});
    };
    return allowed(exchange.peer()) && !services_.hooks.asks(net::HookAction::kPlay, key) &&
           (!view.stranger || allowed(nobody()));
}

void HttpApi::live(net::HttpExchange& exchange, const LiveView& view) {
    const std::string_view asked = exchange.request().query.get_or("history", "0");
    if (asked != "0" && asked != "1") {
        (void)exchange.respond_error(400, "history must be 1 or 0");
        return;
    }
    const bool history = view.health && asked == "1";
    const auto shows = [&](const stream::StreamKey& key) {
        return view.list == config::StreamList::kAll ||
               (view.list == config::StreamList::kOpen && plays_openly(exchange, view, key));
    };
    const bool of_all = live_elsewhere_ && !view.alone;
    const auto head = [&](const std::vector<net::Json>& elsewhere) {
        net::Json json = net::Json::object();
        for (const auto& protocol : protocols_.all()) {
            protocol->add_page_facts(json);
        }
        json["list"] = to_string(view.list);
        json["health"] = !view.health ? net::Json(nullptr)
                         : of_all     ? health_of_all(history, elsewhere)
                                      : health_json(history);
        if (http_port_) {
            json["http_port"] = http_port_(false);
            json["https_port"] = http_port_(true);
        }
        return json;
    };
    const std::string kind = fmt::format("{}{}{}", to_string(view.list), view.health, history);
    // One for all who see the same: a thousand that read slowly must not have a thousand copies.
    LiveList& list = of_all ? live_of_all_ : live_;
    const std::shared_ptr<const std::string> text = list.text(shows, kind, head);
    if (!exchange.begin(200, "application/json", text->size(), {{"Cache-Control", "no-store"}})) {
        (void)exchange.write(as_bytes(*text));
    }
}

}  // namespace weir::app
