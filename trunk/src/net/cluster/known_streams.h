// KnownStreams: what a node remembers of streams of other nodes: where the stream was found last,
// the highest epoch that was seen, and that nobody had it a moment ago.
//
// Bounded: of two generations the older one is forgotten when the younger one is full, and what is
// asked for moves to the younger one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "net/cluster/origins.h"

namespace weir::net {

class KnownStreams {
  public:
    // Of both generations. About 300 bytes for each that was found.
    static constexpr size_t kMaxStreams = 20'000;
    // So long nobody asks again for a stream that nobody had.
    static constexpr Millis kNegative{500};
    static constexpr Millis kLookGap{5'000};

    // Raises the highest epoch; false: it is lower than what was seen before.
    bool note_epoch(const std::string& stream, uint64_t epoch);

    // The highest that was seen; 0: none.
    uint64_t epoch(const std::string& stream);

    void found(const std::string& stream, Origin origin);

    // Where it was found last.
    std::optional<Origin> last(const std::string& stream);

    // It is not there any more, or could not be had there.
    void forget_origin(const std::string& stream);

    void found_nobody(const std::string& stream, MonoTime now);
    bool had_nobody(const std::string& stream, MonoTime now);
    // The registry has an older claim than the newest that was seen. How long each look has found
    // that, where no two of them were further apart than kLookGap.
    Micros note_older(const std::string& stream, MonoTime now);
    // Something has changed: it is asked for anew.
    void drop_negative(const std::string& stream);

    size_t size() const { return young_.size() + old_.size(); }

  private:
    struct Entry {
        uint64_t epoch = 0;
        MonoTime nobody_until{};
        std::optional<MonoTime> older_since;
        MonoTime older_at{};  // the last look that found so
        std::optional<Origin> origin;
    };

    using Map = std::unordered_map<std::string, Entry>;

    Entry* find(const std::string& stream);
    Entry& get(const std::string& stream);

    Map young_;
    Map old_;
};

}  // namespace weir::net
