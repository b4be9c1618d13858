// Requests and responses of RTSP 1.0 (RFC 2326 §6, §7) as values, and as bytes. ConnectionReader
// makes them from bytes. Pure.
//
// Peers: http
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/http/fields.h"
#include "proto/rtsp/method.h"

namespace weir::rtsp {

struct Message {
    // None: the field is missing or holds no number below 2^32. A request without it gets 400.
    std::optional<uint32_t> cseq;
    // All that arrived, CSeq and Content-Length included. The writers leave these two out here, and
    // write them from `cseq` and `body`.
    http::Fields headers;
    std::string body;
};

struct Request : Message {
    Method method = Method::kUnknown;
    std::string method_name;  // as it was sent; written only where `method` is kUnknown
    std::string url;          // as it was sent; "*" for the server itself
};

struct Response : Message {
    int status = 200;
    std::string reason;  // written where it is not empty, instead of status_text()
};

// The head of an HTTP request on a port of RTSP: a client asks for a tunnel (GET and POST with the
// same x-sessioncookie), or is no client of ours.
struct HttpHead {
    std::string method;  // "GET", "POST" ...
    std::string target;
    http::Fields headers;

    // What pairs GET and POST; empty: this is no request for a tunnel.
    std::string_view session_cookie() const {
        return headers.get("x-sessioncookie").value_or(std::string_view());
    }
};

// "Session Not Found" (RFC 2326 §7.1.1); "Unknown" for a code that RTSP does not define.
std::string_view status_text(int status);

// The whole message. CSeq comes first where there is one; Content-Length where there is a body.
// No value can split the head: control characters become spaces, and in a URL what does not belong
// there is written as %XX. A field whose name is no token is left out.
std::string write(const Request& request);
std::string write(const Response& response);
// As HTTP/1.0.
std::string write(const HttpHead& head);

}  // namespace weir::rtsp
