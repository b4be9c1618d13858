#include "session/webrtc/rtc_routes.h"

#include "base/strings.h"
#include "net/phone_streams.h"
#include "net/placement.h"
#include "proto/http/access_token.h"
#include "proto/sdp/negotiate.h"

namespace weir::session {
namespace {

constexpr std::string_view kSessionPath = "/rtc/v1/session/";
constexpr std::string_view kWhipPath = "/rtc/v1/whip";
constexpr std::string_view kWhepPath = "/rtc/v1/whep";
constexpr std::string_view kWhipEnd = "/whip";
constexpr std::string_view kWhepEnd = "/whep";
constexpr size_t kMaxNameSize = 1024;  // of app and of name, as in RTMP
constexpr std::string_view kSdp = "application/sdp";
constexpr std::string_view kFragment = "application/trickle-ice-sdpfrag";
constexpr std::string_view kRetrySeconds = "5";

bool is_type(const http::Request& request, std::string_view wanted) {
    const std::string_view type = request.headers.get("Content-Type").value_or("");
    return http::equal_ignoring_case(http::trimmed(type.substr(0, type.find(';'))), wanted);
}

// "/live/room/stream/whip" to "live/room" and "stream". False for what lies below /rtc/ and /api/,
// which have meanings of their own, and when there is no app or no name.
bool split_path(std::string_view path,
                std::string_view end,
                std::string_view& app,
                std::string_view& name) {
    if (!path.ends_with(end) || path.starts_with("/rtc/") || path.starts_with("/api/")) {
        return false;
    }
    path.remove_suffix(end.size());
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) {
        return false;
    }
    app = path.substr(1, slash - 1);
    name = path.substr(slash + 1);
    return !name.empty();
}

void add_path_form(net::HttpRouter& router,
                   std::string_view end,
                   const net::HttpRouteOptions& options,
                   net::HttpHandler handler) {
    router.add_predicate(
        [end](const http::Request& request) {
            std::string_view app;
            std::string_view name;
            return split_path(request.path, end, app, name);
        },
        options, std::move(handler));
}

// Of an offer, in either form of its address.
struct StreamNameView {
    std::string_view app;
    std::string_view name;
};

StreamNameView name_in(const http::Request& request, std::string_view end) {
    StreamNameView view;
    if (!split_path(request.path, end, view.app, view.name)) {
        view.app = request.query.get_or("app", "");
        view.name = request.query.get_or("stream", "");
    }
    return view;
}

// Offers for the private streams of telephones, which one process alone knows.
void add_phones(net::HttpRouter& router,
                std::string_view prefix,
                net::HttpRouteOptions options,
                net::HttpHandler handler) {
    options.only_there = true;
    options.process_of = [](net::Placement& placement, const http::Request&) {
        return placement.other(net::kSipProcess);
    };
    router.add_predicate(
        [prefix](const http::Request& request) {
            const std::string_view path = request.path;
            return path.starts_with(prefix) &&
                   (path.size() == prefix.size() || path[prefix.size()] == '/') &&
                   request.query.get_or("app", "").starts_with(net::kPhoneApps);
        },
        options, std::move(handler));
}

std::string quoted_string(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out + "\"";
}

}  // namespace

std::string link_text(const IceServer& server) {
    std::string text = fmt::format("<{}>; rel=\"ice-server\"", server.url);
    if (!server.username.empty()) {
        text += fmt::format("; username={}; credential={}; credential-type=\"password\"",
                            quoted_string(server.username), quoted_string(server.credential));
    }
    return text;
}

bool if_match_holds(std::string_view field, std::string_view etag) {
    for (std::string_view each : split(field, ',')) {
        each = http::trimmed(each);
        if (each == "*" || each == "\"*\"" || each == etag) {
            return true;
        }
    }
    return false;
}

void RtcRoutes::add_to(net::HttpRouter& router) {
    // GET, HEAD and PUT are kept for later versions of the protocols: 405 (RFC 9725 §4.2).
    net::HttpRouteOptions options;
    options.cors = true;
    options.methods = http::method_bit(http::Method::kPost);
    options.access = net::HttpAccess::kOwnRules;
    options.options_fields = {{"Accept-Post", std::string(kSdp)}};
    net::HttpRouteOptions of_players = options;
    of_players.process_of = [this](net::Placement& placement, const http::Request& request) {
        const StreamNameView asked = name_in(request, kWhepEnd);
        return placement.better_process(
            services_.policy.key_of(request.query.get_or("vhost", ""), asked.app, asked.name),
            net::PlaceBy::kLoad);
    };
    const auto publish = [this](net::HttpExchange& exchange) { take_offer(exchange, true); };
    const auto play = [this](net::HttpExchange& exchange) { take_offer(exchange, false); };
    add_phones(router, kWhipPath, options, publish);
    add_phones(router, kWhepPath, options, play);
    router.add_prefix(std::string(kWhipPath), options, publish);
    router.add_prefix(std::string(kWhepPath), of_players, play);
    add_path_form(router, kWhipEnd, options, publish);
    add_path_form(router, kWhepEnd, of_players, play);
    options.only_there = true;
    options.process_of = [](net::Placement& placement,
                            const http::Request& request) -> std::optional<uint32_t> {
        if (!request.path.starts_with(kSessionPath)) {
            return std::nullopt;
        }
        const std::string_view id = std::string_view(request.path).substr(kSessionPath.size());
        const auto process = parse_uint(id.substr(0, id.find('-')));
        return process ? placement.other(*process) : std::nullopt;
    };
    options.methods =
        http::method_bit(http::Method::kPatch) | http::method_bit(http::Method::kDelete);
    options.options_fields = {{"Accept-Patch", std::string(kFragment)}};
    router.add_prefix("/rtc/v1/session", options,
                      [this](net::HttpExchange& exchange) { manage(exchange); });
}

int RtcRoutes::status_of(const Error& error) const {
    switch (error.code()) {
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kBusy: return 409;
        case ErrorCode::kDenied: return 403;
        case ErrorCode::kFull:
        case ErrorCode::kInterrupted:
        case ErrorCode::kTimeout:
        case ErrorCode::kUnavailable: return 503;  // these two: of a hook server
        case ErrorCode::kLimit:  // of what was sent, unless it is that of sessions
            return server_.is_full() ? 503 : sdp::http_status(error);
        default: return server_.serving() ? sdp::http_status(error) : 503;
    }
}

// ---- offers ----

void RtcRoutes::take_offer(net::HttpExchange& exchange, bool publishes) {
    const http::Request& request = exchange.request();
    if (!is_type(request, kSdp)) {
        (void)exchange.respond_error(415, "the offer's Content-Type must be application/sdp",
                                     {{"Accept-Post", std::string(kSdp)}});
        return;
    }
    RtcOffer offer;
    offer.publishes = publishes;
    const StreamNameView asked = name_in(request, publishes ? kWhipEnd : kWhepEnd);
    offer.app = asked.app;
    offer.name = asked.name;
    offer.vhost = request.query.get_or("vhost", "");
    offer.layer = request.query.get_or("layer", "");
    offer.sdp = request.body;
    offer.query = request.query_text;
    const std::optional<std::string_view> token = http::access_token(request);
    if (!token) {
        (void)exchange.respond_error(400, "that is no token: Authorization: Bearer TOKEN");
        return;
    }
    offer.token = *token;
    const Result<RtcAnswer> made = answer(offer, exchange);
    if (made.ok()) {
        respond(exchange, *made);
    } else {
        refuse(exchange, made.error());
    }
}

// Yields. What is refused anyway is no event for hook servers: they are asked when all is said that
// can be said of the offer itself.
Result<RtcAnswer> RtcRoutes::answer(const RtcOffer& offer, net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const stream::StreamKey key = services_.policy.key_of(offer.vhost, offer.app, offer.name);
    const std::string url = fmt::format("webrtc://{}/{}/{}", request.host, offer.app, offer.name);
    const io::SocketAddress local = exchange.local();
    RtcGuest guest;
    guest.reached_at = local.net_address().with_port(0);
    const net::NewcomerView who{.access = {.key = key,
                                           .peer = exchange.peer(),
                                           .token = offer.token,
                                           .http = &request,
                                           .secure = exchange.secure(),
                                           .transport = "webrtc",
                                           .query = offer.query},
                                .tc_url = url,
                                .connection = &exchange.connection(),
                                .takes_address_place = true,
                                .may_wait = false,
                                .before_hook = [&]() -> Error {
                                    WEIR_TRY_ASSIGN(guest.unproven,
                                                    server_.enter_unproven(exchange.peer()));
                                    return server_.may_begin(offer.sdp);
                                }};
    const net::HookAction action =
        offer.publishes ? net::HookAction::kPublish : net::HookAction::kPlay;
    if (offer.app.empty() || offer.name.empty() || offer.app.size() > kMaxNameSize ||
        offer.name.size() > kMaxNameSize) {
        Error which = make_error(ErrorCode::kMalformed,
                                 "which stream? The address ends in ?app=APP&stream=STREAM");
        admission_.log_refused(action, who, which);
        return which;
    }
    if (offer.publishes) {
        WEIR_TRY_ASSIGN(net::AdmittedPublisher publisher, admission_.publish(who));
        guest.client = std::move(publisher.client);
        return logged(server_.publish(offer.sdp, key, publisher.rules, std::move(guest)), who,
                      action);
    }
    WEIR_TRY_ASSIGN(net::AdmittedPlayer player, admission_.play(who));
    guest.client = std::move(player.client);
    return logged(server_.play(offer.sdp, key, player.rules, std::move(guest), offer.layer), who,
                  action);
}

Result<RtcAnswer> RtcRoutes::logged(Result<RtcAnswer> made,
                                    const net::NewcomerView& who,
                                    net::HookAction action) {
    if (!made.ok()) {
        admission_.log_refused(action, who, made.error());
    }
    return made;
}

void RtcRoutes::respond(net::HttpExchange& exchange, const RtcAnswer& answer) const {
    http::Fields fields;
    fields.add("Location", std::string(kSessionPath) + answer.session_id);
    fields.add("ETag", answer.etag);
    fields.add("Accept-Patch", std::string(kFragment));
    fields.add("Cache-Control", "no-store");
    for (const IceServer& server : ice_servers_) {
        fields.add("Link", link_text(server));
    }
    (void)exchange.respond(201, kSdp, answer.sdp, fields);
}

void RtcRoutes::refuse(net::HttpExchange& exchange, const Error& error) {
    const int status = status_of(error);
    http::Fields fields;
    if (status == 503) {
        fields.add("Retry-After", std::string(kRetrySeconds));
    }
    (void)exchange.respond_error(status, error.message(), fields);
}

// ---- sessions ----

void RtcRoutes::manage(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    RtcSession* session = nullptr;
    if (request.path.starts_with(kSessionPath)) {
        session = server_.find(std::string_view(request.path).substr(kSessionPath.size()));
    }
    if (session == nullptr) {
        (void)exchange.respond_error(404, "no such session: it has ended");
    } else if (request.method == http::Method::kDelete) {
        session->end(net::EndClass::kPeerClosed, "peer closed");
        (void)exchange.respond(200, "text/plain", "");
    } else {
        patch(exchange, *session);
    }
}

// RFC 9725 §4.3.1: If-Match names the ICE session, as restarts and candidates may arrive in any
// order; a restart has "*".
// Deviation: candidates without If-Match are accepted, for whip-whep 1.2.0 and others that send
// none. They change nothing, as the agent is a lite one, so they cannot reach the wrong session.
void RtcRoutes::patch(net::HttpExchange& exchange, RtcSession& session) {
    const http::Request& request = exchange.request();
    if (!is_type(request, kFragment)) {
        (void)exchange.respond_error(415,
                                     "the Content-Type must be application/trickle-ice-sdpfrag",
                                     {{"Accept-Patch", std::string(kFragment)}});
        return;
    }
    const std::optional<std::string_view> match = request.headers.get("If-Match");
    if (!match && RtcServer::is_restart(session, request.body)) {
        (void)exchange.respond_error(428, "an ICE restart needs the header If-Match: *");
        return;
    }
    if (match && !if_match_holds(*match, RtcServer::etag_of(session))) {
        (void)exchange.respond_error(412, "If-Match names another ICE session of this resource");
        return;
    }
    const Result<std::string> done = server_.patch(session, request.body);
    if (!done.ok()) {
        log::throttled(refused_, log::Level::kWarn, "change of a session refused ip={} code={}: {}",
                       exchange.peer().host(), to_string(done.error().code()),
                       log::escaped(done.error().message()));
        refuse(exchange, done.error());
    } else if (done->empty()) {
        (void)exchange.respond(204, {}, "");  // no ETag (RFC 9725 §4.3.2)
    } else {
        (void)exchange.respond(200, kFragment, *done, {{"ETag", RtcServer::etag_of(session)}});
    }
}

}  // namespace weir::session
