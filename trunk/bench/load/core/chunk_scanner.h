// Reads RTMP chunks (RTMP 1.0 §5.3) and hands message payload on where it lies: nothing is
// assembled or copied but a chunk header that a read cuts in two. For clients that look at
// thousands of streams at once; proto/rtmp/chunk_reader.h is the one for everybody else.
//
// The sink gets, for each message: begin(message), part(message, bytes) as often as needed,
// end(message). Messages of different chunk streams may interleave. Set Chunk Size and Abort are
// carried out here and shown as well (Abort without end()).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "proto/rtmp/message.h"

namespace weir::load {

struct ScannedMessage {
    uint32_t chunk_stream = 0;
    uint32_t timestamp = 0;  // absolute, milliseconds
    uint32_t length = 0;
    uint32_t stream_id = 0;
    uint8_t type = 0;
};

class ChunkScanner {
  public:
    static constexpr size_t kMaxChunkStreams = 32;

    // False: these are no chunks (the connection should be given up). `error()` says why.
    template <typename Sink>
    bool feed(ByteSpan bytes, Sink& sink);

    const char* error() const { return error_; }

  private:
    static constexpr size_t kMaxHeader = 3 + 11 + 4;

    struct ChunkStream {
        ScannedMessage message;
        uint32_t field = 0;     // timestamp field of the last header that had one
        uint32_t position = 0;  // payload bytes seen of the message in progress
        uint32_t control = 0;   // first four payload bytes, of protocol control messages
        bool extended = false;
        bool begun = false;
    };

    // Size of the chunk header at the front of `bytes`, 0 when more are needed; applies it. Sets
    // error_ when it is wrong.
    size_t read_header(ByteSpan bytes);
    ChunkStream* find_or_add(uint32_t id);
    void collect_control(ChunkStream& stream, ByteSpan part);
    void apply_control(const ChunkStream& stream);

    template <typename Sink>
    ByteSpan read_payload(ByteSpan bytes, Sink& sink);

    std::vector<ChunkStream> streams_;
    const char* error_ = nullptr;
    uint32_t chunk_size_ = rtmp::kDefaultChunkSize;
    uint32_t chunk_left_ = 0;
    uint16_t current_ = 0;
    bool in_chunk_ = false;
    uint8_t header_have_ = 0;
    std::array<uint8_t, kMaxHeader> header_{};
};

template <typename Sink>
bool ChunkScanner::feed(ByteSpan bytes, Sink& sink) {
    while (!bytes.empty() && error_ == nullptr) {
        if (in_chunk_) {
            bytes = read_payload(bytes, sink);
            continue;
        }
        size_t used = 0;
        if (header_have_ == 0) {
            used = read_header(bytes);
            bytes = bytes.subspan(used);
            if (used == 0 && error_ == nullptr) {
                std::memcpy(header_.data(), bytes.data(), bytes.size());
                header_have_ = static_cast<uint8_t>(bytes.size());
                return true;
            }
        } else {
            size_t more = std::min(bytes.size(), kMaxHeader - header_have_);
            std::memcpy(header_.data() + header_have_, bytes.data(), more);
            used = read_header(ByteSpan(header_.data(), header_have_ + more));
            if (used == 0) {
                header_have_ = static_cast<uint8_t>(header_have_ + more);
                return error_ == nullptr;
            }
            bytes = bytes.subspan(used - header_have_);
            header_have_ = 0;
        }
        if (error_ == nullptr) {
            ChunkStream& stream = streams_[current_];
            if (!stream.begun) {
                stream.begun = true;
                stream.position = 0;
                stream.control = 0;
                sink.begin(stream.message);
            }
            chunk_left_ = std::min(chunk_size_, stream.message.length - stream.position);
            in_chunk_ = true;
            bytes = read_payload(bytes, sink);
        }
    }
    return error_ == nullptr;
}

template <typename Sink>
ByteSpan ChunkScanner::read_payload(ByteSpan bytes, Sink& sink) {
    ChunkStream& stream = streams_[current_];
    size_t size = std::min<size_t>(bytes.size(), chunk_left_);
    if (size > 0) {
        if (stream.message.type < rtmp::kAudio) {
            collect_control(stream, bytes.first(size));
        }
        sink.part(stream.message, bytes.first(size));
        stream.position += static_cast<uint32_t>(size);
        chunk_left_ -= static_cast<uint32_t>(size);
    }
    if (chunk_left_ == 0) {
        in_chunk_ = false;
        if (stream.position == stream.message.length) {
            stream.begun = false;
            apply_control(stream);
            sink.end(stream.message);
        }
    }
    return bytes.subspan(size);
}

}  // namespace weir::load
