// Requests and responses. The only file that includes Boost.Beast, and only its basic_parser: no
// fields container, no asio.
//
// Beast gets a head only when it is complete: HeadScanner finds its end, counts lines and
// sizes, and refuses what can be refused early. A head that is complete and not enough for Beast
// ("GET / H") is malformed. Of a body it never sees more than the longest chunk header, which it
// takes only whole. So the outcome does not depend on how the input was split.
//
// Beast 1.81 asserts that the last chunk arrives with at least five bytes, which a peer can break
// by its timing ("0\r\n", then "\r"); the code after that assertion copes. So its assertions are
// off here, and fuzzing under ASAN stands in.
#define BOOST_DISABLE_ASSERTS  // NOLINT(readability-identifier-naming): Boost's name
#include "proto/http/request_parser.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>

#include "proto/http/head_scanner.h"
#include "proto/http/response_parser.h"
#include "proto/http/target.h"

namespace weir::http {

namespace {

namespace beast = boost::beast;
using BeastError = beast::error_code;
using BeastText = beast::string_view;

constexpr size_t kKeptBufferBytes = 4 * 1024;  // an idle connection holds no more

std::string_view text_of(BeastText text) {
    return {text.data(), text.size()};
}

bool looks_like_other_version(std::string_view line) {
    size_t space = line.rfind(' ');
    if (space == std::string_view::npos) {
        return false;
    }
    std::string_view version = line.substr(space + 1);
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) &&
           version[6] == '.' && digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

// What requests and responses have in common: the fields and the body. Message: has both.
template <bool kIsRequest, class Message>
class MessageSink : public beast::http::basic_parser<kIsRequest> {
  protected:
    explicit MessageSink(Message& out) : out_(out) {}

    Message& out_;
    bool header_done_ = false;

  private:
    void on_field_impl(beast::http::field /*field*/,
                       BeastText name,
                       BeastText value,
                       BeastError& /*ec*/) override {
        if (!header_done_) {  // trailers are read and dropped
            out_.headers.add(std::string(text_of(name)), std::string(text_of(value)));
        }
    }

    void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                           BeastError& /*ec*/) override {}

    std::size_t on_body_impl(BeastText body, BeastError& /*ec*/) override {
        out_.body.append(body.data(), body.size());
        return body.size();
    }

    void on_chunk_header_impl(std::uint64_t /*size*/,
                              BeastText /*extensions*/,
                              BeastError& /*ec*/) override {}

    std::size_t on_chunk_body_impl(std::uint64_t /*remain*/,
                                   BeastText body,
                                   BeastError& /*ec*/) override {
        out_.body.append(body.data(), body.size());
        return body.size();
    }

    void on_finish_impl(BeastError& /*ec*/) override {}
};

// Collects one request from Beast's callbacks and applies the rules that Beast leaves to its user.
class Sink final : public MessageSink<true, Request> {
  public:
    Sink(Request& out, const RequestLimits& limits) : MessageSink(out) {
        header_limit(static_cast<uint32_t>(limits.request_line_bytes + limits.header_bytes));
        body_limit(limits.body_bytes);
    }

    // Set when one of our rules was broken; Beast's own error otherwise.
    const std::optional<ParseError>& broken_rule() const { return broken_rule_; }

    bool expects_continue() const { return expects_continue_; }

  private:
    void on_request_impl(beast::http::verb /*verb*/,
                         BeastText method,
                         BeastText target,
                         int version,
                         BeastError& ec) override {
        out_.version_minor = version % 10;
        auto known = http::parse_method(text_of(method));
        if (!known) {
            return fail(501, "the method is not implemented", ec);
        }
        out_.method = *known;
        out_.target = text_of(target);
        auto parsed = http::parse_target(out_.target);
        if (!parsed || (parsed->path == "*" && out_.method != Method::kOptions)) {
            return fail(400, "the request target is malformed", ec);
        }
        out_.path = std::move(parsed->path);
        out_.query_text = std::move(parsed->query_text);
        out_.query = std::move(parsed->query);
        out_.host = std::move(parsed->authority);
    }

    void on_response_impl(int /*status*/,
                          BeastText /*reason*/,
                          int /*version*/,
                          BeastError& /*ec*/) override {}

    void on_header_impl(BeastError& ec) override {
        header_done_ = true;
        out_.keep_alive = keep_alive();
        const Fields& headers = out_.headers;
        size_t hosts = headers.count("Host");
        if (hosts > 1 || (hosts == 0 && out_.version_minor == 1)) {
            return fail(400,
                        hosts == 0 ? "there is no Host field" : "there is more than one Host field",
                        ec);
        }
        if (out_.host.empty()) {
            out_.host = headers.get("Host").value_or("");
        }
        check_framing(ec);
        if (auto expect = headers.get("Expect"); expect && !ec && out_.version_minor == 1) {
            expects_continue_ = equal_ignoring_case(*expect, "100-continue");
            if (!expects_continue_) {
                fail(417, "only 100-continue can be expected", ec);
            }
        }
    }

    // RFC 9112 §6.3: a message whose length is in doubt is refused, not guessed.
    void check_framing(BeastError& ec) {
        auto coding = out_.headers.get("Transfer-Encoding");
        bool has_length = out_.headers.has("Content-Length");
        if (coding && (has_length || out_.version_minor == 0)) {
            return fail(400, "Transfer-Encoding is not allowed here", ec);
        }
        if (coding && (out_.headers.count("Transfer-Encoding") > 1 ||
                       !equal_ignoring_case(*coding, "chunked"))) {
            return fail(501, "only the chunked transfer coding is implemented", ec);
        }
        // Without a length there is no body; whoever says of which type it is meant one.
        const bool carries_body = out_.method == Method::kPost || out_.method == Method::kPut ||
                                  out_.method == Method::kPatch;
        if (carries_body && out_.headers.has("Content-Type") && !coding && !has_length) {
            fail(411, "the length of the body is missing", ec);
        }
    }

    void fail(int status, std::string reason, BeastError& ec) {
        broken_rule_ = ParseError{status, std::move(reason)};
        ec = beast::http::error::bad_value;  // any error stops Beast; ours is told by broken_rule()
    }

    bool expects_continue_ = false;
    std::optional<ParseError> broken_rule_;
};

ParseError error_of(const BeastError& ec, std::string_view request_line) {
    using beast::http::error;
    if (ec == error::bad_version) {
        return looks_like_other_version(request_line)
                   ? ParseError{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"}
                   : ParseError{400, "the request line is malformed"};
    }
    if (ec == error::body_limit) {
        return {413, "the body is too long"};
    }
    if (ec == error::header_limit) {
        return {431, "a header field is too long"};
    }
    if (ec == error::bad_method || ec == error::bad_target) {
        return {400, "the request line is malformed"};
    }
    if (ec == error::bad_content_length || ec == error::multiple_content_length) {
        return {400, "Content-Length is malformed or contradicts another field"};
    }
    if (ec == error::bad_transfer_encoding) {
        return {400, "Transfer-Encoding contradicts another field"};
    }
    if (ec == error::bad_chunk || ec == error::bad_chunk_extension) {
        return {400, "a chunk of the body is malformed"};
    }
    return {400, "a header field is malformed"};
}

}  // namespace

struct RequestParser::Impl {
    explicit Impl(const RequestLimits& l) : limits(l), scanner(limits) {}

    std::string_view unread() const { return as_text(ByteSpan(buffer).subspan(at)); }

    void consume(size_t size) {
        at += size;
        if (at == buffer.size()) {
            buffer.clear();
            at = 0;
            if (buffer.capacity() > kKeptBufferBytes) {
                buffer.shrink_to_fit();
            }
        }
    }

    Status fail(ParseError why) {
        failed = true;
        error = std::move(why);
        return Status::kError;
    }

    // Complete head to Beast. kNeedMore means: go on with the body.
    Status start() {
        // RFC 9112 §2.2: empty lines before a request are skipped.
        while (unread().starts_with("\r\n") && scanner.head_bytes() == 0) {
            consume(2);
        }
        if (unread().empty() || unread() == "\r") {
            return Status::kNeedMore;
        }
        switch (scanner.scan(unread())) {
            case HeadScanner::Status::kNeedMore: return Status::kNeedMore;
            case HeadScanner::Status::kError: return fail(scanner.error());
            case HeadScanner::Status::kComplete: break;
        }
        const size_t head_bytes = scanner.head_bytes();
        const std::string request_line(unread().substr(0, scanner.request_line_bytes() - 2));
        pending = Request();
        sink.emplace(pending, limits);
        continue_due = true;
        BeastError ec;
        put(head_bytes, ec);
        if (failed) {
            return Status::kError;
        }
        if (ec || !sink->is_header_done()) {
            return fail(sink->broken_rule() ? *sink->broken_rule() : error_of(ec, request_line));
        }
        return sink->is_done() ? Status::kRequest : Status::kNeedMore;
    }

    // Unread bytes of the body to Beast, until it has a request, an error or too few.
    Status go_on() {
        while (!sink->is_done()) {
            const size_t size = std::min(unread().size(), limits.chunk_head_bytes);
            if (size == 0) {
                return Status::kNeedMore;
            }
            BeastError ec;
            const size_t used = put(size, ec);
            if (failed) {
                return Status::kError;
            }
            if (ec && ec != beast::http::error::need_more) {
                return fail(sink->broken_rule() ? *sink->broken_rule() : error_of(ec, {}));
            }
            if (used == 0 && !sink->is_done()) {
                return size < limits.chunk_head_bytes
                           ? Status::kNeedMore
                           : fail({400, "a chunk header or the trailers are too long"});
            }
        }
        return Status::kRequest;
    }

    // `size` unread bytes to Beast; how many it took.
    size_t put(size_t size, BeastError& ec) {
        size_t used = 0;
        try {
            used = sink->put(boost::asio::const_buffer(unread().data(), size), ec);
        } catch (const std::exception&) {  // lint: allow-catch (Beast may throw)
            fail({500, "the request could not be read"});
        }
        consume(used);
        return used;
    }

    RequestLimits limits;
    Bytes buffer;
    size_t at = 0;  // consumed part of buffer
    HeadScanner scanner;
    Request pending;
    std::optional<Sink> sink;  // from the end of the head to the end of the request
    bool continue_due = false;
    bool failed = false;
    ParseError error;
};

RequestParser::RequestParser(const RequestLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}

RequestParser::~RequestParser() = default;

void RequestParser::feed(ByteSpan bytes) {
    Impl& self = *impl_;
    if (self.failed) {
        return;
    }
    self.buffer.erase(self.buffer.begin(),
                      self.buffer.begin() + static_cast<std::ptrdiff_t>(self.at));
    self.at = 0;
    self.buffer.insert(self.buffer.end(), bytes.begin(), bytes.end());
}

RequestParser::Status RequestParser::next(Request& out) {
    Impl& self = *impl_;
    if (self.failed) {
        return Status::kError;
    }
    Status status = Status::kNeedMore;
    if (!self.sink) {
        status = self.start();
    }
    if (status == Status::kNeedMore && self.sink && !self.unread().empty()) {
        status = self.go_on();
    }
    if (status == Status::kRequest) {
        self.sink.reset();
        self.scanner.reset();
        out = std::exchange(self.pending, {});
    }
    return status;
}

const ParseError& RequestParser::error() const {
    return impl_->error;
}

bool RequestParser::in_request() const {
    return impl_->sink.has_value() || !impl_->unread().empty();
}

bool RequestParser::take_expects_continue() {
    Impl& self = *impl_;
    return self.sink && self.sink->expects_continue() && self.unread().empty() &&
           std::exchange(self.continue_due, false);
}

bool RequestParser::in_body() const {
    return impl_->sink.has_value();
}

ByteSpan RequestParser::unread() const {
    return ByteSpan(impl_->buffer).subspan(impl_->at);
}

Bytes RequestParser::take_unread() {
    Impl& self = *impl_;
    Bytes unread(self.buffer.begin() + static_cast<std::ptrdiff_t>(self.at), self.buffer.end());
    self.buffer.clear();
    self.at = 0;
    return unread;
}

// ---- responses ----

namespace {

constexpr int kSwitchingProtocols = 101;

// Collects one response; the rules that Beast leaves to its user.
class ResponseSink final : public MessageSink<false, Response> {
  public:
    ResponseSink(Response& out, const ResponseLimits& limits) : MessageSink(out) {
        header_limit(static_cast<uint32_t>(limits.head_bytes + 8));  // cut by complete_head()
        body_limit(limits.body_bytes);
    }

    Error take_broken_rule() { return std::move(broken_rule_); }

  private:
    void on_request_impl(beast::http::verb /*verb*/,
                         BeastText /*method*/,
                         BeastText /*target*/,
                         int /*version*/,
                         BeastError& /*ec*/) override {}

    void on_response_impl(int status, BeastText /*reason*/, int version, BeastError& ec) override {
        out_.status = status;
        version_minor_ = version % 10;
        if (status < 100) {
            fail(make_error(ErrorCode::kMalformed, "its status is {}", status), ec);
        }
    }

    // RFC 9112 §6.3: a length in doubt is refused.
    void on_header_impl(BeastError& ec) override {
        header_done_ = true;
        const Fields& headers = out_.headers;
        if (out_.status == kSwitchingProtocols) {
            return fail(make_error(ErrorCode::kUnsupported, "it changes the protocol"), ec);
        }
        const auto coding = headers.get("Transfer-Encoding");
        if (coding && (headers.has("Content-Length") || version_minor_ == 0)) {
            return fail(make_error(ErrorCode::kMalformed, "its body has two lengths"), ec);
        }
        if (coding &&
            (headers.count("Transfer-Encoding") > 1 || !equal_ignoring_case(*coding, "chunked"))) {
            return fail(make_error(ErrorCode::kUnsupported,
                                   "its body has another transfer coding than chunked"),
                        ec);
        }
        if (const auto content = headers.get("Content-Encoding");
            content && !equal_ignoring_case(*content, "identity")) {
            return fail(make_error(ErrorCode::kUnsupported, "its body is compressed"), ec);
        }
    }

    void fail(Error why, BeastError& ec) {
        broken_rule_ = std::move(why);
        ec = beast::http::error::bad_value;
    }

    int version_minor_ = 1;
    Error broken_rule_;
};

Error response_error_of(const BeastError& ec) {
    using beast::http::error;
    if (ec == error::body_limit) {
        return make_error(ErrorCode::kLimit, "its body is too long");
    }
    if (ec == error::header_limit) {
        return make_error(ErrorCode::kLimit, "its head is too long");
    }
    if (ec == error::bad_version || ec == error::bad_status || ec == error::bad_reason) {
        return make_error(ErrorCode::kMalformed, "it is not HTTP/1.0 or HTTP/1.1");
    }
    if (ec == error::bad_content_length || ec == error::multiple_content_length ||
        ec == error::bad_transfer_encoding) {
        return make_error(ErrorCode::kMalformed, "the length of its body is in doubt");
    }
    if (ec == error::bad_chunk || ec == error::bad_chunk_extension) {
        return make_error(ErrorCode::kMalformed, "a chunk of its body is malformed");
    }
    return make_error(ErrorCode::kMalformed, "its head is malformed");
}

}  // namespace

struct ResponseParser::Impl {
    explicit Impl(const ResponseLimits& l) : limits(l) {}

    Status fail(Error why) {
        status = Status::kError;
        error = std::move(why);
        return status;
    }

    // Beast gets the head when it is complete, as with requests. Gives its size, 0 while it is not.
    size_t complete_head() {
        constexpr std::string_view kBegin = "HTTP/1.";
        const std::string_view text = as_text(buffer);
        const size_t known = std::min(text.size(), kBegin.size());
        if (text.substr(0, known) != kBegin.substr(0, known)) {
            fail(make_error(ErrorCode::kMalformed, "it is not HTTP/1.0 or HTTP/1.1"));
            return 0;
        }
        const size_t end = text.find("\r\n\r\n", looked_at < 3 ? 0 : looked_at - 3);
        looked_at = text.size();
        // Three bytes of its end may have come.
        const size_t least = end != std::string_view::npos ? end
                             : text.size() < 3             ? 0
                                                           : text.size() - 3;
        if (least > limits.head_bytes) {
            fail(make_error(ErrorCode::kLimit, "its head is too long"));
            return 0;
        }
        return end == std::string_view::npos ? 0 : end + 4;
    }

    Status run() {
        while (status == Status::kNeedMore) {
            size_t head = 0;
            if (!sink) {
                head = complete_head();
                if (head == 0) {
                    return status;
                }
                pending = Response();
                sink.emplace(pending, limits);
            }
            if (!put(head)) {
                return status;
            }
            if (pending.status / 100 != 1) {
                pending.keep_alive = sink->keep_alive() && buffer.empty();
                status = Status::kResponse;
            } else if (++interim > limits.interim_answers) {
                fail(make_error(ErrorCode::kLimit, "it is put off again and again (1xx)"));
            }
            sink.reset();
            looked_at = 0;
        }
        return status;
    }

    void consume(size_t size) {
        buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
    }

    // The head, and of the body as much as is there, to Beast. True when it has a response.
    bool put(size_t head) {
        for (bool in_head = head > 0; !sink->is_done(); in_head = false) {
            const size_t size = in_head ? head : std::min(buffer.size(), limits.chunk_head_bytes);
            if (size == 0) {
                return false;
            }
            BeastError ec;
            size_t used = 0;
            try {
                used = sink->put(boost::asio::const_buffer(buffer.data(), size), ec);
            } catch (const std::exception&) {  // lint: allow-catch (Beast may throw)
                fail(make_error(ErrorCode::kInternal, "it could not be read"));
                return false;
            }
            if ((ec && ec != beast::http::error::need_more) ||
                (in_head && !sink->is_header_done())) {
                Error rule = sink->take_broken_rule();
                fail(rule ? std::move(rule) : response_error_of(ec));
                return false;
            }
            consume(used);
            if (used == 0 && !sink->is_done()) {
                if (size == limits.chunk_head_bytes) {
                    fail(make_error(ErrorCode::kLimit,
                                    "a chunk header or the trailers of its body are too long"));
                }
                return false;
            }
        }
        return true;
    }

    ResponseLimits limits;
    Bytes buffer;          // not yet consumed
    size_t looked_at = 0;  // of the buffer, for the end of the head
    size_t interim = 0;
    Response pending;
    std::optional<ResponseSink> sink;  // from the end of the head on
    bool any = false;
    Status status = Status::kNeedMore;
    Error error;
};

ResponseParser::ResponseParser(const ResponseLimits& limits)
    : impl_(std::make_unique<Impl>(limits)) {}

ResponseParser::~ResponseParser() = default;

ResponseParser::Status ResponseParser::feed(ByteSpan bytes) {
    Impl& self = *impl_;
    self.any = self.any || !bytes.empty();
    if (self.status == Status::kNeedMore) {
        self.buffer.insert(self.buffer.end(), bytes.begin(), bytes.end());
        return self.run();
    }
    if (self.status == Status::kResponse && !bytes.empty()) {
        self.pending.keep_alive = false;
    }
    return self.status;
}

ResponseParser::Status ResponseParser::end() {
    Impl& self = *impl_;
    if (self.status != Status::kNeedMore) {
        return self.status;
    }
    if (self.sink && self.sink->need_eof() && self.buffer.empty()) {
        BeastError ec;
        self.sink->put_eof(ec);
        if (!ec) {
            self.pending.keep_alive = false;
            return self.status = Status::kResponse;
        }
    }
    return self.fail(make_error(ErrorCode::kClosed, "the connection ends {} answer",
                                self.any ? "within the" : "without an"));
}

bool ResponseParser::untouched() const {
    return !impl_->any;
}

Response ResponseParser::take_response() {
    return std::exchange(impl_->pending, {});
}

Error ResponseParser::take_error() {
    return std::move(impl_->error);
}

}  // namespace weir::http
