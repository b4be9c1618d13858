// The only file that includes Boost.Beast, and only its basic_parser: no fields container, no asio.
//
// Beast gets a head only when it is complete: HeadScanner finds its end, counts lines and
// sizes, and refuses what can be refused early. So the outcome does not depend on how the input was
// split.
//
// Beast 1.81 asserts that the last chunk arrives with at least five bytes, which a peer can break
// by its timing ("0\r\n", then "\r"); the code after that assertion copes. So its assertions are
// off here, and fuzzing under ASAN stands in.
#define BOOST_DISABLE_ASSERTS  // NOLINT(readability-identifier-naming): Boost's name
#include "net/http/request_parser.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>

#include "net/http/head_scanner.h"
#include "net/http/target.h"

namespace weir::net {

namespace {

namespace beast = boost::beast;
using BeastError = beast::error_code;
using BeastText = beast::string_view;

constexpr size_t kMaxChunkOverheadBytes =
    16 * 1024;  // one chunk header with its extensions, or all trailers
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

// Collects one request from Beast's callbacks and applies the rules that Beast leaves to its user.
class Sink final : public beast::http::basic_parser<true> {
  public:
    Sink(HttpRequest& out, const HttpLimits& limits) : out_(out) {
        header_limit(static_cast<uint32_t>(limits.request_line_bytes + limits.header_bytes));
        body_limit(limits.body_bytes);
    }

    // Set when one of our rules was broken; Beast's own error otherwise.
    const std::optional<HttpParseError>& broken_rule() const { return broken_rule_; }

    bool expects_continue() const { return expects_continue_; }

  private:
    void on_request_impl(beast::http::verb /*verb*/,
                         BeastText method,
                         BeastText target,
                         int version,
                         BeastError& ec) override {
        out_.version_minor = version % 10;
        auto known = net::parse_method(text_of(method));
        if (!known) {
            return fail(501, "the method is not implemented", ec);
        }
        out_.method = *known;
        out_.target = text_of(target);
        auto parsed = net::parse_target(out_.target);
        if (!parsed || (parsed->path == "*" && out_.method != HttpMethod::kOptions)) {
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

    void on_field_impl(beast::http::field /*field*/,
                       BeastText name,
                       BeastText value,
                       BeastError& /*ec*/) override {
        if (!header_done_) {  // trailers are read and dropped
            out_.headers.add(std::string(text_of(name)), std::string(text_of(value)));
        }
    }

    void on_header_impl(BeastError& ec) override {
        header_done_ = true;
        out_.keep_alive = keep_alive();
        const HttpFields& headers = out_.headers;
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
        bool carries_body = out_.method == HttpMethod::kPost || out_.method == HttpMethod::kPut ||
                            out_.method == HttpMethod::kPatch;
        if (carries_body && !coding && !has_length) {
            fail(411, "the length of the body is missing", ec);
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

    void fail(int status, std::string reason, BeastError& ec) {
        broken_rule_ = HttpParseError{status, std::move(reason)};
        ec = beast::http::error::bad_value;  // any error stops Beast; ours is told by broken_rule()
    }

    HttpRequest& out_;
    bool header_done_ = false;
    bool expects_continue_ = false;
    std::optional<HttpParseError> broken_rule_;
};

HttpParseError error_of(const BeastError& ec, std::string_view request_line) {
    using beast::http::error;
    if (ec == error::bad_version) {
        return looks_like_other_version(request_line)
                   ? HttpParseError{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"}
                   : HttpParseError{400, "the request line is malformed"};
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
    explicit Impl(const HttpLimits& l) : limits(l), scanner(limits) {}

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

    Status fail(HttpParseError why) {
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
        size_t head_bytes = scanner.head_bytes();
        std::string request_line(unread().substr(0, scanner.request_line_bytes() - 2));
        pending = HttpRequest();
        sink.emplace(pending, limits);
        continue_due = true;
        return put(head_bytes, request_line);
    }

    // Up to `size` unread bytes to Beast, until it has a request, an error or too few.
    Status put(size_t size, std::string_view request_line) {
        while (!sink->is_done()) {
            BeastError ec;
            size_t used = 0;
            try {
                used = sink->put(boost::asio::const_buffer(unread().data(), size), ec);
            } catch (const std::exception&) {  // lint: allow-catch (Beast may throw)
                return fail({500, "the request could not be read"});
            }
            if (ec == beast::http::error::need_more) {
                consume(used);
                return unread().size() > kMaxChunkOverheadBytes
                           ? fail({400, "a chunk header or the trailers are too long"})
                           : Status::kNeedMore;
            }
            if (ec) {
                return fail(sink->broken_rule() ? *sink->broken_rule()
                                                : error_of(ec, request_line));
            }
            consume(used);
            size -= used;
            if (size == 0 && !sink->is_done()) {
                return Status::kNeedMore;
            }
        }
        return Status::kRequest;
    }

    HttpLimits limits;
    Bytes buffer;
    size_t at = 0;  // consumed part of buffer
    HeadScanner scanner;
    HttpRequest pending;
    std::optional<Sink> sink;  // from the end of the head to the end of the request
    bool continue_due = false;
    bool failed = false;
    HttpParseError error;
};

RequestParser::RequestParser(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}

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

RequestParser::Status RequestParser::next(HttpRequest& out) {
    Impl& self = *impl_;
    if (self.failed) {
        return Status::kError;
    }
    Status status = Status::kNeedMore;
    if (!self.sink) {
        status = self.start();
    }
    if (status == Status::kNeedMore && self.sink && !self.unread().empty()) {
        status = self.put(self.unread().size(), {});
    }
    if (status == Status::kRequest) {
        self.sink.reset();
        self.scanner.reset();
        out = std::exchange(self.pending, {});
    }
    return status;
}

const HttpParseError& RequestParser::error() const {
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

Bytes RequestParser::take_unread() {
    Impl& self = *impl_;
    Bytes unread(self.buffer.begin() + static_cast<std::ptrdiff_t>(self.at), self.buffer.end());
    self.buffer.clear();
    self.at = 0;
    return unread;
}

}  // namespace weir::net
