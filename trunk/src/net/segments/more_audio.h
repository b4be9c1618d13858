// MoreAudio: the audio tracks of a stream besides the default one, as parts of segments. Each has
// fragments of MP4 of its own, and no byte of the segments that players of the default track get.
//
// Description::kMaxAudioTracks are taken, with the default one. The segmenter decides which of them
// a format has, and asks wants_change() whether that is still so: one came later, or has another
// configuration. So that a source cannot cut segments again and again, a few changes in an hour are
// granted, and then only those tracks are there that the format has.
//
// Renditions have the codec of the default track. Each has bytes of its own. A part in which one
// brought nothing has a fragment without a sample; of one that comes in bursts there is none
// (PartReserve). One that brings nothing for two seconds is another change. In a file that has all
// tracks, each has the codec that it has, and a pause is no change; its frames are given to the
// writer of the file. Never yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "media/description.h"
#include "media/packet.h"
#include "net/segments/audio_chain.h"
#include "net/segments/part_reserve.h"
#include "net/segments/part_writer.h"
#include "net/segments/segment.h"
#include "proto/mp4/track.h"

namespace weir::net {

class MoreAudio {
  public:
    enum class Use : uint8_t { kRenditions, kFile };

    static constexpr size_t kMaxTracks = media::Description::kMaxAudioTracks - 1;
    // Of one track, that are in no part yet; more are left out.
    static constexpr size_t kMaxFrames = 2'048;
    static constexpr uint64_t kMaxBytes = 2u << 20;
    static constexpr int64_t kGoneMs = 2'000;
    static constexpr uint32_t kMaxChanges = 8;
    static constexpr int64_t kForgetChangesMs = 3'600'000;

    explicit MoreAudio(Use use = Use::kRenditions) : use_(use) {}

    // `again`: it is in force for who begins here, and may be of a codec that the track had before.
    void take_config(const media::PacketRef& packet, bool again = false);

    // False: it is left out.
    bool take_frame(const media::PacketRef& packet);

    // A frame came, and may be taken later.
    void note(const media::MediaPacket& packet);

    // A frame of each track that the publisher has named came; `main`: the default one, which does
    // not count, nor one that is only implied.
    bool has_all(const media::Description& said, uint8_t main) const;

    // Whether another format is to begin; each change is told once. `now_ms`: time of the newest
    // frame of the stream.
    bool wants_change(int64_t now_ms);

    // Which tracks the next format has, beside a default one of that id and codec. Names all in it.
    void decide(const media::Description& said,
                uint8_t main,
                media::Codec codec,
                int64_t now_ms,
                SegmentFormat& format);

    // Those that decide() has chosen, as a file has them: in the order of SegmentFormat::more, at
    // most kMaxTracks.
    std::vector<PartTrack> part_tracks() const;

    // The bytes of each track of the format for a part that begins at `start_ms`. `first`: of its
    // segment. `last`: of the format, so all that came go along; else those that PartReserve takes.
    // `until_ms`: later frames are of the next part; nothing: none are.
    std::vector<Bytes> write(int64_t start_ms,
                             bool first,
                             bool last,
                             std::optional<int64_t> until_ms);

    // The frames of each track of the format for a part, for a writer that has part_tracks().
    std::vector<std::vector<PartFrame>> take_frames(std::optional<int64_t> until_ms);

    // Another format begins, at that time.
    void restart(int64_t time_ms);

    void drop_frames();

    // The next packet is of another publisher.
    void forget();

  private:
    struct Track {
        uint8_t id = 0;
        media::Codec codec = media::Codec::kUnknown;
        Bytes config;
        bool came = false;
        int64_t last_ms = 0;  // of its newest frame
        std::vector<PartFrame> frames;
        uint64_t bytes = 0;  // of these
        PartReserve reserve;
        AudioChain chain;
        uint64_t next_ticks = 0;           // where its newest part ends
        std::optional<mp4::Track> format;  // as the format has it; nothing: it does not
        uint32_t fragment_id = 0;          // in the format's fragments; 0: it has none, as the next
        uint32_t timescale = 1;
    };

    const Track* find(uint8_t id) const;
    Track* track_of(const media::PacketInfo& info);
    bool fits(const Track& track) const;
    bool is_usable(const Track& track, int64_t now_ms) const;
    static size_t frames_until(const Track& track, std::optional<int64_t> until_ms);
    static std::vector<PartFrame> take_frames(Track& track, size_t count);
    void write_track(
        Track& track, int64_t start_ms, bool last, std::optional<int64_t> until_ms, Bytes& out);

    Use use_;

    std::vector<Track> tracks_;  // by id
    bool decided_ = false;
    bool pending_ = false;  // a track is there that the format does not have, or not so
    media::Codec codec_ = media::Codec::kUnknown;  // of the default track
    uint32_t number_ = 0;
    uint32_t changes_ = 0;
    int64_t changes_since_ms_ = 0;
};

}  // namespace weir::net
