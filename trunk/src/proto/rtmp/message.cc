#include "proto/rtmp/message.h"

#include <algorithm>

#include "proto/rtmp/chunk_writer.h"

namespace weir::rtmp {
namespace {

constexpr size_t kMaxControlSize = 10;
constexpr size_t kAggregateHeaderSize = 11;  // an FLV tag header
constexpr size_t kAggregateTrailerSize = 4;  // its previous tag size

void write_control(uint8_t type, ByteSpan body, Bytes& out) {
    ChunkHeader header;
    header.type = type;
    header.chunk_stream_id = kControlChunkStream;
    write_message(header, body, kDefaultChunkSize,
                  out);  // one chunk whatever the size in force is: a peer's is >= 128
}

void write_u32_control(uint8_t type, uint32_t value, Bytes& out) {
    uint8_t body[4];
    store_u32(body, value);
    write_control(type, body, out);
}

}  // namespace

std::optional<uint32_t> parse_u32(ByteSpan body) {
    ByteReader reader(body);
    const uint32_t value = reader.u32();
    if (!reader.ok()) {
        return std::nullopt;
    }
    return value;
}

std::optional<UserControl> parse_user_control(ByteSpan body) {
    ByteReader reader(body);
    UserControl control;
    control.event = reader.u16();
    if (!reader.ok()) {
        return std::nullopt;
    }
    switch (control.event) {
        case kStreamBegin:
        case kStreamEof:
        case kStreamDry:
        case kStreamIsRecorded:
        case kPingRequest:
        case kPingResponse: control.value = reader.u32(); break;
        case kSetBufferLength:
            control.value = reader.u32();
            control.buffer_ms = reader.u32();
            break;
        default:
            if (reader.remaining() >= 4) {
                control.value = reader.u32();
            }
            break;
    }
    if (!reader.ok()) {
        return std::nullopt;
    }
    return control;
}

void write_set_chunk_size(uint32_t chunk_size, Bytes& out) {
    write_u32_control(kSetChunkSize, chunk_size, out);
}

void write_abort(uint32_t chunk_stream_id, Bytes& out) {
    write_u32_control(kAbort, chunk_stream_id, out);
}

void write_acknowledgement(uint32_t sequence, Bytes& out) {
    write_u32_control(kAcknowledgement, sequence, out);
}

void write_window_ack_size(uint32_t size, Bytes& out) {
    write_u32_control(kWindowAckSize, size, out);
}

void write_set_peer_bandwidth(uint32_t size, BandwidthLimit limit, Bytes& out) {
    uint8_t body[5];
    store_u32(body, size);
    body[4] = static_cast<uint8_t>(limit);
    write_control(kSetPeerBandwidth, body, out);
}

void write_user_control(const UserControl& control, Bytes& out) {
    uint8_t body[kMaxControlSize];
    store_u16(body, control.event);
    store_u32(body + 2, control.value);
    size_t size = 6;
    if (control.event == kSetBufferLength) {
        store_u32(body + 6, control.buffer_ms);
        size = 10;
    }
    write_control(kUserControl, ByteSpan(body, size), out);
}

std::optional<AggregateSplitter::PartView> AggregateSplitter::next(ByteSpan aggregate) {
    if (parts_ == kMaxParts) {
        return std::nullopt;
    }
    ByteReader reader(aggregate.subspan(std::min<size_t>(position_, aggregate.size())));
    PartView part;
    part.type = reader.u8();
    const uint32_t size = reader.u24();
    const uint32_t low = reader.u24();
    const uint32_t timestamp = static_cast<uint32_t>(reader.u8()) << 24 | low;
    reader.skip(3);  // stream id: that of the aggregate counts
    part.body = reader.take(size);
    if (!reader.ok()) {
        return std::nullopt;
    }
    if (parts_ == 0) {
        first_timestamp_ = timestamp;
    }
    part.timestamp = message_timestamp_ + (timestamp - first_timestamp_);
    parts_++;
    // The trailer of the last part may be missing.
    position_ += static_cast<uint32_t>(kAggregateHeaderSize + size + kAggregateTrailerSize);
    return part;
}

}  // namespace weir::rtmp
