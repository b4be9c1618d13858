#include "app/protocols/sip_calls_api.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/access/strict_json.h"
#include "app/api/listing.h"
#include "base/log.h"
#include "proto/http/request.h"

namespace weir::app {
namespace {

constexpr std::string_view kPath = "/api/v1/calls";
constexpr std::string_view kRegistrationsPath = "/api/v1/sip/registrations";
constexpr std::string_view kDtmf = "/dtmf";
constexpr int kMaxDepth = 2;
constexpr size_t kMaxText = 512;  // of a member of an order
constexpr Millis kDigitDuration{100};

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kMalformed: return 400;
        case ErrorCode::kDenied: return 403;
        case ErrorCode::kBusy:
        case ErrorCode::kUnsupported: return 409;
        default: return 503;
    }
}

int64_t ms(Micros time) {
    return std::chrono::duration_cast<Millis>(time).count();
}

net::Json voice_json(const std::optional<rtp::PlayoutStats>& voice) {
    if (!voice) {
        return nullptr;
    }
    return {{"delay_ms", ms(voice->delay)},
            {"target_ms", ms(voice->target)},
            {"jitter_ms", ms(voice->jitter)},
            {"received", voice->received},
            {"lost", voice->lost},
            {"late", voice->late},
            {"dropped", voice->dropped},
            {"concealed", voice->concealed},
            {"shortened", voice->shortened},
            {"stretched", voice->stretched}};
}

net::Json call_json(const session::SipCallFacts& call) {
    return {{"id", call.id},
            {"direction", call.direction},
            {"call_id", call.call_id},
            {"from", call.from},
            {"to", call.to},
            {"user", call.user},
            {"trunk", call.trunk},
            {"ip", call.ip},
            {"transport", call.transport},
            {"state", call.state},
            {"reason", call.reason},
            {"status", call.status},
            {"detail", call.detail},
            {"since_ms", wall_time_ms() - call.age.count()},
            {"audio", call.audio},
            {"video", call.video},
            {"play", call.play},
            {"publish", call.publish},
            {"conference", call.conference},
            {"play_client", call.play_client},
            {"publish_client", call.publish_client},
            {"held", call.held},
            {"digits", call.digits},
            {"last_digits", call.last_digits},
            {"digits_sent", call.digits_sent},
            {"packets_received", call.packets_received},
            {"strangers", call.strangers},
            {"unusable", call.unusable},
            {"encryption", call.encryption},
            {"ice", call.ice},
            {"jitter_buffer", voice_json(call.voice)}};
}

}  // namespace

void SipCallsApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix(std::string(kRegistrationsPath), options,
                      [this](auto& exchange) { list_registrations(exchange); });
    options.methods |=
        http::method_bit(http::Method::kDelete) | http::method_bit(http::Method::kPost);
    router.add_prefix(std::string(kPath), options, [this](auto& exchange) { handle(exchange); });
}

void SipCallsApi::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view id = request.path;
    id.remove_prefix(std::min(id.size(), kPath.size() + 1));
    const bool post = request.method == http::Method::kPost;
    if (post && id.empty()) {
        place(exchange);
    } else if (post && id.ends_with(kDtmf)) {
        send_digits(exchange, id.substr(0, id.size() - kDtmf.size()));
    } else if (post) {
        (void)exchange.respond_error(405, "POST is for /api/v1/calls and /api/v1/calls/ID/dtmf",
                                     {{"Allow", "GET, HEAD, DELETE"}});
    } else if (!id.empty()) {
        handle_one(exchange, id);
    } else if (request.method == http::Method::kDelete) {
        (void)exchange.respond_error(
            405, "name one: DELETE /api/v1/calls/ID; GET /api/v1/calls lists them",
            {{"Allow", "GET, HEAD, POST"}});
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
    const auto add = [&](const session::SipCallFacts& facts) {
        if (page->has(total++)) {
            text.add(call_json(facts));
        }
    };
    const std::string_view ended = exchange.request().query.get_or("ended", "0");
    if (ended == "1") {
        server_.for_each_ended(now, add);
    } else if (ended == "0") {
        server_.for_each_call([&](const session::SipParty& call) { add(call.facts(now)); });
    } else {
        (void)exchange.respond_error(400, "ended must be 1 or 0");
        return;
    }
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "calls"));
}

// ---- POST ----

Result<session::SipCallOrder> SipCallsApi::read_order(const nlohmann::json& json) const {
    session::SipCallOrder order;
    std::string play;
    std::string publish;
    const std::pair<std::string_view, std::string*> members[] = {
        {"to", &order.to},   {"from", &order.from}, {"display", &order.display},
        {"via", &order.via}, {"play", &play},       {"publish", &publish},
    };
    for (const auto& [name, value] : json.items()) {
        const auto* const member =
            std::ranges::find_if(members, [&](const auto& each) { return each.first == name; });
        if (member == std::end(members) || !value.is_string() ||
            value.get_ref<const std::string&>().size() > kMaxText) {
            return make_error(ErrorCode::kMalformed,
                              "the body may have texts named to, play, publish, from, display and "
                              "via, of {} bytes at most",
                              kMaxText);
        }
        *member->second = value.get<std::string>();
    }
    if (order.to.empty()) {
        return make_error(ErrorCode::kMalformed, "to: whom to call, is missing");
    }
    const bool plain = std::ranges::none_of(
        order.to + order.from + order.display + order.via,
        [](char each) { return static_cast<unsigned char>(each) < ' ' || each == '\x7f'; });
    if (!plain) {
        return make_error(ErrorCode::kMalformed, "control characters are not allowed");
    }
    for (const auto& [path, key] : {std::pair(&play, &order.play), {&publish, &order.publish}}) {
        if (!path->empty()) {
            WEIR_TRY_ASSIGN(*key, server_.key_of(*path));
        }
    }
    return order;
}

void SipCallsApi::place(net::HttpExchange& exchange) {
    const auto json = parse_strict_object(exchange.request().body, kMaxDepth);
    Result<session::SipCallOrder> order =
        json ? read_order(*json)
             : make_error(ErrorCode::kMalformed,
                          "the body is no JSON object, or a name is in it twice");
    if (!order.ok()) {
        (void)exchange.respond_error(400, order.error().message());
        return;
    }
    if (!enabled_) {
        (void)exchange.respond_error(403, "SIP is off (sip_server)");
        return;
    }
    const std::string to = order->to;
    const Result<std::string> placed = server_.place_call(std::move(*order));
    if (!placed.ok()) {
        (void)exchange.respond_error(status_of(placed.error()), placed.error().message());
        return;
    }
    log::info("api places call={} to={} ip={}", *placed, log::token(to), exchange.peer().host());
    net::Json body = net::envelope(identity_);
    if (const auto facts = server_.facts_of(*placed, MonoClock::now())) {
        body["call"] = call_json(*facts);
    }
    (void)exchange.respond(201, "application/json", net::dumped(body) + "\n",
                           {{"Location", fmt::format("{}/{}", kPath, *placed)}});
}

// ---- one ----

void SipCallsApi::handle_one(net::HttpExchange& exchange, std::string_view id) {
    const MonoTime now = MonoClock::now();
    session::SipParty* const call = server_.find(id);
    const std::optional<session::SipCallFacts> facts = server_.facts_of(id, now);
    const bool ends = exchange.request().method == http::Method::kDelete;
    if (ends ? call == nullptr : !facts) {
        (void)exchange.respond_error(404, "no call with that id; GET /api/v1/calls lists them");
        return;
    }
    net::Json body = net::envelope(identity_);
    if (ends) {
        log::info("api ends call={} ip={}", id, exchange.peer().host());
        call->hang_up(net::EndClass::kKicked, "ended by the API");
    } else {
        body["call"] = call_json(*facts);
    }
    net::answer(exchange, body);
}

// ---- registrations ----

void SipCallsApi::list_registrations(net::HttpExchange& exchange) {
    const Result<Page> page = Page::read(exchange.request().query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    const MonoTime now = MonoClock::now();
    ListText text;
    uint64_t total = 0;
    server_.trunks().for_each([&](const session::SipTrunk& trunk) {
        if (!page->has(total++)) {
            return;
        }
        const session::SipTrunkFacts facts = trunk.facts(now);
        net::Json json = {{"id", facts.id},
                          {"state", facts.state},
                          {"server", facts.server},
                          {"status", facts.status},
                          {"error", facts.error},
                          {"attempts", facts.attempts},
                          {"failures", facts.failures}};
        if (facts.expires_in) {
            json["expires_in_ms"] = std::max<int64_t>(0, facts.expires_in->count());
        }
        text.add(json);
    });
    (void)exchange.respond(200, "application/json", text.take(identity_, total, "registrations"));
}

// ---- keys ----

void SipCallsApi::send_digits(net::HttpExchange& exchange, std::string_view id) {
    session::SipParty* const call = server_.find(id);
    if (call == nullptr) {
        (void)exchange.respond_error(404, "no call with that id; GET /api/v1/calls lists them");
        return;
    }
    const auto json = parse_strict_object(exchange.request().body, kMaxDepth);
    if (!json || json->size() != 1 || !json->contains("digits") || !(*json)["digits"].is_string()) {
        (void)exchange.respond_error(400, "the body is to be {\"digits\": \"0123456789*#\"}");
        return;
    }
    const Result<bool> sent =
        call->send_digits((*json)["digits"].get<std::string>(), kDigitDuration);
    if (!sent.ok()) {
        const bool full = sent.error().code() == ErrorCode::kFull;
        (void)exchange.respond_error(full ? 429 : status_of(sent.error()), sent.error().message());
        return;
    }
    net::Json body = net::envelope(identity_);
    body["by"] = *sent ? "rtp" : "info";
    net::answer(exchange, body);
}

}  // namespace weir::app
