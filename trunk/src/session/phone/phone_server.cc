#include "session/phone/phone_server.h"

#include <utility>

#include "base/check.h"
#include "net/http/detached_connection.h"
#include "net/limits.h"
#include "net/placement.h"
#include "proto/http/origin.h"
#include "proto/http/ws_upgrade.h"
#include "session/phone/phone_session.h"

namespace weir::session {
namespace {

constexpr std::string_view kPath = "/phone";
constexpr std::string_view kRetrySeconds = "5";

}  // namespace

PhoneServer::~PhoneServer() {
    WEIR_CHECK(sessions_.empty());
}

void PhoneServer::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.access = net::HttpAccess::kOwnRules;
    options.only_there = true;
    options.process_of = [](net::Placement& placement, const http::Request&) {
        return placement.other(net::kSipProcess);
    };
    router.add_prefix(std::string(kPath), options,
                      [this](net::HttpExchange& exchange) { handle(exchange); });
}

void PhoneServer::reconfigure(PhoneServerOptions options) {
    options_ = std::move(options);
    if (!options_.enabled) {
        for (PhoneSession* const session : sessions_) {
            session->end("the phone page was switched off");
        }
    }
}

// Yields until the phone has gone.
void PhoneServer::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    if (!options_.enabled || request.path != kPath) {
        (void)exchange.respond_error(404, "the phone page is off (sip_server { phone_page on; })");
        return;
    }
    const http::WsUpgrade upgrade = http::check_ws_upgrade(request, exchange.route_fields());
    if (upgrade.status != 101) {
        (void)exchange.respond_error(upgrade.status, upgrade.reason, upgrade.fields);
        return;
    }
    // Pages of others must not guess passwords from the addresses of their visitors.
    if (!http::foreign_origin(request, options_.server_names, exchange.secure()).empty()) {
        services_.limits.count(net::Refusal::kOrigin);
        counters_.refused++;
        (void)exchange.respond_error(403, "pages of other sites may not be telephones here");
        return;
    }
    if (sessions_.size() >= kMaxPhones) {
        counters_.refused++;
        (void)exchange.respond_error(503, "as many pages are telephones as may be at once",
                                     {{"Retry-After", std::string(kRetrySeconds)}});
        return;
    }
    const io::SocketAddress peer = exchange.peer();
    const Result<net::AddressPlace> place = services_.limits.enter(
        net::Share::kPhonePages, peer, {.of_one = kMaxPhonesOfOne, .places = kMaxPhones});
    if (!place.ok()) {
        counters_.refused++;
        (void)exchange.respond_error(503, place.error().message(),
                                     {{"Retry-After", std::string(kRetrySeconds)}});
        return;
    }
    net::DetachedConnection detached = exchange.detach();
    PhoneSession session(*this, std::move(detached), peer);
    sessions_.insert(&session);
    session.run(upgrade.head);
    sessions_.erase(&session);
}

Millis PhoneServer::wait_for(const io::SocketAddress& peer) const {
    return wrong_.wait_for(net::limited_address(peer), kWrongPasswords, MonoClock::now());
}

void PhoneServer::count_wrong(const io::SocketAddress& peer) {
    counters_.wrong_passwords++;
    (void)wrong_.take(net::limited_address(peer), kWrongPasswords, MonoClock::now());
}

void PhoneServer::log_refused(const io::SocketAddress& peer,
                              std::string_view user,
                              std::string_view why) {
    counters_.refused++;
    log::throttled(refused_, log::Level::kWarn, "phone refused user={} ip={}: {}", log::token(user),
                   peer.host(), log::escaped(why));
}

}  // namespace weir::session
