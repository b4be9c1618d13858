// HlsArchive: one stream on the disk, as the media thread sees it: which of its segments are there,
// which wait for the disk, and what its playlists say. Filled by the pump of the stream; belongs to
// its HlsFolder, which keeps it for a while after the pump has gone, as its files. Never waits,
// never yields.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "net/segments/segment.h"
#include "proto/hls/history.h"
#include "session/hls/hls_disk.h"
#include "session/hls/hls_options.h"
#include "stream/stream_key.h"

namespace weir::session {

class HlsFolder;

// A segment that is on the disk. The views live until the call returns.
struct HlsStoredView {
    const stream::StreamKey& key;
    const std::string& root;    // as configured
    const std::string& folder;  // of the stream, below it
    const std::string& file;    // in that
    int64_t duration_ms = 0;
    uint64_t number = 0;
};

class HlsArchive : private Counted<HlsArchive> {
  public:
    static constexpr ObjectName kObjectName{"hls_archive", "hls"};
    // Of one stream that wait for the disk; more are lost. The bytes are those of its segments.
    static constexpr uint64_t kMaxWaitingBytes = 64u << 20;
    static constexpr size_t kMaxWaiting = 64;
    // Names of files that are to go and could not be removed yet.
    static constexpr size_t kMaxGone = 10'000;
    // Files are kept for so long after the end of the stream, or as long as segments that have left
    // the playlist, if that is longer.
    static constexpr Millis kMinKept{60'000};

    // What the pump knows besides.
    struct Facts {
        int64_t target_s = 1;
        hls::Variant variant;  // without its address
    };

    // What one turn at the disk takes. `segment` holds the bytes that `write` names.
    struct Turn {
        HlsWrite write;
        std::optional<net::Segment> segment;
        bool clears = false;
    };

    // The folder must outlive this.
    HlsArchive(HlsFolder& folder, stream::StreamKey key, const HlsOptions& options);
    ~HlsArchive();
    HlsArchive(const HlsArchive&) = delete;
    HlsArchive& operator=(const HlsArchive&) = delete;

    // ---- for the pump ----

    // A segment that is complete.
    void add(const net::Segment& segment, const Facts& facts);

    // Nothing follows, unless something is added.
    void end(const Facts& facts);

    // The pump goes, and does not call any more.
    void leave();

    // The segments that a playlist lists in front of number `end`, for `dvr`. `behind_ms`: the
    // length of those from there on. Good until the next call.
    hls::History::Listed older(uint64_t end, int64_t behind_ms);

    hls::History& history() { return history_; }

    bool has_dvr() const { return options_.dvr_ms > 0; }

    // A segment that waits for the disk; null: there is none of that number.
    const net::Segment* find_waiting(uint64_t number) const;

    // Below the root, to be read from the disk; empty: it is not there.
    std::string segment_file(uint64_t number) const;
    std::string header_file(uint64_t header) const;
    const std::string& root() const;

    // ---- for the folder ----

    const std::string& folder_name() const { return name_; }

    // Fills in what the disk has to do next; false: nothing.
    bool next_turn(Turn& turn);

    void take_back(const Turn& turn, const HlsWritten& done);

    // The disk has been opened anew: nothing is there.
    void begin_anew();

    // Another process has the folder of the stream now. What comes from now on takes it back.
    void lose_folder();

    // Its files go, by the turn that follows.
    void dispose() { disposing_ = true; }

    // Its media playlist is there, and goes on: it may stand in that of a stream that it is a
    // variant of.
    bool is_playable() const { return listed_ && !left_ && !disposing_; }

    bool has_left() const { return left_; }

    bool is_gone() const { return gone_whole_; }

    // After leave(): until when its files stay.
    MonoTime kept_until() const { return kept_until_; }

  private:
    friend class HlsFolder;

    struct Waiting {
        net::Segment segment;
        Facts facts;
    };

    bool mp4() const { return options_.container == net::SegmentContainer::kMp4; }

    int64_t keep_ms() const;
    void add_lists(HlsWrite& write);
    std::vector<hls::Variant> variants(std::vector<HlsWrite::Other>& others);

    HlsFolder& folder_;
    stream::StreamKey key_;
    HlsOptions options_;
    std::string name_;
    hls::History history_;
    std::deque<Waiting> waiting_;
    uint64_t waiting_bytes_ = 0;
    Facts facts_;  // of the newest segment that has had its turn, or of the end
    std::vector<std::string> gone_;
    uint64_t last_ = 0;        // number of the newest segment that has had its turn
    uint64_t disk_first_ = 0;  // of the playlist on the disk
    uint64_t dvr_first_ = 0;   // of the one that is served
    bool any_ = false;         // last_ is one
    bool begun_ = false;       // the disk has no files of before
    bool ended_ = false;
    bool lists_due_ = false;
    bool listed_ = false;  // the disk has playlists
    bool left_ = false;
    bool disposing_ = false;
    bool gone_whole_ = false;
    bool queued_ = false;  // of the folder
    MonoTime kept_until_{};
};

}  // namespace weir::session
