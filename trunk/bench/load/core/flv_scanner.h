// Reads an FLV byte stream (Adobe FLV 10.1 annex E) and hands tag bodies on where they lie, like
// ChunkScanner.
//
// The sink gets begin(message), part(message, bytes), end(message) for each tag.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "proto/flv/tag.h"

#include "bench/load/core/chunk_scanner.h"

namespace weir::load {

class FlvScanner {
  public:
    // False: this is not FLV; `error()` says why.
    template <typename Sink>
    bool feed(ByteSpan bytes, Sink& sink);

    const char* error() const { return error_; }

  private:
    enum class State : uint8_t { kFileHeader, kTagHeader, kBody, kTrailer };

    // Collects `size` bytes in scratch_; true when they are there.
    bool gather(ByteSpan& bytes, size_t size);
    void read_file_header();
    void read_tag_header();
    void read_trailer();

    ScannedMessage message_;
    const char* error_ = nullptr;
    uint32_t left_ = 0;
    State state_ = State::kFileHeader;
    uint8_t have_ = 0;
    std::array<uint8_t, flv::kFileHeaderSize> scratch_{};
};

template <typename Sink>
bool FlvScanner::feed(ByteSpan bytes, Sink& sink) {
    while (!bytes.empty() && error_ == nullptr) {
        switch (state_) {
            case State::kFileHeader:
                if (gather(bytes, flv::kFileHeaderSize)) {
                    read_file_header();
                }
                break;
            case State::kTagHeader:
                if (gather(bytes, flv::kTagHeaderSize)) {
                    read_tag_header();
                    sink.begin(message_);
                }
                break;
            case State::kBody: {
                size_t size = std::min<size_t>(bytes.size(), left_);
                sink.part(message_, bytes.first(size));
                left_ -= static_cast<uint32_t>(size);
                bytes = bytes.subspan(size);
                if (left_ == 0) {
                    state_ = State::kTrailer;
                    sink.end(message_);
                }
                break;
            }
            case State::kTrailer:
                if (gather(bytes, flv::kTagTrailerSize)) {
                    read_trailer();
                }
                break;
        }
    }
    return error_ == nullptr;
}

}  // namespace weir::load
