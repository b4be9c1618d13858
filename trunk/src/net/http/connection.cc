#include "net/http/connection.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/http/bridge.h"
#include "net/http/detached_connection.h"
#include "net/limits.h"
#include "net/placement.h"
#include "net/trusted_proxies.h"
#include "proto/http/cors.h"

namespace weir::net {

namespace {

constexpr size_t kWriteSliceBytes = 64 * 1024;  // each slice has the whole write timeout
constexpr uint64_t kRequestsPerYield = 16;
constexpr size_t kMaxTellingFull = 64;
constexpr size_t kIdCharacters = 7;

bool has_no_body(int status) {
    return status / 100 == 1 || status == 204 || status == 304;
}

void add_all(http::Fields& fields, const http::Fields& more) {
    for (const http::Field& field : more) {
        fields.add(field.name, field.value);
    }
}

}  // namespace

class HttpConnection::Exchange final : public HttpExchange, private Counted<Exchange> {
  public:
    // A request that is being answered.
    static constexpr ObjectName kObjectName{"http_exchange", "http"};

    Exchange(HttpConnection& connection,
             const http::Request& request,
             const HttpRouteOptions& route)
        : connection_(connection),
          request_(request),
          route_(route),
          origin_(connection.origin_of(request)),
          route_fields_(route.cors ? http::cors_fields() : http::Fields()) {}

    const http::Request& request() const override { return request_; }

    const io::SocketAddress& peer() const override { return origin_.client; }

    bool secure() const override { return origin_.secure; }

    bool believes_proxy() const override { return origin_.believed; }

    bool encrypted() const override { return connection_.encrypted(); }

    bool by_process() const override { return connection_.by_process(); }

    io::SocketAddress local() const override {
        return connection_.inside_of_ ? *connection_.inside_of_ : connection_.stream_->local();
    }

    io::TcpStream& connection() override { return *connection_.stream_; }

    const http::Fields& route_fields() const override { return route_fields_; }

    void add_route_field(std::string name, std::string value) override {
        route_fields_.add(std::move(name), std::move(value));
    }

    Error respond(int status,
                  std::string_view content_type,
                  std::string_view body,
                  const http::Fields& extra) override {
        std::string bytes =
            head(status, content_type, has_no_body(status) ? 0 : body.size(), extra);
        if (!request_.is_head() && !has_no_body(status)) {
            bytes += body;
        }
        return finished(connection_.write_slices(as_bytes(bytes)));
    }

    Error respond_error(int status, std::string_view reason, const http::Fields& extra) override {
        http::ErrorBody error = http::http_error_body(route_.errors, status, reason);
        return respond(status, error.content_type, error.body, extra);
    }

    Error begin(int status,
                std::string_view content_type,
                uint64_t length_bytes,
                const http::Fields& extra) override {
        body_left_ = request_.is_head() || has_no_body(status) ? 0 : length_bytes;
        return finished(
            connection_.write_slices(as_bytes(head(status, content_type, length_bytes, extra))));
    }

    Error begin_open(int status,
                     std::string_view content_type,
                     const http::Fields& extra) override {
        open_ = true;
        return finished(
            connection_.write_slices(as_bytes(head(status, content_type, std::nullopt, extra))));
    }

    // A chunk's header brings the end of line of the chunk before it.
    Error finish() override {
        WEIR_CHECK(open_);
        open_ = false;
        if (request_.is_head() || !chunked()) {
            return {};
        }
        const std::string_view end =
            std::exchange(wrote_chunk_, false) ? "\r\n0\r\n\r\n" : "0\r\n\r\n";
        return finished(connection_.write_slices(as_bytes(end)));
    }

    Error write(ByteSpan data) override {
        if (request_.is_head()) {
            return {};
        }
        if (open_) {
            return data.empty() ? Error() : finished(write_chunk(data));
        }
        WEIR_CHECK(data.size() <= body_left_);
        body_left_ -= data.size();
        return finished(connection_.write_slices(data));
    }

    Error respond_parts(int status,
                        std::string_view content_type,
                        std::span<const ByteSpan> body,
                        const http::Fields& extra) override {
        uint64_t length = 0;
        for (const ByteSpan part : body) {
            length += part.size();
        }
        const std::string first = head(status, content_type, length, extra);
        std::vector<ByteSpan> parts = {as_bytes(first)};
        if (!request_.is_head() && !has_no_body(status)) {
            parts.insert(parts.end(), body.begin(), body.end());
        }
        return finished(connection_.write_slices(parts));
    }

    DetachedConnection detach() override {
        WEIR_CHECK(!answered_ && connection_.stream_ != nullptr);
        answered_ = true;
        connection_.shared_.stats.detached++;
        const bool encrypted = connection_.encrypted();
        return {std::move(connection_.stream_), connection_.parser_->take_unread(),
                std::move(connection_.permit_), encrypted};
    }

    // Another process answers on this connection, which ends then.
    void leave_to_other() { answered_ = true; }

    bool answered() const { return answered_; }

    int status() const { return status_; }  // 0: detached

    // The next request may follow on this connection.
    bool reusable() const {
        return answered_ && !failed_ && !open_ && body_left_ == 0 && keep_alive_;
    }

  private:
    bool chunked() const { return request_.version_minor > 0; }

    Error write_chunk(ByteSpan data) {
        if (chunked()) {
            const std::string size = fmt::format(
                "{}{:x}\r\n", std::exchange(wrote_chunk_, true) ? "\r\n" : "", data.size());
            WEIR_TRY(connection_.write_slices(as_bytes(size)));
        }
        return connection_.write_slices(data);
    }

    // `length_bytes`: nothing, of a body that is open.
    std::string head(int status,
                     std::string_view content_type,
                     std::optional<uint64_t> length_bytes,
                     const http::Fields& extra) {
        WEIR_CHECK(!answered_);
        answered_ = true;
        status_ = status;
        http::Fields fields = extra;
        if (!content_type.empty()) {
            fields.add("Content-Type", std::string(content_type));
        }
        if (length_bytes && !has_no_body(status)) {
            fields.add("Content-Length", std::to_string(*length_bytes));
        } else if (!length_bytes && chunked()) {
            fields.add("Transfer-Encoding", "chunked");
        }
        for (const http::Field& field : route_fields_) {
            if (!fields.has(field.name)) {
                fields.add(field.name, field.value);
            }
        }
        keep_alive_ = request_.keep_alive && !io::interrupted() && !connection_.shared_.draining &&
                      (length_bytes || chunked());
        if (!keep_alive_) {
            fields.set("Connection", "close");
        } else if (request_.version_minor == 0) {
            fields.set("Connection", "keep-alive");
        }
        return http::http_response_head(status, fields);
    }

    Error finished(Error error) {
        failed_ = failed_ || bool(error);
        return error;
    }

    HttpConnection& connection_;
    const http::Request& request_;
    const HttpRouteOptions& route_;
    RequestOrigin origin_;
    http::Fields route_fields_;
    uint64_t body_left_ = 0;
    bool open_ = false;  // begin_open(), and not yet finish()
    bool wrote_chunk_ = false;
    int status_ = 0;
    bool answered_ = false;
    bool failed_ = false;
    bool keep_alive_ = false;
};

HttpConnection::HttpConnection(Shared& shared,
                               std::unique_ptr<io::TcpStream> stream,
                               ConnectionPermit permit,
                               const io::SocketAddress* inside_of)
    : shared_(shared),
      stream_(std::move(stream)),
      inside_of_(inside_of != nullptr ? std::make_unique<io::SocketAddress>(*inside_of) : nullptr),
      peer_(stream_->peer()),
      since_(MonoClock::now()),
      id_("h" + random_id(system_random(), kIdCharacters)),
      permit_(std::move(permit)),
      moved_(stream_->replays()) {}

MonoTime HttpConnection::until() const {
    return since_ + (served_ == 0 ? shared_.options.header_timeout : shared_.options.idle_timeout);
}

bool HttpConnection::arrive(const Ingress* ingress) {
    full_ = client_is_known(ingress) ? take_place() : Error();
    return !full_;
}

RequestOrigin HttpConnection::origin_of(const http::Request& request) const {
    const bool secure = stream_ != nullptr && encrypted();
    const TrustedProxies* proxies = shared_.options.proxies;
    return proxies != nullptr ? proxies->origin_of(peer_, secure, request.headers)
                              : RequestOrigin{peer_, secure, false};
}

// Yields. False: the connection is over before its first request.
bool HttpConnection::enter(const Ingress* ingress) {
    if (ingress == nullptr) {
        return true;
    }
    const Error failed =
        ingress->begin(*stream_, io::Deadline::at(since_ + shared_.options.header_timeout));
    peer_ = stream_->peer();
    const bool told =
        failed && failed.code() != ErrorCode::kClosed && failed.code() != ErrorCode::kInterrupted;
    if (log::Throttle& throttle = shared_.ingress_log; told && throttle.allow(MonoClock::now())) {
        log::warn("http connection rejected ip={}: {} ({} more in the last second)", peer_.host(),
                  log::escaped(failed.message()), throttle.suppressed());
    }
    return !failed;
}

// Yields. What comes before HTTP. Whoever is over the limit of its address is told so inside TLS,
// but only a few at a time. False: the connection is over.
bool HttpConnection::enter_with_place(const Ingress* ingress) {
    if (full_ && ingress != nullptr) {
        if (shared_.telling_full >= kMaxTellingFull) {
            return false;
        }
        shared_.telling_full++;
        const bool entered = enter(ingress);
        shared_.telling_full--;
        if (!entered) {
            return false;
        }
    } else if (!full_) {
        if (!enter(ingress)) {
            return false;
        }
        full_ = client_is_known(ingress) ? Error() : take_place();
    }
    if (full_) {
        tell_full(full_);
        return false;
    }
    return true;
}

void HttpConnection::tell_full(const Error& full) {
    answer_parse_error({429, std::string(full.message())});
    linger();
}

HttpConnection::End HttpConnection::run(const Ingress* ingress) {
    begin();
    if (!entered_ && !enter_with_place(ingress)) {
        return End::kOver;
    }
    entered_ = true;
    const End end = serve_all();
    parser_.reset();
    buffer_.reset();
    return end;
}

void HttpConnection::begin() {
    parser_.emplace(shared_.options.limits);
    buffer_ = std::make_unique<ReadBuffer>();
}

HttpConnection::End HttpConnection::serve_all() {
    for (;;) {
        http::Request request;
        http::ParseError error;
        switch (read_request(request, error)) {
            case ReadOutcome::kClose: return End::kOver;
            case ReadOutcome::kIdle: return End::kIdle;
            case ReadOutcome::kAnswerError:
                answer_parse_error(error);
                linger();
                return End::kOver;
            case ReadOutcome::kRequest: break;
        }
        shared_.stats.requests++;
        served_++;
        bool reusable = serve(request);
        if (!stream_) {
            return End::kOver;
        }
        since_ = MonoClock::now();
        if (served_ % kRequestsPerYield == 0) {
            io::yield();  // pipelined requests may never have to wait for the socket
        }
        if (!reusable) {
            linger();
            return End::kOver;
        }
    }
}

// A trusted proxy speaks for many clients, and so does another process.
Error HttpConnection::take_place() {
    const TrustedProxies* proxies = shared_.options.proxies;
    if (shared_.options.places == nullptr || (proxies != nullptr && proxies->trusts(peer_)) ||
        (peer_.is_loopback() && by_process())) {
        return {};
    }
    Result<Limits::AddressPlace> place = shared_.options.places->enter(peer_);
    if (!place.ok()) {
        shared_.stats.refused++;
        return place.take_error();
    }
    permit_.hold(std::move(*place));
    return {};
}

void HttpConnection::refuse(const Ingress* ingress) {
    begin();
    if (!enter(ingress)) {
        return;
    }
    if (log::Throttle& throttle = shared_.refused_log; throttle.allow(MonoClock::now())) {
        log::warn("http connection refused, max_connections is reached peer={} suppressed={}",
                  peer_.to_string(), throttle.suppressed());
    }
    answer_parse_error({503, "the server is full (max_connections), try again later"});
    linger();
}

HttpConnection::ReadOutcome HttpConnection::read_request(http::Request& out,
                                                         http::ParseError& error) {
    const HttpServerOptions& options = shared_.options;
    // From its first byte on, a header has a deadline of its own; before that, a kept connection
    // may be idle.
    MonoTime deadline = until();
    bool header_started = false;
    bool body_started = false;
    for (;;) {
        switch (parser_->next(out)) {
            case http::RequestParser::Status::kRequest: return ReadOutcome::kRequest;
            case http::RequestParser::Status::kError:
                shared_.stats.malformed++;
                error = parser_->error();
                return ReadOutcome::kAnswerError;
            case http::RequestParser::Status::kNeedMore: break;
        }
        const MonoTime now = MonoClock::now();
        if (parser_->in_request() && !header_started) {
            header_started = true;
            deadline = now + options.header_timeout;
        }
        if (parser_->in_body() && !body_started) {
            body_started = true;
            deadline = now + options.body_timeout;
        }
        if (parser_->take_expects_continue()) {
            if (Error e = write_slices(as_bytes("HTTP/1.1 100 Continue\r\n\r\n"))) {
                return ReadOutcome::kClose;
            }
        }
        const bool nothing = !parser_->in_request() && !stream_->readable() && now < deadline;
        if (nothing && !stream_->encrypted()) {
            return ReadOutcome::kIdle;
        }
        Result<size_t> got = stream_->read_some(buffer_->bytes, io::Deadline::at(deadline));
        if (!got.ok()) {
            return read_failed(got.error(), error);
        }
        parser_->feed(ByteSpan(buffer_->bytes).first(*got));
    }
}

HttpConnection::ReadOutcome HttpConnection::read_failed(const Error& why, http::ParseError& error) {
    if (why.code() == ErrorCode::kTimeout) {
        shared_.stats.timeouts++;
        error = {408, "the request did not arrive in time"};
    } else if (why.code() == ErrorCode::kClosed) {
        error = {400, "the request ends before it is complete"};
    } else {
        return ReadOutcome::kClose;
    }
    if (!parser_->in_request()) {
        return ReadOutcome::kClose;  // an idle connection ends without a word
    }
    if (why.code() == ErrorCode::kClosed) {
        shared_.stats.malformed++;
    }
    return ReadOutcome::kAnswerError;
}

// True when the connection may carry another request.
bool HttpConnection::serve(const http::Request& request) {
    const HttpRoute* route = shared_.router.find(request);
    const HttpRouteOptions& options = route != nullptr ? route->options : shared_.router.defaults();
    Exchange exchange(*this, request, options);
    Error ignored;  // a failed answer ends the connection: reusable() says so
    if (shared_.options.authorize && !shared_.options.authorize(exchange, route)) {
        WEIR_DCHECK(exchange.answered());
    } else if (request.method == http::Method::kOptions) {
        answer_options(exchange, route);
    } else if (route == nullptr) {
        ignored = exchange.respond_error(404, "there is nothing at this path", {});
    } else if ((options.methods & http::method_bit(request.method)) == 0) {
        ignored = exchange.respond_error(405, "this path does not take that method",
                                         {{"Allow", http::allow_text(options.methods)}});
    } else if (!move(exchange, *route)) {
        route->handler(exchange);
        if (!exchange.answered()) {
            log::throttled(shared_.unanswered_log, log::Level::kError,
                           "http handler gave no answer path={}", log::token(request.path));
            ignored = exchange.respond_error(500, "no answer was made", {});
        }
    }
    // Without the query, where keys may be.
    if (log::enabled(log::Level::kDebug)) {
        log::debug("http request method={} path={} status={} ip={}", to_string(request.method),
                   log::token(request.path), exchange.status(), peer_.host());
    }
    return stream_ != nullptr && exchange.reusable();
}

// True: another process has the connection, and the request with it.
bool HttpConnection::move(Exchange& exchange, const HttpRoute& route) {
    Placement* const placement = shared_.options.placement;
    if (placement == nullptr || !route.options.process_of ||
        (encrypted() && !route.options.only_there) || std::exchange(moved_, false)) {
        return false;
    }
    const std::optional<uint32_t> process =
        route.options.process_of(*placement, exchange.request());
    if (!process) {
        return false;
    }
    io::Replay replay;
    const std::string request = http::request_text(exchange.request());
    replay.heard.assign(request.begin(), request.end());
    const ByteSpan behind = parser_->unread();
    replay.heard.insert(replay.heard.end(), behind.begin(), behind.end());
    if (stream_->encrypted()) {
        return move_inside(exchange, *process, std::move(replay));
    }
    const bool moved = inside_of_
                           ? placement->move_inside(*process, "http", *stream_, *inside_of_, replay)
                           : placement->move(*process, "http", *stream_, std::move(replay));
    if (moved) {
        const DetachedConnection gone = exchange.detach();
    }
    return moved;
}

// Yields. TLS stays here, and what is inside of it goes there, also with later requests.
bool HttpConnection::move_inside(Exchange& exchange, uint32_t process, io::Replay replay) {
    Result<io::TcpStream::Pair> pair = io::TcpStream::pair(peer_);
    if (!pair.ok() || !shared_.options.placement->move_inside(
                          process, "http", *pair->other, stream_->local(), std::move(replay))) {
        return false;
    }
    pair->other.reset();
    exchange.leave_to_other();
    shared_.stats.bridged++;
    shared_.stats.bridges++;
    bridge(*stream_, *pair->one, shared_.options.write_timeout);
    shared_.stats.bridges--;
    return true;
}

void HttpConnection::answer_options(HttpExchange& exchange, const HttpRoute* route) {
    const http::Request& request = exchange.request();
    const HttpRouteOptions& options = route != nullptr ? route->options : shared_.router.defaults();
    Error ignored;  // as above
    if (options.cors && http::is_cors_preflight(request)) {
        http::Fields fields = http::cors_preflight_fields(request, options.methods);
        add_all(fields, options.options_fields);
        ignored = exchange.respond(204, {}, {}, fields);
    } else if (route == nullptr && request.path != "*") {
        ignored = exchange.respond_error(404, "there is nothing at this path", {});
    } else {
        http::Fields fields{{"Allow", http::allow_text(options.methods)}};
        add_all(fields, options.options_fields);
        ignored = exchange.respond(204, {}, {}, fields);
    }
}

void HttpConnection::answer_parse_error(const http::ParseError& error) {
    if (log::Throttle& throttle = shared_.malformed_log;
        error.status != 503 && throttle.allow(MonoClock::now())) {
        log::warn("http request refused status={} reason=\"{}\" peer={} suppressed={}",
                  error.status, error.reason, peer_.to_string(), throttle.suppressed());
    }
    http::Request request;  // stands for the one that could not be read
    request.keep_alive = false;
    Exchange exchange(*this, request, shared_.router.defaults());
    http::Fields extra;
    if (error.status == 503 || error.status == 429) {
        extra.add("Retry-After", "5");
    }
    Error ignored = exchange.respond_error(error.status, error.reason, extra);
}

Error HttpConnection::write_slices(std::span<const ByteSpan> parts) {
    std::array<iovec, io::TcpStream::kMaxWriteParts> slice;
    size_t used = 0;
    size_t room = kWriteSliceBytes;
    const auto flush = [&] {
        const auto deadline = io::Deadline::after(shared_.options.write_timeout);
        room = kWriteSliceBytes;
        return stream_->write_all(std::span(slice).first(std::exchange(used, 0)), deadline);
    };
    for (ByteSpan part : parts) {
        while (!part.empty()) {
            const ByteSpan piece = part.first(std::min(part.size(), room));
            slice[used++] = {const_cast<uint8_t*>(piece.data()), piece.size()};
            room -= piece.size();
            part = part.subspan(piece.size());
            if (room == 0 || used == slice.size()) {
                WEIR_TRY(flush());
            }
        }
    }
    return used > 0 ? flush() : Error();
}

// A close with unread bytes in the socket resets it and takes the answer away from the peer: end
// our direction, then read what still comes until the peer ends too.
void HttpConnection::linger() {
    if (!stream_->end_writing()) {
        return;
    }
    io::Deadline deadline = io::Deadline::after(shared_.options.linger_timeout);
    size_t dropped = 0;
    while (dropped < kMaxLingerBytes) {
        Result<size_t> got = stream_->read_some(buffer_->bytes, deadline);
        if (!got.ok()) {
            return;
        }
        dropped += *got;
    }
}

}  // namespace weir::net
