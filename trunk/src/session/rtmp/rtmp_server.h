// RTMP server: listeners, and one coroutine per connection until it plays.
//
// A publisher keeps its coroutine; a player is handed to net::Fanout and its coroutine ends.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/tcp.h"
#include "net/acceptors.h"
#include "net/admission.h"
#include "net/entrance.h"
#include "net/ingress.h"
#include "net/services.h"
#include "proto/rtmp/server_session.h"
#include "session/rtmp/rtmp_muxer.h"
#include "session/rtmp/rtmp_player.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class RtmpConnection;

struct RtmpServerOptions {
    uint32_t chunk_size = 60000;
    Millis handshake{10'000};      // from accept to the connect command
    Millis first_command{20'000};  // from there to publish or play, and between two of them
};

class RtmpServer {
  public:
    static constexpr Millis kLineWait = std::chrono::hours(24 * 30);  // for the next call

    RtmpServer(const net::Services& services, const RtmpServerOptions& options);
    ~RtmpServer();  // stop() must have been called
    RtmpServer(const RtmpServer&) = delete;
    RtmpServer& operator=(const RtmpServer&) = delete;

    // `ingress`: how its connections begin; null: with RTMP.
    Error serve(std::unique_ptr<io::TcpListener> listener,
                std::shared_ptr<const net::Ingress> ingress = nullptr);

    // The listeners, to take one away while the connections that came through it go on.
    net::Acceptors& acceptors() { return acceptors_; }

    // For connections that come from now on, and for waits that begin from now on.
    void reconfigure(const RtmpServerOptions& options) { options_ = options; }

    // For a drain: no new connection; those that are there go on.
    void stop_accepting();

    // Yields. Closes the listeners and ends every conversation and publisher.
    Error stop(io::Deadline deadline);

    const net::Services& services() const { return services_; }

    net::Admission& admission() { return admission_; }

    const RtmpServerOptions& options() const { return options_; }

    // What players whose session sends chunks of that size, and who get those tracks, share. Lives
    // as long as the server.
    const RtmpFormat& format(uint32_t chunk_size, RtmpTracks tracks);

    // The same for telephone lines, whose players wait from call to call.
    const RtmpFormat& line_format(uint32_t chunk_size);

    const RtmpResume& resume() const { return resume_; }

    // Media came on a message stream that publishes nothing; throttled.
    void log_stray(const net::Client& client, size_t publishes);

    // A publisher's configuration was too large; throttled.
    void log_dropped_config(const stream::StreamKey& key);

    // Says why a connection that neither published nor played was ended; throttled over the whole
    // server.
    void log_rejected(const net::Client& client, const Error& why);

  private:
    void begin(net::Arrival arrival);

    net::Services services_;
    net::Admission admission_{services_};
    RtmpServerOptions options_;
    // By chunk size: as many as were ever configured.
    std::map<std::pair<uint32_t, RtmpTracks>, RtmpFormat> formats_;
    std::map<uint32_t, RtmpFormat> line_formats_;
    RtmpResume resume_;
    io::TaskGroup connections_;
    net::Entrance entrance_{"rtmp", services_, connections_,
                            [this](net::Arrival arrival) { begin(std::move(arrival)); }};
    net::Acceptors acceptors_{"rtmp accept", [this](auto stream, const auto& ingress) {
                                  entrance_.take(std::move(stream), ingress, options_.handshake);
                              }};
    bool stopping_ = false;  // players end later than the server: none may come back
    log::Throttle throttle_{Millis(1000)};
    log::Throttle dropped_config_{Millis(1000)};
    log::Throttle stray_{Millis(1000)};
};

}  // namespace weir::session
