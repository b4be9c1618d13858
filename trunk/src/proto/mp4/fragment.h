// Fragmented MP4 (ISO/IEC 14496-12 §8.8): the header that a player reads once, and fragments with
// frames. The tracks of a stream stand in one file. Pure.
//
//     header     ftyp | moov (mvhd, trak ..., mvex (trex ...))
//     fragment   moof (mfhd, traf (tfhd, tfdt, trun) ...) | mdat
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "proto/mp4/track.h"

namespace weir::mp4 {

// Of a file that ends, which says how long it is: MovieExtendsHeaderBox (§8.8.2), 0 until somebody
// fills it in (recording.h). Streams have none.
enum class Length : uint8_t { kOpen, kFilledIn };

// The tracks have the ids from `first_id` on. Several of audio are alternatives, and the first of
// them is the one that is played (§8.3.2: the others are not enabled). Appends to `out`.
void write_header(std::span<const Track> tracks,
                  Bytes& out,
                  Length length = Length::kOpen,
                  uint32_t first_id = 1);

struct SampleView {
    ByteSpan data;
    uint32_t duration = 0;    // in units of the track's timescale, as the next
    int32_t composition = 0;  // presentation time - decoding time
    bool key = true;          // a decoder can begin here
};

// The samples of a track in one fragment; views.
struct RunView {
    uint32_t track_id = 1;
    bool video = false;
    uint64_t decode_time = 0;  // of the first
    std::span<const SampleView> samples;
};

// What a segment begins with. Appends to `out`.
void write_segment_type(Bytes& out);

// ProducerReferenceTimeBox (§8.16.5), in front of the fragment that it is about: `ntp_time` (RFC
// 5905 §6, 64 bits) is when the picture or sound that is shown at `media_time` was put into the
// encoder. `media_time`: in units of the track's timescale. Appends to `out`.
void write_reference_time(uint32_t track_id, uint64_t ntp_time, uint64_t media_time, Bytes& out);

// Runs without samples are left out. `number`: counts the fragments, from 1. Appends to `out`.
void write_fragment(uint32_t number, std::span<const RunView> runs, Bytes& out);

// A fragment of that run, which has no samples: it says that nothing comes at `decode_time`, where
// a player wants something. Appends to `out`.
void write_empty_fragment(uint32_t number, const RunView& run, Bytes& out);

}  // namespace weir::mp4
