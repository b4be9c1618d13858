#include "proto/mpegts/video_framer.h"

#include <algorithm>
#include <cstring>

#include "media/avc.h"
#include "media/hevc.h"
#include "proto/mpegts/packet.h"

namespace weir::mpegts {
namespace {

namespace avc = media::avc;
namespace hevc = media::hevc;

constexpr size_t kStartCode = 3;  // 00 00 01
// Of a NAL unit, enough to tell whether it begins a unit: header, first bits of a slice.
constexpr size_t kNalHead = 4;
constexpr size_t kNotFound = SIZE_MAX;
constexpr int64_t kLongestInterval = kClockHz;

// The first start code from there on.
size_t find_start(ByteSpan bytes, size_t from) {
    size_t at = from + 2;
    while (at < bytes.size()) {
        const void* const found = std::memchr(bytes.data() + at, 1, bytes.size() - at);
        if (found == nullptr) {
            return kNotFound;
        }
        at = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data());
        if (bytes[at - 1] == 0 && bytes[at - 2] == 0) {
            return at - 2;
        }
        at++;
    }
    return kNotFound;
}

// Without the zeros that belong to the next start code: a NAL unit never ends with one.
ByteSpan trimmed(ByteSpan nal) {
    while (!nal.empty() && nal.back() == 0) {
        nal = nal.first(nal.size() - 1);
    }
    return nal;
}

}  // namespace

bool VideoFramer::is_slice(ByteSpan nal) const {
    return hevc_ ? hevc::is_slice(hevc::nal_type(nal[0])) : avc::is_slice(avc::nal_type(nal[0]));
}

bool VideoFramer::begins(ByteSpan nal) const {
    if (nal.size() < 2) {
        return false;
    }
    if (hevc_) {
        const bool base_layer = (nal[0] & 1) == 0 && nal[1] >> 3 == 0;
        const hevc::NalType type = hevc::nal_type(nal[0]);
        return base_layer &&
               (hevc::is_slice(type) ? hevc::is_first_slice(nal) : hevc::begins_access_unit(type));
    }
    // A prefix NAL unit stands before each slice of a scalable stream.
    constexpr auto kPrefix = static_cast<avc::NalType>(14);
    const avc::NalType type = avc::nal_type(nal[0]);
    // first_mb_in_slice is the first code of a slice, and 0 is the code of one bit.
    return avc::is_slice(type) ? (nal[1] & 0x80) != 0
                               : type != kPrefix && avc::begins_access_unit(type);
}

bool VideoFramer::begins_unit(ByteSpan bytes) const {
    const size_t zeros = static_cast<size_t>(
        std::ranges::find_if(bytes, [](uint8_t byte) { return byte != 0; }) - bytes.begin());
    return zeros >= 2 && zeros < bytes.size() && bytes[zeros] == 1 &&
           begins(bytes.subspan(zeros + 1));
}

size_t VideoFramer::cut(bool last) {
    nals_.clear();
    size_t at = find_start(data(), scanned_);
    while (at != kNotFound && (last || at + kStartCode + kNalHead <= data().size())) {
        take_start(at);
        scanned_ = at + kStartCode;
        at = find_start(data(), scanned_);
    }
    if (last) {
        close_unit(data().size());
        scanned_ = 0;
        return data().size();
    }
    // The last bytes may be the beginning of a start code; or one is there, and what follows it not
    // yet.
    const size_t sure = at != kNotFound ? at : std::max(data().size(), size_t{2}) - 2;
    const size_t done = starts_.empty() ? sure : starts_.front();
    for (size_t& start : starts_) {
        start -= done;
    }
    scanned_ = sure - done;
    return done;
}

// A start code: where a unit begins, or another NAL unit of it.
void VideoFramer::take_start(size_t at) {
    const ByteSpan nal = data().subspan(at + kStartCode);
    if (nal.empty()) {
        return;
    }
    const bool first = begins(nal);
    const bool second_field = interlaced_ && !starts_.empty() && starts_.front() >= packet_start();
    if (first && has_slice_ && !second_field) {
        close_unit(at);
    }
    if (starts_.empty() && !first) {
        return;  // of a unit whose beginning was not seen
    }
    if (starts_.size() == kMaxNals) {
        count_malformed();
        return;
    }
    starts_.push_back(at);
    has_slice_ = has_slice_ || is_slice(nal);
}

void VideoFramer::close_unit(size_t end) {
    if (starts_.empty()) {
        return;
    }
    const Stamp stamp = take_stamp(starts_.front());
    Cut cut;
    cut.first = nals_.size();
    for (size_t i = 0; i < starts_.size(); i++) {
        const size_t from = starts_[i] + kStartCode;
        const size_t to = i + 1 < starts_.size() ? starts_[i + 1] : end;
        const ByteSpan nal = trimmed(data().subspan(from, to - from));
        if (!nal.empty()) {
            note(nal, cut);
            nals_.push_back(nal);
        }
    }
    cut.count = nals_.size() - cut.first;
    const bool whole = has_slice_ && cut.count > 0;
    starts_.clear();
    has_slice_ = false;
    if (!whole || !(stamp.times.pts || last_dts_)) {
        return;  // parameter sets alone; or of no time that anybody knows
    }
    cut.pts = stamp.times.pts.value_or(last_dts_.value_or(0) + interval_);
    cut.dts = stamp.times.dts.value_or(cut.pts);
    cut.random_access = stamp.random_access;
    set_times(cut);
    add(cut);
}

// Notes what a NAL unit says of its picture.
void VideoFramer::note(ByteSpan nal, Cut& cut) {
    if (hevc_) {
        cut.key = cut.key || hevc::is_irap(hevc::nal_type(nal[0]));
        return;
    }
    const avc::NalType type = avc::nal_type(nal[0]);
    cut.key = cut.key || type == avc::NalType::kIdr || avc::is_recovery_point(nal);
    if (type == avc::NalType::kSps && !std::ranges::equal(nal, sps_)) {
        sps_.assign(nal.begin(), nal.end());
        const std::optional<avc::Sps> sps = avc::parse_sps(nal);
        interlaced_ = sps && sps->interlaced;
    }
}

// Keeps the distance between units, for those without a time.
void VideoFramer::set_times(Cut& cut) {
    const int64_t step = last_dts_ ? cut.dts - *last_dts_ : 0;
    if (step > 0 && step <= kLongestInterval) {
        interval_ = step;
    }
    last_dts_ = cut.dts;
}

void VideoFramer::view(const Cut& cut, Unit& out) const {
    out.nals = std::span(nals_).subspan(cut.first, cut.count);
}

void VideoFramer::forget() {
    starts_.clear();
    scanned_ = 0;
    has_slice_ = false;
}

}  // namespace weir::mpegts
