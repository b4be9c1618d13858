#include "proto/sip/stream_reader.h"

#include <algorithm>
#include <utility>

namespace weir::sip {

StreamReader::Status StreamReader::next(ByteSpan& input) {
    if (state_ == State::kStart) {
        parsed_ = Parsed();
    }
    for (;;) {
        Status status = Status::kNeedMore;
        const State before = state_;
        switch (state_) {
            case State::kStart: status = take_line_ends(input); break;
            case State::kHead: status = take_head(input); break;
            case State::kBody: status = take_body(input); break;
            case State::kFailed: return Status::kError;
        }
        if (status != Status::kNeedMore || state_ == before) {
            return status;
        }
    }
}

StreamReader::Status StreamReader::take_line_ends(ByteSpan& input) {
    while (!input.empty()) {
        const uint8_t c = input[0];
        if (c != '\r' && c != '\n') {
            state_ = State::kHead;
            line_ends_ = 0;
            return Status::kNeedMore;
        }
        input = input.subspan(1);
        if (c == '\n' && ++line_ends_ == 2) {
            line_ends_ = 0;
            return Status::kPing;
        }
    }
    return Status::kNeedMore;
}

StreamReader::Status StreamReader::take_head(ByteSpan& input) {
    const size_t before = head_.size();
    const size_t taken = std::min(input.size(), kMaxHeadBytes - before);
    head_ += as_text(input.first(taken));
    const size_t end = find_head_end(head_, scanned_);
    if (end == 0) {
        input = input.subspan(taken);
        return head_.size() < kMaxHeadBytes ? Status::kNeedMore : fail(0, "the head is too long");
    }
    input = input.subspan(end - before);
    head_.resize(end);
    return end_head();
}

StreamReader::Status StreamReader::end_head() {
    ParsedHead head = parse_head(head_);
    const size_t head_bytes = head_.size();
    head_ = {};
    scanned_ = 0;
    const bool is_request = std::holds_alternative<Request>(head.message);
    parsed_.message = std::move(head.message);
    if (!head.reason.empty()) {
        return fail(head.status, head.reason);
    }
    if (!head.content_length) {
        return fail(is_request ? 400 : 0, "Content-Length is missing");
    }
    if (*head.content_length > kMaxMessageBytes - head_bytes) {
        return fail(is_request ? 513 : 0, "the message is too long");
    }
    body_bytes_ = *head.content_length;
    state_ = State::kBody;
    return Status::kNeedMore;
}

StreamReader::Status StreamReader::take_body(ByteSpan& input) {
    std::string& body =
        std::visit([](auto& message) -> std::string& { return message.body; }, parsed_.message);
    const size_t size = std::min(body_bytes_ - body.size(), input.size());
    body += as_text(input.first(size));
    input = input.subspan(size);
    if (body.size() < body_bytes_) {
        return Status::kNeedMore;
    }
    parsed_.kind = Parsed::Kind::kMessage;
    state_ = State::kStart;
    return Status::kMessage;
}

StreamReader::Status StreamReader::fail(int status, std::string_view reason) {
    parsed_.kind = Parsed::Kind::kMalformed;
    parsed_.status = status;
    parsed_.reason = reason;
    state_ = State::kFailed;
    return Status::kError;
}

}  // namespace weir::sip
