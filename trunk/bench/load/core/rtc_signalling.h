// The HTTP around the offer of a WebRTC client of the load test (WHIP, RFC 9725, and WHEP). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace weir::load {

// A whole request, to be sent as it is; the server closes after the answer.
std::string rtc_post_request(std::string_view authority,
                             std::string_view path,
                             std::string_view bearer,
                             std::string_view offer);
std::string rtc_delete_request(std::string_view authority, std::string_view path);

struct HttpAnswer {
    int status = 0;
    std::string location;
    std::string body;

    // The whole answer. kMalformed.
    static Result<HttpAnswer> parse(std::string_view text);
};

// "status 404: no such stream", for a failure; cut.
std::string describe(const HttpAnswer& answer);

}  // namespace weir::load
