#include "app/access/api_guard.h"

#include <algorithm>

#include "base/base64.h"
#include "base/hmac.h"
#include "base/strings.h"
#include "io/socket_address.h"
#include "proto/http/access_token.h"
#include "proto/http/cors.h"
#include "proto/http/origin.h"

namespace weir::app {

using config::ApiRole;

namespace {

constexpr std::string_view kBasic = "Basic ";
constexpr double kBurstSeconds = 2;  // of the request rate, at once

std::string retry_after(Millis wait) {
    return std::to_string((wait.count() + 999) / 1000);
}

bool changes(http::Method method) {
    return method != http::Method::kGet && method != http::Method::kHead &&
           method != http::Method::kOptions;
}

ApiRole role_for(bool changes, net::HttpAccess wanted) {
    if (!changes) {
        return wanted == net::HttpAccess::kAdmin ? ApiRole::kAdmin : ApiRole::kRead;
    }
    return wanted == net::HttpAccess::kOperate ? ApiRole::kOperate : ApiRole::kAdmin;
}

// To a client that showed no login: how the logins that there are can be shown.
std::string what_is_asked(bool users, bool tokens) {
    constexpr std::string_view kUser =
        "a user and password of http_api { user read|operate|admin NAME PASSWORD; } "
        "(Authorization: "
        "Basic; curl -u NAME:PASSWORD)";
    constexpr std::string_view kToken =
        "Authorization: Bearer TOKEN, with a token of http_api { token read|operate|admin TOKEN; }";
    return fmt::format("this API needs a login: {}{}{}", users ? kUser : "",
                       users && tokens ? ", or " : "", tokens ? kToken : "");
}

}  // namespace

void ApiGuard::refuse(net::HttpExchange& exchange,
                      net::Refusal reason,
                      int status,
                      std::string_view text,
                      const http::Fields& fields) {
    limits_.count(reason);
    if (log_.allow(MonoClock::now())) {
        log::warn(
            "api request refused status={} reason={} ip={} method={} path={} ({} more in the "
            "last second)",
            status, net::to_string(reason), exchange.peer().host(),
            http::to_string(exchange.request().method), log::escaped(exchange.request().path),
            log_.suppressed());
    }
    (void)exchange.respond_error(status, text, fields);
}

bool ApiGuard::within_rate(net::HttpExchange& exchange) {
    const uint32_t rate = access().max_request_rate;
    if (rate == 0) {
        return true;
    }
    const Millis wait =
        requests_.take(net::limited_address(exchange.peer()),
                       {static_cast<double>(rate), kBurstSeconds * rate}, MonoClock::now());
    if (wait > Millis(0)) {
        refuse(exchange, net::Refusal::kApiRate, 429,
               fmt::format("more than {} requests a second from this address "
                           "(http_api max_request_rate); wait",
                           rate),
               {{"Retry-After", retry_after(wait)}});
    }
    return wait == Millis(0);
}

// A browser asks without the login whether the page may use it.
bool ApiGuard::answer_preflight(net::HttpExchange& exchange, const net::HttpRoute* route) {
    const http::Request& request = exchange.request();
    const std::string_view origin = http::trimmed(request.headers.get("Origin").value_or(""));
    if (origin.empty() || !http::is_listed_origin(origin, access().allow_origins)) {
        return false;
    }
    exchange.add_route_field("Access-Control-Allow-Origin", std::string(origin));
    exchange.add_route_field("Vary", "Origin");
    if (!http::is_cors_preflight(request) || route == nullptr) {
        return false;
    }
    http::Fields fields;
    for (const http::Field& field : http::cors_preflight_fields(request, route->options.methods)) {
        if (field.name != "Access-Control-Allow-Origin" && field.name != "Vary") {
            fields.add(field.name, field.value);
        }
    }
    (void)exchange.respond(204, {}, {}, fields);
    return true;
}

bool ApiGuard::admit(net::HttpExchange& exchange, const net::HttpRoute* route) {
    if (!within_rate(exchange)) {
        return false;
    }
    const net::HttpAccess wanted =
        route != nullptr ? route->options.access : net::HttpAccess::kByMethod;
    if (wanted == net::HttpAccess::kOwnRules) {
        return true;
    }
    if (answer_preflight(exchange, route)) {
        return false;
    }
    const http::Request& request = exchange.request();
    const ApiRole needed = role_for(changes(request.method), wanted);
    const bool open =
        access().open_metrics && request.path == "/metrics" && needed == ApiRole::kRead;
    Login login{Login::Kind::kNone, ApiRole::kAdmin, {}, false};
    if (access().asks() && !open) {
        login = login_of(request);
        if (!admit_login(exchange, login, needed)) {
            return false;
        }
    } else if (!admit_page(exchange, needed, false)) {
        return false;
    }
    if (changes(request.method)) {
        log::info("api change by={} role={} ip={} method={} path={}", login.name(),
                  to_string(login.role), exchange.peer().host(), http::to_string(request.method),
                  log::escaped(request.path));
    }
    return true;
}

std::string_view ApiGuard::Login::name() const {
    return kind == Kind::kNone ? "anybody" : user.empty() ? "a token" : std::string_view(user);
}

void ApiGuard::add_to(net::HttpRouter& router, const net::ServerIdentity& identity) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix("/api/v1/login", options, [this, identity](net::HttpExchange& exchange) {
        if (exchange.request().path != "/api/v1/login") {
            (void)exchange.respond_error(404, "there is nothing below /api/v1/login");
            return;
        }
        const Login login = login_of(exchange.request());
        net::Json body = net::envelope(identity);
        body["data"] = {{"needed", access().asks()},
                        {"user", login.user},
                        {"role", to_string(access().asks() ? login.role : ApiRole::kAdmin)}};
        net::answer(exchange, body);
    });
}

ApiGuard::Login ApiGuard::login_of(const http::Request& request) const {
    const std::string_view field = http::trimmed(request.headers.get("Authorization").value_or(""));
    if (field.empty()) {
        return {};
    }
    std::string user;
    std::string secret;
    const bool basic = http::equal_ignoring_case(field.substr(0, kBasic.size()), kBasic);
    if (basic) {
        const std::optional<Bytes> pair = parse_base64(http::trimmed(field.substr(kBasic.size())));
        const Halves halves = split_once(pair ? as_text(*pair) : "", ':');
        user = halves.before;
        secret = halves.after;
    } else if (const auto token = http::bearer_token(request)) {
        secret = *token;
    }
    Login login{Login::Kind::kWrong, ApiRole::kRead, {}, basic};
    for (const ApiSecrets& known : access_.data().api) {
        // Both are always compared, so that the time does not tell which names there are.
        const bool same_kind = basic == !known.user.empty();
        const bool same_user = equal_in_constant_time(as_bytes(user), as_bytes(known.user));
        const bool same_secret = is_one_of(secret, known.secrets);
        if (same_kind && same_user && same_secret && !secret.empty()) {
            login.kind = Login::Kind::kGood;
            login.user = known.user;
            login.role = std::max(login.role, known.role);
        }
    }
    return login;
}

bool ApiGuard::knows(const net::HttpExchange& exchange) {
    const MonoTime now = MonoClock::now();
    const NetAddress address = net::limited_address(exchange.peer());
    if (!access().asks() || failures_.wait_for(address, kFailures, now) > Millis(0)) {
        return false;
    }
    const Login login = login_of(exchange.request());
    if (login.kind == Login::Kind::kWrong) {
        limits_.count(net::Refusal::kApiWrongLogin);
        (void)failures_.take(address, kFailures, now);
    }
    return login.kind == Login::Kind::kGood;
}

bool ApiGuard::admit_login(net::HttpExchange& exchange, const Login& login, ApiRole needed) {
    const MonoTime now = MonoClock::now();
    const NetAddress address = net::limited_address(exchange.peer());
    if (const Millis wait = failures_.wait_for(address, kFailures, now); wait > Millis(0)) {
        refuse(exchange, net::Refusal::kApiThrottled, 429,
               "too many wrong logins from this address; wait",
               {{"Retry-After", retry_after(wait)}});
        return false;
    }
    if (login.kind != Login::Kind::kGood) {
        http::Fields fields;
        const bool users = !access().users.empty();
        const bool tokens = !access().tokens.empty();
        // A 401 has to offer something (RFC 9110 11.6.1), also to a script that has its own form.
        if (tokens || exchange.request().headers.has("X-Requested-With")) {
            fields.add("WWW-Authenticate", "Bearer realm=\"weir\"");
        }
        // A script that shows a form of its own says so by this field; a browser that was offered
        // Basic would open its own box over it.
        if (users && !exchange.request().headers.has("X-Requested-With")) {
            fields.add("WWW-Authenticate", "Basic realm=\"weir\", charset=\"UTF-8\"");
        }
        const bool wrong = login.kind == Login::Kind::kWrong;
        if (wrong) {
            (void)failures_.take(address, kFailures, now);
        }
        refuse(exchange, wrong ? net::Refusal::kApiWrongLogin : net::Refusal::kApiNoLogin, 401,
               wrong ? "the token, or user and password, is wrong" : what_is_asked(users, tokens),
               fields);
        return false;
    }
    if (login.role < needed) {
        refuse(exchange, net::Refusal::kApiRole, 403,
               fmt::format("this needs the role {}, and this login has the role {}",
                           to_string(needed), to_string(login.role)));
        return false;
    }
    // What a page had to know it may use; what the browser adds by itself it may not.
    return !login.basic || admit_page(exchange, needed, true);
}

bool ApiGuard::admit_page(net::HttpExchange& exchange, ApiRole needed, bool known_host) {
    const http::Request& request = exchange.request();
    if (!known_host && !http::is_own_host(request.host, config_.server_names)) {
        refuse(exchange, net::Refusal::kApiHost, 403,
               "the API does not know itself by the name in the Host field: ask it by its address, "
               "or name it with \"server_name NAME;\"");
        return false;
    }
    if (needed == ApiRole::kRead) {
        return true;  // without CORS fields a page cannot read what GET shows
    }
    const std::string_view page = http::trimmed(request.headers.get("Origin").value_or(""));
    const bool listed = http::is_listed_origin(page, access().allow_origins);
    const bool secure = exchange.secure();
    const bool foreign = known_host
                             ? http::crosses_origin(request, secure)
                             : !http::foreign_origin(request, config_.server_names, secure).empty();
    // Images and the like come without Origin; browsers of today mark them.
    const bool hidden =
        page.empty() && request.headers.get("Sec-Fetch-Site").value_or("") == "cross-site";
    if ((foreign && !listed) || hidden) {
        refuse(exchange, net::Refusal::kApiOrigin, 403,
               "a page of another site may not use the API; \"http_api { allow_origin ORIGIN; }\" "
               "allows it to one");
        return false;
    }
    return true;
}

}  // namespace weir::app
