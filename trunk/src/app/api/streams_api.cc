// /api/v1/streams and /api/v1/vhosts.
#include <map>

#include "app/api/http_api.h"
#include "app/api/listing.h"
#include "app/api/stream_json.h"
#include "net/client_table.h"
#include "proto/http/method.h"
#include "proto/http/request.h"
#include "stream/registry.h"

namespace weir::app {
namespace {

constexpr std::string_view kStreams = "/api/v1/streams";
constexpr std::string_view kVhosts = "/api/v1/vhosts";

// What follows "/api/v1/NAME/", empty for the collection.
std::string_view id_in(const http::Request& request, std::string_view collection) {
    std::string_view path = request.path;
    path.remove_prefix(std::min(path.size(), collection.size() + 1));
    return path;
}

struct VhostCounts {
    uint64_t streams = 0;
    uint64_t clients = 0;
    uint64_t sent = 0;
    uint64_t received = 0;
    net::BitRates send{};
    net::BitRates receive{};
};

}  // namespace

void HttpApi::streams(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const std::string_view id = id_in(request, kStreams);
    const bool ends = request.method == http::Method::kDelete;
    if (id.empty()) {
        if (ends) {
            (void)exchange.respond_error(
                405, "name the stream whose publisher shall go: DELETE /api/v1/streams/ID",
                {{"Allow", "GET, HEAD"}});
            return;
        }
        list_streams(exchange);
        return;
    }
    const stream::Stream* found = nullptr;
    services_.registry.for_each([&](const stream::Stream& stream) {
        if (found == nullptr && stream_id(stream.key()) == id) {
            found = &stream;
        }
    });
    if (found == nullptr) {
        (void)exchange.respond_error(404, "no stream with that id; GET /api/v1/streams lists them");
        return;
    }
    if (ends) {
        end_stream(exchange, *found);
        return;
    }
    net::Json body = net::envelope(identity_);
    body["stream"] = stream_json(*found, services_, protocols_, MonoClock::now());
    answer(exchange, body);
}

void HttpApi::list_streams(net::HttpExchange& exchange) {
    const http::Query& query = exchange.request().query;
    const Result<Page> page = Page::read(query);
    const Result<ListFilterView> filter = ListFilterView::of_streams(query);
    if (!page.ok() || !filter.ok()) {
        (void)exchange.respond_error(400, (page.ok() ? filter.error() : page.error()).message());
        return;
    }
    ListText list;
    uint64_t total = 0;
    stream::StreamKey key;
    while (const stream::Stream* stream = services_.registry.after(key)) {
        key = stream->key();
        if (filter->fits(*stream)) {
            if (page->has(total)) {
                list.add(stream_json(*stream, services_, protocols_, MonoClock::now()));
            }
            total++;
        }
        list.pause_if_long();
    }
    (void)exchange.respond(200, "application/json", list.take(identity_, total, "streams"));
}

// ?who=publisher (the default), players or all of them.
void HttpApi::end_stream(net::HttpExchange& exchange, const stream::Stream& stream) {
    const std::string_view who = exchange.request().query.get_or("who", "publisher");
    if (who != "publisher" && who != "players" && who != "all") {
        (void)exchange.respond_error(400, "who must be publisher, players or all");
        return;
    }
    const stream::StreamKey key = stream.key();
    const std::string publisher(stream.publisher() != nullptr ? stream.publisher()->client_id()
                                                              : std::string_view());
    if (who == "publisher" && publisher.empty()) {
        (void)exchange.respond_error(
            409, "nobody publishes the stream; who=players ends those who wait for it");
        return;
    }
    uint64_t kicked = 0;
    ListText pace;
    net::ClientWalk walk(services_.clients);
    while (net::Client* client = walk.next()) {
        const bool publishes = client->id() == publisher;
        const bool plays = client->role == net::ClientRole::kPlayer && client->key == key;
        if (client->kick && ((publishes && who != "players") || (plays && who != "publisher"))) {
            client->kick();
            kicked++;
        }
        pace.pause_if_long();
    }
    net::Json body = net::envelope(identity_);
    body["kicked"] = kicked;
    answer(exchange, body);
}

// ---- vhosts ----

net::Json HttpApi::vhost_json(const VhostEntry& vhost) const {
    const MonoTime now = MonoClock::now();
    const RateClock& clock = services_.registry.clock();
    VhostCounts counts;
    services_.registry.for_each([&](const stream::Stream& stream) {
        if (stream.key().vhost != vhost.name) {
            return;
        }
        counts.streams++;
        counts.clients += players_of(stream, services_).all() + (stream.live() ? 1 : 0);
        counts.sent += stream.bytes_sent();
        counts.received += stream.bytes_received();
        const net::BitRates received = receive_rates(stream, clock, now);
        const net::BitRates sent = send_rates(stream, clock, now);
        for (size_t i = 0; i < sent.size(); i++) {
            counts.receive[i] += received[i];
            counts.send[i] += sent[i];
        }
    });
    return {{"id", vhost_id(vhost.name)},    {"name", vhost.name},
            {"enabled", vhost.enabled},      {"clients", counts.clients},
            {"streams", counts.streams},     {"send_bytes", counts.sent},
            {"recv_bytes", counts.received}, {"kbps", rates_json(counts.receive, counts.send)},
            {"hls", {{"enabled", false}}}};
}

// By id or by name.
void HttpApi::vhosts(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const std::string_view id = id_in(request, kVhosts);
    const std::vector<VhostEntry> known =
        vhosts_ ? vhosts_() : std::vector<VhostEntry>{{std::string(stream::kDefaultVhost), true}};
    if (!id.empty()) {
        for (const VhostEntry& vhost : known) {
            if (vhost.name == id || vhost_id(vhost.name) == id) {
                net::Json body = net::envelope(identity_);
                body["vhost"] = vhost_json(vhost);
                answer(exchange, body);
                return;
            }
        }
        (void)exchange.respond_error(404, "no vhost with that id; GET /api/v1/vhosts lists them");
        return;
    }
    const Result<Page> page = Page::read(request.query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    ListText list;
    for (uint64_t at = 0; at < known.size(); at++) {
        if (page->has(at)) {
            list.add(vhost_json(known[at]));
            list.pause_if_long();
        }
    }
    (void)exchange.respond(200, "application/json", list.take(identity_, known.size(), "vhosts"));
}

}  // namespace weir::app
