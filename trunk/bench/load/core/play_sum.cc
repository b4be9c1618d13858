#include "bench/load/core/play_sum.h"

#include <algorithm>

namespace weir::load {
namespace {

void add_counts(PlayerCounts& sum, const PlayerCounts& counts) {
    sum.bytes += counts.bytes;
    sum.window_bytes += counts.window_bytes;
    sum.video_frames += counts.video_frames;
    sum.audio_frames += counts.audio_frames;
    sum.corrupted += counts.corrupted;
    sum.unstamped += counts.unstamped;
    sum.time_steps_back += counts.time_steps_back;
    sum.sessions += counts.sessions;
    sum.stalls += counts.stalls;
    sum.longest_gap_ns = std::max(sum.longest_gap_ns, counts.longest_gap_ns);
    sum.began_without_key = sum.began_without_key || counts.began_without_key;
}

}  // namespace

void PlaySum::add(const PlayerCheck& check, uint64_t now_ns) {
    const PlayerCounts its = check.counts_at(now_ns);
    add_counts(counts, its);
    lost += check.lost();
    duplicated += check.duplicated();
    reordered += check.reordered();
    without_key += its.began_without_key ? 1 : 0;
    republished += its.sessions > 1 ? its.sessions - 1 : 0;
    timed += check.timed() ? 1U : 0U;
}

void PlaySum::add(const PlaySum& other) {
    add_counts(counts, other.counts);
    lost += other.lost;
    duplicated += other.duplicated;
    reordered += other.reordered;
    without_key += other.without_key;
    republished += other.republished;
    timed += other.timed;
}

}  // namespace weir::load
