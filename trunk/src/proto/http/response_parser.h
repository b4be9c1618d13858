// One HTTP/1.1 response from a byte stream (RFC 9112), by Boost.Beast's parser; the code is in
// request_parser.cc, the only file that includes it. Sans-IO.
//
// Driven by feed() until it no longer says kNeedMore, and end() when the connection ends. 1xx
// answers are skipped. What a server says beyond its answer, or in doubt (two lengths, an unknown
// coding), is an error and not a guess. Splitting the input anywhere gives the same outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/http/fields.h"
#include "proto/http/response_limits.h"

namespace weir::http {

struct Response {
    int status = 0;
    Fields headers;
    std::string body;         // chunks joined
    bool keep_alive = false;  // another request may follow on the connection
};

class ResponseParser {
  public:
    enum class Status : uint8_t { kResponse, kNeedMore, kError };

    explicit ResponseParser(const ResponseLimits& limits);
    ~ResponseParser();
    ResponseParser(const ResponseParser&) = delete;
    ResponseParser& operator=(const ResponseParser&) = delete;

    // Takes all of `bytes`. After kResponse: take_response(); after kError: take_error().
    Status feed(ByteSpan bytes);

    // The connection has ended: the end of a body without a length, or an error.
    Status end();

    // Nothing of an answer has come.
    bool untouched() const;

    // Once. keep_alive is false where bytes came behind the response.
    Response take_response();

    // Once. kMalformed, kLimit, kUnsupported, kClosed; a sentence that holds no bytes of the peer.
    Error take_error();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::http
