#include "session/webrtc/rtc_json_api.h"

#include <algorithm>

#include "proto/http/access_token.h"
#include "proto/http/target.h"

namespace weir::session {
namespace {

constexpr int kMaxDepth = 4;  // of what a request nests; only its own members are looked at
constexpr size_t kMaxUrl = 4096;

// A member that is a text; empty when it is missing or something else.
std::string_view text_of(const net::Json& body, const char* name) {
    const auto found = body.find(name);
    return found != body.end() && found->is_string()
               ? std::string_view(found->get_ref<const std::string&>())
               : std::string_view();
}

}  // namespace

Result<RtcStreamUrl> RtcStreamUrl::parse(std::string_view url) {
    constexpr std::string_view kExpected =
        "streamurl: expected webrtc://HOST[:PORT]/APP/STREAM[?key=..&vhost=..]";
    const size_t scheme = url.find("://");
    if (url.size() > kMaxUrl || scheme == std::string_view::npos || scheme == 0) {
        return make_error(ErrorCode::kMalformed, "{}", kExpected);
    }
    const std::string_view rest = url.substr(scheme + 3);
    const size_t slash = rest.find('/');
    std::string_view host = rest.substr(0, slash);
    const std::optional<http::Target> target =
        slash == std::string_view::npos ? std::nullopt : http::parse_target(rest.substr(slash));
    const size_t last = target ? target->path.rfind('/') : std::string::npos;
    if (last == std::string::npos || last == 0 || last + 1 == target->path.size()) {
        return make_error(ErrorCode::kMalformed, "{}", kExpected);
    }
    if (const size_t colon = host.rfind(':');
        colon != std::string_view::npos && !host.ends_with(']')) {
        host = host.substr(0, colon);
    }
    RtcStreamUrl parts;
    parts.vhost = target->query.get_or("vhost", host);
    parts.app = target->path.substr(1, last - 1);
    parts.name = target->path.substr(last + 1);
    parts.key = target->query.get_or("key", target->query.get_or("token", ""));
    parts.layer = target->query.get_or("layer", "");
    parts.query = target->query_text;
    return parts;
}

void RtcJsonApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.cors = true;
    options.errors = http::ErrorFormat::kJson;
    options.methods = http::method_bit(http::Method::kPost);
    options.access = net::HttpAccess::kOwnRules;
    options.options_fields = {{"Accept-Post", "application/json"}};
    router.add_prefix("/rtc/v1/publish", options,
                      [this](net::HttpExchange& exchange) { take(exchange, true); });
    router.add_prefix("/rtc/v1/play", options,
                      [this](net::HttpExchange& exchange) { take(exchange, false); });
}

Result<net::Json> RtcJsonApi::make_answer(net::HttpExchange& exchange, bool publishes) {
    const http::Request& request = exchange.request();
    const net::Json body = net::parsed(request.body, kMaxDepth);
    if (!body.is_object()) {
        return make_error(ErrorCode::kMalformed,
                          "the body must be a JSON object with streamurl and sdp");
    }
    const std::string_view sdp = text_of(body, "sdp");
    if (sdp.empty()) {
        return make_error(ErrorCode::kMalformed, "sdp: expected the offer, as a text");
    }
    WEIR_TRY_ASSIGN(const RtcStreamUrl url, RtcStreamUrl::parse(text_of(body, "streamurl")));
    const std::optional<std::string_view> token = http::access_token(request);
    if (!token || url.key.size() > http::kMaxAccessToken) {
        return make_error(ErrorCode::kMalformed, "that is no token: Authorization: Bearer TOKEN");
    }
    RtcOffer offer;
    offer.publishes = publishes;
    offer.vhost = url.vhost;
    offer.app = url.app;
    offer.name = url.name;
    offer.layer = url.layer;
    offer.token = token->empty() ? std::string_view(url.key) : *token;
    offer.query = url.query;
    offer.sdp = sdp;
    WEIR_TRY_ASSIGN(const RtcAnswer made, routes_.answer(offer, exchange));
    net::Json answer = net::envelope(identity_);
    answer["sdp"] = made.sdp;
    answer["sessionid"] = made.session_id;
    return answer;
}

void RtcJsonApi::take(net::HttpExchange& exchange, bool publishes) {
    Result<net::Json> made = make_answer(exchange, publishes);
    if (made.ok()) {
        answer(exchange, *made);
        return;
    }
    net::Json refused = net::envelope(identity_);
    refused["code"] = routes_.status_of(made.error());
    refused["error"] = made.error().message();
    answer(exchange, refused);
}

}  // namespace weir::session
