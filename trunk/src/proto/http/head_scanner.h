// Finds the end of a request's head as its bytes arrive, within the limits, and refuses a broken
// start at the byte that breaks it. Sans-IO; what the head says is not its business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/http/request_parser.h"

namespace weir::http {

inline constexpr size_t kMaxMethodBytes = 32;

class HeadScanner {
  public:
    // `limits` must outlive the scanner.
    explicit HeadScanner(const RequestLimits& limits) : limits_(limits) {}

    enum class Status : uint8_t { kNeedMore, kComplete, kError };

    // `head` is everything from the first byte of the request on; what was seen before is not
    // looked at again. After kComplete or kError: reset() before the next request.
    Status scan(std::string_view head);

    // Bytes seen; after kComplete the size of the head with its empty line.
    size_t head_bytes() const { return at_; }

    // After kComplete: size of the request line with its CR LF.
    size_t request_line_bytes() const { return line_end_; }

    // After kError.
    const ParseError& error() const { return error_; }

    void reset();

  private:
    bool scan_request_line(uint8_t c);
    Status fail(int status, std::string reason);

    const RequestLimits& limits_;
    size_t at_ = 0;
    size_t line_ = 0;        // 0: request line
    size_t line_start_ = 0;  // of the current line
    size_t line_end_ = 0;    // of the request line
    bool in_method_ = true;
    ParseError error_;
};

}  // namespace weir::http
