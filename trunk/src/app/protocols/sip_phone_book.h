// What the phone page may ask of the SIP server: whose password is right, and whom one can call.
#pragma once

#include "session/phone/phone_book.h"
#include "session/sip/sip_server.h"

namespace weir::app {

class SipPhoneBook final : public session::PhoneBook {
  public:
    // `server` must outlive this.
    explicit SipPhoneBook(const session::SipServer& server) : server_(server) {}

    bool proves(std::string_view user, std::string_view password) const override;
    std::vector<session::PhoneBookEntry> entries(std::string_view user) const override;

  private:
    void add_stream(const std::string& number,
                    const char* kind,
                    const std::string& path,
                    std::vector<session::PhoneBookEntry>& out) const;

    const session::SipServer& server_;
};

}  // namespace weir::app
