// SipLine: the RTMP side of a call of 'weir-bench sip-call': one connection that publishes a voice
// as G.711, or plays what a phone says.
#pragma once

#include <memory>
#include <string>

#include "io/deadline.h"
#include "io/tcp.h"
#include "proto/rtmp/client_session.h"

#include "bench/load/core/units.h"
#include "bench/load/core/voice.h"

namespace weir::load {

class SipLine final : private io::EventHandler {
  public:
    // Publishes that voice.
    SipLine(Url url, double say, uint32_t voice);

    // Plays; `delays` must outlive it.
    SipLine(Url url, double hear, uint32_t voice, Histogram& delays);

    ~SipLine();
    SipLine(const SipLine&) = delete;
    SipLine& operator=(const SipLine&) = delete;

    // Yields. Until it publishes, or the server has said that the stream follows.
    Error connect(const io::SocketAddress& server,
                  const io::SocketAddress* from,
                  io::Deadline deadline);

    // Of a publisher: the next packet, each 20 ms.
    void say(uint64_t now_ns);

    bool started() const { return started_; }

    // Why it has ended; empty: it has not.
    const std::string& failure() const { return failure_; }

    // Never yields. A connect() under way returns.
    void close();

    // Of a player.
    VoiceCheck* check() { return check_ ? &*check_ : nullptr; }

  private:
    void on_ready(uint8_t ready) override;
    Error shake_hands(io::Deadline deadline, Bytes& buffer, size_t& unread);
    Error take(ByteSpan bytes);
    void take_media(const rtmp::MediaMessage& message);
    bool flush();
    void fail(std::string why);

    Url url_;
    std::unique_ptr<VoiceSource> source_;  // one of the two
    std::optional<VoiceCheck> check_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<rtmp::ClientSession> session_;
    Bytes output_;
    std::string failure_;
    bool started_ = false;
    bool closed_ = false;
};

}  // namespace weir::load
