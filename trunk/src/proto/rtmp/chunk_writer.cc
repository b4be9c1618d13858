#include "proto/rtmp/chunk_writer.h"

#include <algorithm>

namespace weir::rtmp {
namespace {

constexpr uint32_t kExtended = 0xFFFFFF;

bool is_extended(const ChunkHeader& header) {
    return header.timestamp >= kExtended;
}

size_t basic_size(uint32_t chunk_stream_id) {
    if (chunk_stream_id < 64) {
        return 1;
    }
    return chunk_stream_id < 64 + 256 ? 2 : 3;
}

// RTMP 1.0 §5.3.1.1.
size_t write_basic(uint8_t format, uint32_t chunk_stream_id, uint8_t* out) {
    const uint8_t top = static_cast<uint8_t>(format << 6);
    const size_t size = basic_size(chunk_stream_id);
    const uint32_t rest = chunk_stream_id - 64;
    switch (size) {
        case 1: out[0] = static_cast<uint8_t>(top | chunk_stream_id); break;
        case 2:
            out[0] = top;
            out[1] = static_cast<uint8_t>(rest);
            break;
        default:
            out[0] = top | 1;
            out[1] = static_cast<uint8_t>(rest);
            out[2] = static_cast<uint8_t>(rest >> 8);
            break;
    }
    return size;
}

size_t write_extended(const ChunkHeader& header, uint8_t* out) {
    if (!is_extended(header)) {
        return 0;
    }
    store_u32(out, header.timestamp);
    return 4;
}

}  // namespace

size_t chunk_header_size(const ChunkHeader& header) {
    const size_t message = header.format == ChunkFormat::kFull ? 11 : 7;
    return basic_size(header.chunk_stream_id) + message + (is_extended(header) ? 4 : 0);
}

size_t continuation_size(const ChunkHeader& header) {
    return basic_size(header.chunk_stream_id) + (is_extended(header) ? 4 : 0);
}

size_t write_chunk_header(const ChunkHeader& header, uint8_t* out) {
    uint8_t* at =
        out + write_basic(static_cast<uint8_t>(header.format), header.chunk_stream_id, out);
    store_u24(at, std::min(header.timestamp, kExtended));
    store_u24(at + 3, header.length);
    at[6] = header.type;
    at += 7;
    if (header.format == ChunkFormat::kFull) {
        store_u32(at, __builtin_bswap32(
                          header.stream_id));  // the one little-endian field of the protocol
        at += 4;
    }
    at += write_extended(header, at);
    return static_cast<size_t>(at - out);
}

size_t write_continuation(const ChunkHeader& header, uint8_t* out) {
    const size_t size = write_basic(3, header.chunk_stream_id, out);
    return size + write_extended(header, out + size);
}

size_t message_size(const ChunkHeader& header, uint32_t chunk_size) {
    const size_t more_chunks = header.length == 0 ? 0 : (header.length - 1) / chunk_size;
    return chunk_header_size(header) + header.length + more_chunks * continuation_size(header);
}

void write_message(ChunkHeader header, ByteSpan body, uint32_t chunk_size, Bytes& out) {
    header.length = static_cast<uint32_t>(body.size());
    const size_t start = out.size();
    out.resize(start + message_size(header, chunk_size));
    uint8_t* at = out.data() + start;
    at += write_chunk_header(header, at);
    while (true) {
        const ByteSpan part = body.first(std::min<size_t>(chunk_size, body.size()));
        at = std::copy(part.begin(), part.end(), at);
        body = body.subspan(part.size());
        if (body.empty()) {
            return;
        }
        at += write_continuation(header, at);
    }
}

}  // namespace weir::rtmp
