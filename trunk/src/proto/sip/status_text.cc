// The reason phrases of SIP's status codes, as IANA lists them.
#include <algorithm>
#include <array>

#include "proto/sip/message.h"

namespace weir::sip {
namespace {

struct StatusText {
    int status;
    std::string_view text;
};

constexpr std::array kTexts = {
    StatusText{100, "Trying"},
    StatusText{180, "Ringing"},
    StatusText{181, "Call Is Being Forwarded"},
    StatusText{182, "Queued"},
    StatusText{183, "Session Progress"},
    StatusText{200, "OK"},
    StatusText{202, "Accepted"},
    StatusText{300, "Multiple Choices"},
    StatusText{301, "Moved Permanently"},
    StatusText{302, "Moved Temporarily"},
    StatusText{305, "Use Proxy"},
    StatusText{380, "Alternative Service"},
    StatusText{400, "Bad Request"},
    StatusText{401, "Unauthorized"},
    StatusText{402, "Payment Required"},
    StatusText{403, "Forbidden"},
    StatusText{404, "Not Found"},
    StatusText{405, "Method Not Allowed"},
    StatusText{406, "Not Acceptable"},
    StatusText{407, "Proxy Authentication Required"},
    StatusText{408, "Request Timeout"},
    StatusText{410, "Gone"},
    StatusText{413, "Request Entity Too Large"},
    StatusText{414, "Request-URI Too Long"},
    StatusText{415, "Unsupported Media Type"},
    StatusText{416, "Unsupported URI Scheme"},
    StatusText{420, "Bad Extension"},
    StatusText{421, "Extension Required"},
    StatusText{422, "Session Interval Too Small"},
    StatusText{423, "Interval Too Brief"},
    StatusText{480, "Temporarily Unavailable"},
    StatusText{481, "Call/Transaction Does Not Exist"},
    StatusText{482, "Loop Detected"},
    StatusText{483, "Too Many Hops"},
    StatusText{484, "Address Incomplete"},
    StatusText{485, "Ambiguous"},
    StatusText{486, "Busy Here"},
    StatusText{487, "Request Terminated"},
    StatusText{488, "Not Acceptable Here"},
    StatusText{489, "Bad Event"},
    StatusText{491, "Request Pending"},
    StatusText{493, "Undecipherable"},
    StatusText{500, "Server Internal Error"},
    StatusText{501, "Not Implemented"},
    StatusText{502, "Bad Gateway"},
    StatusText{503, "Service Unavailable"},
    StatusText{504, "Server Time-out"},
    StatusText{505, "Version Not Supported"},
    StatusText{513, "Message Too Large"},
    StatusText{600, "Busy Everywhere"},
    StatusText{603, "Decline"},
    StatusText{604, "Does Not Exist Anywhere"},
    StatusText{606, "Not Acceptable"},
};

}  // namespace

std::string_view status_text(int status) {
    const auto* const found = std::ranges::find(kTexts, status, &StatusText::status);
    return found == kTexts.end() ? "Unknown" : found->text;
}

}  // namespace weir::sip
