// The samples of fragmented MP4 (ISO 14496-12 §8.8): 'moof' boxes one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/load/core/mp4_samples.h"

namespace weir::load {

// What samples are when a fragment does not say it ('trex', then 'tfhd').
struct Mp4SampleDefaults {
    uint32_t duration = 0;
    uint32_t size = 0;
    uint32_t flags = 0;
};

struct Mp4FragmentedTrack {
    uint32_t id = 0;
    Mp4SampleDefaults defaults;
    int64_t next_time = 0;  // decoding time behind the last sample
    std::vector<Mp4Sample> samples;
};

// Sets the defaults of the tracks that 'mvex' names.
Error read_track_defaults(const Mp4Box& extends, std::span<Mp4FragmentedTrack* const> tracks);

// Appends the samples of one 'moof', which begins at `moof_at` of the file; other tracks are
// skipped. kMalformed; kLimit: too many samples.
Error read_fragment(const Mp4Box& moof,
                    uint64_t moof_at,
                    uint64_t file_size,
                    std::span<Mp4FragmentedTrack* const> tracks);

}  // namespace weir::load
