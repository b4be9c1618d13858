// A player whose media goes by UDP: its place in the log that all of the stream share, where its
// tracks go, and its connection, by which it says more. No coroutine: the pump sends, event
// handlers hear.
//
// Its session outlives the connection: while receiver reports come, it plays on.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "io/tcp.h"
#include "net/client_table.h"
#include "net/rtp/rtp_player.h"
#include "proto/rtp/pacer.h"
#include "proto/rtsp/connection_reader.h"
#include "session/rtsp/rtsp_log_writer.h"
#include "session/rtsp/rtsp_player.h"
#include "session/rtsp/rtsp_session.h"
#include "session/rtsp/rtsp_udp.h"

namespace weir::session {

class RtspServer;

using RtspUdpTracks = std::array<std::unique_ptr<RtspUdpTrack>, RtspNumbers::kTracks>;

class RtspUdpPlayer final : public net::RtpPlayer,
                            private RtspUdpOwner,
                            private io::EventHandler,
                            private net::ClientProbe,
                            private Counted<RtspUdpPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_udp_player", "rtsp"};

    // A key frame goes out so fast at most: a link of 100 Mbit/s takes it.
    static constexpr int64_t kPaceBps = 90'000'000;
    // Further behind the head it goes on with the newest key frame.
    static constexpr int64_t kLagToJumpMs = 1'000;
    static constexpr size_t kMaxAnswers = 64 * 1024;  // that the client does not read

    struct Parts {
        RtspSession session;
        RtspUdpTracks tracks;
        rtsp::ConnectionReader reader;
        std::unique_ptr<io::TcpStream> stream;
        std::unique_ptr<net::Client> client;
    };

    // `pump` is held until the end.
    RtspUdpPlayer(RtspServer& server, RtspUdpPump& pump, Parts parts);
    ~RtspUdpPlayer();
    RtspUdpPlayer(const RtspUdpPlayer&) = delete;
    RtspUdpPlayer& operator=(const RtspUdpPlayer&) = delete;

    // Answers its PLAY and begins; `unread` came behind that. It may end at once.
    void begin(const rtsp::Request& play, ByteSpan unread);

    // net::RtpPlayer
    net::RtpFlush flush(MonoTime now, size_t most_runs) override;
    Fate look(MonoTime now) override;
    void end_playing(net::EndClass why, std::string_view reason) override;

    void end(net::EndClass why, std::string_view detail);

  private:
    const io::TcpStream* tcp() const override { return stream_.get(); }

    std::optional<net::LinkFacts> link_facts() const override;
    std::optional<net::LagFacts> lag_facts() const override;

    // RtspUdpOwner
    bool takes(size_t, uint8_t) const override { return true; }

    void on_udp_rtp(MonoTime now, size_t, ByteSpan) override { last_heard_ = now; }

    void on_udp_rtcp(MonoTime now, size_t track, ByteSpan compound) override;

    void on_ready(uint8_t ready) override;
    bool hear(ByteSpan data);
    bool obey(const rtsp::Request& request, ByteSpan behind);
    void play(const rtsp::Request& request);
    void place();
    void say(const rtsp::Response& answer);
    void flush_answers();
    void drop_connection();
    void skip_old(const stream::RtpLog& log);
    void send_reports(MonoTime now);
    void leave_pump();

    RtspServer& server_;
    RtspUdpPump& pump_;
    RtspSession session_;
    RtspUdpTracks tracks_;
    rtsp::ConnectionReader reader_;
    std::unique_ptr<io::TcpStream> stream_;  // null: it is gone, or given back
    std::unique_ptr<net::Client> client_;    // null: it has ended
    Bytes answers_;                          // that its socket did not take
    rtp::Pacer pacer_{kPaceBps};
    std::optional<uint64_t> cursor_;  // number of a run; none: there was no start yet
    bool paused_ = false;
    int64_t lag_ms_ = 0;
    MonoTime began_;
    MonoTime last_heard_;
    MonoTime next_report_;
    uint64_t packets_ = 0;
    uint64_t skipped_runs_ = 0;
    // Of the last receiver reports.
    std::optional<Micros> rtt_;
    double loss_ = 0;
    double jitter_ms_ = 0;
    uint64_t lost_ = 0;
};

}  // namespace weir::session
