// Where the fragments of a finished fragmented MP4 file are, by its header (ftyp, moov) and by the
// index at its end (mfra, ISO/IEC 14496-12 §8.8.9), without reading what is between them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace weir::mp4 {

// From one fragment of the index to the next: it begins with a key frame.
struct FileSpan {
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
    int64_t time_ms = 0;  // of its first frame, from the beginning of the file
    int64_t duration_ms = 0;

    bool operator==(const FileSpan&) const = default;
};

struct FileIndex {
    uint64_t header_bytes = 0;  // from the beginning of the file
    std::vector<FileSpan> spans;
    bool several_audio = false;  // more than one audio track
};

// Enough of the beginning of a file that a FileScan has finished: ftyp and moov.
inline constexpr size_t kMaxHeaderBytes = 1u << 20;

// How long the index at the end of the file is, by its last kIndexEnd bytes (mfro, §8.8.11). 0:
// there is none.
inline constexpr size_t kIndexEnd = 16;
uint64_t index_size(ByteSpan end);

// `head`: the beginning of the file, kMaxHeaderBytes or the whole; `tail`: its last index_size()
// bytes; `size`: of the file. kMalformed: that is no such file.
Result<FileIndex> read_file_index(ByteSpan head, ByteSpan tail, uint64_t size);

}  // namespace weir::mp4
