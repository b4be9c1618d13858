#include "bench/load/core/chunk_scanner.h"

namespace weir::load {
namespace {

constexpr uint32_t kExtendedMark = 0xFFFFFF;

}  // namespace

ChunkScanner::ChunkStream* ChunkScanner::find_or_add(uint32_t id) {
    for (ChunkStream& stream : streams_) {
        if (stream.message.chunk_stream == id) {
            return &stream;
        }
    }
    if (streams_.size() == kMaxChunkStreams) {
        error_ = "the server uses more chunk streams than a client can follow";
        return nullptr;
    }
    streams_.reserve(streams_.empty() ? 4 : streams_.size() + 1);
    streams_.emplace_back();
    streams_.back().message.chunk_stream = id;
    return &streams_.back();
}

size_t ChunkScanner::read_header(ByteSpan bytes) {
    static constexpr std::array<size_t, 4> kMessageHeader = {11, 7, 3, 0};
    unsigned format = bytes[0] >> 6;
    uint32_t id = bytes[0] & 63;
    size_t basic = id == 0 ? 2 : id == 1 ? 3 : 1;
    size_t plain = basic + kMessageHeader[format];
    if (bytes.size() < plain) {
        return 0;
    }
    if (basic == 2) {
        id = 64U + bytes[1];
    } else if (basic == 3) {
        id = 64U + bytes[1] + 256U * bytes[2];
    }
    ChunkStream* stream = find_or_add(id);
    if (stream == nullptr) {
        return 0;
    }
    if (stream->begun && format != 3) {
        error_ = "a message began before the last one of its chunk stream was complete";
        return 0;
    }
    ByteReader reader(bytes.subspan(basic));
    uint32_t field = format == 3 ? 0 : reader.u24();
    bool extended = format == 3 ? stream->extended : field == kExtendedMark;
    size_t size = plain + (extended ? 4 : 0);
    if (bytes.size() < size) {
        return 0;
    }
    if (format < 2) {
        stream->message.length = reader.u24();
        stream->message.type = reader.u8();
    }
    if (format == 0) {
        stream->message.stream_id = reader.le32();
    }
    if (extended) {
        field = reader.u32();
    }
    if (!stream->begun) {
        if (format != 3) {
            stream->field = field;
            stream->extended = extended;
        }
        stream->message.timestamp =
            format == 0 ? stream->field : stream->message.timestamp + stream->field;
    }
    current_ = static_cast<uint16_t>(stream - streams_.data());
    return size;
}

void ChunkScanner::collect_control(ChunkStream& stream, ByteSpan part) {
    for (size_t i = 0; i < part.size() && stream.position + i < 4; i++) {
        stream.control = stream.control << 8 | part[i];
    }
}

void ChunkScanner::apply_control(const ChunkStream& stream) {
    if (stream.message.type == rtmp::kSetChunkSize && stream.message.length >= 4) {
        chunk_size_ = stream.control & 0x7FFFFFFF;
        if (chunk_size_ == 0) {
            error_ = "the server set a chunk size of 0";
        }
    } else if (stream.message.type == rtmp::kAbort && stream.message.length >= 4) {
        for (ChunkStream& other : streams_) {
            if (other.message.chunk_stream == stream.control) {
                other.begun = false;
            }
        }
    }
}

}  // namespace weir::load
