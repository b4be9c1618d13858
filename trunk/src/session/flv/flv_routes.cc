#include "session/flv/flv_routes.h"

#include "base/log.h"
#include "net/http/access_token.h"
#include "net/http/ws_upgrade.h"
#include "session/flv/flv_player.h"

namespace weir::session {
namespace {

constexpr std::string_view kSuffix = ".flv";
constexpr size_t kMaxNameSize = 1024;   // of app and of name, as in RTMP
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
    const net::HttpRequest& request = exchange.request();
    std::string_view app;
    std::string_view name;
    if (!split_path(request.path, app, name)) {
        (void)exchange.respond_error(404, "a stream's address is /app/stream.flv");
        return;
    }
    const stream::StreamKey key =
        services_.policy.key_of(request.query.get_or("vhost", ""), app, name);
    const std::optional<std::string_view> token = net::access_token(request);
    if (!token) {
        (void)exchange.respond_error(400, "that is no token: Authorization: Bearer TOKEN");
        return;
    }
    Result<net::PlayRules> rules = services_.policy.may_play(key, exchange.peer(), *token);
    if (!rules.ok()) {
        if (refused_.allow(MonoClock::now())) {
            log::warn("play refused stream={} ip={}: {} ({} more in the last second)",
                      log::escaped(key.to_string()), exchange.peer().host(),
                      rules.error().message(), refused_.suppressed());
        }
        (void)exchange.respond_error(403, rules.error().message());
        return;
    }
    const stream::Stream* target = services_.registry.find(key);
    const bool live = target && target->live();
    if (!live && (rules->pump.wait_publisher == Millis(0) || request.is_head())) {
        (void)exchange.respond_error(404, "no such stream: nobody publishes it");
        return;
    }
    const bool websocket = net::wants_websocket(request);
    std::string head;
    if (websocket) {
        net::WsUpgrade upgrade = net::check_ws_upgrade(request, exchange.route_fields());
        if (upgrade.status != 101) {
            (void)exchange.respond_error(upgrade.status, upgrade.reason, upgrade.fields);
            return;
        }
        head = std::move(upgrade.head);
    } else {
        net::HttpFields fields = exchange.route_fields();
        fields.add("Content-Type", "video/x-flv");
        fields.add("Cache-Control", "no-store");
        fields.add("Connection", "close");
        head = net::http_response_head(200, fields);
    }
    if (request.is_head()) {
        // As GET would answer, which has no length: the head, then the end of the connection.
        const net::DetachedConnection detached = exchange.detach();
        (void)detached.stream->write_all(as_bytes(head), io::Deadline::after(kHeadTimeout));
        return;
    }
    auto client = std::make_unique<net::Client>(services_.clients, websocket ? "ws-flv" : "flv",
                                                exchange.peer().host());
    client->role = net::ClientRole::kPlayer;
    client->key = key;
    if (auto referer = request.headers.get("Referer")) {
        client->page_url = referer->substr(0, 256);
    }
    log::info_as(client->id(), "play stream={} transport={} ip={}", log::escaped(key.to_string()),
                 client->transport(), client->ip());
    net::HttpFields route_fields = exchange.route_fields();
    net::DetachedConnection detached = exchange.detach();
    auto player = std::make_unique<FlvPlayer>(std::move(head), std::move(route_fields), websocket,
                                              std::move(detached.permit));
    player->take_unread(detached.unread);
    services_.fanout.play(*rules, format_, std::move(detached.stream), std::move(player),
                          std::move(client));
}

}  // namespace weir::session
