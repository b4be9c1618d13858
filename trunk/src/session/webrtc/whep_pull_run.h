// One run of WhepPull: the POST, then one UDP socket. On the stack of the source's coroutine, which
// sleeps while media is read in the reactor's turn.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "io/signal.h"
#include "io/udp.h"
#include "net/source/source_run.h"
#include "net/source/source_url.h"
#include "session/webrtc/whep_client.h"
#include "session/webrtc/whep_pull.h"

namespace weir::http {
struct Response;
}

namespace weir::session {

class WhepPullRun final : private io::EventHandler,
                          private webrtc::ClientLink,
                          private Counted<WhepPullRun> {
  public:
    // A run of a source by WHEP.
    static constexpr ObjectName kObjectName{"whep_pull", "webrtc"};

    // All must outlive it.
    WhepPullRun(net::SourceRun& run, WhepPull& pulls, const webrtc::ClientShared& shared);
    ~WhepPullRun();  // after close()

    // Yields. As SourceProtocol::run().
    Error run();

    // Says goodbye. Never yields.
    void close();

  private:
    Error ask();
    Result<http::Response> post(const net::SourceUrl& endpoint, bool redirected);
    Error take_response(const http::Response& response, const net::SourceUrl& endpoint);
    Error refusal(const http::Response& response) const;
    bool tells_secret(std::string_view text) const;
    Error open_socket();
    Error flow();
    MonoTime next_due() const;

    // io::EventHandler, of the socket
    void on_ready(uint8_t ready) override;
    void read_in_turn();

    // webrtc::ClientLink
    void send(const NetAddress& to, ByteSpan datagrams, size_t segment_bytes) override;

    net::SourceRun& run_;
    WhepPull& pulls_;
    WhepClient client_;
    std::unique_ptr<io::UdpSocket> socket_;
    std::optional<net::SourceUrl> session_;  // to be ended by DELETE
    NetAddress server_;                      // where it is
    bool more_ = false;                      // datagrams are there than one turn takes
    MonoTime sleeping_until_{};
    io::Signal changed_;
};

}  // namespace weir::session
