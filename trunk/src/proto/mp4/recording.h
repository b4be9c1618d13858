// A fragmented MP4 file on disk: what its boxes say while it grows, and what is missing when it
// ends. The same is asked of a file that a crash has cut off, so a file that is finished and one
// that is repaired come from the same code. Pure.
//
//     ftyp | moov | (moof | mdat) ... | mfra (tfra, mfro)
//
// The end of a file is an index of its fragments (§8.8.9, so that players can seek), and the
// durations in its header.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "proto/mp4/file_index.h"

namespace weir::mp4 {

class FileScan {
  public:
    // Of a file larger than that in fragments, the index names the first ones only.
    static constexpr size_t kMaxIndexed = 1'000'000;
    static constexpr size_t kMaxTracks = 16;
    // Boxes that have to be read whole: moov and moof.
    static constexpr size_t kMaxBoxBytes = 16u << 20;

    // What to do with the bytes behind those that were taken.
    struct Advance {
        uint64_t bytes = 0;  // they are whole and were taken; go on behind them
        size_t need = 0;     // the window must have so many bytes, from the same place on
    };  // both 0: nothing whole follows, the file ends here

    // `window`: the file's bytes from position() on, as many as are at hand; `left`: how many there
    // are. A fragment is taken as one piece: moof and mdat.
    Advance advance(ByteSpan window, uint64_t left);

    // The end of what was taken.
    uint64_t position() const { return position_; }

    // A header was found, so the file can be played.
    bool playable() const { return !tracks_.empty(); }

    size_t fragments() const { return fragments_; }

    uint64_t frames() const { return frames_; }

    // Of the longest track.
    int64_t duration_ms() const;

    struct Patch {
        uint64_t offset = 0;
        Bytes bytes;
    };

    // What is written into the header.
    std::vector<Patch> patches() const;

    // What is written behind position().
    Bytes index() const;

    // The same of a file that has no such index (yet): what it says of the file up to position().
    FileIndex spans() const;

  private:
    struct Track {
        uint32_t id = 0;
        uint32_t timescale = 1;
        bool video = false;
        uint64_t begin = UINT64_MAX;  // in units of the timescale
        uint64_t end = 0;
    };

    struct Entry {
        uint64_t time = 0;
        uint64_t offset = 0;
    };

    bool take_header(ByteSpan moov);
    bool take_fragment(ByteSpan moof);
    Track* track_of(uint32_t id);

    uint64_t position_ = 0;
    uint64_t header_bytes_ = 0;       // to the end of moov
    uint64_t movie_duration_at_ = 0;  // offsets in the file; 0: there is no such field
    uint64_t whole_duration_at_ = 0;
    uint32_t movie_timescale_ = 1000;
    std::vector<Track> tracks_;
    std::vector<Entry> index_;  // of fragments that begin with a key frame
    uint32_t index_track_ = 0;
    size_t fragments_ = 0;
    uint64_t frames_ = 0;
};

}  // namespace weir::mp4
