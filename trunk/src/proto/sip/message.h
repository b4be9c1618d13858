// Requests and responses of SIP (RFC 3261 §7) as values, from a datagram and as bytes. For TCP and
// TLS there is StreamReader. Pure.
//
// Compact names of fields are expanded (§7.3.3) and folded lines are joined. What a field says is
// not looked at here, except Content-Length: core_headers.h and header_values.h have that.
//
// Peers: http
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "proto/http/fields.h"
#include "proto/sip/method.h"

namespace weir::sip {

inline constexpr size_t kMaxMessageBytes = 64 * 1024;  // head and body
inline constexpr size_t kMaxHeadBytes = 16 * 1024;
inline constexpr size_t kMaxFirstLine = 4 * 1024;
inline constexpr size_t kMaxFields = 100;
inline constexpr size_t kMaxMethodBytes = 64;

struct MessageBase {
    // All that arrived, Content-Length included. The writers leave that one out here, and write it
    // from `body`.
    http::Fields headers;
    std::string body;

    // Of the first field of that name; empty where there is none.
    std::string_view header(std::string_view name) const {
        return headers.get(name).value_or(std::string_view());
    }
};

struct Request : MessageBase {
    Method method = Method::kUnknown;
    std::string method_name;  // as it was sent; written only where `method` is kUnknown
    std::string uri;          // as it was sent
};

struct Response : MessageBase {
    int status = 200;
    std::string reason;  // written where it is not empty, instead of status_text()
};

using Message = std::variant<Request, Response>;

// What a datagram is, or what was read from a stream.
struct Parsed {
    enum class Kind : uint8_t {
        kMessage,
        kKeepAlive,  // nothing but CR and LF (RFC 5626 §3.5.1); an answer is two of them
        kMalformed,
    };

    Kind kind = Kind::kMalformed;
    // kMessage: it. kMalformed with a status: a Request as far as it could be read, for the answer.
    Message message;
    int status = 0;           // kMalformed: to answer; 0: say nothing
    std::string_view reason;  // a literal; holds no bytes of the peer
    size_t bytes = 0;         // size of the datagram; 0: it came by a stream
};

// A body shorter than Content-Length is malformed (RFC 3261 §18.3); what follows the body is
// ignored. Without Content-Length the body is the rest.
Parsed parse_datagram(ByteSpan datagram);

// The head of a message up to and including its empty line. For StreamReader and parse_datagram.
struct ParsedHead {
    Message message;
    std::optional<size_t> content_length;
    int status = 0;           // to answer where `reason` is not empty; 0: say nothing
    std::string_view reason;  // empty: no error
};

ParsedHead parse_head(std::string_view head);

// Size of the head with its empty line; 0: the empty line has not come. `from`: what was looked at
// in vain before, as returned in it.
size_t find_head_end(std::string_view bytes, size_t& from);

// "Ringing" (RFC 3261 §21 and others); "Unknown" for a code that is not known here.
std::string_view status_text(int status);

// The whole message, Content-Length last in its head. No value can split the head: control
// characters become spaces, and in a URI what does not belong there is written as %XX. A field
// whose name is no token is left out.
std::string write(const Request& request);
std::string write(const Response& response);
std::string write(const Message& message);

}  // namespace weir::sip
