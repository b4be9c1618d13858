// The UDP sockets of one track that a client receives by RTP: RTP and RTCP on neighbouring ports,
// of its own or of a multicast group. Read in the reactor's turn; what is more than one turn takes
// is for the owner's coroutine.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/net_address.h"
#include "io/udp.h"
#include "proto/rtsp/transport.h"

namespace weir::net {

// Both never yield, and do not destroy the ports.
class RtpPortsOwner {
  public:
    virtual void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) = 0;

    // More is there than one turn takes: read_more() is to be called.
    virtual void on_more_datagrams() = 0;

  protected:
    ~RtpPortsOwner() = default;
};

// Ports that may be used, both included.
struct PortRange {
    uint16_t first = 0;
    uint16_t last = 0;

    bool operator==(const PortRange&) const = default;
};

class RtpPorts {
  public:
    static constexpr int kReceiveBuffer = 1 << 20;  // a key frame comes at once
    static constexpr int kPairTries = 20;
    static constexpr size_t kBatchesPerTurn = 4;

    // A pair of neighbours with an even port first (RFC 3550 §11), bound to this address. `owner`
    // must outlive this. kBusy: none is free.
    // `bursts`: the kernel may join packets, for a client that gets many of them.
    static Result<std::unique_ptr<RtpPorts>> bind(const NetAddress& local,
                                                  size_t track,
                                                  RtpPortsOwner& owner,
                                                  bool bursts = false);

    // The same, of a range of ports: from a random one on, all of them are tried.
    static Result<std::unique_ptr<RtpPorts>> bind_in(const PortRange& range,
                                                     const NetAddress& local,
                                                     size_t track,
                                                     RtpPortsOwner& owner);

    // Those of a group, seen from the interface that has the address `local`; only what `source`
    // sends, where it is not none.
    static Result<std::unique_ptr<RtpPorts>> join(const NetAddress& group,
                                                  const rtsp::PortPair& ports,
                                                  const NetAddress& local,
                                                  const NetAddress& source,
                                                  size_t track,
                                                  RtpPortsOwner& owner);

    rtsp::PortPair ports() const;

    // From now on the owner is told. Never yields.
    void listen();

    // Up to a turn's share. False: there is no more.
    bool read_more();

    // Never yields. What the socket does not take is lost, as datagrams are.
    void send(bool rtcp, const NetAddress& to, ByteSpan bytes);

  private:
    struct Port final : io::EventHandler {
        void on_ready(uint8_t ready) override;

        RtpPorts* ports = nullptr;
        bool rtcp = false;
        std::unique_ptr<io::UdpSocket> socket;
    };

    RtpPorts(size_t track, RtpPortsOwner& owner);

    bool read(Port& port);

    size_t track_;
    RtpPortsOwner& owner_;
    std::array<Port, 2> both_;  // RTP, RTCP
};

}  // namespace weir::net
