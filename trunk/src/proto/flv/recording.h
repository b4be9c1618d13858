// An FLV file on disk: the metadata that it begins with, with places for what is known at the end
// only (duration, size, index of key frames), and what its tags say. A file that is finished and
// one that a crash has cut off are read by the same code. Pure.
//
//     header 13 | script tag: "onMetaData" { what the end fills in | tracks, size of pictures |
//     what the publisher said of its stream } | tags
//
// Peers: amf
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::flv {

struct FileFacts {
    bool audio = false;
    bool video = false;
    uint32_t width = 0;  // in pixels; 0: not known
    uint32_t height = 0;
    // The publisher's onMetaData message; empty: none. Its members are kept but for those that the
    // file has of its own. What cannot be read is left out.
    ByteSpan metadata = {};
};

// The header of the file and its metadata. Appends to `out`.
void write_file_beginning(const FileFacts& facts, Bytes& out);

class FileScan {
  public:
    // Places of the index: beyond it, every second key frame is taken out.
    static constexpr size_t kMaxIndexed = 1'024;

    struct Advance {
        uint64_t bytes = 0;
        size_t need = 0;
    };  // as of mp4::FileScan

    Advance advance(ByteSpan window, uint64_t left);

    uint64_t position() const { return position_; }

    // Its metadata is ours.
    bool playable() const { return position_ > 0; }

    uint64_t frames() const { return frames_; }

    // To the end of the last frame, which is taken to be as long as the one before.
    int64_t duration_ms() const { return last_ms_ + step_ms_; }

    struct Patch {
        uint64_t offset = 0;
        Bytes bytes;
    };

    std::vector<Patch> patches() const;

  private:
    struct Key {
        uint32_t time_ms = 0;
        uint64_t offset = 0;
    };

    void take_tag(uint8_t type, uint32_t time_ms, ByteSpan beginning);

    uint64_t position_ = 0;
    bool metadata_is_ours_ = false;
    std::vector<Key> keys_;
    uint32_t every_ = 1;  // key frame is in the index
    uint32_t skipped_ = 0;
    uint64_t frames_ = 0;
    int64_t last_ms_ = 0;
    int64_t step_ms_ = 0;
    int64_t last_video_ms_ = -1;
    int64_t last_audio_ms_ = -1;
};

}  // namespace weir::flv
