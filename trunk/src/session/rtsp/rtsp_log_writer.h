// A stream's packets for RTSP players by UDP and multicast: an RtpLogWriter whose payloads are
// whole packets with their headers, since all players get the very same ones. A run of the log goes
// out as it is. Never yields.
#pragma once

#include "base/object_count.h"
#include "net/rtp/rtp_log_writer.h"
#include "session/rtsp/rtsp_numbers.h"
#include "session/rtsp/rtsp_profile.h"

namespace weir::stream {
class Stream;
}

namespace weir::session {

class RtspLogWriter final : public net::RtpLogWriter, private Counted<RtspLogWriter> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_log_writer", "rtsp"};
    static constexpr size_t kCountedInside = sizeof(stream::RtpLog);

    RtspLogWriter();

    // While a player is on the way from its start to the newest frame, the log keeps so much.
    static constexpr int64_t kCatchUpHistoryMs = 10'000;

    const RtspNumbers& numbers() const { return numbers_; }

    RtspTerms terms() const { return rtsp_terms(*this); }

    // A player is on that way; it is not any more.
    void begin_catching_up();
    void end_catching_up();

  private:
    void on_attach(const stream::Stream& stream) override { numbers_.note_stream(stream); }

    void on_start() override { starts_ = true; }

    void begin_frame(const stream::RtpLog::Frame& frame) override;
    void add_payload(ByteSpan head, ByteSpan body, bool marker) override;

    RtspNumbers numbers_;
    stream::RtpLog::Frame frame_;
    bool starts_ = false;  // the next frame that has packets is where a player may begin
    bool begun_ = false;   // the log knows of frame_
    size_t catching_up_ = 0;
    Bytes front_;  // header of a packet, and what stands before the frame's own bytes
};

}  // namespace weir::session
