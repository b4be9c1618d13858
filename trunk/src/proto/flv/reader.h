// FLV demuxer: feed bytes of a file or an HTTP-FLV answer, get tags.
//
// Shape as of rtmp::ChunkReader: feed() stops behind each complete tag, next() hands it out. After
// an error nothing is consumed any more.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/flv/tag.h"

namespace weir::flv {

struct Tag {
    uint8_t type = 0;        // kAudioTag, kVideoTag, kScriptTag or anything else
    uint32_t timestamp = 0;  // milliseconds
    uint32_t stream_id = 0;  // 0 in FLV; whatever it is, it changes nothing
    Bytes body;
};

class TagReader {
  public:
    enum class Status : uint8_t { kTag, kNeedMore, kError };

    explicit TagReader(uint32_t max_body_size = kMaxTagBodySize) : max_body_size_(max_body_size) {}

    // Returns how many bytes were consumed; 0 while a tag waits in next() or after an error.
    size_t feed(ByteSpan bytes);

    // Moves the complete tag into `out`.
    Status next(Tag& out);

    // kMalformed: not FLV, encrypted tag, or a previous tag size that contradicts the tag; kLimit:
    // body too large. Once.
    Error take_error() { return std::move(error_); }

    // Flags of the file header; valid once the first tag or header_done().
    bool header_done() const { return state_ != State::kFileHeader; }

    bool has_audio() const { return has_audio_; }

    bool has_video() const { return has_video_; }

  private:
    enum class State : uint8_t { kFileHeader, kSkip, kTagHeader, kBody, kTrailer };

    bool gather(ByteSpan& bytes, size_t size);
    bool read_file_header();
    bool read_tag_header();
    bool read_trailer();
    bool fail(Error error);

    Tag tag_;
    Error error_;
    uint32_t max_body_size_;
    uint32_t body_size_ = 0;
    uint32_t skip_ = 0;  // rest of a long file header
    uint8_t scratch_[kFileHeaderSize] = {};
    uint8_t scratch_size_ = 0;
    State state_ = State::kFileHeader;
    bool ready_ = false;
    bool failed_ = false;
    bool has_audio_ = false;
    bool has_video_ = false;
};

}  // namespace weir::flv
