// Which numbers segments of a stream had: a cache may keep what had them for an hour. They begin
// with the second of the wall clock, and only where segments came faster than one a second is there
// something to remember. Pure; not over restarts of the server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "stream/stream_key.h"

namespace weir::session {

class HlsNumbers {
  public:
    // Of as many streams at a time; of more than that nothing is remembered.
    static constexpr size_t kMaxStreams = 10'000;

    // The first number for segments of that stream. `now_s`: since the epoch.
    uint64_t first(const stream::StreamKey& key, uint64_t now_s) const {
        const auto known = next_.find(key);
        return known == next_.end() ? now_s : std::max(known->second, now_s);
    }

    // Those below `next` are used.
    void note(const stream::StreamKey& key, uint64_t next, uint64_t now_s) {
        std::erase_if(next_, [now_s](const auto& each) { return each.second <= now_s; });
        if (next > now_s && next_.size() < kMaxStreams) {
            next_.insert_or_assign(key, next);
        }
    }

    size_t size() const { return next_.size(); }

  private:
    std::map<stream::StreamKey, uint64_t> next_;
};

}  // namespace weir::session
