#include "session/sip/conference_mix.h"

#include <algorithm>

namespace weir::session {
namespace {

constexpr uint32_t kNarrowRate = 8'000;
constexpr uint32_t kWideRate = 16'000;

}  // namespace

ConferenceMix::ConferenceMix() : down_(kWideRate, kNarrowRate), up_(kNarrowRate, kWideRate) {}

void ConferenceMix::begin(bool wide) {
    if (wide && !has_wide_) {
        down_.reset();
        up_.reset();
        from_wide_.clear();
        from_narrow_.clear();
    }
    has_wide_ = wide;
    narrow_.begin(kNarrowFrame);
    wide_.begin(kWideFrame);
}

void ConferenceMix::add(std::span<const int16_t> frame) {
    if (frame.size() == kNarrowFrame) {
        narrow_.add(frame);
    } else if (has_wide_) {
        wide_.add(frame);
    }
}

// The first samples; silence where the resampler has fewer.
void ConferenceMix::take(std::vector<int16_t>& from, std::span<int16_t> out) {
    const size_t size = std::min(from.size(), out.size());
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(size);
    std::copy(from.begin(), end, out.begin());
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(size), out.end(), int16_t{0});
    from.erase(from.begin(), end);
}

void ConferenceMix::mix() {
    if (!has_wide_) {
        return;
    }
    Narrow narrow;
    Wide wide;
    narrow_.mix(narrow);
    wide_.mix(wide);
    up_.feed(narrow, from_narrow_);
    down_.feed(wide, from_wide_);
    take(from_wide_, narrow);
    take(from_narrow_, wide);
    narrow_.add(narrow);
    wide_.add(wide);
}

void ConferenceMix::narrow(std::span<const int16_t> own, std::span<int16_t> out) const {
    narrow_.mix_without(own, out);
}

void ConferenceMix::wide(std::span<const int16_t> own, std::span<int16_t> out) const {
    wide_.mix_without(own, out);
}

}  // namespace weir::session
