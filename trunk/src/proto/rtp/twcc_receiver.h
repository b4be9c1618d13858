// Tells a publisher when its packets arrived (draft-holmer-rmcat-transport-wide-cc-extensions-01),
// which is what it estimates its bandwidth from: collects arrivals by transport-wide sequence
// number, over all sources of a session, and writes a feedback packet from time to time.
//
// What is missing between two feedback packets is reported as lost by the second one. A packet that
// comes after it was reported as lost is reported again, with all behind it that is still known, so
// that the peer does not treat those as lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "proto/rtcp/transport_feedback.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/unwrapper.h"

namespace weir::rtp {

class TwccReceiver final : private Counted<TwccReceiver> {
  public:
    static constexpr ObjectName kObjectName{"twcc_receiver", "webrtc"};
    static constexpr Micros kInterval = Millis(100);
    static constexpr Micros kMemory = Millis(500);  // of arrivals that were reported
    static constexpr size_t kMaxArrivals = 2'048;   // remembered; the oldest go first
    static constexpr size_t kMaxUnreported = 512;   // more are reported at once
    static constexpr int64_t kMaxLate = 4'096;      // sequence numbers; what is older is ignored

    void on_packet(MonoTime now, uint16_t sequence, uint32_t media_ssrc);

    // When a feedback packet is due; nothing while nothing arrived.
    std::optional<MonoTime> next_timeout() const;

    // Appends a feedback packet when one is due; call until it is false or the buffer is full.
    bool poll_transmit(MonoTime now, uint32_t local_ssrc, rtcp::CompoundWriter& writer);

    uint64_t feedbacks() const { return feedbacks_; }

  private:
    void forget_old(MonoTime now);

    SequenceUnwrapper unwrapper_;
    std::vector<rtcp::Arrival> arrivals_;    // rising sequence numbers
    std::optional<int64_t> next_;            // where the next feedback begins
    std::optional<MonoTime> first_pending_;  // arrival that was not reported yet
    size_t unreported_ = 0;
    uint32_t media_ssrc_ = 0;
    uint8_t count_ = 0;
    uint64_t feedbacks_ = 0;
};

}  // namespace weir::rtp
