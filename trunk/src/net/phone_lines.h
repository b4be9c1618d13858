// Phone lines: what the sessions of other protocols see of SIP. A line is a user agent of one user
// of some SIP domain, for one call at a time; whoever has opened it is its owner.
//
// The owner publishes the stream `local`, which the other party hears, and plays `remote`, which
// the other party says. While the line is there nobody else may publish under these two names.
// Nothing here yields: what takes time is told by the observer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/net_address.h"
#include "stream/stream_key.h"

namespace weir::net {

struct PhoneLineRequest {
    std::string user;
    std::string domain;    // "example.com", "192.0.2.1:5070"; empty: this server's own users
    std::string login;     // empty: the user's name
    std::string password;  // empty: the line does not register, and can only call
    std::string display;   // may be empty
    stream::StreamKey local;
    stream::StreamKey remote;
    NetAddress peer;  // whoever asks, for the log
};

// Names of codecs as siprtmp has them: "wideband", "narrowband", "pcmu", "pcma", "ulaw", "alaw",
// "h264", "dtmf"; and "opus", "vp8". Others are passed over; an empty list means all.
using PhoneCodecNames = std::span<const std::string>;

// Called from elsewhere than the calls of the line that cause it, except where that is said. The
// line may be used, and must not be destroyed, inside of these. Reasons begin with a status of SIP:
// "486 Busy Here".
class PhoneLineObserver {
  public:
    // Registered; or nothing has to be registered. Once.
    virtual void on_line_ready() = 0;
    // The last call: the line can only be destroyed now. Not registered (any more), or another
    // owner has taken the line.
    virtual void on_line_failed(std::string_view reason) = 0;

    // Of a call by invite().
    virtual void on_ringing(std::string_view reason) = 0;
    virtual void on_rejected(std::string_view reason) = 0;

    // Of a call that comes in, until accept() or reject().
    virtual void on_invited(std::string_view from, std::string_view to) = 0;
    virtual void on_cancelled(std::string_view from, std::string_view to) = 0;

    // Both: the call is there. Codecs by their names above; empty: none.
    virtual void on_accepted(std::string_view audio, std::string_view video) = 0;
    // It has ended, and not by hang_up().
    virtual void on_ended() = 0;
    virtual void on_held(bool held) = 0;  // by the other party
    virtual void on_digit(char digit) = 0;

  protected:
    ~PhoneLineObserver() = default;
};

class PhoneLine {
  public:
    PhoneLine() = default;
    PhoneLine(const PhoneLine&) = delete;
    PhoneLine& operator=(const PhoneLine&) = delete;
    virtual ~PhoneLine() = default;  // hangs up, and ends the registration

    // All of these: kBusy where the call is in a state that has no such step; kMalformed.

    // `to`: "sip:user@domain", "user@domain", or a number of the line's own domain. kDenied: such a
    // domain must not be called.
    virtual Error invite(std::string_view to, PhoneCodecNames codecs) = 0;
    virtual Error accept(PhoneCodecNames codecs) = 0;
    virtual Error reject(int status) = 0;
    // Also ends a call that rings; of one that comes in: rejects it.
    virtual Error hang_up() = 0;
    virtual Error hold(bool on) = 0;
    virtual Error send_digits(std::string_view digits) = 0;
};

class PhoneLines {
  public:
    // Whether anybody may have a line of that domain.
    virtual bool allows(std::string_view domain) const = 0;

    // kDenied: such a domain is not allowed; kBusy: another owner has the line, and has shown more
    // than this one; kFull; kMalformed. `observer` must outlive the line, and is not called before
    // this returns. A line of the same user that somebody else has ends when this one is ready.
    virtual Result<std::unique_ptr<PhoneLine>> open(const PhoneLineRequest& request,
                                                    PhoneLineObserver& observer) = 0;

    // A name that belongs to a line.
    virtual bool keeps(const stream::StreamKey& key) const = 0;

  protected:
    ~PhoneLines() = default;
};

// Where they are found: sessions are made before it is known who has them.
class PhoneLinesPlace {
  public:
    PhoneLines* lines() const { return lines_; }

    // Null: nobody has any (more).
    void set(PhoneLines* lines) { lines_ = lines; }

    bool keeps(const stream::StreamKey& key) const {
        return lines_ != nullptr && lines_->keeps(key);
    }

  private:
    PhoneLines* lines_ = nullptr;
};

}  // namespace weir::net
