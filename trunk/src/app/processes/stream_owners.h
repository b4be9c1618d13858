// StreamOwners: which process of this machine has the publisher of a stream. Of the supervisor;
// pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "stream/stream_key.h"

namespace weir::app {

struct StreamOwner {
    uint32_t process = 0;
    uint64_t epoch = 0;  // 0: nobody

    bool operator==(const StreamOwner&) const = default;
};

class StreamOwners {
  public:
    static constexpr size_t kMaxStreams = 100'000;

    // The epoch of the claim; 0: another process has the name and it may not be taken over, or
    // there is no place. Of a process that has it already: the same epoch.
    uint64_t claim(const stream::StreamKey& key, uint32_t process, bool takeover);

    // True: it was that claim, and is no more.
    bool release(const stream::StreamKey& key, uint32_t process, uint64_t epoch);

    // The streams of a process that has ended; they are nobody's now.
    std::vector<stream::StreamKey> drop(uint32_t process);

    StreamOwner find(const stream::StreamKey& key) const;

    const std::map<stream::StreamKey, StreamOwner>& all() const { return all_; }

  private:
    std::map<stream::StreamKey, StreamOwner> all_;
    uint64_t last_epoch_ = 0;
};

}  // namespace weir::app
