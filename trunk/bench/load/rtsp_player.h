// RTSP players of a group whose media comes by UDP or from a multicast group, or that pause: each
// with a connection and, by UDP, a pair of ports for each track. One coroutine looks at their
// timers. Others are a TcpPlayer with an RtspPlayClient.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/rtp/rtp_ports.h"

#include "bench/load/core/rtsp_play_client.h"
#include "bench/load/player.h"

namespace weir::load {

class RtspPlayer;

class RtspPlayerFactory final : public PlayerFactory {
  public:
    static constexpr Millis kTick{50};

    struct Target {
        io::SocketAddress server;
        std::vector<rtsp::Url> urls;  // one for each stream
        RtspPlayOptions options;
    };

    explicit RtspPlayerFactory(Target target) : target_(std::move(target)) {}

    std::unique_ptr<Player> make(PlayerListener& listener,
                                 RunTotals& totals,
                                 uint32_t stream) override;
    void stop() override;

  private:
    friend class RtspPlayer;

    Error start();
    void tick();

    Target target_;
    std::vector<RtspPlayer*> players_;  // that are connected
    io::Coroutine ticker_;
    bool started_ = false;
};

class RtspPlayer final : public Player, private io::EventHandler, private net::RtpPortsOwner {
  public:
    RtspPlayer(PlayerListener& listener,
               RunTotals& totals,
               uint32_t stream,
               RtspPlayerFactory& factory)
        : Player(listener, totals, stream), stream_(stream), factory_(factory) {}

    ~RtspPlayer() override;

    Error connect(const io::SocketAddress* from, io::Deadline deadline) override;
    void read() override;
    void close() override;
    void settle() override;

    bool connected() const override { return connection_ != nullptr; }

  private:
    friend class RtspPlayerFactory;

    void on_ready(uint8_t ready) override;
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override;

    void on_more_datagrams() override { listener().player_has_more(*this); }

    std::optional<rtsp::PortPair> bind(size_t track);
    bool open_ports();
    bool flush();
    void look(MonoTime now);

    uint32_t stream_;
    RtspPlayerFactory& factory_;
    std::unique_ptr<io::TcpStream> connection_;
    std::unique_ptr<RtspPlayClient> client_;
    std::vector<std::unique_ptr<net::RtpPorts>> ports_;  // of each track
    bool listens_ = false;
    size_t index_ = 0;  // in the factory's list
};

}  // namespace weir::load
