// How well the packets of one phone come, for the reports that it gets: for those whose packets the
// ingest of a stream does not see. Pure.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/clock.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/report.h"
#include "proto/rtp/header.h"
#include "proto/rtp/reception_stats.h"
#include "proto/rtp/unwrapper.h"

namespace weir::session {

class SipReception {
  public:
    static constexpr Micros kPeriod = Seconds(5);  // of reports, RFC 3550 §6.2
    static constexpr int64_t kMaxJump = 3000;      // of the numbers; more: another sequence

    explicit SipReception(uint32_t clock_hz) : stats_(clock_hz) {}

    void on_packet(MonoTime now, const rtp::PacketView& packet) {
        const uint16_t sequence = packet.sequence();
        const int64_t jump =
            std::abs(numbers_.peek(sequence) - numbers_.highest().value_or(sequence));
        if (packet.ssrc() != ssrc_ || jump > kMaxJump) {
            ssrc_ = packet.ssrc();
            numbers_.reset();
            stats_.restart();
        }
        stats_.on_packet(numbers_.unwrap(sequence), packet.timestamp(), now);
    }

    void on_rtcp(MonoTime now, const rtcp::PacketView& packet) {
        const auto said = rtcp::parse_sender_report(packet);
        if (said && said->ssrc == ssrc_) {
            stats_.on_sender_report(said->ntp_time, now);
        }
    }

    // Once each kPeriod, when there is something to report.
    bool due(MonoTime now) {
        if (now < due_) {
            return false;
        }
        due_ = now + kPeriod;
        return true;
    }

    bool started() const { return stats_.started(); }

    rtcp::ReportBlock block(MonoTime now) { return stats_.report(ssrc_, now); }

  private:
    uint32_t ssrc_ = 0;
    rtp::ReceptionStats stats_;
    rtp::SequenceUnwrapper numbers_;
    MonoTime due_{};
};

}  // namespace weir::session
