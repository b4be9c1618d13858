#include "proto/rtp/twcc_history.h"

#include <algorithm>
#include <cstdlib>

namespace weir::rtp {

static_assert((TwccHistory::kMinEntries & (TwccHistory::kMinEntries - 1)) == 0);
static_assert((TwccHistory::kMaxEntries & (TwccHistory::kMaxEntries - 1)) == 0);

namespace {

// Only a peer that makes its times up gets there.
constexpr int64_t kMaxArrivalBaseUs = rtcp::kReferenceRangeUs << 16;

}  // namespace

uint16_t TwccHistory::add(MonoTime now, size_t size) {
    if (entries_.empty()) {
        entries_.resize(kMinEntries);
    }
    last_ = now;
    Entry* entry = &entries_[static_cast<size_t>(next_) & (entries_.size() - 1)];
    if (entry->state == State::kSent && now - sent_at(*entry) < kMaxAge &&
        entries_.size() < kMaxEntries) {
        grow();
        entry = &entries_[static_cast<size_t>(next_) & (entries_.size() - 1)];
    }
    entry->sent_us = static_cast<uint32_t>(now.time_since_epoch().count());
    entry->size = static_cast<uint16_t>(std::min<size_t>(size, UINT16_MAX));
    entry->state = State::kSent;
    return static_cast<uint16_t>(next_++);
}

void TwccHistory::take_back(size_t packets) {
    const auto most = std::min<int64_t>(next_, static_cast<int64_t>(entries_.size()));
    for (int64_t left = std::min(static_cast<int64_t>(packets), most); left > 0; left--) {
        next_--;
        entries_[static_cast<size_t>(next_) & (entries_.size() - 1)].state = State::kFree;
    }
}

void TwccHistory::grow() {
    std::vector<Entry> larger(entries_.size() * 2);
    for (int64_t sequence = std::max<int64_t>(next_ - static_cast<int64_t>(entries_.size()), 0);
         sequence < next_; sequence++) {
        larger[static_cast<size_t>(sequence) & (larger.size() - 1)] =
            entries_[static_cast<size_t>(sequence) & (entries_.size() - 1)];
    }
    entries_.swap(larger);
}

void TwccHistory::begin(const rtcp::TransportFeedbackView& feedback) {
    // The packet before next_ or one not long before it.
    const auto behind =
        static_cast<uint16_t>(static_cast<uint16_t>(next_) - feedback.base_sequence());
    at_ = next_ - behind;
    end_ = at_ + feedback.status_count();
    const int64_t reference = feedback.reference_time_us();
    if (last_reference_us_) {
        const int64_t step = reference - *last_reference_us_;
        if (step < -rtcp::kReferenceRangeUs / 2) {
            arrival_base_ += rtcp::kReferenceRangeUs;
        } else if (step > rtcp::kReferenceRangeUs / 2) {
            arrival_base_ -= rtcp::kReferenceRangeUs;
        }
    }
    last_reference_us_ = reference;
    if (std::abs(arrival_base_) >= kMaxArrivalBaseUs) {
        arrival_base_ = 0;
    }
}

bool TwccHistory::has_unanswered() const {
    if (entries_.empty() || next_ == 0) {
        return false;
    }
    return entries_[static_cast<size_t>(next_ - 1) & (entries_.size() - 1)].state == State::kSent;
}

}  // namespace weir::rtp
