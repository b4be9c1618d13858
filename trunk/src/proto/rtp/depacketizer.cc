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
    const bool other_time = info.rtp_time != rtp_time_;
    if (info.gap) {
        status = FeedStatus::kLost;
        lose(other_time);
    }
    if (payload.empty()) {
        return status;
    }
    if (!other_time && !info.gap) {
        judge_markers(payload, info);
    }
    // A camera whose clock stands still gives every picture the same time.
    const bool other_frame = other_time || (ended_ && begins_picture(payload));
    if (has_open_picture() && other_frame) {
        status = finish();  // nothing is missing: its sender set no marker, or too many
    }
    if (skipping_ && other_frame) {
        skipping_ = false;
        need_start_ = info.gap;
    }
    rtp_time_ = info.rtp_time;
    ended_ = info.marker;
    const bool marked_end = info.marker && trusts_markers_;
    if (!open_ && !skipping_ && need_start_ && !begins_frame(payload)) {
        skipping_ = true;
        after_loss_ = true;
        count_dropped();
    }
    if (skipping_) {
        if (marked_end) {
            skipping_ = false;
            need_start_ = false;
            last_time_ = rtp_time_;
        }
        return FeedStatus::kLost;
    }
    open_ = true;
    need_start_ = false;
    if (!add(payload)) {
        drop();
        skipping_ = !marked_end;
        return FeedStatus::kMalformed;
    }
    const bool whole = marked_end && !hold_ && has_picture() && !is_cut();
    if ((whole || ends_frame()) && finish() != FeedStatus::kTaken) {
        status = FeedStatus::kLost;
    }
    return status;
}

// Packets before the one that comes are missing.
void FrameAssembler::lose(bool other_time) {
    if (holds_frame() && other_time) {
        finish();
    }
    if (open_ && (has_picture() || !other_time)) {
        drop();
        skipping_ = skipping_ || !other_time;
    } else if (open_) {
        close();
    }
    need_start_ = true;
    after_loss_ = true;
    ended_ = false;
}

// A payload with the time of the one before it, and nothing between them is missing.
void FrameAssembler::judge_markers(ByteSpan payload, const PayloadInfo& info) {
    if (has_open_picture()) {
        if (ended_ && trusts_markers_ && continues_picture(payload)) {
            trusts_markers_ = false;
            hold_ = false;
        }
    } else if (!skipping_ && last_time_ == info.rtp_time && continues_picture(payload)) {
        // The rest of a frame that was given out as if it were whole.
        trusts_markers_ = false;
        drop();
        skipping_ = true;
    }
}

void FrameAssembler::flush() {
    if (holds_frame()) {
        finish();
    }
}

bool FrameAssembler::append(ByteSpan bytes) {
    if (bytes.size() > kMaxFrameSize - data_.size()) {
        return false;
    }
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    return true;
}

FeedStatus FrameAssembler::finish() {
    last_time_ = rtp_time_;
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
        hold_ = false;
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
