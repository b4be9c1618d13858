// The HTTP side of a playing connection, for every format: the answer's head, WebSocket or chunks
// around the bytes of the log, the last words. No coroutine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/object_count.h"
#include "net/http/detached_connection.h"
#include "net/http/exchange.h"
#include "net/player_protocol.h"
#include "proto/http/fields.h"
#include "proto/ws/message_reader.h"

namespace weir::stream {
class Muxer;
class Stream;
}  // namespace weir::stream

namespace weir::net {

struct HttpFormat;

enum class HttpPlayerBody : uint8_t {
    kPlain,      // to the end of the connection
    kChunks,     // RFC 9112 §7.1
    kWebSocket,  // binary messages (RFC 6455)
};

struct HttpPlayerAnswer {
    HttpPlayerBody body = HttpPlayerBody::kPlain;
    std::string head;           // 200 or 101, whole; sent when playing starts
    http::Fields route_fields;  // for a 404 in its place
};

class HttpPlayer final : public PlayerProtocol, private Counted<HttpPlayer> {
  public:
    static constexpr ObjectName kObjectName{"http_player", "http"};

    // `format` must outlive this.
    HttpPlayer(const HttpFormat& format, HttpPlayerAnswer answer, ConnectionPermit permit);

    // What the peer sent behind its request; heard at the first on_data().
    void take_unread(ByteSpan unread);

    std::unique_ptr<Framing> make_framing() override;
    void on_start(const stream::Stream& stream,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override;
    bool fits(const stream::Muxer& muxer) const override;
    EndReason misfit() const override;
    PlayerVerdict on_data(ByteSpan data, Bytes& out) override;
    void on_end(EndReason reason, bool started, Bytes& out) override;

  private:
    void refuse(EndReason reason, Bytes& out) const;

    const HttpFormat& format_;
    HttpPlayerBody body_;
    uint32_t edition_ = 0;                       // of the muxer, when playing started
    std::unique_ptr<HttpPlayerAnswer> unsent_;   // null once its head was sent
    std::unique_ptr<ws::MessageReader> reader_;  // WebSocket only
    ConnectionPermit permit_;
};

}  // namespace weir::net
