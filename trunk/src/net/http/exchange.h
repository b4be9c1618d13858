// One request and its answer, as a handler sees it. Lives in the connection's coroutine: a handler
// may yield, answers once (respond(), or begin() and write()), or takes the connection away with
// detach().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace weir::http {
class Fields;
struct Request;

const Fields& no_fields();  // proto/http/fields.h
}  // namespace weir::http

namespace weir::io {
class SocketAddress;
class TcpStream;
}  // namespace weir::io

namespace weir::net {

struct DetachedConnection;

class HttpExchange {
  public:
    virtual const http::Request& request() const = 0;

    // The client: of a request through a trusted proxy, whom the proxy says it is.
    virtual const io::SocketAddress& peer() const = 0;

    // The client speaks TLS, with us or with the proxy: links are https and wss.
    virtual bool secure() const = 0;

    // The connection is encrypted by this server.
    virtual bool encrypted() const = 0;

    // Another process of this server asks, by a unix socket, where only the same user is let in.
    virtual bool by_process() const = 0;

    // The request came through a trusted proxy: what its fields say (X-Forwarded-Host) is so.
    virtual bool believes_proxy() const = 0;

    // Address and port that the client connected to. Not after detach().
    virtual io::SocketAddress local() const = 0;

    // The connection, to watch for its end while something else is waited for. Not after detach().
    virtual io::TcpStream& connection() = 0;

    // Fields that every answer of this route carries (CORS); for the handler that writes its own
    // head after detach().
    virtual const http::Fields& route_fields() const = 0;

    // One more of them, for this request; before an answer.
    virtual void add_route_field(std::string name, std::string value) = 0;

    // Yields. A whole answer. Content-Length, Connection and the route's fields are added; the body
    // is left out for HEAD (and 204, 304). kClosed, kTimeout, kInterrupted, kSystem: the connection
    // is finished, just return.
    virtual Error respond(int status,
                          std::string_view content_type,
                          std::string_view body,
                          const http::Fields& extra = http::no_fields()) = 0;

    // Yields. The same with a body in parts, which stay where they are: head and parts go out
    // together, and each 64 KiB have the server's whole write timeout.
    virtual Error respond_parts(int status,
                                std::string_view content_type,
                                std::span<const ByteSpan> body,
                                const http::Fields& extra = http::no_fields()) = 0;

    // Yields. An error answer in the route's format (text or JSON); `reason` is a sentence for
    // people.
    virtual Error respond_error(int status,
                                std::string_view reason,
                                const http::Fields& extra = http::no_fields()) = 0;

    // Yields. The head of an answer whose body of `length_bytes` follows by write(). HEAD: write()
    // then drops its data.
    virtual Error begin(int status,
                        std::string_view content_type,
                        uint64_t length_bytes,
                        const http::Fields& extra = http::no_fields()) = 0;

    // Yields. The same of a body whose length nobody knows yet: write() until finish(). It goes out
    // in chunks, or, to a client of HTTP/1.0, until the connection ends.
    virtual Error begin_open(int status,
                             std::string_view content_type,
                             const http::Fields& extra = http::no_fields()) = 0;

    // Yields. Without it the client sees an answer that was cut off.
    virtual Error finish() = 0;

    // Yields. A part of the body; each part has the server's whole write timeout.
    virtual Error write(ByteSpan data) = 0;

    // Takes the connection away; only before an answer. The handler owns it from now on and may
    // hand it to a pump and return. While the handler runs it is still in the server's task group:
    // stop() interrupts it.
    virtual DetachedConnection detach() = 0;

  protected:
    ~HttpExchange() = default;
};

// Yields if it likes. Must answer or detach; a handler that does neither is answered 500 in its
// name.
using HttpHandler = std::function<void(HttpExchange&)>;

}  // namespace weir::net
