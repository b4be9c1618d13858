// One TCP connection of a WebRTC peer (RFC 6544, we are passive): datagrams in the frames of
// RFC 4571, both ways. For networks that let no UDP through.
//
// It belongs to a session from the first valid ICE check on that comes through it. One that brings
// none, or whose session is over, is closed after RtcServerOptions::tcp_proof_timeout. It queues no
// media: a burst is taken when all before it has gone to the kernel, and otherwise refused, so that
// a slow peer gets fewer frames instead of old ones. What the connection has begun it finishes, so
// at most one burst and a few small datagrams wait here.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/object_count.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/ingress.h"
#include "net/limits.h"
#include "proto/ice/lite_agent.h"
#include "proto/ice/tcp_framing.h"
#include "session/webrtc/rtc_link.h"

namespace weir::session {

class RtcTransport;

class RtcTcpConnection final : public RtcLink,
                               private io::EventHandler,
                               private Counted<RtcTcpConnection> {
  public:
    static constexpr ObjectName kObjectName{"rtc_tcp_connection", "webrtc"};

    static constexpr Millis kStallTimeout{20'000};  // bytes wait, and the peer takes none of them
    static constexpr size_t kFrameLimit = 2048;     // as a UDP datagram
    // Small datagrams (checks' answers, RTCP, resent packets) beyond it are dropped. A burst comes
    // only when there are none.
    static constexpr size_t kMaxQueueBytes = 128 * 1024;
    // Its listeners, to other processes.
    static constexpr std::string_view kKind = "webrtc-tcp";
    // What may wait in the kernel: a player's lag is decided here, not there.
    static constexpr int kUnsentBytes = 64 * 1024;

    // `server` must outlive this.
    RtcTcpConnection(RtcTransport& transport, std::unique_ptr<io::TcpStream> stream);

    // First of all. Yields. The header of a proxy, if the listener expects one (null: it does not),
    // and a place of its address. False: the connection is over.
    bool enter(const net::Ingress* ingress);

    // The body of its coroutine; `link` is its number. Yields. Until it is closed, by whomever.
    void run(uint32_t link);

    bool send(const NetAddress& remote, ByteSpan data, size_t segment_bytes) override;

    bool takes_burst() const override { return queue_.empty() && (stream_->writable() || broken_); }

    std::string_view transport() const override { return "tcp"; }

    NetAddress local() const override {
        const io::SocketAddress bound = stream_->local();
        return bound.net_address();
    }

    ice::Path path() const { return path_; }

  private:
    void on_ready(uint8_t ready) override;
    bool begin(const net::Ingress* ingress);
    bool take_place();
    bool read();
    bool take_frames(ByteSpan bytes);
    bool move(ByteSpan check);
    void flush(MonoTime now);
    size_t write_frames(ByteSpan data, size_t segment_bytes);
    void enqueue_frames(ByteSpan data, size_t segment_bytes, size_t written);

    RtcTransport& transport_;
    std::unique_ptr<io::TcpStream> stream_;
    net::Limits::AddressPlace place_;
    ice::Path path_;
    ice::FrameReader reader_;
    Bytes queue_;             // with frame headers
    size_t queue_taken_ = 0;  // of its bytes
    MonoTime queue_moved_{};  // when the peer last took some, while there are any
    Bytes heard_;             // all that came, until the first datagram is whole
    bool may_move_;           // to another process: that datagram has not come yet
    bool moved_ = false;
    bool broken_ = false;
    bool refused_ = false;  // a burst, since it was writable
    io::Signal signal_;
};

}  // namespace weir::session
