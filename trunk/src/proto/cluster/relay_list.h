// RelayList: the streams that this node pulls from other nodes, as it says them in the registry for
// whoever lists the cluster (RelaysRecordView). Nothing else reads it. A state machine without I/O:
// time is a parameter.
//
// One record for all: it is said when it has changed, but no more often than kPause, and
// kBytesPerSecond of it; and again before it runs out. A node that pulls nothing has none.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.h"

namespace weir::cluster {

class RelayList {
  public:
    static constexpr Millis kPause{2'000};  // from one record to the next
    static constexpr size_t kBytesPerSecond = 4'096;
    static constexpr Millis kAgain{20'000};  // where nothing changed
    static constexpr Millis kLife{60'000};   // of a record

    // `stream`: stream_text(). As many as there are pulls (max_sources).
    void add(const std::string& stream);
    void remove(const std::string& stream);

    // The registry may have forgotten.
    void say_again();

    // When there is something to say; none: nothing has to be.
    std::optional<MonoTime> next_due() const;

    // What is to stand there: "BOOT STREAM STREAM...", with as many streams as fit in
    // kMaxRelaysRecord; empty: no record.
    std::string take(const std::string& boot, MonoTime now);

    // That could not be said; it is due again after kPause.
    void put_back();

    size_t size() const { return streams_.size(); }

  private:
    std::set<std::string> streams_;
    bool changed_ = false;
    bool stands_ = false;  // a record
    MonoTime said_{};
    Millis pause_ = kPause;  // after what was said last
};

}  // namespace weir::cluster
