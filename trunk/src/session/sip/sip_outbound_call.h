// A call by the server: from the order to the answer, then as every other one. The stream that the
// phone hears may come and go. A coroutine of its own while names are resolved; none from then on.
#pragma once

#include "session/sip/sip_call.h"
#include "session/sip/sip_dialing.h"
#include "session/sip/sip_fork.h"

namespace weir::session {

class SipOutboundCall final : public SipCall {
  public:
    static constexpr Seconds kResolveTime{10};

    // `observer` may be null; else it must outlive this, or be forgotten before.
    SipOutboundCall(SipServer& server, SipCallOrder order, SipCallObserver* observer);

    // Yields. Up to the INVITE.
    void begin();

    void on_event(const sip::CallEvent& event) override;

  private:
    Error prepare();
    Error place();
    void on_answered(const sip::CallEvent& event);
    Error take_answer(const std::string& sdp);
    bool choose_video();
    void say_goodbye() override;

    SipCallOrder order_;
    SipDestination destination_;
    SipFork fork_;
};

}  // namespace weir::session
