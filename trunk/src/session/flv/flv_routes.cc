#include "session/flv/flv_routes.h"

#include "base/log.h"
#include "base/redact.h"
#include "proto/http/access_token.h"
#include "proto/http/ws_upgrade.h"
#include "session/flv/flv_player.h"

namespace weir::session {
namespace {

constexpr std::string_view kSuffix = ".flv";
constexpr size_t kMaxReferer = 256;    // bytes that are kept of it
constexpr size_t kMaxNameSize = 1024;  // of app and of name, as in RTMP
constexpr size_t kMaxLoggedReason = 500;
constexpr Millis kHeadTimeout{10'000};  // for a peer to take the answer to HEAD

// "/live/room/stream.flv" to app "live/room" and name "stream". False when there is no app or no
// name.
bool split_path(std::string_view path, std::string_view& app, std::string_view& name) {
    path.remove_suffix(kSuffix.size());
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) {
        return false;
    }
    app = path.substr(1, slash - 1);
    name = path.substr(slash + 1);
    return !app.empty() && !name.empty() && app.size() <= kMaxNameSize &&
           name.size() <= kMaxNameSize;
}

}  // namespace

void FlvRoutes::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.cors = true;
    router.add_suffix(std::string(kSuffix), options,
                      [this](net::HttpExchange& exchange) { handle(exchange); });
}

void FlvRoutes::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view app;
    std::string_view name;
    if (!split_path(request.path, app, name)) {
        (void)exchange.respond_error(404, "a stream's address is /app/stream.flv");
        return;
    }
    const stream::StreamKey key =
        services_.policy.key_of(request.query.get_or("vhost", ""), app, name);
    const std::optional<std::string_view> token = http::access_token(request);
    if (!token) {
        (void)exchange.respond_error(400, "that is no token: Authorization: Bearer TOKEN");
        return;
    }
    const bool websocket = http::wants_websocket(request);
    Result<net::PlayRules> rules =
        services_.policy.may_play({.key = key,
                                   .peer = exchange.peer(),
                                   .token = *token,
                                   .http = &request,
                                   .secure = exchange.secure(),
                                   .transport = websocket ? "ws-flv" : "flv",
                                   .query = request.query_text});
    if (!rules.ok()) {
        log_refused(key, exchange, rules.error());
        (void)exchange.respond_error(403, rules.error().message());
        return;
    }
    Result<net::Limits::PlayerPlace> place = services_.limits.enter_player(key, rules->max_players);
    if (!place.ok()) {
        log_refused(key, exchange, place.error());
        (void)exchange.respond_error(503, place.error().message(), {{"Retry-After", "5"}});
        return;
    }
    std::unique_ptr<net::Client> client;
    if (services_.hooks.wants(net::HookAction::kPlay, key)) {
        client = new_client(exchange, key);
        if (!ask_hooks(exchange, *client, *token)) {
            return;
        }
    }
    const stream::Stream* target = services_.registry.find(key);
    const bool live = target && target->live();
    if (!live && (rules->pump.wait_publisher == Millis(0) || request.is_head())) {
        (void)exchange.respond_error(404, "no such stream: nobody publishes it");
        return;
    }
    std::string head;
    if (websocket) {
        http::WsUpgrade upgrade = http::check_ws_upgrade(request, exchange.route_fields());
        if (upgrade.status != 101) {
            (void)exchange.respond_error(upgrade.status, upgrade.reason, upgrade.fields);
            return;
        }
        head = std::move(upgrade.head);
    } else {
        http::Fields fields = exchange.route_fields();
        fields.add("Content-Type", "video/x-flv");
        fields.add("Cache-Control", "no-store");
        fields.add("Connection", "close");
        head = http::http_response_head(200, fields);
    }
    if (request.is_head()) {
        // As GET would answer, which has no length: the head, then the end of the connection.
        const net::DetachedConnection detached = exchange.detach();
        (void)detached.stream->write_all(as_bytes(head), io::Deadline::after(kHeadTimeout));
        return;
    }
    if (!client) {
        client = new_client(exchange, key);
    }
    client->hold(std::move(*place));
    client->role = net::ClientRole::kPlayer;
    log::info_as(client->id(), "play stream={} transport={} ip={}", log::token(key.to_string()),
                 client->transport(), client->ip());
    http::Fields route_fields = exchange.route_fields();
    net::DetachedConnection detached = exchange.detach();
    client->encrypted = detached.stream->encrypted();
    auto player = std::make_unique<FlvPlayer>(std::move(head), std::move(route_fields), websocket,
                                              std::move(detached.permit));
    player->take_unread(detached.unread);
    services_.fanout.play(*rules, format_, std::move(detached.stream), std::move(player),
                          std::move(client));
}

std::unique_ptr<net::Client> FlvRoutes::new_client(net::HttpExchange& exchange,
                                                   const stream::StreamKey& key) const {
    const http::Request& request = exchange.request();
    auto client = std::make_unique<net::Client>(services_.clients,
                                                http::wants_websocket(request) ? "ws-flv" : "flv",
                                                exchange.peer().host());
    client->key = key;
    if (auto referer = request.headers.get("Referer")) {
        client->page_url = redacted_url(referer->substr(0, kMaxReferer));
    }
    return client;
}

// Yields. False: it was answered that it may not play.
bool FlvRoutes::ask_hooks(net::HttpExchange& exchange,
                          net::Client& client,
                          std::string_view token) {
    const http::Request& request = exchange.request();
    const std::string url = "http://" + request.host + request.path;
    const std::string param = http::query_with_token(request.query_text, token);
    net::HookRequestView what;
    what.action = net::HookAction::kPlay;
    what.vhost = client.key.vhost;
    what.app = client.key.app;
    what.stream = client.key.name;
    what.param = param;
    what.tc_url = url;
    what.page_url = client.page_url;
    client.kick = [&exchange] { exchange.connection().shutdown(); };
    Result<net::HookTicket> ticket = services_.hooks.ask(client, what, &exchange.connection());
    client.kick = nullptr;  // the exchange may give its connection away
    if (ticket.ok()) {
        client.turn_ticket = std::move(*ticket);
        return true;
    }
    const bool refused = ticket.error().code() == ErrorCode::kDenied;
    if (ticket.error().code() != ErrorCode::kClosed) {
        log_refused(client.key, exchange, ticket.error());
    }
    http::Fields fields;
    if (!refused) {
        fields.add("Retry-After", "5");
    }
    (void)exchange.respond_error(refused ? 403 : 503, ticket.error().message(), fields);
    return false;
}

void FlvRoutes::log_refused(const stream::StreamKey& key,
                            const net::HttpExchange& exchange,
                            const Error& why) {
    if (refused_.allow(MonoClock::now())) {
        log::warn("play refused stream={} ip={}: {} ({} more in the last second)",
                  log::token(key.to_string()), exchange.peer().host(),
                  log::escaped(why.message(), kMaxLoggedReason), refused_.suppressed());
    }
}

}  // namespace weir::session
