#include "proto/rtsp/connection_reader.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "proto/http/text.h"

namespace weir::rtsp {
namespace {

constexpr size_t kKeptBytes = 4 * 1024;  // of frames that the input cut; a player's never are
constexpr char kFrameMark = '$';
constexpr std::string_view kRtsp = "RTSP/";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// "RTSP/1.0", "HTTP/1.1": a protocol of four letters, a digit, a dot, a digit.
bool is_version(std::string_view text, std::string_view protocol) {
    return text.size() == protocol.size() + 3 && text.starts_with(protocol) &&
           is_digit(text[protocol.size()]) && text[protocol.size() + 1] == '.' &&
           is_digit(text[protocol.size() + 2]);
}

// RTSP/1.1 does not exist; whoever writes it means the same messages.
bool is_version_1(std::string_view version) {
    return version[kRtsp.size()] == '1';
}

bool is_text(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7F';
    });
}

std::optional<uint32_t> cseq_of(const http::Fields& fields) {
    const std::optional<std::string_view> text = fields.get("CSeq");
    const std::optional<uint64_t> value =
        text ? parse_uint(*text, 0, UINT32_MAX) : std::optional<uint64_t>();
    return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

}  // namespace

ConnectionReader::Status ConnectionReader::next(ByteSpan& input) {
    if (partial_used_) {
        partial_used_ = false;
        partial_.clear();
        if (partial_.capacity() > kKeptBytes) {
            partial_.shrink_to_fit();
        }
    }
    release_message();  // the next error has no old CSeq
    for (;;) {
        switch (state_) {
            case State::kStart:
                // Empty lines between messages: RFC 9112 §2.2 has them for HTTP, cameras send them
                // after bodies whose length they do not count right.
                while (!input.empty() && (input[0] == '\r' || input[0] == '\n')) {
                    input = input.subspan(1);
                }
                if (input.empty()) {
                    return Status::kNeedMore;
                }
                after_frame_ = State::kStart;
                state_ = input[0] == kFrameMark ? State::kFrame : State::kHead;
                if (state_ == State::kHead) {
                    open_ = std::make_unique<Open>();
                }
                break;
            case State::kHead:
                switch (take_head(input)) {
                    case Step::kNeedMore: return Status::kNeedMore;
                    case Step::kGoOn: break;
                    case Step::kDone:
                        if (const Status status = end_head(); status != Status::kNeedMore) {
                            return status;
                        }
                        break;
                }
                break;
            case State::kBody:
                if (open_->message().body.empty() && !input.empty() && input[0] == kFrameMark) {
                    // Neither SDP nor text/parameters begins with it.
                    after_frame_ = State::kBody;
                    state_ = State::kFrame;
                    break;
                }
                return take_body(input);
            case State::kFrame: return take_frame(input);
            case State::kFailed: return Status::kError;
        }
    }
}

void ConnectionReader::release_message() {
    if (given_) {
        given_ = false;
        open_.reset();
    }
}

// kDone: the empty line at its end was taken. kGoOn: the state has changed.
ConnectionReader::Step ConnectionReader::take_head(ByteSpan& input) {
    for (size_t at = 0; at < input.size(); at++) {
        const char c = static_cast<char>(input[at]);
        const bool at_line_start = open_->head.size() == open_->line_start;
        if (at_line_start && open_->lines > 0 && c == kFrameMark) {
            input = input.subspan(at);
            after_frame_ = State::kHead;
            state_ = State::kFrame;
            return Step::kGoOn;
        }
        if (!take_head_byte(c)) {
            return Step::kGoOn;
        }
        if (c == '\n' && end_line()) {
            input = input.subspan(at + 1);
            return Step::kDone;
        }
        if (state_ == State::kFailed) {
            return Step::kGoOn;
        }
    }
    input = {};
    return Step::kNeedMore;
}

bool ConnectionReader::take_head_byte(char c) {
    open_->head += c;
    if (open_->lines > 0) {
        return open_->head.size() - open_->fields_at <= kMaxFieldBytes ||
               fail(400, "the header fields are too long");
    }
    if (open_->head.size() > kMaxStartLine) {
        return fail(414, "the first line is too long");
    }
    if (open_->is_response || open_->head.find(' ', 1) != std::string::npos) {
        return true;
    }
    open_->is_response = open_->head == kRtsp;
    if (!open_->is_response && !http::is_token_character(c)) {
        return fail(400, "this is no RTSP request");
    }
    return open_->head.size() <= kMaxMethodBytes || fail(400, "the method is too long");
}

// True: it was the empty line that ends the head.
bool ConnectionReader::end_line() {
    const std::string_view line = std::string_view(open_->head).substr(open_->line_start);
    const bool empty = line == "\n" || line == "\r\n";
    open_->line_start = open_->head.size();
    if (open_->lines == 0) {
        open_->fields_at = open_->head.size();
    }
    open_->lines++;
    if (!empty && open_->lines > kMaxHeaderFields + 1) {
        fail(400, "there are too many header fields");
    }
    return empty && state_ != State::kFailed;
}

// kNeedMore: go on with the body.
ConnectionReader::Status ConnectionReader::end_head() {
    std::string_view rest = open_->head;
    const std::string_view start_line = http::trimmed(http::take_line(rest));
    const std::string_view version = start_line.substr(start_line.rfind(' ') + 1);
    const bool is_http = !open_->is_response && is_version(version, "HTTP/");
    http::Fields& fields = is_http ? open_->http.headers : open_->message().headers;
    if (!read_fields(rest, fields)) {
        return Status::kError;
    }
    if (is_http) {
        return end_http(start_line, version);
    }
    open_->message().cseq = cseq_of(fields);
    return open_->is_response ? end_response(start_line) : end_request(start_line);
}

bool ConnectionReader::read_fields(std::string_view lines, http::Fields& fields) {
    std::string name;
    std::string value;
    const auto keep = [&] {
        if (!name.empty()) {
            fields.add(std::exchange(name, {}), std::exchange(value, {}));
        }
    };
    while (!lines.empty()) {
        const std::string_view line = http::take_line(lines);
        if (!is_text(line)) {
            keep();  // the error may need its CSeq
            return fail(400, "a header field holds control characters");
        }
        if (line.starts_with(' ') || line.starts_with('\t')) {
            // A folded field: the line continues the one before (RFC 2326 §4.2, RFC 2068 §4.2).
            const std::string_view more = http::trimmed(line);
            if (!name.empty() && !more.empty()) {
                value += value.empty() ? "" : " ";
                value += more;
            }
            continue;
        }
        keep();
        const Halves halves = split_once(line, ':');
        const std::string_view field = http::trimmed(halves.before);
        if (halves.found && http::is_token(field)) {
            name = field;
            value = http::trimmed(halves.after);
        } else if (!line.empty() && !open_->is_response) {
            return fail(400, "a header field is malformed");
        }
    }
    keep();
    return true;
}

ConnectionReader::Status ConnectionReader::end_http(std::string_view start_line,
                                                    std::string_view version) {
    const Halves halves = split_once(start_line.substr(0, start_line.size() - version.size()), ' ');
    const std::string_view target = http::trimmed(halves.after);
    if (target.empty() || !is_text(target) || target.find(' ') != std::string_view::npos) {
        fail(400, "the request line is malformed");
        return Status::kError;
    }
    open_->http.method = halves.before;
    open_->http.target = target;
    end_message();
    return Status::kHttp;
}

ConnectionReader::Status ConnectionReader::end_request(std::string_view start_line) {
    const size_t first = start_line.find(' ');
    const size_t last = start_line.rfind(' ');
    const std::string_view url = first < last && last != std::string_view::npos
                                     ? http::trimmed(start_line.substr(first, last - first))
                                     : std::string_view();
    const std::string_view version = start_line.substr(last + 1);
    if (url.empty() || !is_text(url) || url.find_first_of(" \t") != std::string_view::npos ||
        !is_version(version, kRtsp)) {
        fail(400, "the request line is malformed");
        return Status::kError;
    }
    if (!is_version_1(version)) {
        fail(505, "only RTSP/1.0 is spoken here");
        return Status::kError;
    }
    open_->request.method_name = start_line.substr(0, first);
    open_->request.method = parse_method(open_->request.method_name);
    open_->request.url = url;
    return begin_body();
}

// "RTSP/1.0 200 OK"; the reason may be missing.
ConnectionReader::Status ConnectionReader::end_response(std::string_view start_line) {
    const Halves version = split_once(start_line, ' ');
    const Halves status = split_once(http::trimmed(version.after), ' ');
    const std::optional<uint64_t> code = parse_uint(status.before, 100, 999);
    if (!is_version(version.before, kRtsp) || !is_version_1(version.before) || !code ||
        status.before.size() != 3 || !is_text(status.after)) {
        fail(400, "the status line is malformed");
        return Status::kError;
    }
    open_->response.status = static_cast<int>(*code);
    open_->response.reason = http::trimmed(status.after);
    return begin_body();
}

ConnectionReader::Status ConnectionReader::begin_body() {
    std::optional<uint64_t> length;
    for (const http::Field& field : open_->message().headers) {
        if (!http::equal_ignoring_case(field.name, "Content-Length")) {
            continue;
        }
        const std::optional<uint64_t> value = parse_uint(field.value);
        if (!value || (length && *length != *value)) {
            // A number too large for 64 bits is no better than one that is too large for us.
            const bool digits = !field.value.empty() && std::ranges::all_of(field.value, is_digit);
            fail(digits && !length ? 413 : 400,
                 digits && !length ? "the body is too long" : "Content-Length is malformed");
            return Status::kError;
        }
        length = value;
    }
    if (length.value_or(0) > kMaxBodyBytes) {
        fail(413, "the body is too long");
        return Status::kError;
    }
    if (length.value_or(0) == 0) {
        return end_message();
    }
    open_->body_bytes = static_cast<size_t>(*length);
    state_ = State::kBody;
    return Status::kNeedMore;
}

ConnectionReader::Status ConnectionReader::take_body(ByteSpan& input) {
    std::string& body = open_->message().body;
    const size_t size = std::min(open_->body_bytes - body.size(), input.size());
    body += as_text(input.first(size));
    input = input.subspan(size);
    return body.size() == open_->body_bytes ? end_message() : Status::kNeedMore;
}

ConnectionReader::Status ConnectionReader::take_frame(ByteSpan& input) {
    const auto size_of = [](ByteSpan header) {
        return kFrameHeader + static_cast<size_t>(header[2] << 8U | header[3]);
    };
    if (partial_.empty() && input.size() >= kFrameHeader && input.size() >= size_of(input)) {
        const size_t size = size_of(input);
        frame_ = {input[1], input.subspan(kFrameHeader, size - kFrameHeader)};
        input = input.subspan(size);
        state_ = after_frame_;
        return Status::kFrame;
    }
    const auto take_up_to = [&](size_t wanted) {
        const size_t size = std::min(wanted - partial_.size(), input.size());
        partial_.insert(partial_.end(), input.begin(),
                        input.begin() + static_cast<ptrdiff_t>(size));
        input = input.subspan(size);
        return partial_.size() == wanted;
    };
    if ((partial_.size() < kFrameHeader && !take_up_to(kFrameHeader)) ||
        !take_up_to(size_of(partial_))) {
        return Status::kNeedMore;
    }
    frame_ = {partial_[1], ByteSpan(partial_).subspan(kFrameHeader)};
    partial_used_ = true;
    state_ = after_frame_;
    return Status::kFrame;
}

ConnectionReader::Status ConnectionReader::end_message() {
    const Status status = open_->is_response ? Status::kResponse : Status::kRequest;
    given_ = true;
    state_ = State::kStart;
    return status;
}

// Always false, for the callers' returns.
bool ConnectionReader::fail(int status, std::string_view reason) {
    error_.status = open_->is_response ? 0 : status;
    error_.reason = reason;
    error_.cseq = open_->is_response ? std::nullopt : cseq_of(open_->request.headers);
    state_ = State::kFailed;
    open_.reset();
    return false;
}

Message& ConnectionReader::Open::message() {
    if (is_response) {
        return response;
    }
    return request;
}

}  // namespace weir::rtsp
