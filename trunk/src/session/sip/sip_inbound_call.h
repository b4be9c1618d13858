// A call to the server by somebody who may call: which streams that means, and whether they are
// allowed. A coroutine of its own from the INVITE to the answer, as hook servers may be asked; none
// from then on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "session/sip/sip_call.h"
#include "session/sip/sip_caller.h"
#include "session/sip/sip_dialing.h"
#include "session/sip/sip_options.h"

namespace weir::session {

class SipInboundCall final : public SipCall {
  public:
    // `invited`: of kind kInvited.
    SipInboundCall(SipServer& server, const sip::CallEvent& invited, SipCaller caller);

    // Yields. Up to the answer or the refusal.
    void answer();

    bool is_kept() const override { return !handed_over_; }

  private:
    using Refusal = SipRefusal;

    Refusal prepare();
    const SipDial* find_dial(const std::string& number) const;
    bool find_callee(const sip::SipUri& uri);
    Refusal find_streams();
    Refusal ask_hooks();
    Refusal read_offer();
    Refusal admit_player();
    Refusal admit_publisher();
    Refusal enter_conference();
    Refusal open_media();
    Refusal wait_for_stream();
    Refusal may_go_outside() const;
    Refusal find_way(SipDestination& way, std::string& outside);
    Refusal ring_at_phones();
    void begin();
    net::NewcomerView newcomer(const stream::StreamKey& key) const;
    static Refusal no_connections();

    // What came with the INVITE, and what was found out about it.
    struct Invite {
        io::SocketAddress peer;
        sip::Request request;
        std::string offer_text;
        std::string callee;         // a user of the registrar, or a number outside: no streams
        bool goes_outside = false;  // a number outside
        std::optional<sdp::PhoneDescription> offer;
        std::string answer;  // to the offer
    };

    std::unique_ptr<Invite> invite_;  // until the answer
    bool handed_over_ = false;        // a SipBridge has the call
};

}  // namespace weir::session
