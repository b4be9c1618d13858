// MediaPacket: one frame (or codec configuration, or data message) of a stream, immutable once
// published.
//
// The body is kept in the form of an FLV tag body (Enhanced RTMP v2 included), the lingua franca of
// this field: RTMP and FLV take it as it is, other formats take payload(), the codec's own bytes
// behind the FLV header (doc/adr/0003-packet-form.md).
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/ref.h"
#include "media/codec.h"

namespace weir::media {

// The players that a packet is for. Where the same audio exists in two codecs (a browser's Opus,
// a telephone's G.711, and AAC made of it), each player gets one of them.
enum class Audience : uint8_t {
    kEverybody,        // who takes frames
    kFlv,              // RTMP, FLV and whatever else carries AAC, kMpeg too
    kWebRtc,           // speaks Opus and G.711 only
    kTransportStream,  // takes no frames, but the MPEG transport stream as it came
    kMpeg,             // MPEG transport streams and HLS: no codec of telephones
    kAllButMpeg,       // who takes frames, except those
    // For sinks, not for packets: RTSP and other nodes. They take each audio in the codec that was
    // published, and the main layer of simulcast.
    kOriginal,
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
    // Video: the session has put the whole picture into this message.
    bool whole_picture = false;
    // Which of the simulcast layers that Description names; not of the body either.
    uint8_t layer = 0;
    int32_t composition_ms = 0;   // pts - dts, video only
    uint16_t payload_offset = 0;  // where the codec's own bytes begin in the body
};

// Memory in which bodies may lie that is not theirs alone: a block of a wire log.
class BodyStore : public RefCounted<BodyStore> {
  public:
    static void destroy(BodyStore* store) { store->end(); }

  protected:
    BodyStore() = default;
    ~BodyStore() = default;

  private:
    virtual void end() = 0;  // nobody holds it any more
};

// Of the media thread, as its count is.
class MediaPacket final : public RefCounted<MediaPacket> {
  public:
    // `time_ms`: decoding time. The publisher's until Stream maps it to the stream's timeline.
    MediaPacket(const PacketInfo& info, int64_t time_ms, Bytes body)
        : info_(info), time_ms_(time_ms), own_(std::move(body)), body_(own_) {}

    const PacketInfo& info() const { return info_; }

    int64_t time_ms() const { return time_ms_; }

    // Only before the packet is published (Stream does it once).
    void set_time_ms(int64_t time_ms) { time_ms_ = time_ms; }

    // Both until the next packet is published: then the bytes may lie elsewhere.
    ByteSpan body() const { return body_; }

    ByteSpan payload() const { return body_.subspan(info_.payload_offset); }

    // The bytes of the body lie in `store`, too, at `body`: they are not kept twice. Only the first
    // time.
    void move_body(Ref<BodyStore> store, ByteSpan body) const {
        if (!store_) {
            store_ = std::move(store);
            body_ = body;
            own_ = Bytes();
        }
    }

    // Holds as much memory as it needs, and no more.
    bool has_own_body() const { return !store_; }

  private:
    PacketInfo info_;
    int64_t time_ms_;
    mutable Bytes own_;
    mutable Ref<BodyStore> store_;
    mutable ByteSpan body_;  // in one of the two
};

using PacketRef = Ref<const MediaPacket>;

}  // namespace weir::media
