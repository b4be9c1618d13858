// SIP server: a user agent for calls to streams. Signalling is proto/sip, media is in SipMedia;
// this has the sockets, the time, the calls, and who may call.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "io/coroutine.h"
#include "io/resolver.h"
#include "io/signal.h"
#include "net/admission.h"
#include "net/services.h"
#include "proto/sip/registrar.h"
#include "proto/sip/user_agent.h"
#include "session/sip/sip_access.h"
#include "session/sip/sip_caller.h"
#include "session/sip/sip_conference.h"
#include "session/sip/sip_dialing.h"
#include "session/sip/sip_lines.h"
#include "session/sip/sip_log_writer.h"
#include "session/sip/sip_options.h"
#include "session/sip/sip_party.h"
#include "session/sip/sip_security.h"
#include "session/sip/sip_trunks.h"
#include "session/sip/sip_wires.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class SipPump;

struct SipCounters {
    uint64_t invited = 0;
    uint64_t answered = 0;
    uint64_t refused = 0;  // calls: no such number, not allowed, nothing in common
    uint64_t challenged = 0;
    uint64_t digits = 0;
    uint64_t placed = 0;        // calls by this server
    uint64_t answered_out = 0;  // of them
    uint64_t failed = 0;        // of them
    uint64_t bridged = 0;       // calls between two phones that were answered
    uint64_t outside = 0;       // calls of phones that went to a provider
};

class SipServer final : private SipWiresOwner, private SipTrunksOwner {
  public:
    static constexpr Millis kTick{20};        // of media, while there are calls
    static constexpr size_t kMaxEnded = 500;  // calls that are over, for the API
    static constexpr Seconds kKeepEnded{600};

    SipServer(const net::Services& services, SipServerOptions options);
    ~SipServer();  // stop() must have been called
    SipServer(const SipServer&) = delete;
    SipServer& operator=(const SipServer&) = delete;

    SipWires& wires() { return wires_; }

    const SipWires& wires() const { return wires_; }

    // For calls that come from now on.
    void reconfigure(SipServerOptions options);

    void stop_accepting() { wires_.stop_accepting(); }

    // Yields. Says goodbye to every call.
    Error stop(io::Deadline deadline);

    const net::Services& services() const { return services_; }

    net::Admission& admission() { return admission_; }

    SipAccess& access() { return access_; }

    SipSecurity& security() { return security_; }

    const SipSecurity& security() const { return security_; }

    SipConferences& conferences() { return conferences_; }

    const SipConferences& conferences() const { return conferences_; }

    SipDialer& dialer() { return dialer_; }

    const SipTrunks& trunks() const { return trunks_; }

    SipLines& lines() { return lines_; }

    const SipLines& lines() const { return lines_; }

    // ---- calls by this server ----

    // Never yields. Calls somebody: a user of the registrar, a number of a registration (`via`), or
    // anybody at a host of `allow_calls`, with any login of `order.login` and any From. The id of
    // the call; `observer` (may be null) hears the rest, and must outlive it or be forgotten.
    // kMalformed; kDenied: no rule allows it; kBusy: somebody publishes `order.publish`; kFull;
    // kInterrupted: the server stops.
    Result<std::string> place_call(SipCallOrder order, SipCallObserver* observer = nullptr);

    // As if its phones had never registered.
    void remove_phones(std::string_view user) { registrar_.remove_all(local_aor(user)); }

    // "APP/STREAM" of the default vhost. kMalformed.
    Result<stream::StreamKey> key_of(std::string_view path) const;

    // Nobody hears of that call any more. It goes on.
    void forget_observer(std::string_view name);

    // ---- for calls ----

    // An INVITE whose events go to `party`; send_all() must follow. 0: there are too many.
    sip::CallId begin_call(SipParty& party, const sip::CallTarget& target);

    void send_all() { work(); }

    // Events of that call go to `party` from now on.
    void route(sip::CallId call, SipParty& party);

    // How many go to a provider by this rule now.
    size_t outside_calls(std::string_view prefix) const;

    // It is one of the calls from now on.
    void adopt(std::unique_ptr<SipParty> party);

    const SipServerOptions& options() const { return options_; }

    SipCounters& counters() { return counters_; }

    const SipCounters& counters() const { return counters_; }

    const sip::UserAgent& agent() const { return agent_; }

    const sip::Registrar& registrar() const { return registrar_; }

    // `act(agent)`, then all that comes of it is sent and told.
    template <typename Act>
    bool with_agent(Act&& act) {
        const bool done = act(agent_);
        work();
        return done;
    }

    // A call may be over.
    void look_soon() { clock_signal_.notify_all(); }

    // The pump of a stream's players with this codec. kInterrupted, kSystem: there is none.
    Result<SipPump*> pump_for(const stream::StreamKey& key,
                              const net::PlayRules& rules,
                              const sdp::PhoneCodec& audio);

    MonoTime unix_epoch() const { return unix_epoch_; }

    // visit(const SipParty&) for each; must not yield.
    template <typename Visit>
    void for_each_call(Visit&& visit) const {
        for (const auto& [name, call] : calls_) {
            visit(*call);
        }
    }

    // visit(const SipCallFacts&) for each call that is over, the newest first; must not yield.
    template <typename Visit>
    void for_each_ended(MonoTime now, Visit&& visit) const {
        for (const Ended& each : ended_) {
            if (now - each.at < kKeepEnded) {
                visit(facts_of(each, now));
            }
        }
    }

    // By SipParty::name(). nullptr: there is none (any more).
    SipParty* find(std::string_view name) const;

    // Of a call that is there, or was until lately.
    std::optional<SipCallFacts> facts_of(std::string_view name, MonoTime now) const;

    size_t calls() const override { return calls_.size(); }

    void log_refused(const sip::Flow& flow, std::string_view from, std::string_view why);

    // Keys of SRTP have come without TLS.
    void log_clear_keys(const sip::Flow& flow, std::string_view from);

  private:
    struct Ended {
        SipCallFacts facts;
        MonoTime at;
    };

    static SipCallFacts facts_of(const Ended& ended, MonoTime now);

    // SipTrunksOwner
    bool send_request(sip::Request request, const sip::Flow& flow, uint64_t user) override;

    void on_trunk_change() override {
        if (begin_clock()) {
            look_soon();
        }
    }

    void on_parsed(sip::Parsed parsed, const sip::Flow& flow) override;
    void on_flow_failed(const sip::Flow& flow) override;

    void on_more() override {
        more_ = true;
        clock_signal_.notify_all();
    }

    NetAddress public_address() const override { return options_.address; }

    Millis handshake() const override { return options_.handshake; }

    void work();
    void on_event(sip::CallEvent event);
    void on_invited(sip::CallEvent event);
    SipRefusal find_caller(const sip::CallEvent& invited, SipCaller& caller);
    void refuse(const sip::CallEvent& invited, const SipRefusal& refusal);
    void on_request(const sip::CallEvent& event);
    void on_register(const sip::CallEvent& event);
    bool begin_clock();
    void run_clock();
    void bury();
    void keep(const SipParty& call, MonoTime now);

    net::Services services_;
    net::Admission admission_{services_};
    SipServerOptions options_;
    SipAccess access_;
    SipSecurity security_{system_random()};
    SipConferences conferences_{services_.registry};
    sip::UserAgent agent_;
    sip::Registrar registrar_{{}};
    io::Resolver resolver_;
    SipWires wires_;
    SipTrunks trunks_;
    SipDialer dialer_;
    SipLines lines_;
    std::map<std::string, std::unique_ptr<SipParty>, std::less<>> calls_;  // by name
    std::unordered_map<sip::CallId, SipParty*> routes_;
    std::deque<Ended> ended_;  // the newest first
    SipCounters counters_;
    MonoTime unix_epoch_;
    io::TaskGroup answers_;
    io::Signal clock_signal_;
    io::Coroutine clock_;
    bool clock_runs_ = false;
    MonoTime clock_due_{};
    bool working_ = false;
    bool more_ = false;  // datagrams than one turn takes
    bool stopping_ = false;
    log::Throttle refused_{Millis(1000)};
    log::Throttle clear_keys_{Millis(10'000)};
};

}  // namespace weir::session
