#include "proto/http/stream_response.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace weir::http {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    return text;
}

// Hexadecimal, without sign and prefix.
std::optional<uint64_t> parse_hex(std::string_view text, uint64_t most) {
    uint64_t value = 0;
    for (const char c : text) {
        const char lower = static_cast<char>(c | 0x20);
        const bool digit = c >= '0' && c <= '9';
        if (!digit && !(lower >= 'a' && lower <= 'f')) {
            return std::nullopt;
        }
        value = value * 16 + static_cast<uint64_t>(digit ? c - '0' : lower - 'a' + 10);
        if (value > most) {
            return std::nullopt;
        }
    }
    return text.empty() ? std::nullopt : std::optional(value);
}

}  // namespace

bool StreamResponse::fail(Error error) {
    error_ = std::move(error);
    state_ = State::kFailed;
    return false;
}

StreamResponse::Status StreamResponse::now() const {
    switch (state_) {
        case State::kHead: return Status::kHead;
        case State::kEnded: return Status::kEnded;
        case State::kFailed: return Status::kError;
        default: return Status::kBody;
    }
}

StreamResponse::Status StreamResponse::feed(ByteSpan bytes, Bytes& body) {
    while (!bytes.empty()) {
        switch (state_) {
            case State::kHead: take_head(bytes); break;
            case State::kToEnd:
                body.insert(body.end(), bytes.begin(), bytes.end());
                bytes = {};
                break;
            case State::kLength: take_data(bytes, body, State::kEnded); break;
            case State::kChunkData: take_data(bytes, body, State::kChunkEnd); break;
            case State::kChunkLine:
            case State::kChunkEnd:
            case State::kTrailers: take_line(bytes); break;
            case State::kEnded:
            case State::kFailed: return now();
        }
    }
    return now();
}

void StreamResponse::take_head(ByteSpan& bytes) {
    const std::string_view text = as_text(bytes);
    const size_t before = head_.size();
    head_ += text.substr(0, kMaxHead + 1 - std::min(before, kMaxHead));
    const size_t end = head_.find(kHeadEnd, before < 3 ? 0 : before - 3);
    if (end == std::string::npos) {
        bytes = {};
        if (!std::string_view("HTTP/1.").starts_with(std::string_view(head_).substr(0, 7))) {
            fail(make_error(ErrorCode::kMalformed, "the answer is not HTTP/1"));
        } else if (head_.size() > kMaxHead) {
            fail(make_error(ErrorCode::kLimit, "the head of the answer is longer than {} bytes",
                            kMaxHead));
        }
        return;
    }
    bytes = bytes.subspan(end + kHeadEnd.size() - before);
    head_.resize(end + 2);
    if (read_head()) {
        head_ = {};
    }
}

// Status line and fields, each with its CR LF.
bool StreamResponse::read_head() {
    std::string_view rest = head_;
    const auto next_line = [&rest] {
        const size_t end = rest.find("\r\n");
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 2);
        return line;
    };
    const std::string_view first = next_line();
    const std::optional<uint64_t> code =
        first.size() >= 12 && first.starts_with("HTTP/1.") && first[8] == ' '
            ? parse_uint(first.substr(9, 3), 100, 999)
            : std::nullopt;
    if (!code) {
        return fail(make_error(ErrorCode::kMalformed, "the answer is not HTTP/1"));
    }
    chunked_ = false;
    length_.reset();
    while (!rest.empty()) {
        if (!read_field(next_line())) {
            return false;
        }
    }
    if (*code < 200) {  // 100 Continue and the like: the answer follows
        return ++informational_ <= kMaxInformational ||
               fail(make_error(ErrorCode::kLimit, "the answer is put off again and again (1xx)"));
    }
    status_ = static_cast<int>(*code);
    if (chunked_) {
        state_ = State::kChunkLine;
    } else if (length_) {
        left_ = *length_;
        state_ = left_ > 0 ? State::kLength : State::kEnded;
    } else {
        state_ = State::kToEnd;
    }
    return true;
}

bool StreamResponse::read_field(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        return fail(make_error(ErrorCode::kMalformed, "a field of the answer has no name"));
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_blanks(line.substr(colon + 1));
    if (equals_ignore_case(name, "Transfer-Encoding")) {
        if (!equals_ignore_case(value, "chunked")) {
            return fail(make_error(ErrorCode::kUnsupported,
                                   "the answer has a transfer coding other than chunked"));
        }
        chunked_ = true;
    } else if (equals_ignore_case(name, "Content-Length")) {
        const std::optional<uint64_t> length = parse_uint(value, 0, INT64_MAX);
        if (!length || (length_ && *length_ != *length)) {
            return fail(make_error(ErrorCode::kMalformed, "the answer's length is no number"));
        }
        length_ = length;
    } else if (equals_ignore_case(name, "Content-Encoding")) {
        if (!equals_ignore_case(value, "identity")) {
            return fail(make_error(ErrorCode::kUnsupported, "the answer is compressed"));
        }
    } else if (equals_ignore_case(name, "Content-Type")) {
        content_type_ = value;
    } else if (equals_ignore_case(name, "Location")) {
        location_ = value;
    } else if (!kept_name_.empty() && equals_ignore_case(name, kept_name_)) {
        kept_ = value;
    }
    return true;
}

void StreamResponse::take_data(ByteSpan& bytes, Bytes& body, State next) {
    const size_t size = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
    body.insert(body.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    bytes = bytes.subspan(size);
    left_ -= size;
    if (left_ == 0) {
        state_ = next;
    }
}

void StreamResponse::take_line(ByteSpan& bytes) {
    while (!bytes.empty()) {
        const char c = static_cast<char>(bytes.front());
        bytes = bytes.subspan(1);
        if (c == '\n') {
            use_line();
            line_.clear();
            return;
        }
        line_ += c;
        if (line_.size() > kMaxChunkLine) {
            fail(make_error(ErrorCode::kLimit, "the line of a chunk is longer than {} bytes",
                            kMaxChunkLine));
            return;
        }
    }
}

void StreamResponse::use_line() {
    const std::string_view line = without_blanks(line_);
    if (state_ == State::kChunkEnd) {
        if (!line.empty()) {
            fail(make_error(ErrorCode::kMalformed, "a chunk is longer than it says"));
            return;
        }
        state_ = State::kChunkLine;
    } else if (state_ == State::kTrailers) {
        if (line.empty()) {
            state_ = State::kEnded;
        } else if (++trailers_ > kMaxTrailers) {
            fail(make_error(ErrorCode::kLimit, "more than {} trailers", kMaxTrailers));
        }
    } else {
        const std::optional<uint64_t> size =
            parse_hex(without_blanks(line.substr(0, line.find(';'))), kMaxChunk);
        if (!size) {
            fail(make_error(ErrorCode::kMalformed, "a chunk does not begin with its size"));
            return;
        }
        left_ = *size;
        state_ = left_ > 0 ? State::kChunkData : State::kTrailers;
    }
}

}  // namespace weir::http
