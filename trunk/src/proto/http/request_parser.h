// HTTP/1.1 requests from a byte stream (RFC 9112), by Boost.Beast's parser behind this interface.
// Sans-IO.
//
// Driven by feed() and next(): feed what was read, call next() until it says kNeedMore. Pipelined
// requests come out one by one. After kError the parser stays there: answer error().status and
// close. Bytes that belong to no finished request (a WebSocket client may send frames at once) are
// given by take_unread(). Splitting the input anywhere gives the same requests.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "proto/http/request.h"

namespace weir::http {

struct RequestLimits {
    size_t request_line_bytes = 8 * 1024;  // 414
    size_t header_bytes = 16 * 1024;       // all fields together, without the request line; 431
    size_t header_fields = 100;            // 431
    size_t body_bytes = 64 * 1024;         // decoded; 413
    size_t chunk_head_bytes = 16 * 1024;   // a chunk header with its extensions, or all trailers
};

// What to answer to a request that could not be read.
struct ParseError {
    int status = 400;
    std::string reason;  // a short sentence for the body of the answer; holds no bytes of the peer
};

class RequestParser {
  public:
    enum class Status : uint8_t { kRequest, kNeedMore, kError };

    explicit RequestParser(const RequestLimits& limits);
    ~RequestParser();
    RequestParser(const RequestParser&) = delete;
    RequestParser& operator=(const RequestParser&) = delete;

    // Takes all of `bytes`. Call next() until kNeedMore before feeding more.
    void feed(ByteSpan bytes);

    // kRequest fills `out` with the next request.
    Status next(Request& out);

    const ParseError& error() const;

    // After kNeedMore: some bytes of the next request are there (a stop now is a 408 and no idle
    // connection).
    bool in_request() const;

    // After kNeedMore: the header is complete and the client waits for "100 Continue" before it
    // sends the body. True once per request.
    bool take_expects_continue();

    // After kNeedMore: the header is complete, the body is not.
    bool in_body() const;

    // The bytes after the last request that was given out. Good until the next call.
    ByteSpan unread() const;

    // The same; the parser is empty then.
    Bytes take_unread();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::http
