// Reads WebSocket messages from a byte stream: unmasks, joins fragments, checks the rules of RFC
// 6455 §5.4 and §5.5.
//
// Driven by feed() and next(): feed what was read from the socket, call next() until it says
// kNeedMore. Control frames between the fragments of a message come out as messages of their own.
// After kError the reader stays there: send close_code() to the peer and close. Splitting the input
// anywhere gives the same messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "proto/ws/frame.h"

namespace weir::ws {

// What a player may send us in one message. Players of live streams say next to nothing.
inline constexpr size_t kMaxClientMessage = 64 * 1024;

// Fragments of one message; empty fragments would otherwise be free.
inline constexpr size_t kMaxFragments = 1024;

struct Message {
    Opcode opcode = Opcode::kBinary;  // never kContinuation
    Bytes payload;                    // unmasked; for kClose: code and reason
};

enum class ReadStatus : uint8_t { kMessage, kNeedMore, kError };

class MessageReader {
  public:
    // `role` is that of this side. A message over `message_limit` bytes is an error with
    // CloseCode::kTooBig.
    explicit MessageReader(Role role, size_t message_limit = kMaxClientMessage)
        : role_(role), message_limit_(message_limit) {}

    // Takes all of `bytes`. Call next() until kNeedMore before feeding again: then at most one
    // incomplete frame is held.
    void feed(ByteSpan bytes);

    // kMessage fills `out`. Text is not checked for UTF-8: nothing here interprets it.
    ReadStatus next(Message& out);

    // After kError: what to tell the peer.
    CloseCode close_code() const { return close_code_; }

    // After kError: a short sentence for logs and the close frame; a literal.
    std::string_view error() const { return error_; }

  private:
    ReadStatus fail(CloseCode code, std::string_view why);
    ReadStatus take_frame(Message& out, bool& complete);

    Role role_;
    size_t message_limit_;
    Bytes buffer_;
    size_t at_ = 0;  // consumed part of buffer_
    Bytes partial_;  // payload of the fragments so far
    Opcode partial_opcode_ = Opcode::kContinuation;
    bool in_message_ = false;
    size_t fragments_ = 0;
    bool failed_ = false;
    CloseCode close_code_ = CloseCode::kProtocolError;
    std::string_view error_;
};

}  // namespace weir::ws
