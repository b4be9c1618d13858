// A player whose media goes through its RTSP connection: its protocol state behind
// net::PlayerProtocol. No coroutine.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/object_count.h"
#include "net/player_protocol.h"
#include "proto/rtsp/connection_reader.h"
#include "session/rtsp/rtsp_muxer.h"
#include "session/rtsp/rtsp_session.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {
class Client;
}

namespace weir::stream {
class Stream;
}

namespace weir::session {

// What becomes of a connection whose session has ended by TEARDOWN; the server makes a coroutine
// for it.
using RtspResume = std::function<void(rtsp::ConnectionReader reader,
                                      Bytes unread,
                                      std::unique_ptr<io::TcpStream> stream,
                                      std::unique_ptr<net::Client> client)>;

class RtspPlayer final : public net::PlayerProtocol, private Counted<RtspPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_player", "rtsp"};

    // Bytes that a client may send before its PLAY is answered.
    static constexpr size_t kMaxUnread = 16 * 1024;

    // `play`: the request, not answered yet; `unread` follows it. `resume` must outlive this.
    RtspPlayer(RtspSession session,
               const rtsp::Request& play,
               rtsp::ConnectionReader reader,
               Bytes unread,
               const RtspResume& resume);

    void on_start(const stream::Stream& stream,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override;

    bool fits(const stream::Muxer& muxer) const override;

    bool front_answers() const override { return front_answers_; }

    net::PlayerVerdict on_data(ByteSpan data, Bytes& out) override;
    void on_end(net::EndReason reason, bool started, Bytes& out) override;
    void on_released(std::unique_ptr<PlayerProtocol> self,
                     std::unique_ptr<io::TcpStream> stream,
                     std::unique_ptr<net::Client> client) override;

  private:
    net::PlayerVerdict hear(ByteSpan data, Bytes& out);
    net::PlayerVerdict obey(const rtsp::Request& request, net::PlayerVerdict before, Bytes& out);
    void answer_play(int status, const RtspMuxer* muxer, bool lead_in, Bytes& out);
    void begin_play(Bytes& out);

    RtspSession session_;
    rtsp::ConnectionReader reader_;
    std::optional<uint32_t> play_cseq_;  // of a PLAY that is to be answered
    Bytes unread_;                       // until it is
    const RtspMuxer* muxer_ = nullptr;   // of the pump, from the first start on
    bool wants_lead_in_;
    bool paused_ = false;
    bool front_answers_ = false;
    const RtspResume& resume_;
};

}  // namespace weir::session
