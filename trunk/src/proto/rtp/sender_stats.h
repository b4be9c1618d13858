// What was sent under one SSRC, for its sender reports, and what the receiver's reports say of it
// (RFC 3550 §6.4). 24 bytes a track of a player.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "proto/rtcp/report.h"
#include "proto/rtcp/writer.h"

namespace weir::rtp {

// What a report block says beyond the one before it.
struct ReceiverNews {
    std::optional<Micros> rtt;  // nothing until the receiver heard a sender report
    size_t received = 0;        // of the packets since the block before; duplicates count
    size_t lost = 0;
};

class SenderStats {
  public:
    // Retransmissions under the same SSRC are not counted: they are no new packets.
    void on_packet(size_t payload_bytes) {
        packets_++;
        octets_ += static_cast<uint32_t>(payload_bytes);
    }

    // `rtp_time`: the RTP time of `now`, not that of the last packet.
    rtcp::SenderInfo report(uint32_t ssrc, rtcp::NtpTime now, uint32_t rtp_time) {
        reported_ = true;
        return {ssrc, now, rtp_time, packets_, octets_};
    }

    // A block about this SSRC. `now`: on the clock that report() was given. Nonsense (more lost
    // than sent, a round trip that is negative or over a minute) says nothing.
    ReceiverNews on_report_block(const rtcp::ReportBlock& block, rtcp::NtpTime now);

    uint32_t packets() const { return packets_; }

    uint32_t octets() const { return octets_; }

    // The jitter of the last report block, in the clock of the source; 0 before it.
    uint32_t jitter() const { return jitter_; }

    // As the receiver counts, since the start.
    int32_t lost() const { return lost_; }

  private:
    uint32_t packets_ = 0;  // both wrap (RFC 3550 §6.4.1)
    uint32_t octets_ = 0;
    bool reported_ = false;
    bool heard_ = false;
    uint32_t highest_ = 0;
    int32_t lost_ = 0;
    uint32_t jitter_ = 0;
};

}  // namespace weir::rtp
