// What was sent to a peer under transport-wide sequence numbers, so that its feedback
// (rtcp::TransportFeedbackView) says which packet arrived when.
//
// Eight bytes a packet. Grows while feedback is outstanding, within limits: a player of 1 Mbit/s
// needs 1 KiB.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "proto/rtcp/transport_feedback.h"
#include "proto/rtp/unwrapper.h"

namespace weir::rtp {

// What a feedback packet says of one sent packet.
struct PacketResult {
    MonoTime sent{};
    Micros arrival{};  // on the peer's clock; only differences mean something
    size_t size = 0;
    bool received = false;
};

class TwccHistory {
  public:
    static constexpr size_t kMinEntries = 128;
    static constexpr size_t kMaxEntries = 2'048;
    static constexpr Micros kMaxAge = Seconds(2);  // feedback that takes longer is not waited for

    // Notes a packet that is sent now; returns the number for its header extension.
    uint16_t add(MonoTime now, size_t size);

    // The newest so many packets were not sent after all: their numbers are given again.
    void take_back(size_t packets);

    // Calls visit(const PacketResult&) for each packet that the feedback tells something new
    // about, in the order of sending. A packet is told as lost once at most and as received once
    // at most.
    template <typename Visit>
    void on_feedback(const rtcp::TransportFeedbackView& feedback, Visit&& visit) {
        begin(feedback);
        feedback.for_each_received([&](uint16_t sequence16, int64_t time_us) {
            const int64_t sequence = at_or_after(sequence16);
            lose_until(sequence, visit);
            if (Entry* entry = find(sequence); entry && entry->state != State::kReceived) {
                entry->state = State::kReceived;
                visit(PacketResult{sent_at(*entry), Micros(time_us + arrival_base_), entry->size,
                                   true});
            }
            at_ = sequence + 1;
        });
        lose_until(end_, visit);
    }

    // Sent, and not heard of in any way.
    bool has_unanswered() const;

    size_t capacity() const { return entries_.size(); }

    // What it holds besides itself.
    size_t heap_bytes() const { return entries_.capacity() * sizeof(Entry); }

  private:
    enum class State : uint8_t { kFree, kSent, kLost, kReceived };

    struct Entry {
        uint32_t sent_us = 0;  // wraps; entries are never that old
        uint16_t size = 0;
        State state = State::kFree;
    };

    void begin(const rtcp::TransportFeedbackView& feedback);
    void grow();

    // Sequence numbers of a feedback rise from its base on.
    int64_t at_or_after(uint16_t sequence) const {
        return at_ + static_cast<uint16_t>(sequence - static_cast<uint16_t>(at_));
    }

    Entry* find(int64_t sequence) {
        if (sequence >= next_ || sequence < next_ - static_cast<int64_t>(entries_.size())) {
            return nullptr;
        }
        Entry& entry = entries_[static_cast<size_t>(sequence) & (entries_.size() - 1)];
        return entry.state == State::kFree ? nullptr : &entry;
    }

    MonoTime sent_at(const Entry& entry) const {
        const auto now = static_cast<uint32_t>(last_.time_since_epoch().count());
        return last_ - Micros(static_cast<int64_t>(static_cast<uint32_t>(now - entry.sent_us)));
    }

    template <typename Visit>
    void lose_until(int64_t end, Visit& visit) {
        // Never more steps than there are entries, whatever the feedback says.
        at_ = std::max(at_, next_ - static_cast<int64_t>(entries_.size()));
        for (; at_ < std::min(end, next_); at_++) {
            if (Entry* entry = find(at_); entry && entry->state == State::kSent) {
                entry->state = State::kLost;
                visit(PacketResult{sent_at(*entry), Micros(0), entry->size, false});
            }
        }
    }

    std::vector<Entry> entries_;  // a power of two, indexed by sequence number
    int64_t next_ = 0;            // sequence number of the next packet
    MonoTime last_{};             // of the last packet sent
    int64_t at_ = 0;              // in the feedback that is read
    int64_t end_ = 0;
    int64_t arrival_base_ = 0;  // what its times are to be raised by, for the wraps so far
    std::optional<int64_t> last_reference_us_;
};

}  // namespace weir::rtp
