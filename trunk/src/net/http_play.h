// HttpPlay: "/app/stream.flv" and its like over HTTP and WebSocket, from the request to a player of
// the stream's pump. The same for every format; what a format says of itself is one HttpFormat.
// Streams with other addresses come to play().
//
// GET is answered without a length, or in chunks (RFC 9112 §7.1), until the stream or the
// connection ends; HEAD as GET would be. The head of the answer goes out with the first bytes of
// the stream, so that a stream that never comes is a 404.
#pragma once

#include <functional>
#include <string_view>

#include "net/admission.h"
#include "net/http/router.h"
#include "net/services.h"
#include "stream/muxer.h"

namespace weir::stream {
class Stream;
}

namespace weir::net {

// A format that is played over HTTP. Lives as long as the server.
struct HttpFormat {
    std::string_view suffix;        // of its addresses, ".flv"; empty: add_to() is not for it
    const stream::Format& format;   // makes its muxers
    std::string_view content_type;  // "video/x-flv"
    const char* transport;          // literals: by which name the API and the log know its players,
    const char* ws_transport = nullptr;  // and those by WebSocket; null: there is no WebSocket
    // In chunks for clients of HTTP/1.1: they can tell the end of the stream from a broken
    // connection. Costs a header with each write.
    bool chunked = false;
    // Appends what comes once, before all else: a file header. Null: nothing.
    void (*header)(const stream::Stream& stream, Bytes& out) = nullptr;
    // Appends what a player needs before the log's start, each time it is placed there; of a muxer
    // that `format` made. `moved`: it had something else before. Null: nothing.
    void (*front)(const stream::Muxer& muxer, bool moved, Bytes& out) = nullptr;
    // Its players have one publisher, and end with it: each edition of the muxer is of another.
    bool one_publisher = false;
};

class HttpPlay {
  public:
    HttpPlay(const Services& services, const HttpFormat& format)
        : services_(services), format_(format) {}

    // Whether somebody else has answered a request for that app and name. May yield.
    using Before =
        std::function<bool(HttpExchange& exchange, std::string_view app, std::string_view name)>;

    // This object must outlive the router's server. `before` may take requests; null: nobody does.
    void add_to(HttpRouter& router, Before before = nullptr);

    // Yields. Answers the request with the stream of that app and name. `check`: as of
    // NewcomerView.
    void play(HttpExchange& exchange,
              std::string_view app,
              std::string_view name,
              const std::function<Error(const stream::StreamKey&)>& check = nullptr);

    // Yields. The same for somebody who was let in. `ws_head`: empty where it is no WebSocket;
    // `more`: fields of the answer.
    void answer(HttpExchange& exchange,
                AdmittedPlayer admitted,
                std::string ws_head = {},
                const http::Fields& more = {});

  private:
    void handle(HttpExchange& exchange);

    Services services_;
    Admission admission_{services_};
    const HttpFormat& format_;
    Before before_;
};

}  // namespace weir::net
