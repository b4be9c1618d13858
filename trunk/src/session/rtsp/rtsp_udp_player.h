// A player whose media goes by UDP or multicast, or encrypted (SRTP) by whatever way: its place in
// the log that all of the stream share, where its tracks go, and its connection, by which it says
// more. No coroutine: the pump sends, event handlers hear.
//
// Its session outlives the connection: while receiver reports come, it plays on.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "io/tcp.h"
#include "net/client_probe.h"
#include "net/client_table.h"
#include "net/link_facts.h"
#include "net/rtp/rtp_player.h"
#include "proto/rtsp/connection_reader.h"
#include "session/rtsp/rtsp_group.h"
#include "session/rtsp/rtsp_log_writer.h"
#include "session/rtsp/rtsp_player.h"
#include "session/rtsp/rtsp_sender.h"
#include "session/rtsp/rtsp_session.h"
#include "session/rtsp/rtsp_srtp.h"
#include "session/rtsp/rtsp_udp.h"

namespace weir::session {

class RtspServer;
class RtspUdpPump;

using RtspUdpTracks = std::array<std::unique_ptr<RtspUdpTrack>, RtspNumbers::kTracks>;

class RtspUdpPlayer final : public net::RtpPlayer,
                            private RtspUdpOwner,
                            private io::EventHandler,
                            private net::ClientProbe,
                            private Counted<RtspUdpPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_udp_player", "rtsp"};

    static constexpr size_t kMaxAnswers = 64 * 1024;  // that the client does not read
    // And of its media, where that goes through the connection.
    static constexpr size_t kMaxFrames = stream::RtpRun::kMaxRunBytes + 8 * 1024;
    // What opens the way through a NAT comes soon after PLAY, and is short.
    static constexpr Seconds kPunchTime{10};
    static constexpr size_t kMaxPunch = 128;

    struct Parts {
        RtspSession session;
        RtspUdpTracks tracks;
        std::shared_ptr<RtspGroup> group;  // of multicast, in place of tracks; else null
        std::optional<RtspSrtpKey> key;    // of SRTP; without tracks it goes through the connection
        RtspSrtpSender::ReportKeys report_keys;
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

    // The same of a member of a group: it ends when it was silent for too long.
    void look_at_silence(MonoTime now);
    void end_playing(net::EndClass why, std::string_view reason) override;

    void end(net::EndClass why, std::string_view detail);

  private:
    const io::TcpStream* tcp() const override { return stream_.get(); }

    std::optional<net::LinkFacts> link_facts() const override;
    std::optional<net::LagFacts> lag_facts() const override;

    // RtspUdpOwner
    bool may_move(MonoTime now, size_t track, bool rtp, ByteSpan datagram) const override;

    void on_udp_rtp(MonoTime now, size_t, ByteSpan) override { last_heard_ = now; }

    void on_udp_rtcp(MonoTime now, size_t track, ByteSpan compound) override;
    std::optional<io::IoStatus> send_run(const stream::RtpRun& run);
    // Each packet as a frame of the connection.
    io::IoStatus send_frames(const rtsp::ChannelPair& channels,
                             const RtspSrtpSender::Sealed& sealed);
    void send_lead_in(const stream::RtpRun& behind);
    void send_control(uint8_t track, std::span<uint8_t> buffer, size_t size);

    void on_ready(uint8_t ready) override;
    bool hear(ByteSpan data);
    void hear_frame(const rtsp::FrameView& frame);
    bool obey(const rtsp::Request& request, ByteSpan behind);
    bool play(const rtsp::Request& request);
    void say(const rtsp::Response& answer);
    void flush_answers();
    bool write_answers();
    void drop_connection();
    void send_reports(MonoTime now);
    void leave_pump();

    bool by_udp() const { return tracks_[0] || tracks_[1] || group_; }

    RtspServer& server_;
    RtspUdpPump& pump_;
    RtspSession session_;
    RtspUdpTracks tracks_;
    rtsp::ConnectionReader reader_;
    std::unique_ptr<io::TcpStream> stream_;  // null: it is gone, or given back
    std::unique_ptr<net::Client> client_;    // null: it has ended
    Bytes answers_;                          // that its socket did not take
    RtspSender sender_;
    std::unique_ptr<RtspSrtpSender> srtp_;  // null: plain RTP
    std::shared_ptr<RtspGroup> group_;      // null: it has tracks of its own
    uint32_t edition_ = 0;                  // of the log, that fits what the client was told
    bool paused_ = false;
    bool lead_in_due_ = false;  // in front of the first packet of the video
    MonoTime began_;
    MonoTime last_heard_;
    MonoTime next_report_;
    // Of the last receiver reports.
    std::optional<Micros> rtt_;
    double loss_ = 0;
    double jitter_ms_ = 0;
    uint64_t lost_ = 0;
};

}  // namespace weir::session
