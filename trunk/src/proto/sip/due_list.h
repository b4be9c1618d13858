// Which of many objects is due next: O(log n) for every change. One time for each object.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"

namespace weir::sip {

class DueList {
  public:
    using Id = uint64_t;

    // `planned` is kept by the object and changed only here.
    void plan(Id id, std::optional<MonoTime>& planned, std::optional<MonoTime> at) {
        if (planned == at) {
            return;
        }
        if (planned) {
            entries_.erase({*planned, id});
        }
        if (at) {
            entries_.insert({*at, id});
        }
        planned = at;
    }

    std::optional<MonoTime> next() const {
        return entries_.empty() ? std::nullopt : std::optional(entries_.begin()->first);
    }

    // One that is due; nullopt: none. It stays until it is planned anew.
    std::optional<Id> due(MonoTime now) const {
        return entries_.empty() || entries_.begin()->first > now
                   ? std::nullopt
                   : std::optional(entries_.begin()->second);
    }

  private:
    std::set<std::pair<MonoTime, Id>> entries_;
};

}  // namespace weir::sip
