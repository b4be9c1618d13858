#include "session/hls/dash_ladder.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace weir::session {
namespace {

constexpr int64_t kSameMs = 5;     // times are whole milliseconds
constexpr int64_t kEqualMs = 200;  // what muxers shift the times of one encoder's outputs by

// One offset that makes key frames agree.
struct Candidate {
    int64_t offset_ms = 0;
    int64_t late_ms = 0;  // by so much the other quality arrives later then
    size_t agree = 0;     // pairs of key frames

    bool is_equal() const { return std::abs(offset_ms) <= kEqualMs; }

    bool is_better_than(const Candidate& other) const {
        if (is_equal() != other.is_equal()) {
            return is_equal();
        }
        return agree != other.agree ? agree > other.agree
                                    : std::abs(late_ms) < std::abs(other.late_ms);
    }
};

bool is_plausible(int64_t late_ms) {
    return late_ms >= -kMaxEarlyMs && late_ms < kMaxLateMs;
}

// Key frames of `home` that `other` has, too.
size_t agreeing(const LadderKeys& home, const LadderKeys& other, int64_t offset_ms) {
    return static_cast<size_t>(std::ranges::count_if(home, [&](int64_t key) {
        return std::ranges::any_of(
            other, [&](int64_t at) { return std::abs(at - key - offset_ms) <= kSameMs; });
    }));
}

}  // namespace

LadderKeys ladder_keys(const net::SegmentStore& store, uint64_t format) {
    LadderKeys keys;
    for (const net::Segment& segment : store.all()) {
        if (segment.format->id == format && !segment.format->video_codecs.empty() &&
            !segment.parts.empty() && segment.parts.front().independent) {
            keys.push_back(segment.start_ms + segment.parts.front().composition_ms);
        }
    }
    return keys;
}

std::optional<int64_t> ladder_offset_ms(const LadderKeys& home,
                                        const LadderKeys& other,
                                        const LadderLead& lead) {
    std::optional<Candidate> best;
    for (const int64_t ours : home) {
        for (const int64_t theirs : other) {
            Candidate candidate{theirs - ours, theirs - ours - lead.lead_ms, 0};
            if (!is_plausible(candidate.late_ms)) {
                continue;
            }
            candidate.agree = agreeing(home, other, candidate.offset_ms);
            if (!best || candidate.is_better_than(*best)) {
                best = candidate;
            }
        }
    }
    if (best && (best->is_equal() || lead.settled)) {
        return best->offset_ms;
    }
    if (!lead.settled) {
        return std::nullopt;
    }
    if (is_plausible(-lead.lead_ms)) {
        return 0;
    }
    const bool may_come = std::min(home.size(), other.size()) < kEnoughKeys;
    return may_come ? std::nullopt : std::optional(lead.lead_ms);
}

std::optional<int64_t> DashLadder::offset_ms(const Pair& pair,
                                             const net::SegmentStore& home,
                                             const net::SegmentStore& other,
                                             const std::optional<LadderLead>& lead) {
    const auto known = offsets_.find(pair);
    if (known != offsets_.end()) {
        return known->second;
    }
    const auto offset =
        lead ? ladder_offset_ms(ladder_keys(home, pair.home), ladder_keys(other, pair.other), *lead)
             : std::nullopt;
    if (offset) {
        if (offsets_.size() >= kMaxPairs) {
            offsets_.erase(offsets_.begin());
        }
        offsets_.emplace(pair, *offset);
    }
    return offset;
}

}  // namespace weir::session
