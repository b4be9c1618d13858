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
    static constexpr Seconds kPlayAgain{5};  // a stream that nobody publishes is asked for again

    // `observer` may be null; else it must outlive this, or be forgotten before.
    SipOutboundCall(SipServer& server, SipCallOrder order, SipCallObserver* observer);

    // Yields. Up to the INVITE.
    void begin();

    // Nobody hears of it any more.
    void forget_observer() { observer_ = nullptr; }

    void on_event(const sip::CallEvent& event) override;
    void tick(MonoTime now) override;
    void finish() override;

  private:
    Error prepare();
    Error place();
    void on_answered(const sip::CallEvent& event);
    Error take_answer(const std::string& sdp);
    void choose_codecs(bool& video);
    void play_again(MonoTime now);
    void say_goodbye() override;
    void tell_held(bool held) override;
    void tell_digit(char digit) override;
    void on_play_over(net::EndClass why, std::string_view detail) override;

    SipCallOrder order_;
    SipCallObserver* observer_;
    SipDestination destination_;
    SipFork fork_;
    bool stops_playing_ = false;
    MonoTime play_at_{};
    std::string reason_;  // of the failure, as the phone's side has said it
};

}  // namespace weir::session
