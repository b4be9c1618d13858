// VodFile: a recording on disk that is read fragment by fragment, and found in by time. Finished
// files are known by the index at their end; those that grow, and those without an index, are gone
// through. Blocks: for reader threads, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/own_fd.h"
#include "proto/mp4/file_index.h"
#include "proto/mp4/recording.h"
#include "proto/mp4/sample_reader.h"
#include "session/record/record_options.h"

namespace weir::session {

// A file, and what of its time is wanted.
struct VodPiece {
    RecordedFile file;
    bool grows = false;
    int64_t from_ms = 0;  // of the file's own time
    int64_t to_ms = INT64_MAX;
};

// Samples with the bytes that they are in.
struct VodFragment {
    Bytes bytes;
    std::vector<mp4::StoredSample> samples;
};

class VodFile {
  public:
    // kNotFound, kMalformed, kSystem.
    static Result<std::unique_ptr<VodFile>> open(const VodPiece& piece);

    const std::vector<mp4::StoredTrack>& tracks() const { return tracks_; }

    // Where its key frames are. Of a file that grows as far as it was looked at last.
    const mp4::FileIndex& index() const { return index_; }

    int64_t duration_ms() const;

    // The offset of the span with that time; of the first or last one, where it has none.
    uint64_t offset_of(int64_t time_ms) const;

    // Of a file without an index: index() has what was added since, too.
    void look_again();

    enum class Got : uint8_t {
        kFragment,
        kNotYet,  // no whole fragment stands there: the end, or that of what was written
        kEnd,     // what stands there is no fragment, and none will
    };

    // The fragment at that offset, which goes on behind it. kMalformed, kSystem.
    Result<Got> read(uint64_t& offset, VodFragment& out);

  private:
    explicit VodFile(io::OwnFd fd) : fd_(std::move(fd)) {}

    Error read_header();
    Error read_index();
    Result<uint64_t> size() const;

    io::OwnFd fd_;
    std::vector<mp4::StoredTrack> tracks_;
    mp4::FileIndex index_;
    bool scanned_ = false;  // by scan_: it has no index
    mp4::FileScan scan_;
};

// Of a file that grows by the name that it has until it is finished. Blocks. kNotFound, kSystem.
Result<io::OwnFd> open_vod_piece(const VodPiece& piece);

// ftyp and moov of a file with several audio tracks, as mp4::one_audio_header() has them; of any
// other as they are. Blocks. As VodFile::open().
Result<Bytes> read_vod_header(const VodPiece& piece);

// The index alone, for playlists. As VodFile::open().
Result<mp4::FileIndex> read_vod_index(const VodPiece& piece);

}  // namespace weir::session
