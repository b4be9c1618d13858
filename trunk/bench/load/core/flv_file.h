// Makes the index of an FLV file, by the reader of proto/flv.
#pragma once

#include "proto/flv/reader.h"

#include "bench/load/core/media_file.h"

namespace weir::load {

class FlvFileReader {
  public:
    explicit FlvFileReader(MediaFile& file) : file_(file) {}

    // Reads the whole file in blocks. The errors name the place in the file.
    Error read();

  private:
    Error take(flv::Tag& tag, uint64_t body_at);
    Error take_config(FileTrack& track, media::TrackKind kind, flv::Tag& tag, uint64_t body_at);

    MediaFile& file_;
    int64_t last_ms_[2] = {-1, -1};
};

}  // namespace weir::load
