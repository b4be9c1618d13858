// Invariants: header_size_ > 0 only between chunks' headers (in_payload_ is false); in_payload_
// means that streams_[current_] has begun and payload_left_ > 0; partial_bytes_ is the sum of the
// sizes of all bodies that are not complete.
#include "proto/rtmp/chunk_reader.h"

#include <algorithm>
#include <utility>

#include "proto/flv/body.h"

namespace weir::rtmp {
namespace {

constexpr uint32_t kExtended = 0xFFFFFF;
constexpr size_t kExtendedSize = 4;

// By format: with absolute time and stream id, with delta, delta only, nothing.
constexpr size_t kMessageHeaderSize[] = {11, 7, 3, 0};

size_t basic_size(uint8_t first) {
    switch (first & 0x3F) {
        case 0: return 2;
        case 1: return 3;
        default: return 1;
    }
}

uint32_t chunk_stream_id(const uint8_t* header) {
    switch (header[0] & 0x3F) {
        case 0: return 64u + header[1];
        case 1: return 64u + header[1] + 256u * header[2];
        default: return header[0] & 0x3F;
    }
}

}  // namespace

bool ChunkReader::fail(Error error) {
    error_ = std::move(error);
    failed_ = true;
    return false;
}

ChunkReader::ChunkStream* ChunkReader::find_or_add(uint32_t id) {
    if (current_ < streams_.size() && streams_[current_].id == id) {
        return &streams_[current_];
    }
    for (size_t i = 0; i < streams_.size(); i++) {
        if (streams_[i].id == id) {
            current_ = static_cast<uint16_t>(i);
            return &streams_[i];
        }
    }
    const uint8_t format = header_[0] >> 6;
    if (format >= 2) {
        fail(make_error(ErrorCode::kMalformed, "chunk stream {} begins with a header of type {}",
                        id, format));
        return nullptr;
    }
    if (streams_.size() == kMaxChunkStreams) {
        fail(make_error(ErrorCode::kLimit, "more than {} chunk streams", kMaxChunkStreams));
        return nullptr;
    }
    current_ = static_cast<uint16_t>(streams_.size());
    streams_.emplace_back().id = id;
    return &streams_.back();
}

size_t ChunkReader::header_needs() {
    if (header_size_ == 0) {
        return 1;
    }
    const size_t basic = basic_size(header_[0]);
    const uint8_t format = header_[0] >> 6;
    const size_t fixed = basic + kMessageHeaderSize[format];
    if (header_size_ < fixed) {
        return fixed;
    }
    if (format < 3) {
        return ByteReader(ByteSpan(header_ + basic, 3)).u24() == kExtended ? fixed + kExtendedSize
                                                                           : fixed;
    }
    // Type 3 repeats the extended timestamp of the header that it continues (RTMP 1.0 §5.3.1.3).
    const uint32_t id = chunk_stream_id(header_);
    for (const ChunkStream& stream : streams_) {
        if (stream.id == id) {
            return stream.extended && repeats_ != Repeats::kNo ? fixed + kExtendedSize : fixed;
        }
    }
    return fixed;
}

bool ChunkReader::read_header(ByteSpan& bytes) {
    while (true) {
        const size_t needs = header_needs();
        if (header_size_ == needs) {
            break;
        }
        const size_t more = std::min(needs - header_size_, bytes.size());
        if (more == 0) {
            return false;
        }
        std::copy_n(bytes.begin(), more, header_ + header_size_);
        header_size_ = static_cast<uint8_t>(header_size_ + more);
        bytes = bytes.subspan(more);
    }
    const bool good = apply_header();
    header_size_ = 0;
    return good;
}

bool ChunkReader::apply_header() {
    ChunkStream* const stream = find_or_add(chunk_stream_id(header_));
    if (stream == nullptr) {
        return false;
    }
    const uint8_t format = header_[0] >> 6;
    ByteReader reader(ByteSpan(header_, header_size_).subspan(basic_size(header_[0])));
    if (format == 3) {
        return apply_extended(*stream, reader.rest());
    }
    // A new header in the middle of a message gives the message up, as Abort does.
    drop_partial(*stream);

    uint32_t field = reader.u24();
    if (format <= 1) {
        stream->length = reader.u24();
        stream->type = reader.u8();
    }
    if (format == 0) {
        stream->stream_id = reader.le32();
    }
    stream->extended = field == kExtended;
    if (stream->extended) {
        field = reader.u32();
    }
    stream->field = field;
    stream->timestamp = format == 0 ? field : stream->timestamp + field;
    return begin_message(*stream);
}

// Type 3: `header` is the extended timestamp, or empty.
bool ChunkReader::apply_extended(ChunkStream& stream, ByteSpan header) {
    if (!stream.begun) {
        // A new message with everything as before; behind a type 0 its timestamp counts as the
        // delta (§5.3.1.2.4).
        if (!header.empty()) {
            stream.field = ByteReader(header).u32();
        }
        stream.timestamp += stream.field;
        return begin_message(stream);
    }
    payload_left_ =
        std::min(chunk_size_, static_cast<uint32_t>(stream.length - stream.body.size()));
    in_payload_ = true;
    if (header.empty() || repeats_ == Repeats::kYes) {
        return true;
    }
    // Deviation: some peers do not repeat the extended timestamp. The first continuation that is
    // long enough tells: the four bytes are either a time that we know, or payload.
    const uint32_t value = ByteReader(header).u32();
    if (value == stream.field || value == stream.timestamp) {
        repeats_ = Repeats::kYes;
        return true;
    }
    if (payload_left_ < kExtendedSize) {
        return true;  // cannot be told; by the specification then
    }
    repeats_ = Repeats::kNo;
    ByteSpan payload = header;
    return read_payload(payload);
}

bool ChunkReader::begin_message(ChunkStream& stream) {
    if (stream.length > limits_.max_message_size) {
        return fail(make_error(ErrorCode::kLimit, "message of type {} with {} bytes is over {}",
                               stream.type, stream.length, limits_.max_message_size));
    }
    stream.begun = true;
    if (stream.length == 0) {
        finish_message(stream);
        return !failed_;
    }
    payload_left_ = std::min(chunk_size_, stream.length);
    in_payload_ = true;
    return true;
}

bool ChunkReader::read_payload(ByteSpan& bytes) {
    ChunkStream& stream = streams_[current_];
    const ByteSpan part = bytes.first(std::min<size_t>(payload_left_, bytes.size()));
    const uint32_t size = static_cast<uint32_t>(part.size());
    if (uint64_t{partial_bytes_} + size > limits_.max_partial_bytes) {
        return fail(make_error(ErrorCode::kLimit, "unfinished messages of more than {} bytes",
                               limits_.max_partial_bytes));
    }
    flv::append_to_body(stream.body, part, stream.length);
    partial_bytes_ += size;
    payload_left_ -= size;
    bytes = bytes.subspan(size);
    if (payload_left_ > 0) {
        return true;
    }
    in_payload_ = false;
    if (stream.body.size() == stream.length) {
        finish_message(stream);
    }
    return !failed_;
}

void ChunkReader::finish_message(ChunkStream& stream) {
    partial_bytes_ -= static_cast<uint32_t>(stream.body.size());
    stream.begun = false;
    if (stream.type == kSetChunkSize || stream.type == kAbort) {
        apply_control(stream.type, std::exchange(stream.body, Bytes()));
        return;
    }
    ready_ = true;
}

bool ChunkReader::apply_control(uint8_t type, ByteSpan body) {
    const std::optional<uint32_t> value = parse_u32(body);
    if (!value) {
        return fail(make_error(ErrorCode::kMalformed, "control message of type {} with {} bytes",
                               type, body.size()));
    }
    if (type == kSetChunkSize) {
        // §5.4.1: 1 to 0x7FFFFFFF; no message is longer than kMaxChunkSize.
        if (*value == 0 || *value > 0x7FFFFFFF) {
            return fail(make_error(ErrorCode::kMalformed, "chunk size {}", *value));
        }
        chunk_size_ = std::min(*value, kMaxChunkSize);
        return true;
    }
    for (ChunkStream& stream : streams_) {
        if (stream.id == *value) {
            drop_partial(stream);
        }
    }
    return true;
}

void ChunkReader::drop_partial(ChunkStream& stream) {
    partial_bytes_ -= static_cast<uint32_t>(stream.body.size());
    stream.body = Bytes();
    stream.begun = false;
}

size_t ChunkReader::feed(ByteSpan bytes) {
    const size_t offered = bytes.size();
    while (!bytes.empty() && !ready_ && !failed_) {
        if (in_payload_) {
            read_payload(bytes);
        } else {
            read_header(bytes);
        }
    }
    return offered - bytes.size();
}

ChunkReader::Status ChunkReader::next(Message& out) {
    if (failed_) {
        return Status::kError;
    }
    if (!ready_) {
        return Status::kNeedMore;
    }
    ready_ = false;
    ChunkStream& stream = streams_[current_];
    out.type = stream.type;
    out.timestamp = stream.timestamp;
    out.stream_id = stream.stream_id;
    out.chunk_stream_id = stream.id;
    out.body = std::exchange(stream.body, Bytes());
    return Status::kMessage;
}

void ChunkReader::shrink() {
    streams_.shrink_to_fit();
}

}  // namespace weir::rtmp
