// SegmentStore: the newest segments of one stream, and the part of the present that has been
// written. Filled by a Segmenter, read by anybody; a reader that needs bytes for longer takes a
// Ref.
//
// Listed segments are those that playlists name; what has left the list is kept for the length of
// the list and its own, as players may still ask for it (RFC 8216 §6.2.2). Numbers never go back:
// they begin with the second of the wall clock, so that neither a player nor a cache takes a
// segment for one of an earlier store. Never yields.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/object_count.h"
#include "media/captions.h"
#include "net/segments/segment.h"
#include "net/segments/segment_cipher.h"

namespace weir::net {

struct SegmentOptions {
    int64_t fragment_ms = 2'000;  // length of a segment, where key frames allow it
    int64_t part_ms = 200;
    uint32_t window = 3;  // target durations that a playlist lists at least
    // Segments are encrypted; every so many have another key. 0: they are not.
    uint32_t segments_per_key = 0;
    // The first frames of a publisher wait so long at most for its other track, by which the format
    // would change again.
    int64_t settle_ms = 0;

    bool operator==(const SegmentOptions&) const = default;
};

// Told after each change, at once. May not yield.
class SegmentListener {
  public:
    virtual void on_segments() = 0;

  protected:
    ~SegmentListener() = default;
};

class SegmentStore : private Counted<SegmentStore> {
  public:
    static constexpr ObjectName kObjectName{"segment_store", "segments"};
    static constexpr uint64_t kMaxBytes = 256u << 20;  // beyond it the window becomes shorter
    static constexpr uint32_t kMinWindow = 3;          // RFC 8216 §6.2.2
    static constexpr int64_t kPartSlackMs = 5;         // times are whole milliseconds
    // Playlists list the parts of the newest segments, this many target durations at least
    // (§4.4.4.9 of draft-pantos-hls-rfc8216bis).
    static constexpr int64_t kPartTargets = 3;
    // PART-TARGET of longer parts than twice SegmentOptions::part_ms is rounded up to so much: it
    // stays the same while they are about equally long.
    static constexpr int64_t kLongPartStepMs = 50;

    SegmentStore(const SegmentOptions& options, uint64_t first_number);

    SegmentStore(const SegmentStore&) = delete;
    SegmentStore& operator=(const SegmentStore&) = delete;

    const SegmentOptions& options() const { return options_; }

    void set_listener(SegmentListener* listener) { listener_ = listener; }

    // Null: segments are not encrypted.
    const SegmentCipher* cipher() const { return cipher_ ? &*cipher_ : nullptr; }

    // ---- for who fills it ----

    // Opens the next segment; the one before must be complete.
    void open(Ref<const SegmentFormat> format,
              int64_t start_ms,
              int64_t wall_ms,
              bool discontinuity,
              int64_t expected_ms = 0,
              const SegmentClock& clock = {});

    // Of the open segment.
    struct NewPart {
        Bytes bytes;
        std::vector<Bytes> more = {};  // as SegmentPart has it; never encrypted
        size_t audio_at = 0;           // as SegmentPart has it
        int64_t duration_ms = 0;
        bool independent = false;
        int32_t composition_ms = 0;
        uint32_t video_frames = 0;
    };

    void add_part(NewPart part);

    // The open segment is complete; without parts it is dropped.
    void close();

    // Nothing will follow for now; a later open() takes it back.
    void end();

    // A segment of that length is to be expected: target_ms() is at least as much.
    void expect(int64_t duration_ms);

    // The video has these captions, since its newest discontinuity.
    void note_captions(const media::CaptionChannels& found) { captions_ = found; }

    // The longest segment that a player may be given; nothing while target_seconds() may grow.
    std::optional<int64_t> longest_ms() const;

    // ---- for readers ----

    // A player is told target_seconds(): it stays what it is (RFC 8216 §6.2.1), and the segmenter
    // makes no segment that is longer.
    void fix_target();

    // In order; only the last may be incomplete.
    const std::deque<Segment>& all() const { return segments_; }

    // Index in all() of the first segment that playlists name.
    size_t first_listed() const { return first_listed_; }

    // Complete segments that playlists name.
    size_t listed_complete() const {
        return segments_.size() - first_listed_ - (has_open() ? 1 : 0);
    }

    bool has_open() const { return !segments_.empty() && !segments_.back().complete; }

    const Segment* find(uint64_t number) const;
    const SegmentFormat* find_format(uint64_t id) const;

    // By format, and Segment::start_ms.
    const Segment* find_at(uint64_t format_id, uint64_t start_ms) const;

    // The number that the next segment after all() will have.
    uint64_t next_number() const { return next_number_; }

    // Discontinuities before the first listed segment (EXT-X-DISCONTINUITY-SEQUENCE).
    uint64_t discontinuities_before() const { return discontinuities_before_; }

    // Grows with each change.
    uint64_t version() const { return version_; }

    bool ended() const { return ended_; }

    // EXT-X-TARGETDURATION: no listed segment is longer when rounded. Grows until fix_target().
    int64_t target_seconds() const;

    // PART-TARGET: no part that playlists list is longer. Of parts of about the usual length it
    // only grows; a part that is more than twice as long counts while it is listed. 0: no part yet.
    int64_t part_target_ms() const;

    // Where playlists begin to list parts: index in all().
    size_t first_with_parts() const;

    // All listed segments begin with a key frame.
    bool independent() const;

    const media::CaptionChannels& captions() const { return captions_; }

    uint64_t bytes() const { return bytes_; }

    // Made since it exists.
    uint64_t segments_made() const { return segments_made_; }

    uint64_t parts_made() const { return parts_made_; }

  private:
    void append(Bytes bytes, NewPart part);
    void drop_first();
    void changed();
    void move_window();

    SegmentOptions options_;
    SegmentListener* listener_ = nullptr;
    std::optional<SegmentCipher> cipher_;
    std::deque<Segment> segments_;
    size_t first_listed_ = 0;
    uint64_t next_number_;
    uint64_t discontinuities_before_ = 0;
    uint64_t version_ = 1;
    int64_t longest_ms_ = 0;
    bool target_fixed_ = false;
    int64_t usual_part_ms_ = 0;
    media::CaptionChannels captions_;
    uint64_t bytes_ = 0;
    uint64_t segments_made_ = 0;
    uint64_t parts_made_ = 0;
    bool ended_ = false;
};

}  // namespace weir::net
