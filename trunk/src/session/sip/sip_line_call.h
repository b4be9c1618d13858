// A call to a line of this server: it rings until the line's owner takes it, then it is as every
// other one. The stream that the caller hears may come and go. Never yields.
#pragma once

#include <string>
#include <vector>

#include "net/phone_lines.h"
#include "session/sip/sip_call.h"

namespace weir::session {

class SipLineCall final : public SipCall {
  public:
    // `invited`: of kind kInvited. `observer` must outlive this, or be forgotten before.
    SipLineCall(SipServer& server,
                const sip::CallEvent& invited,
                const net::PhoneLineRequest& line,
                SipCallObserver& observer);

    void ring();

    // `codecs`: as SipCall::choose_codecs() takes them; empty: all. Of what fails the caller is
    // told, and the observer by on_over().
    void accept(const std::vector<std::string>& codecs);

    // 300 to 699.
    void reject(int status, std::string_view why);

    const std::string& from() const { return from_; }

    const std::string& to() const { return to_; }

  private:
    // `description`: our answer, or our offer.
    Error prepare(const std::vector<std::string>& codecs, std::string& description);

    std::string offer_;  // empty: we make one
};

}  // namespace weir::session
