#include "session/rtsp/rtsp_muxer.h"

#include "base/random.h"
#include "proto/rtsp/connection_reader.h"
#include "session/rtsp/rtsp_lead_in.h"
#include "session/rtsp/rtsp_profile.h"

namespace weir::session {

void append_rtsp_frame(uint8_t channel, ByteSpan payload, Bytes& out) {
    const auto header = rtsp::frame_header(channel, static_cast<uint16_t>(payload.size()));
    out.insert(out.end(), header.begin(), header.end());
    out.insert(out.end(), payload.begin(), payload.end());
}

RtspMuxer::RtspMuxer(const RtspChannels& channels)
    : RtpCutter(kRtspProfile), channels_(channels), numbers_(system_random(), MonoClock::now()) {}

void RtspMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    starts_ = starts_ || start != nullptr;
    rides_ = rides(*packet, start);
    cut(packet, start);
}

void RtspMuxer::begin_frame(const stream::RtpLog::Frame& frame) {
    set_edition(RtpCutter::edition());
    frame_ = frame;
    wanted_ = frame.track < channels_.size() && channels_[frame.track].has_value();
    entry_open_ = false;
}

// A start whose own frame is not for this player (video that it did not set up) is the next
// frame's.
void RtspMuxer::add_payload(ByteSpan head, ByteSpan body, bool marker) {
    if (!wanted_) {
        return;
    }
    if (!entry_open_) {
        entry_open_ = true;
        frame_.start = starts_;
        if (starts_) {
            numbers_.set_clocks(*this);
        }
        numbers_.begin_frame(frame_, track(frame_.track));
        log().begin_entry(frame_.time_ms, starts_, rides_ && !starts_);
        starts_ = false;
    }
    const size_t bytes = head.size() + body.size();
    const RtspNumbers::Header header = numbers_.next_header(bytes, marker);
    log().write(rtsp::frame_header(channels_[frame_.track]->rtp,
                                   static_cast<uint16_t>(header.size() + bytes)));
    log().write(header);
    log().write(head);
    log().write(body);
}

void RtspMuxer::end_frame() {
    if (!entry_open_) {
        return;
    }
    entry_open_ = false;
    const MonoTime now = MonoClock::now();
    numbers_.note_head(frame_.time_ms, now);
    log().end_entry();
    if (numbers_.reports_due(now)) {
        Bytes reports;
        write_reports(now, reports);
        if (reports.empty()) {
            return;
        }
        log().begin_entry(frame_.time_ms, false, rides_);
        log().write(reports);
        log().end_entry();
    }
}

void RtspMuxer::write_reports(MonoTime now, Bytes& out) const {
    std::array<uint8_t, RtspNumbers::kMaxReport> report;
    for (uint8_t index = 0; index < channels_.size(); index++) {
        const size_t size =
            channels_[index] ? numbers_.write_report(index, now, report) : size_t{0};
        if (size > 0) {
            append_rtsp_frame(channels_[index]->rtcp, {report.data(), size}, out);
        }
    }
}

Bytes RtspMuxer::lead_in() const {
    const Bytes payload = numbers_.has(net::kRtpVideoTrack) ? make_rtsp_lead_in(*this) : Bytes();
    return payload.empty()
               ? Bytes()
               : rtsp_lead_in_packet(numbers_.first_header(net::kRtpVideoTrack), payload);
}

void RtspMuxer::write_byes(Bytes& out) const {
    std::array<uint8_t, RtspNumbers::kMaxReport> bye;
    for (uint8_t index = 0; index < channels_.size(); index++) {
        const size_t size = channels_[index] ? numbers_.write_bye(index, bye) : size_t{0};
        if (size > 0) {
            append_rtsp_frame(channels_[index]->rtcp, {bye.data(), size}, out);
        }
    }
}

}  // namespace weir::session
