// HTTP/1.1 server (RFC 9110, 9112): one coroutine per connection while it has a request, none while
// it waits for one (io::Lobby; encrypted ones keep theirs). Requests go to a router.
//
// Keep-alive and pipelining; every request that cannot be read is answered (never a silent close,
// except to a connection that said nothing before its deadline); the close lingers so that the peer
// reads the answer. A client that sends slowly is ended by the deadline of the header or of the
// body, however often it sends a byte.
//
// Lifetime: create(), serve() for each listener, stop(), destroy. The router must outlive the
// server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "io/stream_options.h"
#include "io/tcp.h"
#include "net/acceptors.h"
#include "net/http/router.h"
#include "net/ingress.h"
#include "proto/http/request_parser.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {

class Limits;
class Placement;
class TrustedProxies;

struct HttpServerOptions {
    http::RequestLimits limits;
    Millis header_timeout{
        10'000};  // from the accept, or the first byte of a later request, to the end of its header
    Millis body_timeout{20'000};   // from the end of the header to the end of the body
    Millis idle_timeout{30'000};   // between two requests
    Millis write_timeout{20'000};  // for each part of an answer
    Millis linger_timeout{2'000};  // after the last answer, for the peer to read it
    io::StreamOptions stream;      // applied to each accepted connection

    // Who is believed about the clients behind it; null: nobody. Must outlive the server.
    const TrustedProxies* proxies = nullptr;

    // Asked for each accepted connection: false means that max_connections is reached, and the
    // client gets 503. `release` is called once for each connection that was admitted, when it (or
    // what it was detached to) has ended. May be empty.
    std::function<bool()> admit;
    std::function<void()> release;
    // Where connections are counted by address; one too many gets 429. May be null.
    Limits* places = nullptr;
    // Where requests that belong to a stream are served; null: here.
    Placement* placement = nullptr;
    // Asked for each request, OPTIONS too, before its route is followed (null: there is none).
    // False: it is refused, and answered. May be empty.
    std::function<bool(HttpExchange&, const HttpRoute*)> authorize;
};

struct HttpServerStats {
    uint64_t accepted = 0;
    uint64_t refused = 0;    // answered 503 or 429 for the connection limits
    uint64_t requests = 0;   // that reached the router
    uint64_t malformed = 0;  // answered by the parser's error
    uint64_t timeouts = 0;
    uint64_t detached = 0;
    uint64_t bridged = 0;  // encrypted connections whose requests another process answers
    uint64_t bridges = 0;  // of these, open now
    uint64_t open = 0;     // connections
};

class HttpServer {
  public:
    static std::unique_ptr<HttpServer> create(const HttpRouter& router, HttpServerOptions options);
    ~HttpServer();  // checks that it was stopped, or never served
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Starts accepting; owns the listener. May be called several times. `ingress`: how its
    // connections begin; null: with HTTP. kSystem when no coroutine can be had.
    Error serve(std::unique_ptr<io::TcpListener> listener,
                std::shared_ptr<const Ingress> ingress = nullptr);

    // What is inside of an encrypted connection of another process. `local`: the address that the
    // client connected to.
    void give_inside(std::unique_ptr<io::TcpStream> inside, const io::SocketAddress& local);

    // The listeners, to take one away while the connections that came through it go on.
    Acceptors& acceptors();

    // For connections that come from now on, but for `admit`, `release` and `stream`: those stay.
    // Requests that are under way keep their deadlines.
    void set_header_timeout(Millis timeout);

    // Yields. For a drain: closes the listeners; connections end with their next answer.
    void stop_accepting();

    // For a drain in which the listeners stay: connections end with their next answer.
    void stop_keeping();

    // Yields. Closes the listeners, interrupts every connection and waits for them; kTimeout when
    // some handler did not end.
    Error stop(io::Deadline deadline);

    HttpServerStats stats() const;

  private:
    struct Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::net
