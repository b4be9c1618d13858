#include "app/protocols/sip_calls_api.h"

#include <algorithm>

#include "app/api/listing.h"
#include "base/log.h"

namespace weir::app {
namespace {

constexpr std::string_view kPath = "/api/v1/calls";

net::Json call_json(const session::SipCallFacts& call) {
    return {{"id", call.id},
            {"call_id", call.call_id},
            {"from", call.from},
            {"to", call.to},
            {"user", call.user},
            {"ip", call.ip},
            {"transport", call.transport},
            {"state", call.state},
            {"since_ms", wall_time_ms() - call.age.count()},
            {"audio", call.audio},
            {"video", call.video},
            {"play", call.play},
            {"publish", call.publish},
            {"play_client", call.play_client},
            {"publish_client", call.publish_client},
            {"held", call.held},
            {"digits", call.digits},
            {"last_digits", call.last_digits},
            {"packets_received", call.packets_received},
            {"strangers", call.strangers}};
}

}  // namespace

void SipCallsApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    options.methods |= http::method_bit(http::Method::kDelete);
    router.add_prefix(std::string(kPath), options, [this](auto& exchange) { handle(exchange); });
}

void SipCallsApi::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view id = request.path;
    id.remove_prefix(std::min(id.size(), kPath.size() + 1));
    if (!id.empty()) {
        handle_one(exchange, id);
    } else if (request.method == http::Method::kDelete) {
        (void)exchange.respond_error(
            405, "name one: DELETE /api/v1/calls/ID; GET /api/v1/calls lists them",
            {{"Allow", "GET, HEAD"}});
    } else {
        list(exchange);
    }
}

void SipCallsApi::list(net::HttpExchange& exchange) {
    const Result<Page> page = Page::read(exchange.request().query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    // A page has a thousand members at most: short enough to be written without a yield.
    const MonoTime now = MonoClock::now();
    ListText text;
    uint64_t total = 0;
    server_.for_each_call([&](const session::SipCall& call) {
        if (page->has(total++)) {
            text.add(call_json(call.facts(now)));
        }
    });
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "calls"));
}

void SipCallsApi::handle_one(net::HttpExchange& exchange, std::string_view id) {
    session::SipCall* const call = server_.find(id);
    if (call == nullptr) {
        (void)exchange.respond_error(404, "no call with that id; GET /api/v1/calls lists them");
        return;
    }
    net::Json body = net::envelope(identity_);
    if (exchange.request().method == http::Method::kDelete) {
        log::info("api ends call={} ip={}", id, exchange.peer().host());
        call->hang_up();
    } else {
        body["call"] = call_json(call->facts(MonoClock::now()));
    }
    net::answer(exchange, body);
}

}  // namespace weir::app
