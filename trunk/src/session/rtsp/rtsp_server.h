// RTSP server: listeners, and one coroutine per connection until it plays.
//
// A publisher keeps its coroutine; a player is handed to net::Fanout and its coroutine ends.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/acceptors.h"
#include "net/admission.h"
#include "net/entrance.h"
#include "net/services.h"
#include "session/rtsp/rtsp_auth.h"
#include "session/rtsp/rtsp_group.h"
#include "session/rtsp/rtsp_muxer.h"
#include "session/rtsp/rtsp_player.h"
#include "session/rtsp/rtsp_tunnel.h"
#include "session/rtsp/rtsp_udp.h"
#include "session/rtsp/rtsp_udp_player.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {
class Ingress;
}

namespace weir::session {

class RtspUdpPump;

struct RtspServerOptions {
    Millis handshake{10'000};      // PROXY header and TLS
    Millis first_command{20'000};  // to PLAY or RECORD, and after each step towards them
    RtspMulticastOptions multicast;
};

class RtspServer {
  public:
    // Players of one stream share a log when their tracks are on the same channels. So many
    // different choices of channels can be had; whoever wants another one is given a usual one.
    static constexpr size_t kMaxFormats = 16;

    RtspServer(const net::Services& services, const RtspServerOptions& options);
    ~RtspServer();  // stop() must have been called
    RtspServer(const RtspServer&) = delete;
    RtspServer& operator=(const RtspServer&) = delete;

    // The listeners, to take one away while the connections that came through it go on.
    net::Acceptors& acceptors() { return acceptors_; }

    // For connections that come from now on, and for waits that begin from now on.
    void reconfigure(const RtspServerOptions& options);

    // For a drain: no new connection; those that are there go on.
    void stop_accepting() { acceptors_.stop(); }

    // Yields. Closes the listeners and ends every conversation and publisher.
    Error stop(io::Deadline deadline);

    const net::Services& services() const { return services_; }

    net::Admission& admission() { return admission_; }

    const RtspAuth& auth() const { return auth_; }

    // Before the first client: the processes of a server take each other's nonces.
    void share_nonces(const http::NonceKey& key) { auth_.share(key); }

    const RtspServerOptions& options() const { return options_; }

    // What players with these channels share. Lives as long as the server. nullptr: there are
    // kMaxFormats others.
    const RtspFormat* format(const RtspChannels& channels);

    const RtspResume& resume() const { return resume_; }

    RtspUdp& udp() { return udp_; }

    const RtspUdp& udp() const { return udp_; }

    RtspTunnels& tunnels() { return tunnels_; }

    const RtspTunnels& tunnels() const { return tunnels_; }

    // A conversation whose bytes come by a tunnel.
    void begin(std::unique_ptr<io::TcpStream> stream, std::unique_ptr<net::Client> client);

    // The pump of a stream's players by UDP. kInterrupted, kSystem: there is none.
    Result<RtspUdpPump*> pump_for(const stream::StreamKey& key, const net::PlayRules& rules);
    void add(std::unique_ptr<RtspUdpPlayer> player);

    // The group of a stream's players by multicast; packets leave from `local`. kUnsupported: there
    // is no multicast here, kFull: no free group.
    Result<std::shared_ptr<RtspGroup>> group_for(const stream::StreamKey& key,
                                                 const net::PlayRules& rules,
                                                 const io::SocketAddress& local);

    // It has ended; it goes when no event can name it any more.
    void bury(RtspUdpPlayer& player);
    void bury(std::unique_ptr<io::TcpStream> stream);

    size_t udp_players() const { return udp_players_.size(); }

    // Says why a connection that neither published nor played was ended; throttled over the whole
    // server.
    void log_rejected(const net::Client& client, const Error& why);

  private:
    struct KnownFormat {
        RtspChannels channels;
        RtspFormat format;
    };

    Error begin_burials();
    void run_burials();
    void start(std::unique_ptr<io::TcpStream> stream,
               const std::shared_ptr<const net::Ingress>& ingress);
    void run(net::Arrival arrival);

    net::Services services_;
    net::Admission admission_{services_};
    RtspServerOptions options_;
    RtspAuth auth_;
    std::deque<KnownFormat> formats_;
    RtspResume resume_;
    io::TaskGroup connections_;
    net::Entrance entrance_{"rtsp", services_, connections_,
                            [this](net::Arrival arrival) { run(std::move(arrival)); }};
    net::Acceptors acceptors_{"rtsp accept", [this](auto stream, const auto& ingress) {
                                  start(std::move(stream), ingress);
                              }};
    RtspTunnels tunnels_;
    RtspUdp udp_;
    std::unordered_map<RtspUdpPlayer*, std::unique_ptr<RtspUdpPlayer>> udp_players_;
    std::map<stream::StreamKey, std::weak_ptr<RtspGroup>> groups_;
    std::vector<std::unique_ptr<RtspUdpPlayer>> ended_;
    std::vector<std::unique_ptr<io::TcpStream>> closed_;
    io::Signal burial_;
    io::Coroutine burials_;
    bool burying_ = false;   // burials_ runs
    bool stopping_ = false;  // players end later than the server: none may come back
    log::Throttle throttle_{Millis(1000)};
};

}  // namespace weir::session
