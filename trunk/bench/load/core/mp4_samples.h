// The sample tables of one MP4 track (ISO 14496-12 §8.6, §8.7) as one list of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/load/core/mp4_box.h"

namespace weir::load {

struct Mp4Sample {
    uint64_t offset = 0;
    uint32_t size = 0;
    uint32_t duration = 0;    // in units of the track's scale
    int64_t time = 0;         // decoding time, from 0
    int32_t composition = 0;  // presentation minus decoding time
    bool key = false;
};

// `table`: the box 'stbl'; `file_size` bounds the samples. kMalformed, kLimit (the number of
// samples), kUnsupported (several sample descriptions in use).
Result<std::vector<Mp4Sample>> read_samples(const Mp4Box& table, uint64_t file_size);

}  // namespace weir::load
