// One line: a registration at its domain, and one call at a time, which is a SipOutboundCall or a
// SipLineCall of the server.
//
// Its owner has a handle (net::PhoneLine) and is told what happens; whichever of both goes first,
// the other stays whole. The line itself belongs to SipLines, and lives on after its owner until
// the domain has been told. Never yields.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/object_count.h"
#include "net/phone_lines.h"
#include "net/places.h"
#include "proto/sip/call_types.h"
#include "session/sip/sip_party.h"

namespace weir::session {

class SipLineCall;
class SipLines;
class SipServer;

class SipLine final : private SipCallObserver, private Counted<SipLine> {
  public:
    // A line of a phone page or a telephone over RTMP.
    static constexpr ObjectName kObjectName{"sip_line", "sip"};
    static constexpr Millis kFarewellWait{10'000};  // for the end of the registration
    static constexpr Millis kDigitTime{160};        // of a key that is sent
    static constexpr Seconds kExpires{180};

    class Handle;

    // `place`: among the lines of its address.
    SipLine(SipLines& lines,
            net::PhoneLineRequest request,
            net::PhoneLineObserver& observer,
            net::AddressPlace place);
    ~SipLine();
    SipLine(const SipLine&) = delete;
    SipLine& operator=(const SipLine&) = delete;

    // The owner's side. Once.
    std::unique_ptr<net::PhoneLine> make_handle();

    // It has a password, and has not begun to register.
    bool waits_for_turn() const {
        return observer_ != nullptr && registration_ == 0 && !request_.password.empty();
    }

    // Its domain is asked about the password.
    bool is_judged() const { return observer_ != nullptr && registration_ != 0 && !ready_; }

    // Begins to register.
    void start();

    // The owner is told why, and can do nothing more with it.
    void fail(std::string_view reason);

    // Without owner it says goodbye.
    void close();

    // A call comes for it.
    void on_invited(const sip::CallEvent& event);

    // What has to be told, and what the registration has come to.
    void tick(MonoTime now);

    // While it has a call the clock does not sleep.
    std::optional<MonoTime> next_timeout() const {
        return state_ == State::kIdle ? forget_at_ : std::nullopt;
    }

    // Nothing is left of it.
    bool is_gone(MonoTime now) const;

    // In Contact: whoever calls this calls the line.
    const std::string& token() const { return token_; }

    const net::PhoneLineRequest& request() const { return request_; }

    bool has_owner() const { return observer_ != nullptr; }

    bool is_ready() const { return ready_; }

    bool is_same_user(const net::PhoneLineRequest& other) const {
        return request_.user == other.user && request_.domain == other.domain;
    }

    // What an owner has to have shown to take the line from this one.
    bool is_proven() const { return ready_ && !request_.password.empty(); }

    // The registration's; 0: there is none.
    uint64_t registration() const { return registration_; }

  private:
    friend class Handle;

    enum class State : uint8_t {
        kIdle,
        kCalling,    // by invite()
        kInvited,    // by the other party
        kAccepting,  // by accept()
        kTalking,
        kOver,  // ended by the owner; the call is not gone yet
    };

    // net::PhoneLine, by the handle
    Error invite(std::string_view to, net::PhoneCodecNames codecs);
    Error accept(net::PhoneCodecNames codecs);
    Error reject(int status);
    Error hang_up();
    Error hold(bool on);
    Error send_digits(std::string_view digits);

    // SipCallObserver
    void on_ringing(int status, std::string_view reason) override;
    void on_answered(const sdp::PhoneTrack& audio, const sdp::PhoneTrack& video) override;
    void on_held(bool held) override;
    void on_digit(char digit) override;
    void on_over(bool answered, int status, std::string_view reason) override;

    void follow_registration();
    void become_ready();
    void tell_answered();
    // Null: it is over.
    SipParty* call() const;

    net::AddressPlace place_;
    SipLines& lines_;
    SipServer& server_;
    std::string token_;
    net::PhoneLineRequest request_;
    net::PhoneLineObserver* observer_;  // null: the owner has gone
    Handle* handle_ = nullptr;
    uint64_t registration_ = 0;
    bool ready_ = false;
    std::optional<MonoTime> forget_at_;

    State state_ = State::kIdle;
    std::string call_;                // SipParty::name()
    SipLineCall* invited_ = nullptr;  // the call, while it rings here
    // Names of codecs that the owner is not told yet: accept() must have returned before.
    std::optional<std::pair<std::string, std::string>> answered_;
};

}  // namespace weir::session
