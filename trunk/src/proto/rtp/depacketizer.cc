#include "proto/rtp/depacketizer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir::rtp {

// Invariants: open_ and skipping_ exclude each other. While open_, every packet of the frame since
// its first one has been added. need_start_ ends when the start of a frame has been seen, or the
// end of one that was skipped: from there on nothing is missing.

FeedStatus Depacketizer::feed(ByteSpan payload, const PayloadInfo& info) {
    FeedStatus status = FeedStatus::kTaken;
    if (info.gap) {
        status = FeedStatus::kLost;
        const bool same_frame = open_ && info.rtp_time == rtp_time_;
        if (open_) {
            drop();
        }
        skipping_ = skipping_ || same_frame;
        need_start_ = true;
        after_loss_ = true;
    }
    if (payload.empty()) {
        return status;
    }
    const bool other_frame = info.rtp_time != rtp_time_;
    if (open_ && other_frame) {
        status = finish();  // nothing is missing: its sender set no marker
    }
    if (skipping_ && other_frame) {
        skipping_ = false;
        need_start_ = info.gap;
    }
    rtp_time_ = info.rtp_time;
    if (!open_ && !skipping_ && need_start_ && !begins_frame(payload)) {
        skipping_ = true;
        after_loss_ = true;
        dropped_frames_++;
    }
    if (skipping_) {
        if (info.marker) {
            skipping_ = false;
            need_start_ = false;
        }
        return FeedStatus::kLost;
    }
    open_ = true;
    need_start_ = false;
    if (!add(payload)) {
        drop();
        skipping_ = !info.marker;
        return FeedStatus::kMalformed;
    }
    if ((info.marker || ends_frame()) && finish() != FeedStatus::kTaken) {
        status = FeedStatus::kLost;
    }
    return status;
}

bool Depacketizer::next(Frame& out) {
    if (ready_count_ == 0) {
        return false;
    }
    out = std::move(ready_[0]);
    ready_[0] = std::move(ready_[1]);
    ready_count_--;
    return true;
}

bool Depacketizer::append(ByteSpan bytes) {
    if (bytes.size() > kMaxFrameSize - data_.size()) {
        return false;
    }
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    return true;
}

FeedStatus Depacketizer::finish() {
    Frame frame;
    const Completion completion = complete(frame);
    if (completion == Completion::kBroken) {
        drop();
        return FeedStatus::kLost;
    }
    if (completion == Completion::kFrame) {
        WEIR_DCHECK(ready_count_ < ready_.size());
        frame.rtp_time = rtp_time_;
        frame.after_loss = std::exchange(after_loss_, false);
        frame.data.reserve(reserved_front_ + data_.size());
        frame.data.assign(reserved_front_, 0);
        frame.data.insert(frame.data.end(), data_.begin(), data_.end());
        ready_count_ = std::min(ready_count_ + 1, ready_.size());
        ready_[ready_count_ - 1] = std::move(frame);
    }
    close();
    return FeedStatus::kTaken;
}

void Depacketizer::drop() {
    dropped_frames_++;
    after_loss_ = true;
    close();
}

void Depacketizer::close() {
    open_ = false;
    data_.clear();
    reset();
}

}  // namespace weir::rtp
