// Finds lost, duplicated and reordered numbers in the sequence of one track.
//
// A number that was skipped counts as lost until it arrives late (then as reordered), within the
// last kDepth numbers; what is older than that and comes again counts as reordered only.
#pragma once

#include <cstdint>

namespace weir::load {

class SequenceWindow {
  public:
    static constexpr uint32_t kDepth = 64;

    // The first number after construction or reset() is taken as it is: a player joins anywhere.
    void see(uint32_t sequence);

    // A frame whose number could not be read takes the next place.
    void see_illegible();

    // A new publishing session: numbers start again. The counts stay.
    void reset() { started_ = false; }

    uint64_t received() const { return received_; }

    uint64_t lost() const { return lost_; }

    uint64_t duplicated() const { return duplicated_; }

    uint64_t reordered() const { return reordered_; }

    // The number that should come next; valid when anything was seen.
    uint32_t next() const { return next_; }

  private:
    bool started_ = false;
    uint32_t next_ = 0;
    uint64_t seen_ = 0;  // bit i: next_ - 1 - i has arrived
    uint64_t received_ = 0;
    uint64_t lost_ = 0;
    uint64_t duplicated_ = 0;
    uint64_t reordered_ = 0;
};

}  // namespace weir::load
