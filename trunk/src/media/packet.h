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

// The players that a packet is for. Where the same audio exists in two codecs (a browser's Opus,
// and AAC made of it), each player gets the one that it can decode.
enum class Audience : uint8_t {
    kEverybody,
    kFlv,     // RTMP, FLV and whatever else carries AAC
    kWebRtc,  // speaks Opus and G.711 only
};

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
    Audience audience = Audience::kEverybody;  // not of the body: the publishing session says it
    // Which of the simulcast layers that Description names; not of the body either.
    uint8_t layer = 0;
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
