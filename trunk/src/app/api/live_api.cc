// /live.json of the public server: what is live, and how the server is. No client, no address of
// anybody.
#include <cmath>

#include "app/api/listing.h"
#include "app/api/stream_json.h"
#include "app/http_api.h"

namespace weir::app {
namespace {

constexpr Millis kLiveFresh{500};  // every page asks, again and again

double rounded(float value) {
    return std::round(static_cast<double>(value) * 1000) / 1000;
}

}  // namespace

// The newest figures and, with `history`, those of the last minutes as one list for each: oldest
// first, kPeriod apart.
Json HttpApi::health_json(bool history) const {
    if (health_ == nullptr) {
        return nullptr;
    }
    const HealthPoint& now = health_->newest();
    Json json = {{"time_ms", now.wall_ms},
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
    Json lists = {
        {"time_ms", Json::array()},    {"cpu", Json::array()},       {"busy", Json::array()},
        {"memory_kib", Json::array()}, {"recv_kbps", Json::array()}, {"send_kbps", Json::array()},
        {"players", Json::array()},    {"live", Json::array()},      {"drops", Json::array()}};
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

void HttpApi::add_live_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = net::HttpErrorFormat::kJson;
    router.add_prefix("/live.json", options, [this](auto& exchange) { live(exchange); });
}

void HttpApi::live(net::HttpExchange& exchange) {
    const std::string_view asked = exchange.request().query.get_or("history", "0");
    if (asked != "0" && asked != "1") {
        (void)exchange.respond_error(400, "history must be 1 or 0");
        return;
    }
    const bool history = asked == "1";
    LiveText& kept = live_[history ? 1 : 0];
    const bool fresh = kept.text && MonoClock::now() - kept.at < kLiveFresh;
    if (!fresh && !(kept.text && kept.is_made)) {
        kept.is_made = true;
        ListText list;
        stream::StreamKey key;
        while (const stream::Stream* stream = services_.registry.after(key)) {
            key = stream->key();
            if (stream->live()) {
                list.add(live_json(*stream, services_, rtc_, MonoClock::now()));
            }
            list.pause_if_long();
        }
        Json head = {{"rtmp_port", rtmp_port_}, {"health", health_json(history)}};
        if (http_port_) {
            head["http_port"] = http_port_(false);
            head["https_port"] = http_port_(true);
        }
        kept.text = std::make_shared<const std::string>(list.take(head, "streams"));
        kept.at = MonoClock::now();
        kept.is_made = false;
    }
    // One for all who ask: a thousand that read slowly must not have a thousand copies.
    const std::shared_ptr<const std::string> text = kept.text;
    if (!exchange.begin(200, "application/json", text->size(), {{"Cache-Control", "no-store"}})) {
        (void)exchange.write(as_bytes(*text));
    }
}

}  // namespace weir::app
