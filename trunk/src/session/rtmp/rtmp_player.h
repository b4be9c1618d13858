// The RTMP side of a playing connection: its protocol state behind net::PlayerProtocol. No
// coroutine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "net/player_protocol.h"
#include "proto/rtmp/server_session.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {
class Client;
}

namespace weir::stream {
class Muxer;
class Stream;
}  // namespace weir::stream

namespace weir::session {

// What is remembered of a connect for commands that come later; null: nothing.
struct RtmpConnectFacts {
    std::string tc_url;       // as it came, for hooks; empty when nobody asks for it
    std::string login_scope;  // where login_user has proven to be who it is
    std::string login_user;
    std::string connect_scope;  // net::Hooks::connect_scope() of what it connected to
};

// What becomes of a connection that stops playing and talks on; the server makes a coroutine for
// it.
using RtmpResume = std::function<void(rtmp::ServerSession session,
                                      Bytes unread,
                                      std::unique_ptr<RtmpConnectFacts> facts,
                                      std::unique_ptr<io::TcpStream> stream,
                                      std::unique_ptr<net::Client> client)>;

class RtmpPlayer final : public net::PlayerProtocol, private Counted<RtmpPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtmp_player", "rtmp"};

    // Bytes that a client may send before its play is answered.
    static constexpr size_t kMaxUnread = 16 * 1024;

    // `session` has given its kPlay event for `stream_id`, unanswered; `unread` follows it.
    // `duration_ms`: of the play, -1 without end. `resume` must outlive this.
    RtmpPlayer(rtmp::ServerSession session,
               uint32_t stream_id,
               int64_t duration_ms,
               Bytes unread,
               std::unique_ptr<RtmpConnectFacts> facts,
               const RtmpResume& resume);

    void on_start(const stream::Stream& stream,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override;
    void on_wait(Bytes& out) override;
    std::optional<Millis> duration() const override;
    void on_complete(Bytes& out) override;
    net::PlayerVerdict on_data(ByteSpan data, Bytes& out) override;
    void on_end(net::EndReason reason, bool started, Bytes& out) override;
    void on_released(std::unique_ptr<PlayerProtocol> self,
                     std::unique_ptr<io::TcpStream> stream,
                     std::unique_ptr<net::Client> client) override;

  private:
    net::PlayerVerdict hear(ByteSpan data, Bytes& out);
    net::PlayerVerdict handle(rtmp::Event& event);

    rtmp::ServerSession session_;
    uint32_t stream_id_;
    int64_t duration_ms_;
    bool answered_ = false;
    Bytes unread_;  // until the play is answered
    std::unique_ptr<RtmpConnectFacts> facts_;
    const RtmpResume& resume_;
};

}  // namespace weir::session
