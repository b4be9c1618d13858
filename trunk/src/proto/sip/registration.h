// One registration of ours at a PBX or provider (RFC 3261 §10.2): logs in, refreshes, changes to
// the next server when one fails, waits longer after each failure of all, and logs out. Sans-IO.
//
// Driven so: start(); send what poll_request() gives, by UserAgent::send_request(), and give the
// outcome back with on_response() or on_failed(); handle_timeout() at next_timeout().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "proto/http/login.h"
#include "proto/http/user_info.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"

namespace weir::sip {

struct RegistrationOptions {
    std::string registrar;     // Request-URI: "sip:pbx.example.com"
    std::string aor;           // who: "sip:user@pbx.example.com"
    std::string display;       // may be empty
    std::string contact_user;  // of Contact
    http::UserInfo login;
    Seconds expires{300};
    std::vector<Flow> servers;    // in the order in which they are tried; at least one
    Seconds first_pause{30};      // after all have failed; it doubles ...
    Seconds longest_pause{1800};  // ... up to this (RFC 5626 §4.5)
};

class Registration {
  public:
    enum class State : uint8_t {
        kIdle,
        kTrying,      // not registered; a request is under way, or due
        kRegistered,  // also while it is refreshed
        kFailed,      // not registered; tried again at next_timeout()
        kEnding,      // the request that ends it is under way
        kEnded,
    };

    struct Outgoing {
        Request request;
        Flow flow;
    };

    // `random` must outlive this.
    Registration(RegistrationOptions options, RandomSource& random);

    void start(MonoTime now);

    // Logs out where it is registered. kEnded at once where it is not.
    void stop(MonoTime now);

    // At most one until its outcome is known.
    std::optional<Outgoing> poll_request();

    // A final response to the request that was polled last.
    void on_response(MonoTime now, const Response& response);

    // No response came: 408, 503.
    void on_failed(MonoTime now, int status);

    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    State state() const { return state_; }

    // Of the last response, or 408 and 503; 0: none yet.
    int last_status() const { return last_status_; }

    // The server that is used, or tried.
    const Flow& server() const { return options_.servers[server_]; }

    // While it is registered.
    std::optional<MonoTime> expires_at() const { return expires_at_; }

  private:
    void ask(Seconds expires);
    void on_accepted(MonoTime now, const Response& response);
    void try_next(MonoTime now, Seconds at_least);
    bool answer_challenge(const Response& response);

    RegistrationOptions options_;
    RandomSource& random_;
    State state_ = State::kIdle;
    http::Login login_;
    http::Login proxy_login_;
    std::string call_id_;
    std::string tag_;
    uint32_t cseq_ = 0;
    size_t server_ = 0;
    size_t failures_ = 0;  // servers in a row
    uint32_t rounds_ = 0;  // of all servers
    int last_status_ = 0;
    Seconds asked_{0};  // Expires of the request under way
    Seconds wanted_{0};
    bool waiting_ = false;  // for the outcome of a request
    bool stopping_ = false;
    std::optional<Outgoing> outgoing_;
    std::optional<MonoTime> ask_at_;
    std::optional<MonoTime> expires_at_;
};

}  // namespace weir::sip
