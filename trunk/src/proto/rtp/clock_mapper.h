// Puts the RTP timestamps of all tracks of one publisher on one timeline, by the sender reports
// that tie each track's clock to the publisher's wall clock (RFC 3550 §6.4.1), so that audio and
// video fit.
//
// Before a track's first report its place is guessed from when its first packet arrived. What the
// reports then say is approached in small steps, never by a jump: a track's time goes on, at most
// an eighth faster or slower than its RTP clock. The first audio track with a report is the anchor
// that is never moved, because it can be heard; without audio it is the first track with a report.
// The same way the drift between the tracks' clocks is followed for as long as the stream lasts.
//
// Reports that cannot be right (no time, further off than kMaxCorrection) are ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "proto/rtcp/report.h"
#include "proto/rtp/unwrapper.h"

namespace weir::rtp {

class ClockMapper {
  public:
    static constexpr size_t kMaxTracks = 16;       // a simulcast layer is a track
    static constexpr Micros kOrigin = Seconds(1);  // time of the first packet: room before it
    static constexpr Micros kMaxCorrection = Seconds(3);
    // More is a step of the source's clock: decoding times and those of audio do not go back.
    static constexpr Micros kMaxStepBack = Millis(100);
    // The same where pictures come with the times at which they are shown.
    static constexpr Micros kMaxReordered = Millis(600);
    // Of RTP time, beyond the time that passed, and further ahead of its arrival than any packet so
    // far: what was held up and comes at once is late, not ahead.
    static constexpr Micros kMaxStepAhead = Millis(1'500);
    // Both tracks of a source step, each at its own packet, within this time.
    static constexpr Micros kSameStep = Seconds(2);

    // Returns the track's index. At most kMaxTracks; `clock_hz` is not 0.
    // `reordered`: packets have the times at which pictures are shown, not decoded.
    size_t add_track(uint32_t clock_hz, bool audio, bool reordered = false);

    // Stream time of a packet: not negative, and rising with the RTP timestamps of the track.
    // `arrival`: of the first packet with this timestamp. Call in order of the track's packets.
    Micros map(size_t track, uint32_t rtp_time, MonoTime arrival);

    void on_sender_report(size_t track, rtcp::NtpTime ntp_time, uint32_t rtp_time);

    // The source of the track started again (Receiver: kRestarted): its timestamps may be anything.
    void restart(size_t track);

    // How far the track is from where its reports want it; nothing when that is not known.
    std::optional<Micros> error(size_t track) const;

    // The publisher's wall clock, since 1970, minus stream time, as the reports of the anchor say;
    // nothing before a track with packets has one. What the publisher's clock says is not checked.
    std::optional<Micros> wall_offset() const;

    uint64_t ignored_reports() const { return ignored_reports_; }

    // How often a track's RTP clock jumped.
    uint64_t jumps() const { return jumps_; }

  private:
    struct Track {
        uint32_t clock_hz = 0;
        bool audio = false;
        int64_t most_back_us = 0;
        bool placed = false;
        bool replace = false;  // to be placed by the next arrival
        TimeUnwrapper unwrapper;
        int64_t offset_us = 0;                 // stream time minus RTP time
        std::optional<int64_t> ntp_offset_us;  // the publisher's time minus RTP time
        int64_t last_rtp_us = 0;
        int64_t interval_us = 20'000;  // between its last two packets of different times
        int64_t lead_us = 0;           // the most that a packet's time was before its arrival
        MonoTime last_arrival{};

        int64_t to_us(int64_t rtp_time) const { return rtp_time * 1'000'000 / clock_hz; }

        int64_t last_us() const { return last_rtp_us + offset_us; }
    };

    void place(Track& track, int64_t rtp_us, MonoTime arrival);
    bool has_stepped(const Track& track, int64_t rtp_us, MonoTime arrival) const;
    void step(Track& track, int64_t elapsed_us, uint32_t rtp_time, MonoTime arrival);
    void approach(Track& track, int64_t elapsed_us);
    std::optional<int64_t> target(const Track& track) const;
    const Track* anchor() const;

    std::array<Track, kMaxTracks> tracks_;
    size_t count_ = 0;
    uint64_t ignored_reports_ = 0;
    uint64_t jumps_ = 0;
    // The last step of a track's clock: the others may make the same one.
    int64_t stepped_us_ = 0;  // beyond its pace
    const Track* stepped_track_ = nullptr;
    MonoTime stepped_at_{};
};

}  // namespace weir::rtp
