// /api/v1/clients.
#include "app/api/client_json.h"
#include "app/api/http_api.h"
#include "app/api/listing.h"
#include "proto/http/method.h"
#include "proto/http/request.h"

namespace weir::app {

void HttpApi::clients(net::HttpExchange& exchange) {
    constexpr std::string_view kClients = "/api/v1/clients/";
    const http::Request& request = exchange.request();
    const bool kicks = request.method == http::Method::kDelete;
    std::string_view id = request.path;
    id.remove_prefix(std::min(id.size(), kClients.size()));
    if (id.empty()) {
        kicks ? kick_clients(exchange) : list_clients(exchange);
        return;
    }
    const net::Client* client = services_.clients.find(id);
    if (client == nullptr) {
        (void)exchange.respond_error(404, "no client with that id; GET /api/v1/clients lists them");
        return;
    }
    net::Json body = net::envelope(identity_);
    if (!kicks) {
        body["client"] = client_json(*client, MonoClock::now());
    } else if (client->kick) {
        client->kick();
    }
    answer(exchange, body);
}

void HttpApi::list_clients(net::HttpExchange& exchange) {
    const http::Query& query = exchange.request().query;
    const Result<Page> page = Page::read(query);
    const Result<ListFilterView> filter =
        ListFilterView::of_clients(query, protocols_.transports(), false);
    if (!page.ok() || !filter.ok()) {
        (void)exchange.respond_error(400, (page.ok() ? filter.error() : page.error()).message());
        return;
    }
    ListText list;
    uint64_t total = 0;
    net::ClientWalk walk(services_.clients);
    while (const net::Client* client = walk.next()) {
        if (filter->fits(*client)) {
            if (page->has(total)) {
                list.add(client_json(*client, MonoClock::now()));
            }
            total++;
        }
        list.pause_if_long();
    }
    (void)exchange.respond(200, "application/json", list.take(identity_, total, "clients"));
}

// All that fit the filters: there must be one, and nothing but filters.
void HttpApi::kick_clients(net::HttpExchange& exchange) {
    const Result<ListFilterView> filter =
        ListFilterView::of_clients(exchange.request().query, protocols_.transports(), true);
    if (!filter.ok()) {
        (void)exchange.respond_error(400, filter.error().message());
        return;
    }
    uint64_t kicked = 0;
    ListText pace;
    net::ClientWalk walk(services_.clients);
    while (const net::Client* client = walk.next()) {
        if (client->kick && filter->fits(*client)) {
            client->kick();
            kicked++;
        }
        pace.pause_if_long();
    }
    net::Json body = net::envelope(identity_);
    body["kicked"] = kicked;
    answer(exchange, body);
}

}  // namespace weir::app
