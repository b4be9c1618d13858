// RTSP's media by UDP: the server's ports, one for RTP and one for RTCP, and which datagram is of
// which track of which session.
//
// A client names its ports in SETUP. Where a NAT changes them, or a firewall lets in only answers,
// what counts is where its first datagram really comes from: it must have the host of the session's
// connection. Datagrams of other hosts are dropped and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/net_address.h"
#include "io/coroutine.h"
#include "io/udp.h"
#include "net/datagram_ports.h"
#include "proto/rtsp/transport.h"
#include "proto/srtp/control_cipher.h"
#include "session/rtsp/rtsp_session.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::session {

class RtspUdp;

// What a session does with the datagrams of its tracks. Never yields.
class RtspUdpOwner {
  public:
    // A datagram from the session's host and a port that is nobody's: whether the track moves
    // there. `rtp`: it came on the port of RTP.
    virtual bool may_move(MonoTime now, size_t track, bool rtp, ByteSpan datagram) const = 0;
    virtual void on_udp_rtp(MonoTime now, size_t track, ByteSpan packet) = 0;
    virtual void on_udp_rtcp(MonoTime now, size_t track, ByteSpan compound) = 0;

  protected:
    ~RtspUdpOwner() = default;
};

struct RtspUdpStats {
    uint64_t strangers = 0;  // datagrams of nobody's address
    uint64_t moved = 0;      // tracks that came from another port than SETUP said
};

// One socket for RTP or RTCP.
struct RtspUdpPort {
    std::unique_ptr<io::UdpSocket> socket;
    io::Coroutine coroutine;
    size_t users = 0;  // tracks
    bool retired = false;
};

// The two ways of one track, as long as its session lives.
class RtspUdpTrack {
  public:
    enum Way : uint8_t { kRtp, kRtcp };

    static constexpr size_t kWays = 2;

    RtspUdpTrack(RtspUdp& udp, NetAddress host, size_t index)
        : udp_(udp), host_(host), index_(index) {}

    ~RtspUdpTrack();
    RtspUdpTrack(const RtspUdpTrack&) = delete;
    RtspUdpTrack& operator=(const RtspUdpTrack&) = delete;

    // Who gets what comes; nullptr: nobody yet.
    void set_owner(RtspUdpOwner* owner) { owner_ = owner; }

    // Of Transport: our ports.
    rtsp::PortPair server_ports() const;

    NetAddress remote(Way way) const { return ways_[way].path.peer; }

    // As io::UdpSocket::send(). kClosed where there is no socket any more.
    io::IoResult send(Way way, ByteSpan data, size_t segment_bytes = 0);

  private:
    friend class RtspUdp;

    struct Path {
        RtspUdpPort* port = nullptr;
        io::UdpPath path;
        bool proven = false;  // a datagram came from there
    };

    RtspUdp& udp_;
    NetAddress host_;  // of the session's connection
    size_t index_;
    RtspUdpOwner* owner_ = nullptr;
    std::array<Path, kWays> ways_;
};

class RtspUdp {
  public:
    static constexpr size_t kMaxGroupPorts = 256;  // four for each address of this machine

    RtspUdp();
    ~RtspUdp();  // stop() must have been called
    RtspUdp(const RtspUdp&) = delete;
    RtspUdp& operator=(const RtspUdp&) = delete;

    net::DatagramPorts& rtp() { return sides_[RtspUdpTrack::kRtp]; }

    net::DatagramPorts& rtcp() { return sides_[RtspUdpTrack::kRtcp]; }

    // For a client whose connection comes from `peer` to `local`, and who says these ports. None:
    // the server has no ports for that.
    std::unique_ptr<RtspUdpTrack> add_track(const io::SocketAddress& peer,
                                            const io::SocketAddress& local,
                                            const rtsp::PortPair& client_ports,
                                            size_t index);

    // What sends to groups from that address and port of ours, of IPv4: receivers (gortsplib) take
    // only what comes from the port that they were told. It stays until the end. kBusy, kSystem;
    // kFull: there are kMaxGroupPorts.
    Result<io::UdpSocket*> group_port(const NetAddress& from);

    // Of groups.
    void set_multicast_ttl(uint8_t ttl);

    // Of sessions that begin from now on.
    void set_session_timeout(Seconds timeout) { session_timeout_ = timeout; }

    Seconds session_timeout() const { return session_timeout_; }

    // For the reports of all sessions with SRTP.
    srtp::ControlCipher& control() { return control_; }

    const RtspUdpStats& stats() const { return stats_; }

    io::UdpStats udp_stats() const;

    // Yields.
    void stop();

  private:
    friend class RtspUdpTrack;
    using Way = RtspUdpTrack::Way;

    class Side final : public net::DatagramPorts {
      public:
        Side(RtspUdp& udp, Way way) : udp_(udp), way_(way) {}

        Error serve(std::unique_ptr<io::UdpSocket> socket) override;
        void retire(const io::UdpSocket& socket) override;
        io::UdpSocket* revive(const io::SocketAddress& bound) override;
        size_t retired() const override;
        void close_unused() override;

        size_t sessions() const override { return by_peer.size(); }

        // For a client that reached us at that address.
        RtspUdpPort* port_for(const io::SocketAddress& local) const;
        void stop();

        std::vector<std::unique_ptr<RtspUdpPort>> ports;
        std::unordered_map<NetAddress, RtspUdpTrack*> by_peer;
        // By host: tracks of which nothing came from where SETUP said.
        std::unordered_map<NetAddress, std::vector<RtspUdpTrack*>> unproven;

      private:
        RtspUdp& udp_;
        Way way_;
    };

    void receive(RtspUdpPort& port, Way way);
    void on_datagram(MonoTime now, Way way, ByteSpan datagram, const io::UdpPath& from);
    RtspUdpTrack* find(MonoTime now, Way way, ByteSpan datagram, const io::UdpPath& from);
    void bind(RtspUdpTrack& track, Way way, RtspUdpPort& port, uint16_t client_port);
    void forget_unproven(RtspUdpTrack& track, Way way);
    void remove(RtspUdpTrack& track);

    std::array<Side, RtspUdpTrack::kWays> sides_;
    std::unordered_map<NetAddress, std::unique_ptr<io::UdpSocket>> group_ports_;
    RtspUdpStats stats_;
    uint8_t multicast_ttl_ = 1;
    Seconds session_timeout_ = kRtspSessionTimeout;
    srtp::ControlCipher control_;
};

}  // namespace weir::session
