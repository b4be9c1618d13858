// The lines of a SIP server (net/phone_lines.h): who has which, and to which of them a call
// belongs. Never yields, but for stop().
//
// A line exists, and calls, within the domains of `rtmp_lines` only, this server's own address
// among them: then it registers here over loopback, as at any other one. Passwords are guessed by
// way of a line as slowly as without.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "io/deadline.h"
#include "net/address_rates.h"
#include "net/phone_lines.h"
#include "session/sip/sip_line.h"
#include "session/sip/sip_trunks.h"

namespace weir::session {

class SipServer;

class SipLines final : public net::PhoneLines {
  public:
    static constexpr size_t kMaxLines = 1'000;
    static constexpr size_t kMaxLinesOfOne = 100;  // of one address, once half are in use
    static constexpr size_t kMaxText = 256;        // bytes of a name or password
    static constexpr net::BucketOptions kRefusals{.per_second = 0.2, .burst = 10};

    // All must outlive this.
    SipLines(SipServer& server, SipTrunksOwner& owner, SipWires& wires, io::Resolver& resolver);
    ~SipLines();  // clear() must have been called
    SipLines(const SipLines&) = delete;
    SipLines& operator=(const SipLines&) = delete;

    // net::PhoneLines
    bool allows(std::string_view domain) const override;
    Result<std::unique_ptr<net::PhoneLine>> open(const net::PhoneLineRequest& asked,
                                                 net::PhoneLineObserver& observer) override;
    bool keeps(const stream::StreamKey& key) const override;

    // False: it is not for a line.
    bool take_invited(const sip::CallEvent& event);

    void on_response(MonoTime now, uint64_t user, const sip::Response& response) {
        registrations_.on_response(now, user, response);
    }

    void on_failed(MonoTime now, uint64_t user, int status) {
        registrations_.on_failed(now, user, status);
    }

    void tick(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    size_t size() const { return lines_.size(); }

    // As the server stops: every owner is told, calls and registrations begin to end.
    void end_all();

    // Yields. Waits a moment for the ends of registrations.
    void stop(io::Deadline deadline) { registrations_.stop(deadline); }

    // After the last call has gone.
    void clear() { lines_.clear(); }

    // ---- for lines ----

    // Whether a line of the one domain may call the other. A line of this server's own users, whose
    // domain may not be one of `rtmp_lines`, calls that alone.
    bool may_call(std::string_view from, std::string_view to) const;

    SipServer& server() { return server_; }

    SipTrunks& registrations() { return registrations_; }

    // It has shown that the user is its owner's: whoever else has that user's line loses it.
    void take_over(const SipLine& line);

    // A domain has refused somebody's password.
    void note_refusal(const net::PhoneLineRequest& request);

    // The options have changed: lines of domains that are not allowed any more end, or all.
    void end_denied(bool enabled);

  private:
    bool is_own(std::string_view domain) const;
    void start_those_whose_turn_it_is(MonoTime now);

    SipServer& server_;
    SipTrunksOwner& owner_;
    SipTrunks registrations_;
    std::vector<std::unique_ptr<SipLine>> lines_;
    net::AddressRates refusals_;
    bool stopping_ = false;
};

}  // namespace weir::session
