// Reception statistics of one RTP source (RFC 3550 §6.4.1, A.3, A.8): loss, jitter, and the report
// block about it. Not the order of packets (proto/rtp/jitter_buffer.h).
//
// Fed with each packet of the source as it arrives, duplicates and late ones included; packets of a
// retransmission stream of its own (RFC 4588) do not count.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "proto/rtcp/report.h"

// Peers: rtcp
namespace weir::rtp {

class ReceptionStats {
  public:
    // `clock_hz`: of the RTP timestamps, not 0.
    explicit ReceptionStats(uint32_t clock_hz) : clock_hz_(clock_hz) {}

    // `sequence`: unwrapped, the first one within 0 to 65535.
    void on_packet(int64_t sequence, uint32_t rtp_time, MonoTime now);

    void on_sender_report(rtcp::NtpTime ntp_time, MonoTime now);

    // The source starts again, with sequence numbers that are not related to the old ones.
    void restart();

    // True from the first packet on: there is something to report.
    bool started() const { return started_; }

    // What to say of the source, and begins the next interval of fraction_lost.
    rtcp::ReportBlock report(uint32_t ssrc, MonoTime now);

    Micros jitter() const;

    uint64_t received() const { return received_; }

    // Expected and not received, since the start; never less than 0, although duplicates count as
    // received (RFC 3550 A.3).
    uint64_t lost() const;

  private:
    int64_t expected() const { return started_ ? highest_ - first_ + 1 : 0; }

    uint32_t clock_hz_;
    bool started_ = false;
    bool has_transit_ = false;
    int64_t first_ = 0;
    int64_t highest_ = 0;
    int64_t before_restart_ = 0;  // expected packets of the sequences before a restart
    uint64_t received_ = 0;
    int64_t expected_before_ = 0;  // at the last report
    int64_t received_before_ = 0;
    uint32_t transit_ = 0;    // of the last packet, in units of the RTP clock
    uint32_t last_time_ = 0;  // RTP time of the last packet
    uint32_t jitter_q4_ = 0;  // in 1/16 units
    uint32_t last_sr_ = 0;
    MonoTime last_sr_at_{};
};

}  // namespace weir::rtp
