#include "stream/rtp_log.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace weir::stream {
namespace {

// What a run takes besides its payloads.
constexpr uint64_t kRunCost = sizeof(RtpRun) + 32;

}  // namespace

RtpLog::~RtpLog() {
    object_class().remove_bytes(bytes_);
}

void RtpLog::begin_frame(const Frame& frame) {
    WEIR_DCHECK(frame.track < kTracks && open_packets_ == 0);
    frame_ = frame;
    frame_begun_ = false;
}

void RtpLog::add_packet(ByteSpan head, ByteSpan body) {
    const size_t size = head.size() + body.size();
    WEIR_DCHECK(size > 0 && size <= UINT16_MAX);
    const bool fits = open_packets_ < RtpRun::kMaxPackets &&
                      open_.size() + size <= RtpRun::kMaxRunBytes && !open_ends_ &&
                      size <= open_packet_bytes_;
    if (open_packets_ > 0 && !fits) {
        close_run(false);
    }
    if (open_packets_ == 0) {
        open_packet_bytes_ = static_cast<uint16_t>(size);
    }
    open_ends_ = size < open_packet_bytes_;
    open_packets_++;
    open_.insert(open_.end(), head.begin(), head.end());
    open_.insert(open_.end(), body.begin(), body.end());
}

void RtpLog::close_run(bool last) {
    if (frame_.start && !frame_begun_) {
        start_ = head();
    }
    if (frame_.key && !frame_begun_) {
        keys_[frame_.track] = head();
    }
    RtpRun& run = runs_.emplace_back();
    run.size_bytes = static_cast<uint32_t>(open_.size());
    run.data = std::make_unique_for_overwrite<uint8_t[]>(open_.size());
    std::memcpy(run.data.get(), open_.data(), open_.size());
    run.packet_bytes = open_packet_bytes_;
    run.packets = open_packets_;
    run.track = frame_.track;
    run.temporal_layer = frame_.temporal_layer;
    run.frame_end = last;
    run.marker = last && frame_.marker;
    run.frame_start = !frame_begun_;
    run.start = frame_.start && !frame_begun_;
    run.key = frame_.key && !frame_begun_;
    run.discardable = frame_.discardable;
    run.rtp_time = frame_.rtp_time;
    run.time_ms = frame_.time_ms;
    run.first_packet = packets_[frame_.track];
    places_[frame_.track].push_back({run.first_packet, first_ + runs_.size() - 1});
    packets_[frame_.track] += open_packets_;
    bytes_ += run.size_bytes + kRunCost;
    object_class().add_bytes(run.size_bytes + kRunCost);
    frame_begun_ = true;
    open_.clear();
    open_packets_ = 0;
    open_ends_ = false;
}

void RtpLog::end_frame() {
    if (open_packets_ > 0) {
        close_run(true);
    }
    head_time_ms_ = std::max(head_time_ms_, frame_.time_ms);
    note_time(frame_.track, frame_.time_ms);
    if (bytes_ > kMaxBytes) {
        start_.reset();
    }
    trim();
    wake_listener();
}

void RtpLog::note_time(uint8_t track, int64_t time_ms) {
    newest_ms_[track] = std::max(newest_ms_[track], time_ms);
    for (int64_t& newest : newest_ms_) {
        newest = std::max(newest, head_time_ms_ - kMaxTrackLagMs);
    }
}

void RtpLog::forget_start() {
    keys_ = {};
    if (start_) {
        start_.reset();
        trim();
        wake_listener();
    }
}

void RtpLog::trim() {
    const uint64_t keep_from = start_.value_or(head());
    while (first_ < keep_from) {
        const RtpRun& run = runs_.front();
        const bool recent =
            lag_ms(run) <= history_ms_ && keep_from - first_ <= kHistoryRuns && bytes_ <= kMaxBytes;
        if (recent) {
            return;
        }
        bytes_ -= run.size_bytes + kRunCost;
        object_class().remove_bytes(run.size_bytes + kRunCost);
        places_[run.track].pop_front();
        runs_.pop_front();
        first_++;
    }
}

std::optional<uint64_t> RtpLog::find(uint8_t track, uint64_t packet) const {
    const std::deque<Place>& places = places_[track];
    auto behind = std::ranges::upper_bound(places, packet, {}, &Place::first_packet);
    if (behind == places.begin() || packet >= packets_[track]) {
        return std::nullopt;
    }
    return std::prev(behind)->run;
}

}  // namespace weir::stream
