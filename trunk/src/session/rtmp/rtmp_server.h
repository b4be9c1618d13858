// RTMP server: listeners, and one coroutine per connection until it plays.
//
// A publisher keeps its coroutine; a player is handed to net::Fanout and its coroutine ends.
#pragma once

#include <memory>
#include <vector>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/tcp.h"
#include "net/services.h"
#include "proto/rtmp/server_session.h"
#include "session/rtmp/rtmp_muxer.h"
#include "session/rtmp/rtmp_player.h"

namespace weir::session {

struct RtmpServerOptions {
    uint32_t chunk_size = 60000;
    Millis handshake{10'000};      // from accept to the connect command
    Millis first_command{20'000};  // from there to publish or play, and between two of them
};

class RtmpServer {
  public:
    RtmpServer(const net::Services& services, const RtmpServerOptions& options);
    ~RtmpServer();  // stop() must have been called
    RtmpServer(const RtmpServer&) = delete;
    RtmpServer& operator=(const RtmpServer&) = delete;

    Error serve(std::unique_ptr<io::TcpListener> listener);

    // Yields. Closes the listeners and ends every conversation and publisher.
    Error stop(io::Deadline deadline);

    const net::Services& services() const { return services_; }

    const RtmpServerOptions& options() const { return options_; }

    const RtmpFormat& format() const { return format_; }

    const RtmpResume& resume() const { return resume_; }

    // Says why a publish or play was refused; throttled over the whole server: a peer can ask again
    // at once.
    void log_refused(std::string_view what,
                     const stream::StreamKey& key,
                     const net::Client& client,
                     const Error& why);

    // Says why a connection that neither published nor played was ended; throttled over the whole
    // server.
    void log_rejected(const net::Client& client, const Error& why);

  private:
    void accept_loop(io::TcpListener& listener);
    void start(std::unique_ptr<io::TcpStream> stream);

    net::Services services_;
    RtmpServerOptions options_;
    RtmpFormat format_;
    RtmpResume resume_;
    std::vector<std::unique_ptr<io::TcpListener>> listeners_;
    io::TaskGroup acceptors_;
    io::TaskGroup connections_;
    bool stopping_ = false;  // players end later than the server: none may come back
    log::Throttle throttle_{Millis(1000)};
    log::Throttle refused_{Millis(1000)};
};

}  // namespace weir::session
