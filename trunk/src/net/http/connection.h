// One HTTP connection: reads requests, gives them to the router, writes answers. Internal to the
// server.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/object_count.h"
#include "net/http/detached_connection.h"
#include "net/http/exchange.h"
#include "net/http/server.h"
#include "net/ingress.h"
#include "net/trusted_proxies.h"
#include "proto/http/request_parser.h"

namespace weir::net {

inline constexpr size_t kHttpReadBytes = 4 * 1024;
inline constexpr size_t kMaxLingerBytes =
    1024 * 1024;  // what is read and dropped after the last answer

class HttpConnection : private Counted<HttpConnection> {
  public:
    // An HTTP connection, until it ends or becomes a player.
    static constexpr ObjectName kObjectName{"http_connection", "http"};

    // What all connections of a server share; outlives them.
    struct Shared {
        Shared(const HttpRouter& r, HttpServerOptions o) : router(r), options(std::move(o)) {}

        const HttpRouter& router;
        HttpServerOptions options;
        HttpServerStats stats;
        size_t telling_full = 0;  // connections over the limit of their address in a handshake
        bool draining = false;    // every answer is the last of its connection
        log::Throttle unanswered_log{Seconds(1)};
        log::Throttle malformed_log{Seconds(1)};
        log::Throttle refused_log{Seconds(1)};
        log::Throttle ingress_log{Seconds(1)};
    };

    // `inside_of`: null, or of what is inside of an encrypted connection of another process the
    // address that the client connected to.
    HttpConnection(Shared& shared,
                   std::unique_ptr<io::TcpStream> stream,
                   ConnectionPermit permit,
                   const io::SocketAddress* inside_of = nullptr);

    // Takes the place of its address, where that is known: not behind a proxy that speaks first.
    // False: there is none, and run() tells the client.
    bool arrive(const Ingress* ingress);

    enum class End : uint8_t {
        kOver,
        kIdle,  // nothing of a next request is there, which may come until until(): run() again
    };

    // Yields. Serves until the connection ends, is detached or idle. `ingress`: what comes before
    // HTTP; null: nothing.
    End run(const Ingress* ingress);

    // When the peer must have said something. Its coroutine may end until then.
    MonoTime until() const;

    io::TcpStream& stream() { return *stream_; }

    // Of its log lines.
    std::string_view id() const { return id_; }

    // Yields. Answers 503 without reading a request, then closes.
    void refuse(const Ingress* ingress);

  private:
    class Exchange;

    enum class ReadOutcome : uint8_t { kRequest, kAnswerError, kClose, kIdle };

    struct ReadBuffer : Counted<ReadBuffer> {
        // 4 KiB of an HTTP connection that has a coroutine.
        static constexpr ObjectName kObjectName{"http_read_buffer", "http"};
        std::array<uint8_t, kHttpReadBytes> bytes;
    };

    RequestOrigin origin_of(const http::Request& request) const;
    bool enter(const Ingress* ingress);
    bool enter_with_place(const Ingress* ingress);
    void begin();
    End serve_all();
    void tell_full(const Error& full);
    ReadOutcome read_request(http::Request& out, http::ParseError& error);
    ReadOutcome read_failed(const Error& why, http::ParseError& error);
    Error take_place();
    bool serve(const http::Request& request);
    bool move(Exchange& exchange, const HttpRoute& route);
    bool move_inside(Exchange& exchange, uint32_t process, io::Replay replay);

    bool encrypted() const { return stream_->encrypted() || inside_of_ != nullptr; }

    // What is inside of an encrypted connection comes by a unix socket, too: it is a client's.
    bool by_process() const { return stream_->by_unix_socket() && inside_of_ == nullptr; }

    void answer_options(HttpExchange& exchange, const HttpRoute* route);
    void answer_parse_error(const http::ParseError& error);
    Error write_slices(std::span<const ByteSpan> parts);

    Error write_slices(ByteSpan data) { return write_slices(std::span(&data, 1)); }

    void linger();

    Shared& shared_;
    std::unique_ptr<io::TcpStream> stream_;         // null once detached
    std::unique_ptr<io::SocketAddress> inside_of_;  // as in the constructor
    io::SocketAddress peer_;  // of the connection, by the header of a proxy where there was one
    MonoTime since_;          // of the accept, then of the newest answer
    std::string id_;
    ConnectionPermit permit_;
    Error full_;  // of arrive()
    bool entered_ = false;
    bool moved_;           // its next request came with it from another process
    uint64_t served_ = 0;  // requests
    // While it has a coroutine:
    std::optional<http::RequestParser> parser_;
    std::unique_ptr<ReadBuffer> buffer_;  // its stack is small
};

}  // namespace weir::net
