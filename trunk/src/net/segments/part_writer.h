// PartWriter: the bytes of a container. It is given the frames of a part, with the times that they
// have there, and writes them: fragments of MP4, or packets of a transport stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "media/description.h"
#include "media/packet.h"
#include "proto/mp4/track.h"
#include "proto/mpegts/es_writer.h"
#include "proto/mpegts/writer.h"

namespace weir::net {

// kMp4: each track of a part is a fragment of its own, video first, as DASH wants them (CMAF,
// ISO/IEC 23000-19: a chunk has one track). kMp4File: one fragment has both, as fits a file.
enum class SegmentContainer : uint8_t { kMp4, kTs, kMp4File };

struct PartFrame {
    media::PacketRef packet;
    uint64_t ticks = 0;     // decoding time, in units of its track
    uint32_t duration = 0;  // in these units
};

// A track as the parts from now on have it.
struct PartTrack {
    mp4::Track track;
    media::PacketRef config;  // null: the codec has none
};

inline constexpr size_t kPartVideo = 0;  // places of the tracks
inline constexpr size_t kPartAudio = 1;

// The other audio tracks, of a container that has all tracks of a stream: from here on.
inline constexpr size_t kPartMoreAudio = 2;
inline constexpr size_t kPartPlaces = kPartMoreAudio + media::Description::kMaxAudioTracks - 1;

using PartTracks = std::array<std::optional<PartTrack>, kPartPlaces>;
using PartFrames = std::array<std::span<const PartFrame>, kPartPlaces>;

class PartWriter {
  public:
    static std::unique_ptr<PartWriter> create(SegmentContainer container);

    PartWriter() = default;
    PartWriter(const PartWriter&) = delete;
    PartWriter& operator=(const PartWriter&) = delete;
    virtual ~PartWriter() = default;

    // Whether the container can have frames of that codec.
    virtual bool carries(media::Codec codec) const = 0;

    // From now on with these tracks. What stands before all segments of them (may be empty).
    virtual Bytes begin(const PartTracks& tracks) = 0;

    // The same for one of them alone, of a container that keeps the tracks of a part apart.
    virtual Bytes track_header(size_t) const { return {}; }

    // The publisher's wall clock (microseconds since 1970) minus the stream's time, for parts from
    // now on; nothing: it is not known. Containers that do not tell it ignore this.
    virtual void set_wall_offset(std::optional<int64_t> /*offset_us*/) {}

    // Each track of a part can be had alone.
    virtual bool keeps_tracks_apart() const { return false; }

    // Parts have all audio tracks of the stream, and not the default one alone.
    virtual bool has_more_audio() const { return false; }

    // Tracks without a frame in the parts from now on have a fragment without a sample there, at
    // that time of the stream; nothing: they have none. Of MP4 that keeps tracks apart.
    virtual void fill_from(std::optional<int64_t> /*start_ms*/) {}

    // Appends the part's bytes to `out`. `first`: it is the first of its segment. Returns where
    // those of the audio track begin, which are all that follow; of a container that does not keep
    // tracks apart nothing is to be made of that.
    virtual size_t write(const PartFrames& frames, bool first, Bytes& out) = 0;
};

}  // namespace weir::net
