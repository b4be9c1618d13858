#include "proto/mpegts/framer.h"

#include <utility>

#include "proto/mpegts/audio_framer.h"
#include "proto/mpegts/video_framer.h"

namespace weir::mpegts {

// Bytes go into open_. At the end of a packet it becomes data_, which is cut, and what is left of
// that is the beginning of the next open_. Where nothing was cut the bytes go back as they are, so
// that a unit of many packets is not copied for each of them.

std::unique_ptr<Framer> Framer::create(const StreamInfo& stream) {
    switch (stream.content) {
        case Content::kH264:
        case Content::kHevc: return std::make_unique<VideoFramer>(stream.content);
        case Content::kAac:
        case Content::kAacLatm:
        case Content::kMpegAudio:
        case Content::kAc3:
        case Content::kEac3:
        case Content::kOpus: return std::make_unique<AudioFramer>(stream.content);
        default: return nullptr;
    }
}

void Framer::begin(const PesTimes& times, bool random_access) {
    stamp_ = {times, random_access};
    left_ = open_.size();
    dropping_ = false;
}

void Framer::append(ByteSpan bytes) {
    if (dropping_ || bytes.empty()) {
        return;
    }
    if (bytes.size() > max_bytes() - open_.size()) {
        malformed_++;
        lose();
        return;
    }
    constexpr size_t kEnoughToTell = 8;
    if (open_.size() == left_ && bytes.size() >= kEnoughToTell) {
        aligned_ = aligned_ && begins_unit(bytes);
    }
    open_.insert(open_.end(), bytes.begin(), bytes.end());
}

void Framer::end(ByteSpan next) {
    if (!dropping_) {
        close(next.empty() ? aligned_ : begins_unit(next));
        dropping_ = true;
    }
}

void Framer::close(bool last) {
    units_.clear();
    units_at_ = 0;
    std::swap(open_, data_);
    open_.clear();
    const size_t done = cut(last);
    left_stamp_ = take_stamp(done);
    if (done == 0) {
        std::swap(open_, data_);
    } else {
        open_.assign(data_.begin() + static_cast<std::ptrdiff_t>(done), data_.end());
    }
    left_ = open_.size();
}

void Framer::lose() {
    open_.clear();
    left_ = 0;
    left_stamp_ = {};
    stamp_ = {};
    lost_ = true;
    dropping_ = true;
    forget();
}

void Framer::finish() {
    close(true);
    dropping_ = true;
}

bool Framer::next(Unit& out) {
    if (!has_units()) {
        return false;
    }
    const Cut& cut = units_[units_at_++];
    out = {};
    out.pts = cut.pts;
    out.dts = cut.dts;
    out.key = cut.key;
    out.random_access = cut.random_access;
    out.after_loss = cut.after_loss;
    view(cut, out);
    return true;
}

Framer::Stamp Framer::take_stamp(size_t at) {
    return std::exchange(at < left_ ? left_stamp_ : stamp_, {});
}

void Framer::add(Cut cut) {
    if (units_.size() == kMaxUnitsOfPes) {
        malformed_++;
        lost_ = true;
        return;
    }
    cut.after_loss = std::exchange(lost_, false);
    units_.push_back(cut);
}

}  // namespace weir::mpegts
