// A call between two phones: one to this server, and one by it to the phones of a user, or to a
// provider. Ringing, the answer, refusals, hold, keys by INFO and the end go from one to the other;
// media is relayed as it is, so that codecs and keys are agreed between the phones, but to no host
// that may not have it (sip_hosts.h).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/object_count.h"
#include "net/client_table.h"
#include "net/hooks.h"
#include "net/places.h"
#include "net/rtp/rtp_ports.h"
#include "proto/sdp/phone.h"
#include "session/sip/sip_dialing.h"
#include "session/sip/sip_fork.h"
#include "session/sip/sip_hosts.h"
#include "session/sip/sip_party.h"
#include "session/sip/sip_silence.h"

namespace weir::session {

// Who has called, as SipInboundCall knows it.
struct SipBridgeCaller {
    sip::CallId id = 0;
    sip::Flow flow;
    std::string call_id;
    std::string from;
    std::string display;
    std::string to;
    std::string user;
    std::string trunk;
    bool proven = false;               // as in SipCaller
    net::AddressPlace unproven_place;  // until it is
    std::string outside;  // rule by which it goes to a provider: the beginning of its numbers
    std::string offer;
    uint32_t max_forwards = 70;
    std::unique_ptr<net::Client> asked;  // with its ticket; null: no hook server was asked
    net::HookTicket ticket;
};

class SipBridge final : public SipParty, private net::RtpPortsOwner, private Counted<SipBridge> {
  public:
    // A call between two phones.
    static constexpr ObjectName kObjectName{"sip_bridge", "sip"};

    SipBridge(SipServer& server, SipBridgeCaller caller);
    ~SipBridge() override;

    // Never yields. Calls the phones. Else a status of SIP, for the caller, and why.
    struct Refusal {
        int status = 0;  // 0: none
        std::string why;
    };

    Refusal begin(SipDestination destination);

    // What begin() said, to the caller; it is over then.
    void refuse(const Refusal& refusal);

    // SipParty
    void on_event(const sip::CallEvent& event) override;
    void tick(MonoTime now) override;

    bool is_over() const override { return over_; }

    void finish() override;
    void abandon(net::EndClass why, std::string_view detail) override;

    void hang_up(net::EndClass why, std::string_view detail) override { end(why, detail); }

    void say_goodbye() override;
    SipCallFacts facts(MonoTime now) const override;

    std::string_view outside() const override { return caller_.outside; }

  private:
    static constexpr size_t kCaller = 0;
    static constexpr size_t kCallee = 1;
    static constexpr size_t kAudio = 0;
    static constexpr size_t kVideo = 1;
    static constexpr size_t kKinds = 2;

    struct Way {
        std::unique_ptr<net::RtpPorts> ports;
        NetAddress rtp;  // where it goes
        NetAddress rtcp;
    };

    struct Side {
        sip::CallId id = 0;  // 0: it is not known yet
        sip::Flow flow;
        std::array<Way, kKinds> ways;
        SipHosts hosts;
        SipSilence silence;
        std::string told;   // the description that it was sent last
        bool held = false;  // it wants no media, or sends none
        MonoTime heard{};
        uint64_t received = 0;
    };

    // net::RtpPortsOwner: `track` is side * kKinds + kind.
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override;

    void on_more_datagrams() override { more_ = true; }

    Error open_ports(const sdp::PhoneDescription& offer);
    // A description of one side, as the other one gets it. Empty: it cannot be read.
    std::string pass_on(size_t from, const std::string& sdp);
    void learn(size_t side, const sdp::PhoneDescription& read, size_t bytes);
    bool look_whether_it_is_there(MonoTime now, Side& side);
    void on_callee(const sip::CallEvent& event);
    void on_ringing(const sip::CallEvent& event);
    void on_answered();
    void on_inside(size_t side, const sip::CallEvent& event);
    void on_offer(size_t side, const sip::CallEvent& event);
    void on_offer_done(size_t side, const sip::CallEvent& event);
    void note_over(net::EndClass why, std::string_view detail);
    void end(net::EndClass why, std::string_view detail);

    SipServer& server_;
    SipBridgeCaller caller_;
    SipFork fork_;
    std::array<Side, 2> sides_;
    std::optional<size_t> offering_;  // whose offer the other side has not answered yet
    MonoTime since_;
    MonoTime over_at_{};
    std::string audio_;
    std::string video_;
    bool has_place_ = false;
    bool ringing_ = false;
    bool answered_ = false;
    bool more_ = false;
    bool over_ = false;
    int status_ = 0;
    uint64_t strangers_ = 0;
    net::EndClass why_ = net::EndClass::kPeerClosed;
    std::string detail_;
};

}  // namespace weir::session
