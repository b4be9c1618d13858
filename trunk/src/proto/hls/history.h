// History: the finished segments of one stream, the oldest first, with their lines of a playlist:
// these are written once, so that a playlist over hours costs a copy. Says what is listed and what
// may go from the disk. Pure.
//
// A segment is added when it is finished, and settled when the disk has it or has refused it. What
// was refused stays in its place with EXT-X-GAP (draft-pantos-hls-rfc8216bis §4.4.4.7): numbers go
// on.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "proto/hls/playlist.h"

namespace weir::hls {

class History {
  public:
    static constexpr size_t kMaxListed = 20'000;  // a list is not longer, whatever is wanted
    static constexpr size_t kMinListed = 3;       // RFC 8216 §6.2.2
    static constexpr size_t kMaxEntries = 2 * kMaxListed;  // while no turn at the disk ends

    enum class State : uint8_t {
        kWaiting,  // for the disk
        kStored,
        kLost,
    };

    struct Entry {
        uint64_t number = 0;
        uint64_t header = 0;
        int64_t duration_ms = 0;
        bool discontinuity = false;
        bool independent = false;    // begins with a key frame
        bool begins_header = false;  // its text names the header
        State state = State::kWaiting;
        std::string text = {};  // its lines, with kQueryMark behind addresses
    };

    explicit History(bool mp4) : mp4_(mp4) {}

    // Behind the last one. A number that does not go on begins a new history.
    void add(const PlaylistSegment& segment, bool independent);

    // `stored`: the disk has it. Nothing where it is not there any more.
    void settle(uint64_t number, bool stored);

    // Nothing of what was stored is there any more.
    void lose_all();

    bool empty() const { return entries_.empty(); }

    size_t size() const { return entries_.size(); }

    // Null: it is not there.
    const Entry* find(uint64_t number) const;

    // The disk has a segment with that header.
    bool has_header(uint64_t header) const;

    // The first number of a list that ends with `last`, is so long at least, and has at least
    // kMinListed; never less than `before`, that of the list before. A list does not begin with
    // what was lost.
    uint64_t first_of(uint64_t last, int64_t least_ms, uint64_t before) const;

    // What a playlist needs of the segments from `first` on and before `end`. Good until the next
    // change.
    struct Listed {
        OlderSegments older;
        uint64_t discontinuities_before = 0;
        bool independent = true;
    };

    Listed listed(uint64_t first, uint64_t end);

    // The same for a delta update: of `listed`, the text of what is nearer to the end of the
    // playlist than `skip_ms`. `behind_ms`: the length of what follows `end`.
    void skip(Listed& listed, int64_t behind_ms, int64_t skip_ms);

    // Takes out what is older than `keep_ms` before `first`. Names of files that are not needed any
    // more are appended to `gone`.
    void forget_before(uint64_t first, int64_t keep_ms, std::vector<std::string>& gone);

  private:
    size_t index_of(uint64_t number) const;
    void pop_front(std::vector<std::string>& gone);

    bool mp4_;
    std::deque<Entry> entries_;
    uint64_t discontinuities_gone_ = 0;
    uint64_t version_ = 0;  // grows with what changes texts
    // The list that was asked for last.
    uint64_t text_version_ = 0;
    uint64_t text_first_ = 0;
    uint64_t text_end_ = 0;
    std::string text_;
    Listed listed_;
    std::string skip_text_;
};

}  // namespace weir::hls
