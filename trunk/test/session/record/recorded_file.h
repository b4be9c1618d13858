// Recordings for tests: files of H.264 with a key frame each 80 ms.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <string>

#include "base/bytes.h"
#include "proto/mp4/fragment.h"

#include "test/support/codec_samples.h"

namespace weir::test {

// Fragments of 80 ms with two frames each, the first of which is a key frame. `first`: how many the
// file has already; 0: it gets its header.
inline void append_fragments(const std::string& path, uint32_t fragments, uint32_t first = 0) {
    Bytes bytes;
    if (first == 0) {
        const std::array tracks = {*mp4::make_track(media::Codec::kH264, kAvcHighConfig, {})};
        mp4::write_header(tracks, bytes, mp4::Length::kFilledIn);
    }
    const Bytes data = {0, 0, 0, 2, 0x65, 0x88};
    const std::array<mp4::SampleView, 2> samples = {
        mp4::SampleView{.data = data, .duration = 3'600},
        mp4::SampleView{.data = data, .duration = 3'600, .key = false}};
    for (uint32_t i = first; i < first + fragments; i++) {
        const std::array runs = {
            mp4::RunView{.video = true, .decode_time = 7'200u * i, .samples = samples}};
        mp4::write_fragment(i + 1, runs, bytes);
    }
    std::ofstream out(path, std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
}

}  // namespace weir::test
