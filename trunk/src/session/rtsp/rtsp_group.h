// A stream by multicast: one sender to its group, however many receivers there are. Lives while
// somebody who has set it up is there.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/net_address.h"
#include "base/object_count.h"
#include "net/rtp/rtp_player.h"
#include "proto/rtsp/transport.h"
#include "session/rtsp/rtsp_numbers.h"
#include "session/rtsp/rtsp_sender.h"
#include "session/rtsp/rtsp_udp.h"

namespace weir::stream {
class Stream;
}

namespace weir::session {

class RtspUdpPlayer;
class RtspUdpPump;

struct RtspMulticastOptions {
    NetAddress network;  // of the groups, IPv4; empty: there is no multicast
    uint8_t bits = 0;    // of the network that are fixed
    uint8_t ttl = 8;
    uint16_t port = 5004;  // of the video's RTP; RTCP, and both of the audio, are behind it
};

class RtspGroup final : public net::RtpPlayer, private Counted<RtspGroup> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_group", "rtsp"};

    // What sends: by track, then by way.
    using Ports = std::array<std::array<io::UdpSocket*, RtspUdpTrack::kWays>, RtspNumbers::kTracks>;

    // `pump` is held until the end. `local`: from which address packets leave; where that is not of
    // IPv4, the system's routes say it. kBusy, kSystem: its ports cannot be had.
    static Result<std::shared_ptr<RtspGroup>> create(RtspUdpPump& pump,
                                                     RtspUdp& udp,
                                                     const NetAddress& address,
                                                     const NetAddress& local,
                                                     const RtspMulticastOptions& options);

    RtspGroup(RtspUdpPump& pump,
              const Ports& ports,
              const NetAddress& address,
              const RtspMulticastOptions& options);
    ~RtspGroup();
    RtspGroup(const RtspGroup&) = delete;
    RtspGroup& operator=(const RtspGroup&) = delete;

    const NetAddress& address() const { return address_; }

    const stream::Stream& stream() const;

    // The answer to SETUP of a track.
    rtsp::Transport transport(uint8_t track) const;

    void add(RtspUdpPlayer& member);
    void remove(RtspUdpPlayer& member);

    const RtspSender& sender() const { return sender_; }

    // net::RtpPlayer
    net::RtpFlush flush(MonoTime now, size_t most_runs) override;
    Fate look(MonoTime now) override;
    void end_playing(net::EndClass why, std::string_view reason) override;

  private:
    io::UdpPath path_of(uint8_t track, RtspUdpTrack::Way way) const;

    RtspUdpPump& pump_;
    Ports ports_;
    NetAddress address_;
    RtspMulticastOptions options_;
    RtspSender sender_;
    std::vector<RtspUdpPlayer*> members_;
    MonoTime next_report_{};
    uint32_t edition_ = 0;  // of the log, that its members fit
};

}  // namespace weir::session
