#include "session/sip/sip_server.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "io/deadline.h"
#include "net/fanout.h"
#include "net/limits.h"
#include "net/player_protocol.h"
#include "net/rtp/rtp_pump.h"
#include "proto/rtmp/stream_name.h"
#include "proto/sip/name_addr.h"
#include "session/sip/sip_inbound_call.h"
#include "session/sip/sip_outbound_call.h"
#include "session/sip/sip_pump.h"

namespace weir::session {

SipServer::SipServer(const net::Services& services, SipServerOptions options)
    : services_(services),
      options_(std::move(options)),
      agent_({}, system_random()),
      wires_(services_, *this, resolver_),
      trunks_(*this, wires_, resolver_),
      dialer_(options_, registrar_, trunks_, wires_, resolver_),
      lines_(*this, *this, wires_, resolver_) {
    const auto unix_us =
        std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
    unix_epoch_ = MonoClock::now() - unix_us;
    agent_.set_t1(options_.timer_t1);
}

SipServer::~SipServer() {
    WEIR_CHECK(calls_.empty());
}

void SipServer::reconfigure(SipServerOptions options) {
    options_ = std::move(options);
    agent_.set_t1(options_.timer_t1);
    wires_.set_workers(options_.workers);
    if (!options_.registrations.empty() || trunks_.size() > 0) {
        trunks_.configure(options_.registrations);
    }
}

Error SipServer::stop(io::Deadline deadline) {
    stopping_ = true;
    lines_.end_all();
    for (const auto& [name, call] : calls_) {  // a farewell; nobody waits for its answer
        call->say_goodbye();
    }
    trunks_.stop(deadline);
    lines_.stop(deadline);
    answers_.interrupt_all();
    Error joined = answers_.join_all(deadline);
    for (const auto& [name, call] : calls_) {
        call->abandon(net::EndClass::kStopping, net::to_string(net::EndReason::kServerStopping));
    }
    if (clock_runs_) {
        clock_.interrupt();
        clock_.join();
        clock_runs_ = false;
    }
    bury();
    lines_.clear();
    Error closed = wires_.stop(deadline);
    return joined ? std::move(joined) : std::move(closed);
}

// ---- what comes ----

void SipServer::on_parsed(sip::Parsed parsed, const sip::Flow& flow) {
    if (!begin_clock()) {
        return;
    }
    agent_.on_parsed(MonoClock::now(), std::move(parsed), flow);
    work();
}

void SipServer::on_flow_failed(const sip::Flow& flow) {
    agent_.on_flow_failed(MonoClock::now(), flow);
    registrar_.on_connection_closed(flow.connection);
    work();
}

// What an event causes may cause more: one of these at a time does all.
void SipServer::work() {
    if (std::exchange(working_, true)) {
        return;
    }
    for (bool more = true; more;) {
        more = false;
        while (std::optional<sip::Transmit> out = agent_.poll_transmit()) {
            more = true;
            wires_.send(out->flow, std::move(out->bytes));
        }
        while (std::optional<sip::CallEvent> event = agent_.poll_event()) {
            more = true;
            on_event(std::move(*event));
        }
    }
    working_ = false;
    const auto due = agent_.next_timeout();
    if (due && *due < clock_due_) {
        clock_signal_.notify_all();
    }
}

void SipServer::on_event(sip::CallEvent event) {
    using Kind = sip::CallEvent::Kind;
    switch (event.kind) {
        case Kind::kInvited:
            if (!lines_.take_invited(event)) {
                on_invited(std::move(event));
            }
            return;
        case Kind::kRequest: on_request(event); return;
        case Kind::kResponse:  // each knows its own
            trunks_.on_response(MonoClock::now(), event.user, event.response);
            lines_.on_response(MonoClock::now(), event.user, event.response);
            return;
        case Kind::kRequestFailed:
            trunks_.on_failed(MonoClock::now(), event.user, event.status);
            lines_.on_failed(MonoClock::now(), event.user, event.status);
            return;
        default: break;
    }
    const auto found = routes_.find(event.call);
    if (found == routes_.end()) {
        return;
    }
    SipParty* const party = found->second;
    const bool last =
        event.kind == Kind::kFailed || event.kind == Kind::kCancelled || event.kind == Kind::kEnded;
    if (last) {
        routes_.erase(found);
    }
    party->on_event(event);
    clock_signal_.notify_all();  // it may have to be buried
}

sip::CallId SipServer::begin_call(SipParty& party, const sip::CallTarget& target) {
    const sip::CallId id = agent_.call(MonoClock::now(), target);
    if (id != 0) {
        route(id, party);
    }
    return id;
}

void SipServer::route(sip::CallId call, SipParty& party) {
    routes_[call] = &party;
    party.events_.push_back(call);
}

size_t SipServer::outside_calls(std::string_view prefix) const {
    return static_cast<size_t>(std::ranges::count_if(calls_, [prefix](const auto& each) {
        return !each.second->is_over() && each.second->outside() == prefix;
    }));
}

void SipServer::adopt(std::unique_ptr<SipParty> party) {
    std::string name(party->name());
    calls_.emplace(std::move(name), std::move(party));
}

bool SipServer::send_request(sip::Request request, const sip::Flow& flow, uint64_t user) {
    return with_agent([&](sip::UserAgent& agent) {
        return agent.send_request(MonoClock::now(), std::move(request), flow, user);
    });
}

Result<std::string> SipServer::place_call(SipCallOrder order, SipCallObserver* observer) {
    if (stopping_ || !begin_clock()) {
        return make_error(ErrorCode::kInterrupted, "the server stops");
    }
    WEIR_TRY(dialer_.check(order));
    if (order.play.name.empty() && order.publish.name.empty()) {
        return make_error(ErrorCode::kMalformed, "the call is to have play, publish or both");
    }
    if (!order.from.empty() && !sip::SipUri::parse(order.from)) {
        return make_error(ErrorCode::kMalformed, "from is no sip:USER@DOMAIN");
    }
    const stream::Stream* const stream =
        order.publish.name.empty() ? nullptr : services_.registry.find(order.publish);
    if (stream != nullptr &&
        stream->may_publish(services_.policy.rules_of_source(order.publish).conflict)) {
        return make_error(ErrorCode::kBusy, "somebody publishes {} already",
                          order.publish.to_string());
    }
    auto made = std::make_unique<SipOutboundCall>(*this, std::move(order), observer);
    SipOutboundCall* const call = made.get();
    std::string name(call->name());
    WEIR_TRY(answers_.spawn("sip call", io::StackSize::kNormal, [this, call] {
        call->begin();
        clock_signal_.notify_all();
    }));
    adopt(std::move(made));
    return name;
}

Result<stream::StreamKey> SipServer::key_of(std::string_view path) const {
    const size_t slash = path.rfind('/');
    rtmp::StreamName name;
    if (slash == std::string_view::npos ||
        rtmp::parse_path(path.substr(0, slash), path.substr(slash + 1), name)) {
        return make_error(ErrorCode::kMalformed, "a stream is named APP/STREAM");
    }
    return services_.policy.key_of(stream::kDefaultVhost, name.app, name.stream);
}

void SipServer::forget_observer(std::string_view name) {
    const auto found = calls_.find(name);
    SipCall* const call =
        found == calls_.end() ? nullptr : dynamic_cast<SipCall*>(found->second.get());
    if (call != nullptr) {
        call->forget_observer();
    }
}

// Of strangers there is nothing but this: no call, no coroutine.
void SipServer::on_invited(sip::CallEvent event) {
    counters_.invited++;
    SipCaller caller;
    if (const SipRefusal refusal = find_caller(event, caller); refusal.status != 0) {
        refuse(event, refusal);
        return;
    }
    const sip::CallId id = event.call;
    auto made = std::make_unique<SipInboundCall>(*this, event, std::move(caller));
    SipInboundCall* const call = made.get();
    adopt(std::move(made));
    route(id, *call);
    const Error failed = answers_.spawn("sip call", io::StackSize::kNormal, [this, call] {
        call->answer();
        clock_signal_.notify_all();
    });
    if (failed) {
        refuse(event, {kSipTooMany, std::string(failed.message())});
        call->abandon(net::EndClass::kRefused, failed.message());
    }
}

// Who may call. `caller` is set where that is no refusal.
SipRefusal SipServer::find_caller(const sip::CallEvent& invited, SipCaller& caller) {
    if (stopping_) {
        return {kSipTooMany, "the server stops"};
    }
    if (const SipTrunk* const trunk = trunks_.find_source(invited.flow)) {
        caller.trunk = trunk->name();
    } else {
        SipAccess::Answer who = access_.check(invited.request, invited.flow, options_,
                                              MonoClock::now(), wires_.is_own(invited.flow));
        if (who.kind == SipAccess::Answer::Kind::kChallenge) {
            return {kSipUnauthorized, "it has to show who it is", std::move(who.headers)};
        }
        if (who.kind == SipAccess::Answer::Kind::kRefused) {
            return {kSipForbidden,
                    "calls of this address are not allowed (sip_server: user, trunk)"};
        }
        caller.user = std::move(who.user);
    }
    caller.proven = invited.flow.reliable() || !caller.user.empty();
    if (caller.proven) {
        agent_.prove(invited.call);
        return {};
    }
    if (!agent_.transactions().has_room_for_strangers()) {
        return {kSipTooMany, "too many calls over UDP are not acknowledged"};
    }
    Result<net::AddressPlace> place = services_.limits.enter(
        net::Share::kCalls, io::SocketAddress::of(invited.flow.remote),
        {.of_one = options_.max_unproven_per_address, .spared = AddressReach::kNone});
    if (!place.ok()) {
        return {kSipTooMany, std::string(place.error().message())};
    }
    caller.place = std::move(*place);
    return {};
}

void SipServer::refuse(const sip::CallEvent& invited, const SipRefusal& refusal) {
    if (refusal.status == kSipUnauthorized) {
        counters_.challenged++;
    } else {
        counters_.refused++;
        log_refused(invited.flow, public_uri(invited.request.header("From")), refusal.why);
    }
    agent_.reject(MonoClock::now(), invited.call, refusal.status, refusal.headers);
}

void SipServer::on_request(const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    if (event.request.method == sip::Method::kOptions) {
        agent_.respond(now, event.transaction, 200,
                       {{"Allow", std::string(sip::kAllow)},
                        {"Accept", std::string(sip::kSdpType)},
                        {"Supported", std::string(sip::kSupported)}});
        return;
    }
    if (event.request.method == sip::Method::kRegister) {
        on_register(event);
        return;
    }
    agent_.respond(now, event.transaction, 405, {{"Allow", std::string(sip::kAllow)}});
}

// A user registers its own name; trunks and strangers have none.
void SipServer::on_register(const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    const SipAccess::Answer who =
        access_.check(event.request, event.flow, options_, now, wires_.is_own(event.flow));
    if (who.kind == SipAccess::Answer::Kind::kChallenge) {
        counters_.challenged++;
        agent_.respond(now, event.transaction, 401, who.headers);
        return;
    }
    if (who.kind == SipAccess::Answer::Kind::kAllowed && !who.user.empty()) {
        agent_.prove_request(event.transaction);
    }
    const std::string aor = sip::Registrar::address_of(event.request);
    const auto uri = sip::SipUri::parse(aor);
    if (who.kind == SipAccess::Answer::Kind::kRefused || !uri || uri->user != who.user) {
        agent_.respond(now, event.transaction, 403);
        return;
    }
    sip::Request own = event.request;  // a user is one, whatever host its phones have written
    own.headers.set("To", sip::NameAddr{{}, local_aor(who.user), {}}.write());
    const sip::Registrar::Answer answer = registrar_.on_register(now, own, event.flow);
    agent_.respond(now, event.transaction, answer.status, answer.headers);
}

Result<SipPump*> SipServer::pump_for(const stream::StreamKey& key,
                                     const net::PlayRules& rules,
                                     const sdp::PhoneCodec& audio) {
    net::RtpPumpOptions options;
    options.wait_publisher = rules.pump.wait_publisher;
    options.transport = "sip";
    WEIR_TRY_ASSIGN(net::StreamPump* const pump,
                    services_.fanout.pump_for(key, rules.stream, SipPump::kind(audio),
                                              [&](stream::Stream& stream) {
                                                  return std::make_unique<SipPump>(
                                                      stream, options, audio, options_.workers);
                                              }));
    return static_cast<SipPump*>(pump);
}

SipParty* SipServer::find(std::string_view name) const {
    const auto found = calls_.find(name);
    return found == calls_.end() || found->second->is_over() ? nullptr : found->second.get();
}

SipCallFacts SipServer::facts_of(const Ended& ended, MonoTime now) {
    SipCallFacts facts = ended.facts;
    const auto since = std::chrono::duration_cast<Millis>(now - ended.at);
    facts.over += since;
    facts.age += since;
    return facts;
}

std::optional<SipCallFacts> SipServer::facts_of(std::string_view name, MonoTime now) const {
    if (const auto found = calls_.find(name); found != calls_.end()) {
        return found->second->facts(now);
    }
    for (const Ended& each : ended_) {
        if (each.facts.id == name && now - each.at < kKeepEnded) {
            return facts_of(each, now);
        }
    }
    return std::nullopt;
}

void SipServer::log_refused(const sip::Flow& flow, std::string_view from, std::string_view why) {
    log::throttled(refused_, log::Level::kWarn, "call refused ip={} from={}: {}",
                   log::token(flow.remote.ip_text()), log::token(from), why);
}

void SipServer::log_clear_keys(const sip::Flow& flow, std::string_view from) {
    log::throttled(clear_keys_, log::Level::kWarn,
                   "keys of SRTP came without TLS: who sees the messages can hear the call ip={} "
                   "from={}",
                   log::token(flow.remote.ip_text()), log::token(from));
}

// ---- time ----

bool SipServer::begin_clock() {
    if (!clock_runs_ && !stopping_) {
        Result<io::Coroutine> made =
            io::Coroutine::spawn("sip clock", io::StackSize::kNormal, [this] { run_clock(); });
        if (made.ok()) {
            clock_ = std::move(*made);
            clock_runs_ = true;
        }
    }
    return clock_runs_;
}

// Calls that have ended go here: nothing of theirs is on the stack.
void SipServer::bury() {
    for (auto at = calls_.begin(); at != calls_.end();) {
        SipParty& call = *at->second;
        if (!call.is_over()) {
            ++at;
            continue;
        }
        keep(call, MonoClock::now());
        call.finish();
        for (const sip::CallId id : call.events_) {
            const auto route = routes_.find(id);
            if (route != routes_.end() && route->second == &call) {  // else another one has it
                routes_.erase(route);
            }
        }
        at = calls_.erase(at);
    }
}

void SipServer::keep(const SipParty& call, MonoTime now) {
    if (!call.is_kept()) {
        return;
    }
    ended_.push_front({call.facts(now), now});
    while (ended_.size() > kMaxEnded || now - ended_.back().at >= kKeepEnded) {
        ended_.pop_back();
    }
}

void SipServer::run_clock() {
    for (;;) {
        const MonoTime now = MonoClock::now();
        if (std::exchange(more_, false)) {
            wires_.read_more();
        }
        agent_.handle_timeout(now);
        registrar_.handle_timeout(now);
        trunks_.work(now);
        lines_.tick(now);
        work();
        bury();
        for (const auto& [name, call] : calls_) {
            call->tick(now);
        }
        conferences_.tick(now);
        // At whole ticks: so nobody's media has two in one turn and none in the next.
        clock_due_ = now + (calls_.empty() ? Micros(Seconds(60))
                                           : Micros(kTick) - now.time_since_epoch() % kTick);
        for (const auto& due : {agent_.next_timeout(), registrar_.next_timeout(),
                                trunks_.next_timeout(), lines_.next_timeout()}) {
            clock_due_ = std::min(clock_due_, due.value_or(clock_due_));
        }
        if (more_) {
            io::yield();  // others have their turn first
            if (!io::interrupted()) {
                continue;
            }
        }
        const Error waited = clock_signal_.wait_until(io::Deadline::at(clock_due_), "SIP's time");
        if (waited.code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

}  // namespace weir::session
