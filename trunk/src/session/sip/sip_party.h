// What a SipServer knows of each of its calls, whatever it connects: an id, facts for the API, and
// who hears of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/end_class.h"
#include "proto/rtp/playout.h"
#include "proto/sip/call_types.h"

namespace weir::sdp {
struct PhoneTrack;
}  // namespace weir::sdp

namespace weir::session {

// For the API.
struct SipCallFacts {
    std::string id;         // of this server, for logs and the API
    std::string direction;  // "in": to this server; "out": by it; "bridge": between two phones
    std::string call_id;    // Call-ID of its messages
    std::string from;       // URI
    std::string to;         // URI
    std::string user;       // who has proven to be that; empty: a trunk
    std::string trunk;      // the registration that it came by or goes by; empty: none
    std::string ip;
    std::string transport;  // of the signalling
    std::string state;      // "setup", "ringing", "answered"; later "ended", "failed"
    std::string reason;     // of its end: "busy", "no answer", "rejected", "unreachable" ...
    int status = 0;         // of SIP, of a call that has failed
    std::string detail;     // of its end, in words
    std::string audio;      // codec; empty: none
    std::string video;
    std::string play;         // stream that it hears, or empty
    std::string publish;      // stream that it is
    std::string conference;   // number of the one that it is in; empty: none
    std::string play_client;  // ids in the list of clients
    std::string publish_client;
    bool held = false;
    uint64_t digits = 0;
    std::string last_digits;
    uint64_t digits_sent = 0;
    uint64_t packets_received = 0;           // of RTP
    uint64_t strangers = 0;                  // datagrams of other addresses
    uint64_t unusable = 0;                   // that no key opened, or that mean nothing
    std::string encryption = "none";         // "none", "sdes", "dtls"
    bool ice = false;                        // it has found the phone
    std::optional<rtp::PlayoutStats> voice;  // of the jitter buffer, where it has one
    Millis age{};                            // since it began
    Millis over{};                           // since it ended
};

// Hears of one call, of whoever has placed it, or is called by it. Nothing here may yield, nor
// destroy a server. Called from the server's event handlers and its clock; on_over() is the last
// one, and comes exactly once.
class SipCallObserver {
  public:
    // 180 to 199; the phone rings.
    virtual void on_ringing(int /*status*/, std::string_view /*reason*/) {}

    // It is answered, and media flows.
    virtual void on_answered(const sdp::PhoneTrack& /*audio*/, const sdp::PhoneTrack& /*video*/) {}

    // By the phone.
    virtual void on_held(bool /*held*/) {}

    virtual void on_digit(char /*digit*/) {}

    // `answered`: it was, and has ended; else it has failed: `status` says how (486: busy, 408: no
    // answer, 503: not reachable; 487: given up by this side).
    virtual void on_over(bool answered, int status, std::string_view reason) = 0;

  protected:
    ~SipCallObserver() = default;
};

class SipServer;

// One call of a server. The events of any number of calls of its UserAgent go to it.
class SipParty {
  public:
    explicit SipParty(std::string name) : name_(std::move(name)) {}

    SipParty(const SipParty&) = delete;
    SipParty& operator=(const SipParty&) = delete;
    virtual ~SipParty() = default;

    std::string_view name() const { return name_; }

    // Never yields.
    virtual void on_event(const sip::CallEvent& event) = 0;

    // Each 20 ms. Never yields.
    virtual void tick(MonoTime now) = 0;

    // It has ended, by whatever side, and can go. Its end may come in the middle of its own media:
    // nothing is taken apart before the server finds it so, in its clock.
    virtual bool is_over() const = 0;

    // Of one that is over, before it goes.
    virtual void finish() = 0;

    // Ends without a word to a phone.
    virtual void abandon(net::EndClass why, std::string_view detail) = 0;

    // By the operator, or by whoever has placed it.
    virtual void hang_up(net::EndClass why, std::string_view detail) = 0;

    // To its phones, as the server stops: nobody waits for their answers.
    virtual void say_goodbye() = 0;

    virtual SipCallFacts facts(MonoTime now) const = 0;

    // Sends keys to the phone: by RFC 4733 where it takes that, else by INFO. kMalformed: other
    // characters than 0-9 * # A-D and ! (flash). kFull: too many wait already, or are asked for at
    // once. kUnsupported: the call is not answered, or it connects two phones. Then none is sent.
    // True: by RFC 4733.
    virtual Result<bool> send_digits(std::string_view /*digits*/, Millis /*duration*/) {
        return make_error(ErrorCode::kUnsupported, "the call connects two phones");
    }

    // The phone hears nothing, and is told so. kBusy: something else is under way, or the call is
    // not answered. kUnsupported: it connects two phones.
    virtual Error hold(bool /*on*/) {
        return make_error(ErrorCode::kUnsupported, "the call connects two phones");
    }

    // False: nobody has to hear of its end by the API (a phone that had to show its password).
    virtual bool is_kept() const { return true; }

    // The beginning of the numbers of the rule by which it goes to a provider; empty: it does not.
    virtual std::string_view outside() const { return {}; }

  private:
    friend class SipServer;

    std::string name_;                 // of this server
    std::vector<sip::CallId> events_;  // the calls whose events come to it
};

// What the API calls the end of a call that failed with a status of SIP.
std::string_view sip_failure(int status);

}  // namespace weir::session
