// Segments and parts of a stream: immutable bytes, made once and shared by all who read them (HLS,
// DASH, a recording).
//
// A part is a piece of about 200 ms that was written at once; a segment is the parts from one cut
// to the next, and its bytes are theirs, one behind the other: there is no second copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/object_count.h"
#include "base/ref.h"

namespace weir::net {

// Of the media thread, as its count is.
class SegmentBytes final : public RefCounted<SegmentBytes>, private Counted<SegmentBytes> {
  public:
    // The bytes of a segment or a part.
    static constexpr ObjectName kObjectName{"segment_bytes", "segments"};

    explicit SegmentBytes(Bytes bytes) : bytes_(std::move(bytes)) {
        object_class().add_bytes(bytes_.capacity());
    }

    ~SegmentBytes() { object_class().remove_bytes(bytes_.capacity()); }

    SegmentBytes(const SegmentBytes&) = delete;
    SegmentBytes& operator=(const SegmentBytes&) = delete;

    ByteSpan bytes() const { return bytes_; }

    // All that live, of all streams.
    static const ObjectClass& count() { return object_class(); }

  private:
    Bytes bytes_;
};

// An audio track besides the default one. Its bytes are in no segment's own: SegmentPart::more.
struct SegmentAudio {
    uint8_t id = 0;  // media::PacketInfo::track_id
    Bytes header;    // of an MP4 file with that track alone
    std::string codecs;
    uint32_t sample_rate = 0;
    uint8_t channels = 0;
    std::string language;  // BCP 47; empty: not known
    std::string name;      // for people; no two tracks of a format have the same
};

// What the segments from a discontinuity to the next have in common.
struct SegmentFormat : public RefCounted<SegmentFormat> {
    uint64_t id = 0;     // the number of the first segment that has it
    Bytes header;        // of an MP4 file; empty for transport streams
    Bytes video_header;  // of an MP4 file with that track alone; empty: there is none
    Bytes audio_header;
    std::string video_codecs;  // as RFC 6381 names them; empty: there is no such track
    std::string audio_codecs;
    uint32_t width = 0;  // in pixels; 0: no video
    uint32_t height = 0;
    uint32_t sample_rate = 0;  // in Hz; 0: no audio
    uint8_t channels = 0;
    std::string audio_language;  // as of SegmentAudio; both only where there are more tracks
    std::string audio_name;
    std::vector<SegmentAudio> more;  // by id; all of the codec of the default one

    // Index in `more`; nothing: there is no such track, and the default one stands in for it.
    std::optional<size_t> find_more(uint8_t track_id) const {
        for (size_t i = 0; i < more.size(); i++) {
            if (more[i].id == track_id) {
                return i;
            }
        }
        return std::nullopt;
    }
};

// When things of the stream's timeline came: of all segments until the publisher's clock has gone
// too far away from ours, or another format begins.
struct SegmentClock {
    uint64_t id = 0;        // the number of its first segment
    int64_t start_ms = 0;   // of that, on the stream's timeline
    int64_t steady_ms = 0;  // when it came, by steady_wall_time_ms()

    int64_t steady_of(int64_t time_ms) const { return steady_ms + time_ms - start_ms; }
};

struct SegmentPart {
    Ref<const SegmentBytes> bytes;
    size_t audio_at = 0;  // where the audio track's bytes begin, where tracks are kept apart
    int64_t duration_ms = 0;
    bool independent = false;    // begins with a key frame, or is audio only
    int32_t composition_ms = 0;  // its first picture is shown so long after it is decoded
    std::vector<Ref<const SegmentBytes>> more = {};  // of SegmentFormat::more, in its order
};

struct Segment {
    uint64_t number = 0;  // media sequence number
    Ref<const SegmentFormat> format;
    SegmentClock clock;
    std::vector<SegmentPart> parts;
    int64_t start_ms = 0;     // on the stream's timeline
    int64_t wall_ms = 0;      // when its first frame came, since the epoch
    int64_t duration_ms = 0;  // of its parts
    int64_t expected_ms = 0;  // how long it will be, if key frames go on as they came; 0: unknown
    uint64_t bytes = 0;
    std::vector<uint64_t> more_bytes = {};  // of SegmentFormat::more, in its order
    uint32_t video_frames = 0;
    std::optional<uint64_t> key = {};  // id of what it is encrypted with (segment_cipher.h)
    bool discontinuity = false;        // between it and the segment before
    bool complete = false;             // no part will follow
};

}  // namespace weir::net
