// One run of RtspPull: connection, conversation, media. On the stack of the source's coroutine.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/object_count.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/rtp/rtp_ingest.h"
#include "net/rtp/rtp_ports.h"
#include "net/source/source_run.h"
#include "net/source/source_url.h"
#include "proto/rtsp/client_session.h"
#include "session/rtsp/rtsp_ingest_track.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class RtspPull;

class RtspPullRun final : private io::EventHandler,
                          private net::RtpPortsOwner,
                          private Counted<RtspPullRun> {
  public:
    // A run of a source by RTSP.
    static constexpr ObjectName kObjectName{"rtsp_pull", "rtsp"};

    RtspPullRun(net::SourceRun& run, RtspPull& pulls);
    ~RtspPullRun();  // after close()

    // Yields. As SourceProtocol::run().
    Error run();

    // Says goodbye, as far as the socket takes it. Never yields.
    void close();

  private:
    // Into the source's stream, by the source's rules.
    class Ingest;

    struct Track {
        std::unique_ptr<net::RtpPorts> ports;
        NetAddress rtcp_peer;  // where reports go; none: not known yet
    };

    Error connect();
    Error converse();
    Error flow();
    Error read_once(io::Deadline deadline);
    Error flush(io::Deadline deadline);
    Error take(ByteSpan bytes);
    Error set_up();
    Result<std::vector<rtsp::Transport>> offers(size_t track);
    Error begin();
    Error open_ports();
    void punch(size_t track, const rtsp::Transport& agreed);

    // io::EventHandler, of the connection
    void on_ready(uint8_t ready) override;
    void read_in_turn(bool look = false);

    // net::RtpPortsOwner
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override;

    void on_more_datagrams() override { notify(); }

    void take_media(size_t track, bool rtcp, ByteSpan bytes);
    void take_rtcp(MonoTime now, size_t track, ByteSpan bytes);
    bool read_datagrams();
    void send_reports(MonoTime now);
    Error do_what_is_due(MonoTime now);
    MonoTime next_due() const;
    void fail(Error error);
    void notify();

    net::SourceRun& run_;
    RtspPull& pulls_;
    rtsp::ClientSession session_;
    std::unique_ptr<io::TcpStream> stream_;
    std::optional<net::SourceUrl> redirected_;
    std::string unused_;                   // tracks, for people
    std::vector<RtspIncoming> described_;  // that were asked for, until the ingest has them
    std::vector<Track> tracks_;
    std::unique_ptr<Ingest> ingest_;
    bool begun_ = false;    // the server has agreed
    bool opened_ = false;   // open_ports()
    bool flowing_ = false;  // media is read in the reactor's turn
    bool by_udp_ = false;
    bool seen_rtp_ = false;
    MonoTime played_at_{};
    Error failed_;
    io::Signal changed_;
};

}  // namespace weir::session
