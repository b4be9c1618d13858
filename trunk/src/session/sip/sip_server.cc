#include "session/sip/sip_server.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace weir::session {

SipServer::SipServer(const net::Services& services, SipServerOptions options)
    : services_(services),
      options_(std::move(options)),
      agent_({}, system_random()),
      wires_(services_, *this) {
    const auto unix_us =
        std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
    unix_epoch_ = MonoClock::now() - unix_us;
}

SipServer::~SipServer() {
    WEIR_CHECK(calls_.empty());
}

void SipServer::reconfigure(SipServerOptions options) {
    options_ = std::move(options);
}

Error SipServer::stop(io::Deadline deadline) {
    stopping_ = true;
    std::vector<sip::CallId> ids;
    for (const auto& [id, call] : calls_) {
        ids.push_back(id);
    }
    for (const sip::CallId id : ids) {  // a farewell; nobody waits for its answer
        with_agent([&](sip::UserAgent& agent) { return agent.hang_up(MonoClock::now(), id); });
    }
    answers_.interrupt_all();
    Error joined = answers_.join_all(deadline);
    for (const auto& [id, call] : calls_) {
        call->abandon(net::EndClass::kStopping, net::to_string(net::EndReason::kServerStopping));
    }
    if (clock_runs_) {
        clock_.interrupt();
        clock_.join();
        clock_runs_ = false;
    }
    bury();
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
        case Kind::kInvited: on_invited(std::move(event)); return;
        case Kind::kRequest: on_request(event); return;
        case Kind::kResponse:
        case Kind::kRequestFailed: return;
        default: break;
    }
    if (const auto found = calls_.find(event.call); found != calls_.end()) {
        found->second->on_event(event);
        clock_signal_.notify_all();  // it may have to be buried
    }
}

void SipServer::on_invited(sip::CallEvent event) {
    counters_.invited++;
    const sip::CallId id = event.call;
    SipCall* const call =
        calls_.emplace(id, std::make_unique<SipCall>(*this, event)).first->second.get();
    const Error failed = stopping_
                             ? make_error(ErrorCode::kInterrupted, "the server stops")
                             : answers_.spawn("sip call", io::StackSize::kNormal, [this, call] {
                                   call->answer();
                                   clock_signal_.notify_all();
                               });
    if (failed) {
        log_refused(event.flow, event.request.header("From"), failed.message());
        agent_.reject(MonoClock::now(), id, 503);
        call->abandon(net::EndClass::kRefused, failed.message());
    }
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
    const SipAccess::Answer who = access_.check(event.request, event.flow, options_, now);
    if (who.kind == SipAccess::Answer::Kind::kChallenge) {
        counters_.challenged++;
        agent_.respond(now, event.transaction, 401, who.headers);
        return;
    }
    const std::string aor = sip::Registrar::address_of(event.request);
    const auto uri = sip::SipUri::parse(aor);
    if (who.kind == SipAccess::Answer::Kind::kRefused || !uri || uri->user != who.user) {
        agent_.respond(now, event.transaction, 403);
        return;
    }
    const sip::Registrar::Answer answer = registrar_.on_register(now, event.request, event.flow);
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

SipCall* SipServer::find(std::string_view name) const {
    for (const auto& [id, call] : calls_) {
        if (call->name() == name && !call->is_over()) {
            return call.get();
        }
    }
    return nullptr;
}

void SipServer::log_refused(const sip::Flow& flow, std::string_view from, std::string_view why) {
    log::throttled(refused_, log::Level::kWarn, "call refused ip={} from={}: {}",
                   log::token(flow.remote.ip_text()), log::token(from), why);
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
        if (at->second->is_over()) {
            at->second->finish();
            at = calls_.erase(at);
        } else {
            ++at;
        }
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
        work();
        bury();
        for (const auto& [id, call] : calls_) {
            call->tick(now);
        }
        clock_due_ = now + (calls_.empty() ? Micros(Seconds(60)) : Micros(kTick));
        for (const auto& due : {agent_.next_timeout(), registrar_.next_timeout()}) {
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
