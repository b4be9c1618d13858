#include "proto/http/head_scanner.h"

#include <utility>

#include "proto/http/fields.h"

namespace weir::http {

HeadScanner::Status HeadScanner::scan(std::string_view head) {
    for (; at_ < head.size(); at_++) {
        char c = head[at_];
        if (line_ == 0 && !scan_request_line(static_cast<uint8_t>(c))) {
            return Status::kError;
        }
        if (line_ > 0 && at_ - line_end_ >= limits_.header_bytes) {
            return fail(431, "the header fields are too long");
        }
        if (c != '\n') {
            continue;
        }
        if (at_ == 0 || head[at_ - 1] != '\r') {
            return fail(400, "a line of the header does not end in CR LF");
        }
        bool empty_line = at_ - line_start_ == 1;
        line_start_ = at_ + 1;
        if (line_ == 0) {
            line_end_ = at_ + 1;
        }
        if (empty_line && line_ > 0) {
            at_++;
            return Status::kComplete;
        }
        if (line_++ > limits_.header_fields) {
            return fail(431, "there are too many header fields");
        }
    }
    return Status::kNeedMore;
}

void HeadScanner::reset() {
    at_ = line_ = line_start_ = line_end_ = 0;
    in_method_ = true;
}

bool HeadScanner::scan_request_line(uint8_t c) {
    if (at_ >= limits_.request_line_bytes) {
        fail(414, "the request line is too long");
        return false;
    }
    if (in_method_ && c == ' ' && at_ > 0) {
        in_method_ = false;
    } else if (in_method_ && !is_token_character(static_cast<char>(c))) {
        fail(400, "this is no HTTP request");
        return false;
    } else if (in_method_ && at_ >= kMaxMethodBytes) {
        fail(501, "the method is not implemented");
        return false;
    }
    return true;
}

HeadScanner::Status HeadScanner::fail(int status, std::string reason) {
    error_ = {status, std::move(reason)};
    return Status::kError;
}

}  // namespace weir::http
