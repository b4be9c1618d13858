// A call that connects a phone with streams, to the server or by it: its media, its rows in the
// table of clients, what the API says of it. How it begins is in SipInboundCall and
// SipOutboundCall.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "net/admission.h"
#include "proto/sip/call_types.h"
#include "session/sip/sip_digits.h"
#include "session/sip/sip_media.h"
#include "session/sip/sip_party.h"

namespace weir::session {

class SipServer;

// Statuses of SIP (RFC 3261 §21) that this side gives.
inline constexpr int kSipUnauthorized = 401;
inline constexpr int kSipForbidden = 403;
inline constexpr int kSipNotFound = 404;
inline constexpr int kSipUnavailable = 480;
inline constexpr int kSipBusyHere = 486;
inline constexpr int kSipNotAcceptable = 488;
inline constexpr int kSipServerError = 500;
inline constexpr int kSipTooMany = 503;

class SipCall : public SipParty, protected SipMediaOwner, private Counted<SipCall> {
  public:
    static constexpr ObjectName kObjectName{"sip_session", "sip"};
    static constexpr size_t kMaxDigits = 32;  // that are remembered

    ~SipCall() override;

    void on_event(const sip::CallEvent& event) override;
    void tick(MonoTime now) override;

    bool is_over() const override { return over_ && !beginning_; }

    void finish() override;
    void abandon(net::EndClass why, std::string_view detail) override;

    // The phone hears nothing, and is told so (a=sendonly or inactive). kBusy: something else is
    // under way, or the call is not answered.
    Error hold(bool on);

    void hang_up(std::string_view detail) override { end(net::EndClass::kKicked, detail); }

    void say_goodbye() override;

    SipCallFacts facts(MonoTime now) const override;

    Result<bool> send_digits(std::string_view digits, Millis duration) override;

  protected:
    SipCall(SipServer& server, const char* direction);

    // What one side of the call is for the table of clients.
    struct Probe final : net::ClientProbe {
        std::optional<net::LinkFacts> link_facts() const override {
            return plays ? media->play_facts() : media->publish_facts();
        }

        const SipMedia* media = nullptr;
        bool plays = false;
    };

    // False: there is no room for one more.
    bool take_row(std::unique_ptr<net::Client>& place,
                  std::unique_ptr<net::Client> row,
                  Probe& probe);
    sdp::PhoneOptions options_now() const;
    Error open_ports(bool audio, bool video);
    // The pump of the stream that the phone hears, held.
    Error find_pump();
    // The stream that the phone says. kBusy: somebody else is that already.
    Error begin_publishing();
    // Once both are there, and something is agreed, or will be.
    void begin_media(bool agreed);
    // By this side. It may be its own media that wants it: finish() comes later.
    void end(net::EndClass why, std::string_view detail);
    // Of a call that is over by an event.
    void note_end(const sip::CallEvent& event);
    void on_offer(const sip::CallEvent& event);
    void warn_of_keys();
    void on_info(const sip::CallEvent& event);
    void tell_hooks();
    void on_late_answer(const sip::CallEvent& event);

    // What the one who has begun it hears; for calls by the server.
    virtual void tell_held(bool /*held*/) {}

    virtual void tell_digit(char /*digit*/) {}

    // SipMediaOwner
    void on_digit(char digit) override;
    void on_publish_over(net::EndClass why, std::string_view detail) override;
    void on_play_over(net::EndClass why, std::string_view detail) override;

    SipServer& server_;
    const char* direction_;  // a literal, as in SipCallFacts
    sip::CallId id_ = 0;     // 0: it is not known yet
    sip::Flow flow_;
    std::string call_id_;
    std::string from_;
    std::string to_;
    std::string user_;
    std::string trunk_;
    std::string tc_url_;
    MonoTime since_;

    stream::StreamKey play_key_;           // no name: none
    stream::StreamKey publish_key_;        // no name: none
    std::string meets_;                    // the conference that it calls; empty: none
    SipConference* conference_ = nullptr;  // it has a seat there
    bool wants_play_ = false;
    bool wants_publish_ = false;
    net::PlayRules play_rules_;
    net::PublishRules publish_rules_;
    sdp::PhoneOptions options_;
    sdp::PhoneAgreement agreed_;
    std::unique_ptr<SipMedia> media_;
    SipPump* pump_ = nullptr;  // held until the media has it
    std::unique_ptr<net::Client> player_;
    std::unique_ptr<net::Client> publisher_;
    Probe player_probe_;
    Probe publisher_probe_;
    stream::Stream* published_ = nullptr;
    io::Signal changed_;
    bool beginning_ = true;  // its coroutine runs
    bool ringing_ = false;
    bool answered_ = false;
    bool held_ = false;
    bool over_ = false;
    // Of a call to the server that a hook server was asked about; null: none was.
    std::unique_ptr<net::Client> asked_;
    net::HookTicket ticket_;
    int status_ = 0;  // of its failure
    MonoTime over_at_{};
    net::EndClass why_ = net::EndClass::kPeerClosed;
    std::string detail_ = "the phone hung up";
    uint64_t digits_ = 0;
    std::string last_digits_;
    uint64_t digits_sent_ = 0;
    SipDigits info_digits_;
};

}  // namespace weir::session
