#include "proto/rtp/depacketizer.h"

#include <utility>

namespace weir::rtp {

bool Depacketizer::next(Frame& out) {
    if (ready_.empty()) {
        return false;
    }
    out = std::move(ready_[ready_at_++]);
    if (ready_at_ == ready_.size()) {
        ready_.clear();
        ready_at_ = 0;
    }
    return true;
}

void Depacketizer::give(Frame&& frame, ByteSpan data) {
    if (ready_.size() == kMaxReadyFrames) {
        dropped_frames_++;
        return;
    }
    frame.data.reserve(reserved_front_ + data.size());
    frame.data.assign(reserved_front_, 0);
    frame.data.insert(frame.data.end(), data.begin(), data.end());
    ready_.push_back(std::move(frame));
}

// Invariants of FrameAssembler: open_ and skipping_ exclude each other. While open_, every packet
// of the frame since its first one has been added. need_start_ ends when the start of a frame has
// been seen, or the end of one that was skipped: from there on nothing is missing.

FeedStatus FrameAssembler::feed(ByteSpan payload, const PayloadInfo& info) {
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
        count_dropped();
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

bool FrameAssembler::append(ByteSpan bytes) {
    if (bytes.size() > kMaxFrameSize - data_.size()) {
        return false;
    }
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    return true;
}

FeedStatus FrameAssembler::finish() {
    Frame frame;
    frame.rtp_time = rtp_time_;
    frame.after_loss = after_loss_;
    const Completion completion = complete(frame);
    if (completion == Completion::kBroken) {
        drop();
        return FeedStatus::kLost;
    }
    if (completion == Completion::kFrame) {
        after_loss_ = false;
        give(std::move(frame), data_);
    }
    close();
    return FeedStatus::kTaken;
}

void FrameAssembler::drop() {
    count_dropped();
    after_loss_ = true;
    close();
}

void FrameAssembler::close() {
    open_ = false;
    data_.clear();
    reset();
}

}  // namespace weir::rtp
