// What a hook server's answer means. Pure.
//
// Allowed: status 200 or 201, and a body that is 0 or an object with code 0. Refused: any other
// code, or a 4xx. All else is no answer: the configuration says what becomes of the client
// (on_error).
#pragma once

#include <string>

#include "proto/http/response_parser.h"

namespace weir::app {

// Of "msg", the text for the client.
inline constexpr size_t kMaxHookMessage = 200;

struct HookAnswer {
    enum class Verdict : uint8_t { kAllow, kRefuse, kError };

    Verdict verdict = Verdict::kError;
    std::string text;    // refused: for the client, may be empty; error: for the log
    bool again = false;  // error: another attempt may help (5xx, 408, 429)

    // Refused by this status alone: no hook server may have written the answer, but a web server
    // that does not know the address. Else 0.
    int bare_status = 0;

    bool late = false;  // error: there was no answer in time
};

HookAnswer read_hook_answer(const http::Response& response);

// The server has taken a notification: any 2xx, whatever it says.
bool hook_took_it(const http::Response& response);

}  // namespace weir::app
