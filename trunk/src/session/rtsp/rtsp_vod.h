// A recording that an RTSP session plays (net/vod_player.h): its RTP packets, through the
// connection or by UDP, and the answers to PLAY. The connection keeps its coroutine.
//
// RTP times go on over pauses and seeks, with the clock; Range and RTP-Info of each answer to PLAY
// say which of them is which time of the recording (RFC 2326 §12.29, §12.33).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/object_count.h"
#include "net/rtp/rtp_cutter.h"
#include "net/vod_player.h"
#include "proto/rtsp/header_values.h"
#include "session/rtsp/rtsp_numbers.h"
#include "session/rtsp/rtsp_session.h"
#include "session/rtsp/rtsp_udp_player.h"

namespace weir::session {

class RtspVod final : private net::VodWriter,
                      private net::RtpCutter,
                      private RtspUdpOwner,
                      private Counted<RtspVod> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_vod", "rtsp"};

    // All but the source must outlive this. `udp`: of the tracks that go by UDP; none: all go
    // through the connection.
    RtspVod(const RtspSession& session,
            RtspUdpTracks udp,
            io::TcpStream& stream,
            net::Client& client,
            std::unique_ptr<net::VodSource> source,
            Millis write_stall);
    ~RtspVod() override;

    // A PLAY: it is answered when the first packet is at hand. `range`: none: from where it is.
    // False: no such time.
    bool play(const rtsp::Request& request, const std::optional<rtsp::Range>& range);

    // A PLAY that is not answered yet is refused.
    void pause();

    // Yields. As net::VodPlayer::run().
    Error run() { return player_.run(); }

    bool say(ByteSpan bytes) { return player_.say(bytes); }

    Bytes take_unsent() { return player_.take_unsent(); }

    net::LagFacts lag_facts() const { return player_.lag_facts(); }

  private:
    // net::VodWriter
    void on_vod_start(const net::VodSource& source,
                      const media::MediaPacket& first,
                      Bytes& out) override;
    void on_vod_packet(Ref<media::MediaPacket> packet, Bytes& out) override;
    void on_vod_end(Bytes& out) override;

    // net::RtpCutter
    void begin_frame(const stream::RtpLog::Frame& frame) override;
    void add_payload(ByteSpan head, ByteSpan body, bool last) override;
    void end_frame() override;

    // RtspUdpOwner
    bool may_move(MonoTime now, size_t track, bool rtp, ByteSpan datagram) const override;

    void on_udp_rtp(MonoTime now, size_t, ByteSpan) override { player_.note_heard(now); }

    void on_udp_rtcp(MonoTime now, size_t, ByteSpan) override { player_.note_heard(now); }

    bool fits();
    void answer_play();
    void begin_at_start();
    void send_lead_in();
    void refuse_play(int status);
    void send(uint8_t track, RtspUdpTrack::Way way, ByteSpan packet);
    void write_reports(MonoTime now);

    const RtspSession& session_;
    net::Client& client_;
    RtspUdpTracks udp_;
    RtspNumbers numbers_;
    std::optional<rtsp::Request> play_;  // that is to be answered
    Bytes* out_ = nullptr;               // while packets are written
    Bytes packet_;                       // that is made
    Bytes lead_in_;                      // payload, due in front of the next video frame, or empty
    MonoTime created_;
    MonoTime first_at_{};
    int64_t offset_ms_ = 0;  // from times of the recording to those of the numbers
    int64_t newest_ms_ = 0;  // of the latter
    int64_t shown_ms_ = 0;   // of the packet that is being written, by the numbers
    int64_t start_ms_ = 0;   // where playing began, of the recording
    int64_t end_ms_ = 0;     // and where it will end
    stream::RtpLog::Frame frame_;
    uint32_t edition_ = 0;  // of the codecs that fits_ is about
    bool fits_ = true;      // they are what the client was told
    bool wanted_ = false;   // the frame's track was set up, and fits
    bool starts_ = false;   // the next packet is the first after a PLAY
    bool begun_ = false;
    bool leads_in_ = false;  // the next start is at a key frame, and not in the middle of a GOP
    net::VodPlayer player_;  // last: it calls the others
};

}  // namespace weir::session
