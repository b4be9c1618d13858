// One call by this server to all phones that may answer it: an INVITE to each, the first 2xx has
// it, the others are cancelled. Its owner is the SipParty that their events come to. Never yields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/sip/call_types.h"
#include "session/sip/sip_party.h"

namespace weir::session {

class SipServer;

class SipFork {
  public:
    static constexpr size_t kMaxBranches = 10;  // more phones are not called

    // What an event means for all of it.
    enum class Outcome : uint8_t {
        kNothing,
        kRings,     // a provisional answer
        kAnswered,  // winner() has it
        kFailed,    // all have: status(), reason()
        kOfWinner,  // an event of the call that was answered
    };

    // Both must outlive this.
    SipFork(SipServer& server, SipParty& owner) : server_(server), owner_(owner) {}

    SipFork(const SipFork&) = delete;
    SipFork& operator=(const SipFork&) = delete;

    // False: no INVITE could be sent.
    bool begin(const std::vector<sip::CallTarget>& targets);

    Outcome on_event(const sip::CallEvent& event);

    // Ends whatever is there, the answered call too.
    void give_up();

    // 0: nobody has answered.
    sip::CallId winner() const { return winner_; }

    // Where the winner is.
    const sip::Flow& flow() const { return flow_; }

    // The answer of the winner to the offer.
    const std::string& sdp() const { return sdp_; }

    int status() const { return status_; }

    const std::string& reason() const { return reason_; }

  private:
    struct Branch {
        sip::CallId id = 0;
        sip::Flow flow;
        std::string sdp;  // of a provisional answer
        bool over = false;
    };

    Branch* find(sip::CallId id);
    void note_failure(int status, const std::string& reason);
    void end_others(sip::CallId but);

    SipServer& server_;
    SipParty& owner_;
    std::vector<Branch> branches_;
    sip::CallId winner_ = 0;
    sip::Flow flow_;
    std::string sdp_;
    int status_ = 0;
    std::string reason_;
};

}  // namespace weir::session
