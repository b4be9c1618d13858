// SIP server: a user agent for calls to streams. Signalling is proto/sip, media is in SipMedia;
// this has the sockets, the time, the calls, and who may call.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "io/coroutine.h"
#include "net/admission.h"
#include "net/services.h"
#include "proto/sip/registrar.h"
#include "proto/sip/user_agent.h"
#include "session/sip/sip_access.h"
#include "session/sip/sip_call.h"
#include "session/sip/sip_options.h"
#include "session/sip/sip_wires.h"

namespace weir::session {

struct SipCounters {
    uint64_t invited = 0;
    uint64_t answered = 0;
    uint64_t refused = 0;  // calls: no such number, not allowed, nothing in common
    uint64_t challenged = 0;
    uint64_t digits = 0;
};

class SipServer final : private SipWiresOwner {
  public:
    static constexpr Millis kTick{20};  // of media, while there are calls

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

    // visit(const SipCall&) for each; must not yield.
    template <typename Visit>
    void for_each_call(Visit&& visit) const {
        for (const auto& [id, call] : calls_) {
            visit(*call);
        }
    }

    // By SipCall::name(). nullptr: there is none (any more).
    SipCall* find(std::string_view name) const;

    size_t calls() const override { return calls_.size(); }

    void log_refused(const sip::Flow& flow, std::string_view from, std::string_view why);

  private:
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
    void on_request(const sip::CallEvent& event);
    void on_register(const sip::CallEvent& event);
    bool begin_clock();
    void run_clock();
    void bury();

    net::Services services_;
    net::Admission admission_{services_};
    SipServerOptions options_;
    SipAccess access_;
    sip::UserAgent agent_;
    sip::Registrar registrar_{{}};
    SipWires wires_;
    std::unordered_map<sip::CallId, std::unique_ptr<SipCall>> calls_;
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
};

}  // namespace weir::session
