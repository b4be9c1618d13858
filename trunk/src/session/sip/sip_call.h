// One call: who it is, what it hears and says, its rows in the table of clients. A coroutine of its
// own from the INVITE to the answer, as hook servers may be asked; none from then on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "net/admission.h"
#include "proto/sip/call_types.h"
#include "session/sip/sip_media.h"
#include "stream/life.h"

namespace weir::session {

class SipServer;

// For the API.
struct SipCallFacts {
    std::string id;       // of this server, for logs and the API
    std::string call_id;  // Call-ID of its messages
    std::string from;     // URI
    std::string to;       // URI
    std::string user;     // who has proven to be that; empty: a trunk
    std::string ip;
    std::string transport;  // of the signalling
    std::string state;      // "setup", "ringing", "answered"
    std::string audio;      // codec; empty: none
    std::string video;
    std::string play;         // stream that it hears, or empty
    std::string publish;      // stream that it is
    std::string play_client;  // ids in the list of clients
    std::string publish_client;
    bool held = false;
    uint64_t digits = 0;
    std::string last_digits;
    uint64_t packets_received = 0;  // of RTP
    uint64_t strangers = 0;         // datagrams of other addresses
    Millis age{};
};

class SipCall final : private SipMediaOwner, private Counted<SipCall> {
  public:
    static constexpr ObjectName kObjectName{"sip_session", "sip"};
    static constexpr size_t kMaxDigits = 32;  // that are remembered

    // `invited`: of kind kInvited.
    SipCall(SipServer& server, const sip::CallEvent& invited);
    ~SipCall();
    SipCall(const SipCall&) = delete;
    SipCall& operator=(const SipCall&) = delete;

    // Yields. Up to the answer or the refusal.
    void answer();

    // kConfirmed and later. Never yields.
    void on_event(const sip::CallEvent& event);

    // A few times a second.
    void tick(MonoTime now);

    // It has ended, by whatever side, and can go. Its end may come in the middle of its own media:
    // nothing is taken apart before the server finds it so, in its clock.
    bool is_over() const { return over_ && !answering_; }

    // Of a call that is over, before it goes.
    void finish();

    // Ends without a word to the phone.
    void abandon(net::EndClass why, std::string_view detail);

    // By the operator.
    void hang_up() { end(net::EndClass::kKicked, "kicked by the API"); }

    std::string_view name() const { return name_; }

    SipCallFacts facts(MonoTime now) const;

  private:
    // What one side of the call is for the table of clients.
    struct Probe final : net::ClientProbe {
        std::optional<net::LinkFacts> link_facts() const override {
            return plays ? media->play_facts() : media->publish_facts();
        }

        const SipMedia* media = nullptr;
        bool plays = false;
    };

    // Refusal of the call: a status of SIP, and why.
    struct Refusal {
        int status = 0;  // 0: none
        std::string why;
        http::Fields headers = {};
    };

    Refusal prepare();
    Refusal find_streams();
    Refusal read_offer();
    Refusal admit_player();
    Refusal admit_publisher();
    Refusal wait_for_stream();
    Refusal open_media();
    void begin();
    sdp::PhoneOptions options_now() const;
    net::NewcomerView newcomer(const stream::StreamKey& key) const;
    static Refusal no_connections();
    // False: there is no room for one more.
    bool take_row(std::unique_ptr<net::Client>& place, net::Admitted& admitted, Probe& probe);
    void on_offer(const sip::CallEvent& event);
    void end(net::EndClass why, std::string_view detail);

    // SipMediaOwner
    void on_digit(char digit) override;
    void on_publish_over(net::EndClass why, std::string_view detail) override;
    void on_play_over(net::EndClass why, std::string_view detail) override;

    SipServer& server_;
    sip::CallId id_;
    std::string name_;  // of this server
    sip::Flow flow_;
    io::SocketAddress peer_;
    sip::Request request_;  // the INVITE, until the answer
    std::string call_id_;
    std::string from_;
    std::string to_;
    std::string user_;
    std::string tc_url_;
    std::string offer_text_;
    MonoTime since_;

    stream::StreamKey play_key_;     // no name: none
    stream::StreamKey publish_key_;  // no name: none
    bool wants_play_ = false;
    bool wants_publish_ = false;
    sdp::PhoneOptions options_;
    std::optional<sdp::PhoneDescription> offer_;
    sdp::PhoneAgreement agreed_;
    std::unique_ptr<SipMedia> media_;
    SipPump* pump_ = nullptr;  // held until the media has it
    std::optional<net::AdmittedPlayer> player_place_;
    std::optional<net::AdmittedPublisher> publisher_place_;
    std::unique_ptr<net::Client> player_;
    std::unique_ptr<net::Client> publisher_;
    Probe player_probe_;
    Probe publisher_probe_;
    stream::Stream* published_ = nullptr;
    io::Signal changed_;
    bool answering_ = true;  // its coroutine runs
    bool ringing_ = false;
    bool answered_ = false;
    bool over_ = false;
    net::EndClass why_ = net::EndClass::kPeerClosed;
    std::string detail_ = "the phone hung up";
    uint64_t digits_ = 0;
    std::string last_digits_;
};

}  // namespace weir::session
