#include "session/rtsp/rtsp_numbers.h"

#include "proto/rtcp/writer.h"
#include "session/rtsp/rtsp_profile.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

constexpr std::string_view kCname = "weir";

}  // namespace

RtspNumbers::RtspNumbers(RandomSource& random, MonoTime now) : next_reports_(now + kFirstReport) {
    for (Track& track : tracks_) {
        track.ssrc = random_u32(random);
        track.sequence = static_cast<uint16_t>(random_u32(random) & 0x7FFFU);
        track.time_offset = random_u32(random);
    }
}

void RtspNumbers::note_stream(const stream::Stream& stream) {
    stream_ = &stream;
    if (const stream::GopStats& gop = stream.gop(); stream.live() && gop.key_frames > 0) {
        head_.note(gop.key_time_ms, gop.key_at);
    }
}

void RtspNumbers::begin_frame(const stream::RtpLog::Frame& frame, const net::RtpTrack& of) {
    open_ = frame.track;
    Track& track = tracks_[open_];
    track.payload_type = rtsp_payload_type_of(of.codec.codec).value_or(0);
    set_clock(open_, of.clock_hz);
    track.rtp_time = frame.rtp_time + track.time_offset;
    if (frame.start) {
        note_start(frame.time_ms);
    }
}

void RtspNumbers::set_clocks(const net::RtpCutter& cutter) {
    for (const uint8_t index : {net::kRtpAudioTrack, net::kRtpVideoTrack}) {
        if (cutter.track(index).codec.codec != media::Codec::kUnknown) {
            set_clock(index, cutter.track(index).clock_hz);
        }
    }
}

RtspNumbers::Header RtspNumbers::next_header(size_t payload_bytes, bool marker) {
    Track& track = tracks_[open_];
    if (!track.start_time) {
        track.start_time = track.rtp_time;
    }
    Header bytes;
    rtp::write_header({track.payload_type, marker, track.sequence, track.rtp_time, track.ssrc},
                      bytes.data());
    track.sequence++;
    track.packets++;
    track.octets += static_cast<uint32_t>(payload_bytes);
    return bytes;
}

void RtspNumbers::note_start(int64_t shown_ms) {
    start_ms_ = shown_ms;
    for (Track& track : tracks_) {
        track.start_sequence = track.sequence;
        track.start_time.reset();
    }
}

RtspNumbers::First RtspNumbers::first(uint8_t index) const {
    const Track& track = tracks_[index];
    First first{track.start_sequence, track.start_time};
    if (!first.rtp_time && track.clock_known) {
        first.rtp_time =
            static_cast<uint32_t>(start_ms_ * track.clock_hz / 1000) + track.time_offset;
    }
    return first;
}

rtp::Header RtspNumbers::first_header(uint8_t index) const {
    const First first = this->first(index);
    return {tracks_[index].payload_type, false, first.sequence, first.rtp_time.value_or(0),
            tracks_[index].ssrc};
}

rtcp::NtpTime RtspNumbers::ntp_time(MonoTime now) const {
    const std::optional<int64_t> offset_us =
        stream_ != nullptr ? stream_->publisher_clock().wall_offset_us(stream_->timeline())
                           : std::nullopt;
    return rtcp::ntp_from_unix_us(offset_us ? *offset_us + head_.steady(now) : wall_time_us(now));
}

size_t RtspNumbers::write_report(uint8_t index, MonoTime now, std::span<uint8_t> out) const {
    const Track& track = tracks_[index];
    if (track.packets == 0 || (stream_ != nullptr && stream_->publisher_clock().awaited(now))) {
        return 0;
    }
    rtcp::CompoundWriter writer(out);
    rtcp::SenderInfo info;
    info.ssrc = track.ssrc;
    info.ntp_time = ntp_time(now);
    info.rtp_time =
        track.time_offset + static_cast<uint32_t>(head_.steady(now) * track.clock_hz / 1'000'000);
    info.packets = track.packets;
    info.octets = track.octets;
    const bool fits =
        writer.sender_report(info, {}) && writer.source_description(track.ssrc, kCname);
    return fits ? writer.size() : 0;
}

size_t RtspNumbers::write_bye(uint8_t index, std::span<uint8_t> out) const {
    const Track& track = tracks_[index];
    if (track.packets == 0) {
        return 0;
    }
    rtcp::CompoundWriter writer(out);
    const bool fits = writer.receiver_report(track.ssrc, {}) && writer.bye(track.ssrc);
    return fits ? writer.size() : 0;
}

bool RtspNumbers::reports_due(MonoTime now) {
    if (now < next_reports_) {
        return false;
    }
    next_reports_ = now + kLogReportInterval;
    return true;
}

}  // namespace weir::session
