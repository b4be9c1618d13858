#include "session/flv/flv_routes.h"

#include "proto/http/access_token.h"
#include "proto/http/ws_upgrade.h"
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
    std::string head;
    if (websocket) {
        http::WsUpgrade upgrade = http::check_ws_upgrade(request, exchange.route_fields());
        if (upgrade.status != 101) {
            (void)exchange.respond_error(upgrade.status, upgrade.reason, upgrade.fields);
            return;
        }
        head = std::move(upgrade.head);
    }
    const std::string url = "http://" + request.host + request.path;
    Result<net::AdmittedPlayer> admitted =
        admission_.play({.access = {.key = key,
                                    .peer = exchange.peer(),
                                    .token = *token,
                                    .http = &request,
                                    .secure = exchange.secure(),
                                    .transport = websocket ? "ws-flv" : "flv",
                                    .query = request.query_text},
                         .tc_url = url,
                         .connection = &exchange.connection(),
                         .may_wait = !request.is_head(),
                         .begins = !request.is_head()});
    if (!admitted.ok()) {
        refuse(exchange, admitted.error());
        return;
    }
    if (!websocket) {
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
    std::unique_ptr<net::Client> client = std::move(admitted->client);
    net::begin_turn(*client, net::ClientRole::kPlayer, key);
    http::Fields route_fields = exchange.route_fields();
    net::DetachedConnection detached = exchange.detach();
    client->encrypted = detached.stream->encrypted();
    auto player = std::make_unique<FlvPlayer>(std::move(head), std::move(route_fields), websocket,
                                              std::move(detached.permit));
    player->take_unread(detached.unread);
    services_.fanout.play(admitted->rules, format_, std::move(detached.stream), std::move(player),
                          std::move(client));
}

// Yields.
void FlvRoutes::refuse(net::HttpExchange& exchange, const Error& why) {
    switch (why.code()) {
        case ErrorCode::kDenied: (void)exchange.respond_error(403, why.message()); return;
        case ErrorCode::kNotFound: (void)exchange.respond_error(404, why.message()); return;
        default: (void)exchange.respond_error(503, why.message(), {{"Retry-After", "5"}}); return;
    }
}

}  // namespace weir::session
