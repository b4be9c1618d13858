// What a phone page and its server say to each other over their WebSocket: JSON objects, one in a
// text message. doc/protocols/sip.md lists them.
//
//   page      {"do":"open","user":"alice","password":"..."}     {"do":"invite","to":"bob"}
//   server    {"event":"ready","whip":"/rtc/v1/whip/?...", ...}  {"event":"ringing","reason":"180
//   ..."}
//
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/api/answer.h"

namespace weir::session {

// What a page wants. Members that a wish does not have are empty.
struct PhoneWish {
    enum class Kind : uint8_t { kOpen, kInvite, kAccept, kReject, kBye, kHold, kDigits, kList };

    Kind kind = Kind::kList;
    std::string user;
    std::string password;  // a secret: never in the log or in an answer
    std::string domain;
    std::string display;
    std::string to;
    std::string digits;
    std::vector<std::string> codecs;
    bool on = true;
    int status = 0;  // of a refusal; 0: none is said
};

inline constexpr size_t kMaxPhoneMessage = 4096;  // bytes of a page's message
inline constexpr size_t kMaxPhoneText = 256;      // bytes of one member
inline constexpr size_t kMaxPhoneCodecs = 16;

// kMalformed says what was expected, and repeats nothing of the message.
Result<PhoneWish> read_phone_wish(std::string_view text);

std::string_view to_string(PhoneWish::Kind kind);

}  // namespace weir::session
