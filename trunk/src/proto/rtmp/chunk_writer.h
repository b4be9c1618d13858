// Writes chunks (RTMP 1.0 §5.3.1): headers alone, for logs that hold the bytes as they go on the
// wire, and whole messages.
//
//   type 0   basic 1..3 | timestamp 3 | length 3 | type 1 | stream id 4 (little endian) | [extended
//   timestamp 4] type 1   basic 1..3 | delta 3     | length 3 | type 1 | [extended timestamp 4]
//   type 3   basic 1..3                                                                | [extended
//   timestamp 4]
//
// A timestamp or delta of 0xFFFFFF or more moves to the extended field, which type 3 chunks repeat.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "proto/rtmp/message.h"

namespace weir::rtmp {

inline constexpr size_t kMaxChunkHeaderSize = 3 + 11 + 4;
inline constexpr size_t kMaxContinuationSize = 3 + 4;
inline constexpr uint32_t kMinChunkStream = 2;
inline constexpr uint32_t kMaxChunkStream = 65599;

enum class ChunkFormat : uint8_t {
    kFull = 0,  // absolute timestamp and message stream id
    kDelta =
        1,  // timestamp relative to the last message of the chunk stream, same message stream id
};

struct ChunkHeader {
    ChunkFormat format = ChunkFormat::kFull;
    uint8_t type = 0;              // MessageType
    uint32_t chunk_stream_id = 0;  // kMinChunkStream..kMaxChunkStream
    uint32_t timestamp = 0;        // milliseconds: absolute for kFull, delta for kDelta
    uint32_t length = 0;           // of the message body, at most kMaxMessageSize
    uint32_t stream_id = 0;        // only written by kFull
};

// Size of the header in front of the first chunk, and of those in front of all further chunks.
size_t chunk_header_size(const ChunkHeader& header);
size_t continuation_size(const ChunkHeader& header);

// Write to `out`, which has room for kMaxChunkHeaderSize or kMaxContinuationSize bytes; return the
// size written.
size_t write_chunk_header(const ChunkHeader& header, uint8_t* out);
size_t write_continuation(const ChunkHeader& header, uint8_t* out);

// Bytes of the whole message: headers and header.length bytes of body. `chunk_size` >= 1.
size_t message_size(const ChunkHeader& header, uint32_t chunk_size);

// Appends the whole message; header.length is taken from the body.
void write_message(ChunkHeader header, ByteSpan body, uint32_t chunk_size, Bytes& out);

}  // namespace weir::rtmp
