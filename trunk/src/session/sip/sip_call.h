// A call that connects a phone with streams, to the server or by it: its media, its rows in the
// table of clients, what the API and its observer are told of it. How it begins is in
// SipInboundCall, SipLineCall and SipOutboundCall.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/object_count.h"
#include "io/signal.h"
#include "net/admission.h"
#include "net/client_probe.h"
#include "net/link_facts.h"
#include "net/places.h"
#include "proto/sip/call_types.h"
#include "session/sip/sip_digits.h"
#include "session/sip/sip_media.h"
#include "session/sip/sip_party.h"
#include "session/sip/sip_silence.h"

namespace weir::session {

class SipPump;
class SipServer;

// Statuses of SIP (RFC 3261 §21) that this side gives.
inline constexpr int kSipUnauthorized = 401;
inline constexpr int kSipForbidden = 403;
inline constexpr int kSipNotFound = 404;
inline constexpr int kSipUnavailable = 480;
inline constexpr int kSipBusyHere = 486;
inline constexpr int kSipCancelled = 487;
inline constexpr int kSipNotAcceptable = 488;
inline constexpr int kSipServerError = 500;
inline constexpr int kSipTooMany = 503;

// The address in a From or To, without what is not for everybody's eyes; empty: there is none.
std::string public_uri(std::string_view field);

class SipCall : public SipParty, protected SipMediaOwner, private Counted<SipCall> {
  public:
    static constexpr ObjectName kObjectName{"sip_session", "sip"};
    static constexpr size_t kMaxDigits = 32;  // that are remembered
    static constexpr Seconds kPlayAgain{5};   // a stream that nobody publishes is asked for again

    ~SipCall() override;

    void on_event(const sip::CallEvent& event) override;
    void tick(MonoTime now) override;

    bool is_over() const override { return over_ && !beginning_; }

    void finish() override;
    void abandon(net::EndClass why, std::string_view detail) override;

    Error hold(bool on) override;

    // Nobody hears of it any more.
    void forget_observer() { observer_ = nullptr; }

    void hang_up(net::EndClass why, std::string_view detail) override { end(why, detail); }

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
    // The rows, and the rules that the server has for itself, of streams that nobody has to be
    // asked about. kFull.
    Error take_own_rows();
    sdp::PhoneOptions options_now() const;
    // These codecs only, in this order: "G711U", "Speex/16000", in either case.
    void choose_codecs(const std::vector<std::string>& wanted);
    Error open_ports(bool audio, bool video);
    // What holds from now on; its answer is taken out, and returned.
    // `bytes`: size of the description that the phone has sent for it.
    std::string take_agreement(sdp::PhoneAgreement agreed, size_t bytes);
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
    // The ACK of the phone's INVITE came.
    void on_confirmed();
    void look_whether_it_is_there(MonoTime now);
    void tell_hooks();
    void on_late_answer(const sip::CallEvent& event);

    void play_again(MonoTime now);

    // SipMediaOwner
    void on_digit(char digit) override;
    void on_publish_over(net::EndClass why, std::string_view detail) override;
    void on_play_over(net::EndClass why, std::string_view detail) override;

    SipServer& server_;
    const char* direction_;  // a literal, as in SipCallFacts
    SipCallObserver* observer_ = nullptr;
    // The stream that the phone hears may come and go.
    bool outlives_stream_ = false;
    bool stops_playing_ = false;
    MonoTime play_at_{};
    sip::CallId id_ = 0;  // 0: it is not known yet
    sip::Flow flow_;
    std::string call_id_;
    std::string from_;
    std::string to_;
    std::string user_;
    std::string trunk_;
    std::string tc_url_;
    MonoTime since_;
    bool proven_ = true;  // the phone is where its messages come from, or was called there
    net::AddressPlace unproven_place_;  // until then
    size_t described_ = 0;              // bytes of the phone's last description
    SipSilence silence_;

    stream::StreamKey play_key_;           // no name: none
    stream::StreamKey publish_key_;        // no name: none
    std::string meets_;                    // the conference that it calls; empty: none
    SipConference* conference_ = nullptr;  // it has a seat there
    bool wants_play_ = false;
    bool wants_publish_ = false;
    net::PlayRules play_rules_;
    net::PublishRules publish_rules_;
    sdp::PhoneOptions options_;
    // Of audio and video, as they were before this server's last offer, which may be refused.
    std::pair<sdp::Direction, sdp::Direction> before_hold_{};
    std::shared_ptr<const sdp::PhoneAgreement> agreed_ = nothing_agreed();  // the media has it, too
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
    int status_ = 0;      // of its failure
    std::string reason_;  // the same, as the phone's side has said it
    MonoTime over_at_{};
    net::EndClass why_ = net::EndClass::kPeerClosed;
    std::string detail_ = "the phone hung up";
    uint64_t digits_ = 0;
    std::string last_digits_;
    uint64_t digits_sent_ = 0;
    SipDigits info_digits_;
};

}  // namespace weir::session
