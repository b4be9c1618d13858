// What the phone page asks of the SIP server whose users it serves; app/ has the answers. Nothing
// here yields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::session {

// What a page may call.
struct PhoneBookEntry {
    std::string number;     // what is dialled
    const char* kind = "";  // a literal: "stream", "conference", "user"
    std::string name;       // of the stream: "live/stage"; of a user: its name
    bool here = false;      // the stream is live; the user has a phone that is registered
};

class PhoneBook {
  public:
    // Whether that is the password of that user; takes the same time for users that there are not.
    virtual bool proves(std::string_view user, std::string_view password) const = 0;

    // For that user; without itself.
    virtual std::vector<PhoneBookEntry> entries(std::string_view user) const = 0;

  protected:
    ~PhoneBook() = default;
};

}  // namespace weir::session
