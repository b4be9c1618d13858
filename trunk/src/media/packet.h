// MediaPacket: one frame (or codec configuration, or data message) of a stream, immutable once
// published.
//
// The body is kept in the form of an FLV tag body (Enhanced RTMP v2 included), the lingua franca of
// this field: RTMP and FLV take it as it is, other formats take payload(), the codec's own bytes
// behind the FLV header (doc/adr/0003-packet-form.md).
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ref.h"
#include "media/codec.h"

namespace weir::media {

// What a packet is, as read from its body's first bytes.
struct PacketInfo {
    TrackKind kind = TrackKind::kData;
    Codec codec = Codec::kUnknown;
    uint8_t track_id = 0;   // Enhanced RTMP multitrack; 0 for plain streams
    bool key = false;       // video: a decoder can start here (IDR, IRAP, key frame)
    bool config = false;    // sequence header: codec configuration, no picture
    bool metadata = false;  // data: onMetaData; video: Enhanced RTMP metadata (colour information)
    bool end = false;       // end of sequence
    bool multitrack = false;
    int32_t composition_ms = 0;   // pts - dts, video only
    uint16_t payload_offset = 0;  // where the codec's own bytes begin in the body
};

class MediaPacket final : public RefCounted<MediaPacket> {
  public:
    // `time_ms`: decoding time. The publisher's until Stream maps it to the stream's timeline.
    MediaPacket(const PacketInfo& info, int64_t time_ms, Bytes body)
        : info_(info), time_ms_(time_ms), body_(std::move(body)) {}

    const PacketInfo& info() const { return info_; }

    int64_t time_ms() const { return time_ms_; }

    // Only before the packet is published (Stream does it once).
    void set_time_ms(int64_t time_ms) { time_ms_ = time_ms; }

    ByteSpan body() const { return body_; }

    ByteSpan payload() const { return ByteSpan(body_).subspan(info_.payload_offset); }

  private:
    PacketInfo info_;
    int64_t time_ms_;
    Bytes body_;
};

using PacketRef = Ref<const MediaPacket>;

}  // namespace weir::media
