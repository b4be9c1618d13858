#include "proto/ws/message_reader.h"

#include <utility>

namespace weir::ws {

void MessageReader::feed(ByteSpan bytes) {
    if (failed_) {
        return;
    }
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

ReadStatus MessageReader::next(Message& out) {
    for (;;) {
        if (failed_) {
            return ReadStatus::kError;
        }
        bool complete = false;
        ReadStatus status = take_frame(out, complete);
        if (status != ReadStatus::kMessage || complete) {
            return status;
        }
    }
}

// One frame from the buffer. kMessage without `complete` means that a fragment was joined.
ReadStatus MessageReader::take_frame(Message& out, bool& complete) {
    ByteSpan unread = ByteSpan(buffer_).subspan(at_);
    FrameHeader header;
    switch (parse_frame_header(unread, role_, header)) {
        case HeaderStatus::kNeedMore: return ReadStatus::kNeedMore;
        case HeaderStatus::kMalformed:
            return fail(CloseCode::kProtocolError, "malformed frame header");
        case HeaderStatus::kDone: break;
    }
    bool control = is_control(header.opcode);
    bool continuation = header.opcode == Opcode::kContinuation;
    if (!control && continuation != in_message_) {
        return fail(CloseCode::kProtocolError, continuation
                                                   ? "continuation without a message"
                                                   : "new message inside a fragmented one");
    }
    if (!control && header.payload_bytes > message_limit_ - partial_.size()) {
        return fail(CloseCode::kTooBig, "message too long");
    }
    if (!control && ++fragments_ > kMaxFragments) {
        return fail(CloseCode::kPolicy, "too many fragments");
    }
    if (unread.size() - header.header_bytes < header.payload_bytes) {
        fragments_ -= control ? 0 : 1;  // counted again when the rest is there
        return ReadStatus::kNeedMore;
    }
    auto payload_size = static_cast<size_t>(header.payload_bytes);
    std::span<uint8_t> payload =
        std::span(buffer_).subspan(at_ + header.header_bytes, payload_size);
    if (header.masked) {
        apply_mask(payload, header.mask);
    }
    at_ += header.header_bytes + payload_size;
    if (control) {
        if (header.opcode == Opcode::kClose && payload_size == 1) {
            return fail(CloseCode::kProtocolError, "close frame with half a code");
        }
        out.opcode = header.opcode;
        out.payload.assign(payload.begin(), payload.end());
        complete = true;
        return ReadStatus::kMessage;
    }
    if (!in_message_) {
        partial_opcode_ = header.opcode;
    }
    partial_.insert(partial_.end(), payload.begin(), payload.end());
    in_message_ = !header.fin;
    if (header.fin) {
        out.opcode = partial_opcode_;
        out.payload = std::exchange(partial_, {});
        fragments_ = 0;
        complete = true;
    }
    return ReadStatus::kMessage;
}

ReadStatus MessageReader::fail(CloseCode code, std::string_view why) {
    failed_ = true;
    close_code_ = code;
    error_ = why;
    buffer_.clear();
    partial_.clear();
    at_ = 0;
    return ReadStatus::kError;
}

}  // namespace weir::ws
