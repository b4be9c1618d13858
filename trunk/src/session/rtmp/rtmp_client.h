// The client's side of an RTMP connection in a coroutine: what a pull and a forward share.
#pragma once

#include <functional>
#include <memory>

#include "io/tcp.h"
#include "net/source/source_run.h"
#include "proto/rtmp/client_session.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class RtmpClient {
  public:
    // App, name and tcUrl are those of the run's URL.
    RtmpClient(net::SourceRun& run, rtmp::ClientRole role, uint32_t chunk_size);

    // Yields. Connection and handshake, and sends `connect`; until the run's connect deadline.
    Error open();

    // Yields. Sends what is to be sent, then reads until the server has said something (which may
    // be nothing of interest), and gives each event to `handle`, which must not yield. kTimeout
    // when nothing came by the deadline.
    Error converse(io::Deadline deadline,
                   const std::function<Error(rtmp::ClientEvent& event)>& handle);

    // Yields. Says goodbye, as far as the socket takes it.
    void close();

    rtmp::ClientSession& session() { return session_; }

    // The connection and the session, for who goes on with them.
    std::unique_ptr<io::TcpStream> take_stream() { return std::move(stream_); }

    rtmp::ClientSession take_session() { return std::move(session_); }

  private:
    Error shake_hands();
    Error flush(io::Deadline deadline);

    net::SourceRun& run_;
    rtmp::ClientSession session_;
    std::unique_ptr<io::TcpStream> stream_;
};

}  // namespace weir::session
