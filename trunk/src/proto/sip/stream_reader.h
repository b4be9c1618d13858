// Reads the messages of a TCP or TLS connection (RFC 3261 §18.3, RFC 5626 §3.5.1). Sans-IO.
//
// Driven by next(): give it what was read from the socket until it says kNeedMore. The outcome does
// not depend on how the input was split. Between messages it holds no memory but its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "proto/sip/message.h"

namespace weir::sip {

class StreamReader {
  public:
    enum class Status : uint8_t {
        kNeedMore,  // all of the input was taken
        kMessage,   // message()
        kPing,      // CR LF CR LF between messages: answer with CR LF
        kError,  // message() is what parse_datagram gives; close after the answer. It stays there
    };

    // Takes from the front of `input` what belongs to the next message.
    Status next(ByteSpan& input);

    // After kMessage and kError, until the next call. Its parts may be moved away.
    Parsed& parsed() { return parsed_; }

    // After kNeedMore: some bytes of a message are there, so silence is a stalled peer.
    bool in_message() const { return state_ == State::kHead || state_ == State::kBody; }

  private:
    enum class State : uint8_t { kStart, kHead, kBody, kFailed };

    Status take_line_ends(ByteSpan& input);
    Status take_head(ByteSpan& input);
    Status take_body(ByteSpan& input);
    Status end_head();
    Status fail(int status, std::string_view reason);

    State state_ = State::kStart;
    uint8_t line_ends_ = 0;  // LFs since the last message or ping
    std::string head_;
    size_t scanned_ = 0;  // of head_
    size_t body_bytes_ = 0;
    Parsed parsed_;
};

}  // namespace weir::sip
