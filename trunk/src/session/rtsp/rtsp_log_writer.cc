#include "session/rtsp/rtsp_log_writer.h"

#include "base/random.h"
#include "session/rtsp/rtsp_profile.h"

namespace weir::session {

RtspLogWriter::RtspLogWriter()
    : RtpLogWriter(kRtspProfile), numbers_(system_random(), MonoClock::now()) {}

// A start whose own frame has no packets (its codec has no payload format) is the next frame's.
void RtspLogWriter::begin_frame(const stream::RtpLog::Frame& frame) {
    frame_ = frame;
    frame_.start = starts_;
    begun_ = false;
    RtpLogWriter::begin_frame(frame_);
}

void RtspLogWriter::add_payload(ByteSpan head, ByteSpan body, bool marker) {
    if (!begun_) {
        begun_ = true;
        if (starts_) {
            numbers_.set_clocks(*this);
        }
        starts_ = false;
        numbers_.begin_frame(frame_, track(frame_.track));
        numbers_.note_head(frame_.time_ms, MonoClock::now());
    }
    const RtspNumbers::Header header = numbers_.next_header(head.size() + body.size(), marker);
    front_.assign(header.begin(), header.end());
    front_.insert(front_.end(), head.begin(), head.end());
    log().add_packet(front_, body);
}

void RtspLogWriter::begin_catching_up() {
    if (catching_up_++ == 0) {
        log().set_history_ms(kCatchUpHistoryMs);
    }
}

void RtspLogWriter::end_catching_up() {
    if (--catching_up_ == 0) {
        log().set_history_ms(stream::RtpLog::kHistoryMs);
    }
}

}  // namespace weir::session
