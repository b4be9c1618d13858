#include "net/http_play.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "io/deadline.h"
#include "io/tcp.h"
#include "net/fanout.h"
#include "net/http/detached_connection.h"
#include "net/http_newcomer.h"
#include "net/http_player.h"
#include "net/placement.h"
#include "proto/http/access_token.h"
#include "proto/http/response.h"
#include "proto/http/ws_upgrade.h"

namespace weir::net {
namespace {

constexpr size_t kMaxNameSize = 1024;   // of app and of name, as in RTMP
constexpr Millis kHeadTimeout{10'000};  // for a peer to take the answer to HEAD
constexpr std::string_view kRetrySeconds = "5";

// "/live/room/stream.flv" to app "live/room" and name "stream". False when there is no app or no
// name.
bool split_path(std::string_view path,
                std::string_view suffix,
                std::string_view& app,
                std::string_view& name) {
    path.remove_suffix(suffix.size());
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) {
        return false;
    }
    app = path.substr(1, slash - 1);
    name = path.substr(slash + 1);
    return !app.empty() && !name.empty() && app.size() <= kMaxNameSize &&
           name.size() <= kMaxNameSize;
}

// Yields.
void refuse(HttpExchange& exchange, const Error& why) {
    switch (why.code()) {
        case ErrorCode::kMalformed: (void)exchange.respond_error(400, why.message()); return;
        case ErrorCode::kDenied: (void)exchange.respond_error(403, why.message()); return;
        case ErrorCode::kNotFound: (void)exchange.respond_error(404, why.message()); return;
        default:
            (void)exchange.respond_error(503, why.message(),
                                         {{"Retry-After", std::string(kRetrySeconds)}});
            return;
    }
}

}  // namespace

void HttpPlay::add_to(HttpRouter& router, Before before) {
    before_ = std::move(before);
    HttpRouteOptions options;
    options.cors = true;
    options.process_of = [this](Placement& placement, const http::Request& request) {
        std::string_view app;
        std::string_view name;
        return split_path(request.path, format_.suffix, app, name)
                   ? placement.better_process(
                         services_.policy.key_of(request.query.get_or("vhost", ""), app, name),
                         PlaceBy::kLoad)
                   : std::nullopt;
    };
    router.add_suffix(std::string(format_.suffix), options,
                      [this](HttpExchange& exchange) { handle(exchange); });
}

void HttpPlay::handle(HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view app;
    std::string_view name;
    if (!split_path(request.path, format_.suffix, app, name)) {
        (void)exchange.respond_error(
            404, fmt::format("a stream's address is /app/stream{}", format_.suffix));
        return;
    }
    if (!before_ || !before_(exchange, app, name)) {
        play(exchange, app, name);
    }
}

void HttpPlay::play(HttpExchange& exchange,
                    std::string_view app,
                    std::string_view name,
                    const std::function<Error(const stream::StreamKey&)>& check) {
    const http::Request& request = exchange.request();
    const std::optional<std::string_view> token = http::access_token(request);
    if (!token) {
        (void)exchange.respond_error(400, "that is no token: Authorization: Bearer TOKEN");
        return;
    }
    http::WsUpgrade upgrade;
    const bool websocket = format_.ws_transport != nullptr && http::wants_websocket(request);
    if (websocket) {
        upgrade = http::check_ws_upgrade(request, exchange.route_fields());
        if (upgrade.status != 101) {
            (void)exchange.respond_error(upgrade.status, upgrade.reason, upgrade.fields);
            return;
        }
    }
    const stream::StreamKey key =
        services_.policy.key_of(request.query.get_or("vhost", ""), app, name);
    const std::string url = url_of(request);
    NewcomerView who = newcomer_of(exchange, key, *token,
                                   websocket ? format_.ws_transport : format_.transport, url);
    who.may_wait = !request.is_head();
    who.begins = !request.is_head();
    who.check = check ? [&] { return check(key); } : std::function<Error()>();
    Result<AdmittedPlayer> admitted = admission_.play(who);
    if (!admitted.ok()) {
        refuse(exchange, admitted.error());
        return;
    }
    answer(exchange, std::move(*admitted), std::move(upgrade.head));
}

void HttpPlay::answer(HttpExchange& exchange,
                      AdmittedPlayer admitted,
                      std::string ws_head,
                      const http::Fields& more) {
    const http::Request& request = exchange.request();
    HttpPlayerAnswer answer;
    answer.route_fields = exchange.route_fields();
    if (!ws_head.empty()) {
        answer.body = HttpPlayerBody::kWebSocket;
        answer.head = std::move(ws_head);
    } else {
        http::Fields fields = exchange.route_fields();
        fields.add("Content-Type", std::string(format_.content_type));
        fields.add("Cache-Control", "no-store");
        fields.add("Connection", "close");
        for (const http::Field& field : more) {
            fields.add(field.name, field.value);
        }
        if (format_.chunked && request.version_minor > 0) {
            answer.body = HttpPlayerBody::kChunks;
            fields.add("Transfer-Encoding", "chunked");
        }
        answer.head = http::http_response_head(200, fields);
    }
    const bool head_only = request.is_head();
    DetachedConnection detached = exchange.detach();
    if (head_only) {
        // Then the end of the connection.
        (void)detached.stream->write_all(as_bytes(answer.head), io::Deadline::after(kHeadTimeout));
        return;
    }
    std::unique_ptr<Client> client = std::move(admitted.client);
    client->encrypted = detached.encrypted;
    const stream::StreamKey key = client->key;
    begin_turn(*client, ClientRole::kPlayer, key,
               client->node.empty() ? "" : fmt::format(" node={}", client->node));
    auto player =
        std::make_unique<HttpPlayer>(format_, std::move(answer), std::move(detached.permit));
    player->take_unread(detached.unread);
    services_.fanout.play(admitted.rules, format_.format, std::move(detached.stream),
                          std::move(player), std::move(client));
}

}  // namespace weir::net
