// Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01
// §3.1): when each packet of a session arrived, by transport sequence number.
//
//     | base sequence number          | packet status count           |
//     | reference time, 24 bits, of 64 ms             | feedback count|
//     | chunks of 2 bytes ...         | deltas of 250 us, 1 or 2 bytes each ...
//
// Chunks name one of three statuses for each packet from the base on: lost, arrived with a delta of
// one byte, arrived with a signed delta of two. Read and written without a list of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/packet.h"

namespace weir::rtcp {

inline constexpr int64_t kReferenceUnitUs = 64'000;
inline constexpr int64_t kReferenceRangeUs = kReferenceUnitUs << 24;  // wraps after 12.4 days
inline constexpr int64_t kDeltaUnitUs = 250;

// A received feedback packet; the packet must outlive it.
class TransportFeedbackView {
  public:
    // Nothing when the packet is something else, uses the reserved status, or is shorter than its
    // statuses say. The work is bounded by the bytes: a run of lost packets is one step.
    static std::optional<TransportFeedbackView> parse(const PacketView& packet);

    const FeedbackSources& sources() const { return sources_; }

    // The number of the first packet that it reports. The last one is status_count() - 1 later.
    uint16_t base_sequence() const { return base_sequence_; }

    uint16_t status_count() const { return status_count_; }

    // Counts the feedback packets, modulo 256: a gap is lost feedback.
    uint8_t feedback_count() const { return feedback_count_; }

    // From an arbitrary origin, modulo kReferenceRangeUs.
    int64_t reference_time_us() const { return reference_time_us_; }

    // Calls visit(uint16_t sequence, int64_t time_us) for each packet that arrived, in the order of
    // sequence numbers; those of the range that are left out did not. Times have the origin of
    // reference_time_us() and a resolution of 250 us; they may go back.
    template <typename Visit>
    void for_each_received(Visit&& visit) const {
        Walk walk(*this);
        Arrived arrived;
        while (walk.next(arrived)) {
            visit(arrived.sequence, arrived.time_us);
        }
    }

  private:
    struct Arrived {
        uint16_t sequence = 0;
        int64_t time_us = 0;
    };

    // Goes over the packets that arrived.
    class Walk {
      public:
        explicit Walk(const TransportFeedbackView& view);
        bool next(Arrived& out);

      private:
        ByteReader chunks_;
        ByteReader deltas_;
        uint32_t left_;  // statuses that are not yet looked at
        uint16_t sequence_;
        int64_t time_us_;
        uint16_t chunk_ = 0;
        uint32_t in_chunk_ = 0;  // statuses left in chunk_
    };

    FeedbackSources sources_;
    ByteSpan chunks_;
    ByteSpan deltas_;
    int64_t reference_time_us_ = 0;
    uint16_t base_sequence_ = 0;
    uint16_t status_count_ = 0;
    uint8_t feedback_count_ = 0;
};

// A packet that arrived: its unwrapped transport sequence number and when (not negative, any
// origin).
struct Arrival {
    int64_t sequence = 0;
    int64_t time_us = 0;
};

// Room that a feedback packet needs at least.
inline constexpr size_t kMinTransportFeedbackSize = 40;

// One packet speaks of at most so many packets, lost ones included.
inline constexpr int64_t kMaxFeedbackStatuses = 8191;

struct WrittenFeedback {
    size_t bytes = 0;
    size_t arrivals = 0;  // how many of the arrivals are in it, at least one
};

// Writes one feedback packet for as many of the arrivals as fit: into `out`, at most
// kMaxFeedbackStatuses, deltas of at most 8.19 s. Arrivals are in strictly rising order of sequence
// numbers and at least one; `out` has at least kMinTransportFeedbackSize bytes. `lost_before`: so
// many packets right before the first arrival are said to be lost as well, less than
// kMaxFeedbackStatuses.
WrittenFeedback write_transport_feedback(const FeedbackSources& sources,
                                         uint8_t feedback_count,
                                         std::span<const Arrival> arrivals,
                                         std::span<uint8_t> out,
                                         uint16_t lost_before = 0);

}  // namespace weir::rtcp
