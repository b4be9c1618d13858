// Response heads as bytes, and the texts around them. Pure functions (the time is a parameter where
// it matters).
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "proto/http/fields.h"

namespace weir::http {

// "Not Found"; "Unknown" for a code that is not used here.
std::string_view status_text(int status);

// "HTTP/1.1 200 OK\r\nServer: ...\r\nDate: ...\r\n<fields>\r\n". Adds Server and Date and nothing
// else: the caller gives Content-Length, Connection and so on. Control characters in values become
// spaces, so no value can split the head.
std::string http_response_head(int status, const Fields& fields);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7).
std::string http_date(time_t time);
std::optional<time_t> parse_http_date(std::string_view text);

enum class ErrorFormat : uint8_t {
    kText,  // one line of text
    kJson,  // {"code":404,"error":"..."}
};

// Body of an error answer and its content type.
struct ErrorBody {
    std::string content_type;
    std::string body;
};

ErrorBody http_error_body(ErrorFormat format, int status, std::string_view reason);

// `text` as the inside of a JSON string: quotes, backslashes and control characters escaped, broken
// UTF-8 replaced.
std::string json_escaped(std::string_view text);

}  // namespace weir::http
