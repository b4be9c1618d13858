// ApiGuard: who may ask the HTTP API for what. One place in front of all of its routes
// (HttpServerOptions::authorize).
//
// With tokens or users configured, everybody needs one: read for what GET shows, operate to end
// clients and to record, admin for all else that changes something or costs much. Each change is a
// line of the log with who made it. Without tokens and users, whoever reaches a listener may do
// everything. Pages of other sites in a browser may not: Host against names of strangers that point
// here (DNS rebinding), Origin against requests that a page makes behind its reader's back. Routes
// with rules of their own (WHIP) pass; the request rate holds for all.
#pragma once

#include <string>
#include <string_view>

#include "app/access/access_control.h"
#include "base/log.h"
#include "config/config.h"
#include "net/address_rates.h"
#include "net/api/answer.h"
#include "net/http/exchange.h"
#include "net/http/router.h"
#include "net/limits.h"

namespace weir::http {
struct Request;
}

namespace weir::app {

class ApiGuard {
  public:
    // Wrong logins that an address may have at once, and one more per so many seconds. Then it is
    // answered 429, whatever it shows.
    static constexpr net::BucketOptions kFailures{1.0 / 6, 10};

    // All must outlive this. Reads the configuration when it is asked.
    ApiGuard(const config::Config& config, const AccessControl& access, net::Limits& limits)
        : config_(config), access_(access), limits_(limits) {}

    // Yields only to answer. False: the request is refused, and answered.
    bool admit(net::HttpExchange& exchange, const net::HttpRoute* route);

    // Whether the request shows a login of the API, on whatever server: any role. A wrong one
    // counts like a wrong one there. Never yields.
    bool knows(const net::HttpExchange& exchange);

    // GET /api/v1/login: who asks, and what he may do; pages show no button that would be refused.
    void add_to(net::HttpRouter& router, const net::ServerIdentity& identity);

  private:
    struct Login {
        enum class Kind : uint8_t { kNone, kWrong, kGood } kind = Kind::kNone;
        config::ApiRole role = config::ApiRole::kRead;
        std::string user;    // empty: a token, or none was needed
        bool basic = false;  // a browser sends it by itself

        // For the log: a name, "a token" or "anybody".
        std::string_view name() const;
    };

    const config::ApiAccessConfig& access() const { return config_.http_api.access; }

    bool within_rate(net::HttpExchange& exchange);
    bool answer_preflight(net::HttpExchange& exchange, const net::HttpRoute* route);
    bool admit_login(net::HttpExchange& exchange, const Login& login, config::ApiRole needed);
    bool admit_page(net::HttpExchange& exchange, config::ApiRole needed, bool known_host);
    Login login_of(const http::Request& request) const;
    void refuse(net::HttpExchange& exchange,
                net::Refusal reason,
                int status,
                std::string_view text,
                const http::Fields& fields = {});

    const config::Config& config_;
    const AccessControl& access_;
    net::Limits& limits_;
    net::AddressRates requests_;
    net::AddressRates failures_;
    log::Throttle log_{Millis(1000)};
};

}  // namespace weir::app
