// Remembers the previous check, gives the deltas, and says what an operator is to think of it.
//
// Allocates nothing that outlives a call: what it remembers has its place from the start, so that
// it never shows in the next check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "diagnosis/leak_report.h"

namespace weir::diagnosis {

inline constexpr size_t kMaxRememberedRecords = 8192;  // 24 bytes each

class LeakJudge {
  public:
    explicit LeakJudge(LeakThresholds thresholds = {});

    // `clients`: publishers and players that are connected now. The report lacks tool and seconds;
    // its records are chosen for the check and sorted, the worst first, at most kMaxReportRecords;
    // `name_stacks` is called with those that were chosen.
    LeakReport judge(RawLeaks raw,
                     LeakCheck check,
                     size_t clients,
                     const std::function<void(std::vector<LeakRecord>&)>& name_stacks = {});

  private:
    // Whether there is a record of possibly lost blocks that was not there before.
    enum class PossiblyNew : uint8_t { kNo, kYes, kUnknown };

    struct Remembered {
        uint64_t key = 0;
        LeakAmount amount;
    };

    void fill_totals(LeakReport& report) const;
    void fill_deltas(std::vector<LeakRecord>& records) const;
    void remember(const RawLeaks& raw, const LeakReport& report);
    void give_verdict(LeakReport& report, PossiblyNew possibly_new);
    bool lost_more(LeakReport& report, PossiblyNew possibly_new) const;

    LeakThresholds thresholds_;
    bool has_previous_ = false;
    LeakTotals previous_;
    std::vector<Remembered> remembered_;  // by key
    bool stale_ = false;                  // some of them may have changed since, unseen
    int growths_ = 0;                     // checks in a row that saw growth without a client
    int64_t grown_bytes_ = 0;             // in those
};

}  // namespace weir::diagnosis
