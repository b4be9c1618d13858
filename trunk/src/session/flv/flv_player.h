// The HTTP-FLV and WebSocket-FLV side of a playing connection. No coroutine.
//
// The answer's head goes out when playing starts, so a stream that never comes is answered 404.
#pragma once

#include <memory>
#include <string>

#include "base/object_count.h"
#include "net/http/exchange.h"
#include "net/player.h"
#include "proto/ws/message_reader.h"

namespace weir::session {

class FlvPlayer final : public net::PlayerProtocol, private Counted<FlvPlayer> {
  public:
    static constexpr ObjectName kObjectName{"flv_player", "flv"};

    // `head`: the answer to send when playing starts (200 or 101). `route_fields` go into a 404.
    FlvPlayer(std::string head,
              http::Fields route_fields,
              bool websocket,
              net::ConnectionPermit permit);

    // What the peer sent behind its request; heard at the first on_data().
    void take_unread(ByteSpan unread);

    void on_start(const stream::Stream& stream,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override;
    net::PlayerVerdict on_data(ByteSpan data, Bytes& out) override;
    void on_end(net::EndReason reason, bool started, Bytes& out) override;
    std::unique_ptr<net::Framing> make_framing() override;

  private:
    std::string head_;  // empty once sent
    http::Fields route_fields_;
    std::unique_ptr<ws::MessageReader> reader_;  // WebSocket only
    net::ConnectionPermit permit_;
};

}  // namespace weir::session
