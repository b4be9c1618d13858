#include "app/http_api.h"

#include <unistd.h>

#include "app/cpu_affinity.h"
#include "app/metrics.h"
#include "app/stream_json.h"
#include "base/strings.h"
#include "base/version.h"

namespace weir::app {
namespace {

constexpr uint64_t kDefaultPage = 10;
constexpr uint64_t kMaxPage = 1000;

struct Page {
    uint64_t start = 0;
    uint64_t count = kDefaultPage;
};

// ?start=&count=; false when one of them is no number.
bool read_page(const net::HttpRequest& request, Page& page) {
    const auto start = parse_uint(request.query.get_or("start", "0"));
    const auto count =
        parse_uint(request.query.get_or("count", std::to_string(kDefaultPage)), 1, kMaxPage);
    if (!start || !count) {
        return false;
    }
    page = {*start, *count};
    return true;
}

Json rtc_json(const session::RtcServer& rtc) {
    const session::RtcServerStats& stats = rtc.stats();
    const io::UdpStats udp = rtc.udp_stats();
    return {{"sessions", rtc.sessions()},
            {"sessions_made", stats.sessions_made},
            {"sessions_refused", stats.sessions_refused},
            {"never_connected", stats.never_connected},
            {"candidates", rtc.candidate_text()},
            {"udp",
             {{"received", udp.received},
              {"received_bytes", udp.received_bytes},
              {"sent", udp.sent},
              {"sent_bytes", udp.sent_bytes},
              {"send_calls", udp.send_calls},
              {"send_blocked", udp.send_blocked},
              {"send_refused", udp.send_refused},
              {"kernel_drops", udp.kernel_drops},
              {"app_drops", stats.dropped() + udp.oversized}}},
            {"app_drops",
             {{"unknown_datagrams", stats.unknown_datagrams},
              {"unknown_stun", stats.unknown_stun},
              {"malformed", stats.malformed},
              {"unauthentic", stats.unauthentic},
              {"replayed", stats.replayed},
              {"oversized", udp.oversized}}}};
}

constexpr const char* kPageReason = "start must be a number of 0 or more, count one of 1 to 1000";

// The part of the path behind "/api/v1/NAME/", empty for the collection.
std::string_view id_in(const net::HttpRequest& request, std::string_view collection) {
    std::string_view path = request.path;
    path.remove_prefix(std::min(path.size(), collection.size()));
    return trim(path).size() > 1 ? path.substr(1) : std::string_view();
}

}  // namespace

HttpApi::HttpApi(const net::Services& services,
                 ServerIdentity identity,
                 const session::RtcServer* rtc,
                 uint16_t rtmp_port)
    : services_(services), identity_(std::move(identity)), rtc_(rtc), rtmp_port_(rtmp_port) {}

void HttpApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions json;
    json.errors = net::HttpErrorFormat::kJson;
    net::HttpRouteOptions kickable = json;
    kickable.methods |= method_bit(net::HttpMethod::kDelete);
    router.add_prefix("/api/v1/versions", json, [this](auto& exchange) { versions(exchange); });
    router.add_prefix("/api/v1/summaries", json, [this](auto& exchange) { summaries(exchange); });
    router.add_prefix("/api/v1/streams", json, [this](auto& exchange) { streams(exchange); });
    router.add_prefix("/api/v1/clients", kickable, [this](auto& exchange) { clients(exchange); });
    router.add_prefix("/metrics", json, [this](auto& exchange) { metrics(exchange); });
}

void HttpApi::add_live_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = net::HttpErrorFormat::kJson;
    router.add_prefix("/live.json", options, [this](auto& exchange) { live(exchange); });
}

void HttpApi::versions(net::HttpExchange& exchange) {
    Json body = envelope(identity_);
    body["data"] = {{"major", kVersionMajor},
                    {"minor", kVersionMinor},
                    {"revision", kVersionRevision},
                    {"version", kVersion}};
    answer(exchange, body);
}

void HttpApi::summaries(net::HttpExchange& exchange) {
    const ProcessStats process = process_stats();
    const double uptime = static_cast<double>((MonoClock::now() - identity_.started).count()) / 1e6;
    Json body = envelope(identity_);
    body["data"] = {{"ok", true},
                    {"now_ms", wall_time_ms()},
                    {"self",
                     {{"version", kVersion},
                      {"pid", getpid()},
                      {"mem_kbyte", process.resident_bytes / 1024},
                      {"cpu_seconds", process.cpu_seconds},
                      {"cpu_percent_average", uptime > 0 ? process.cpu_seconds / uptime * 100 : 0},
                      {"srs_uptime", uptime},
                      {"uptime_s", uptime},
                      {"cpu_affinity", core_list_text(current_cores())},
                      {"open_descriptors", process.open_descriptors},
                      {"max_descriptors", process.max_descriptors}}},
                    {"streams", services_.registry.size()},
                    {"clients", services_.clients.size()},
                    {"clients_total", services_.clients.total()},
                    {"connections",
                     {{"used", services_.connections.used()},
                      {"limit", services_.connections.limit()},
                      {"refused", services_.connections.refused()}}}};
    if (rtc_ != nullptr && rtc_->serving()) {
        body["data"]["webrtc"] = rtc_json(*rtc_);
    }
    answer(exchange, body);
}

void HttpApi::streams(net::HttpExchange& exchange) {
    const std::string_view id = id_in(exchange.request(), "/api/v1/streams");
    Page page;
    if (!read_page(exchange.request(), page)) {
        (void)exchange.respond_error(400, kPageReason);
        return;
    }
    const MonoTime now = MonoClock::now();
    const TrafficByStream traffic(services_.clients);
    Json list = Json::array();
    Json found;
    uint64_t at = 0;
    services_.registry.for_each([&](const stream::Stream& stream) {
        if (!id.empty() && stream_id(stream) == id) {
            found = stream_json(stream, services_, rtc_, traffic, now);
        } else if (id.empty() && at >= page.start && at < page.start + page.count) {
            list.push_back(stream_json(stream, services_, rtc_, traffic, now));
        }
        at++;
    });
    Json body = envelope(identity_);
    if (id.empty()) {
        body["total"] = at;
        body["streams"] = std::move(list);
    } else if (found.is_null()) {
        (void)exchange.respond_error(404, "no stream with that id; GET /api/v1/streams lists them");
        return;
    } else {
        body["stream"] = std::move(found);
    }
    answer(exchange, body);
}

void HttpApi::clients(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const std::string_view id = id_in(request, "/api/v1/clients");
    const MonoTime now = MonoClock::now();
    Json body = envelope(identity_);
    if (!id.empty()) {
        net::Client* client = services_.clients.find(id);
        if (!client) {
            (void)exchange.respond_error(404,
                                         "no client with that id; GET /api/v1/clients lists them");
            return;
        }
        if (request.method == net::HttpMethod::kDelete) {
            if (client->kick) {
                client->kick();
            }
        } else {
            body["client"] = client_json(*client, now);
        }
        answer(exchange, body);
        return;
    }
    Page page;
    if (request.method == net::HttpMethod::kDelete || !read_page(request, page)) {
        (void)exchange.respond_error(400, request.method == net::HttpMethod::kDelete
                                              ? "name the client to kick: DELETE /api/v1/clients/ID"
                                              : kPageReason);
        return;
    }
    Json list = Json::array();
    uint64_t at = 0;
    services_.clients.for_each([&](const net::Client& client) {
        if (at >= page.start && at < page.start + page.count) {
            list.push_back(client_json(client, now));
        }
        at++;
    });
    body["total"] = at;
    body["clients"] = std::move(list);
    answer(exchange, body);
}

void HttpApi::metrics(net::HttpExchange& exchange) {
    (void)exchange.respond(200, "text/plain; version=0.0.4; charset=utf-8",
                           metrics_text(services_, rtc_, identity_.started));
}

void HttpApi::live(net::HttpExchange& exchange) {
    Json list = Json::array();
    const MonoTime now = MonoClock::now();
    services_.registry.for_each([&](const stream::Stream& stream) {
        if (stream.live()) {
            list.push_back(live_json(stream, services_, rtc_, now));
        }
    });
    (void)exchange.respond(
        200, "application/json",
        dumped(Json{{"rtmp_port", rtmp_port_}, {"streams", std::move(list)}}) + "\n",
        {{"Cache-Control", "no-store"}});
}

}  // namespace weir::app
