// The RTP headers of a stream's packets that all players of one log get alike: SSRC, sequence
// numbers and times of each track, its sender reports, and where a player begins. Never yields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/random.h"
#include "net/rtp/head_clock.h"
#include "net/rtp/rtp_cutter.h"
#include "proto/rtcp/report.h"
#include "proto/rtp/header.h"
#include "stream/rtp_log.h"

namespace weir::stream {
class Stream;
}

namespace weir::session {

class RtspNumbers {
  public:
    static constexpr size_t kTracks = 2;  // net::kRtpAudioTrack, net::kRtpVideoTrack
    // Of a player by UDP.
    static constexpr Seconds kReportInterval{5};
    // Some receivers ignore a report that comes before the first packet (gortsplib).
    static constexpr Millis kFirstReport{300};
    // In a log, and to a group: a player that comes later has the next ones soon. RFC 3550 §6.2
    // allows such an interval from 360 kbit/s on.
    static constexpr Seconds kLogReportInterval{1};
    static constexpr size_t kMaxReport = 128;  // sender report and CNAME of one track

    using Header = std::array<uint8_t, rtp::kFixedHeaderSize>;

    // `now`: the first reports are due kFirstReport later; each player gets some in its front.
    RtspNumbers(RandomSource& random, MonoTime now);

    // The frame whose packets come next; `of`: its track, as the cutter knows it.
    void begin_frame(const stream::RtpLog::Frame& frame, const net::RtpTrack& of);

    // The header of its next packet, which has so many bytes of payload.
    Header next_header(size_t payload_bytes, bool marker);

    // It begins with the GOP of that stream, whose frames came a while ago. Reports have the clock
    // of its publisher, where that is passed on. The stream must outlive the reports.
    void note_stream(const stream::Stream& stream);

    // A frame was written.
    void note_head(int64_t time_ms, MonoTime now) { head_.note(time_ms, now); }

    // What is known of a track before its first packet, for RTP-Info.
    void set_clocks(const net::RtpCutter& cutter);

    // A player may begin with the frame that comes next, shown at that time of the stream.
    void note_start(int64_t shown_ms);

    // The first packet of a track that such a player gets.
    struct First {
        uint16_t sequence = 0;
        // Of the packet; where it has not come yet, of the start; none: its clock is not known.
        std::optional<uint32_t> rtp_time = {};
    };

    First first(uint8_t track) const;

    // The header of that packet; where it has not come yet, with the time of the start.
    rtp::Header first_header(uint8_t track) const;

    // The next packet of a track is numbered one higher: the number between is that of a packet
    // that is made elsewhere.
    void skip_number(uint8_t track) { tracks_[track].sequence++; }

    uint32_t ssrc(uint8_t track) const { return tracks_[track].ssrc; }

    uint32_t clock_hz(uint8_t track) const { return tracks_[track].clock_hz; }

    // Whether packets of it were written.
    bool has(uint8_t track) const { return tracks_[track].packets > 0; }

    // Writes a sender report of a track with its CNAME (RFC 3550 §6.4.1, §6.5.1): its size, 0 when
    // nothing of the track was sent, or while the publisher's clock is awaited: a receiver that
    // places frames by the reports shows a jump when their clock becomes another one.
    size_t write_report(uint8_t track, MonoTime now, std::span<uint8_t> out) const;

    // The wall clock of the reports.
    rtcp::NtpTime ntp_time(MonoTime now) const;

    // BYE of a track (RFC 3550 §6.6), behind an empty report, as a compound has to begin.
    size_t write_bye(uint8_t track, std::span<uint8_t> out) const;

    // Whether reports are due; counts from `now` on then.
    bool reports_due(MonoTime now);

    MonoTime next_reports() const { return next_reports_; }

  private:
    void set_clock(uint8_t track, uint32_t clock_hz) {
        tracks_[track].clock_hz = clock_hz;
        tracks_[track].clock_known = true;
    }

    struct Track {
        uint32_t ssrc = 0;
        uint16_t sequence = 0;  // of the next packet
        uint8_t payload_type = 0;
        uint32_t clock_hz = 90'000;
        bool clock_known = false;
        uint32_t time_offset = 0;
        uint32_t rtp_time = 0;  // of the frame that is open, or was last
        uint32_t packets = 0;
        uint32_t octets = 0;
        uint16_t start_sequence = 0;
        std::optional<uint32_t> start_time;  // of the first packet after the start
    };

    std::array<Track, kTracks> tracks_;
    uint8_t open_ = 0;
    int64_t start_ms_ = 0;
    net::HeadClock head_;
    const stream::Stream* stream_ = nullptr;  // null: of a recording
    MonoTime next_reports_;
};

}  // namespace weir::session
