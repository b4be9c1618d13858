// Made-up findings of a leak tool, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "diagnosis/leak_report.h"

namespace weir::test {

using diagnosis::key_of;
using diagnosis::LeakKind;
using diagnosis::LeakRecord;
using diagnosis::LeakTotal;
using diagnosis::RawLeaks;

inline LeakRecord leak_record(LeakKind kind,
                              const std::string& function,
                              int64_t bytes,
                              int64_t blocks = 1) {
    LeakRecord record;
    record.kind = kind;
    record.now = {bytes, blocks};
    record.stack = {{"malloc", "vgpreload.so", 0}, {function, "src/" + function + ".cc", 7}};
    record.key = key_of(kind, record.stack);
    return record;
}

// Totals are those of the records; `reachable` bytes are added to that.
inline RawLeaks findings(std::vector<LeakRecord> records, int64_t reachable = 0) {
    RawLeaks raw;
    for (LeakTotal& total : raw.totals) {
        total.known = true;
        total.blocks_known = true;
    }
    for (const LeakRecord& record : records) {
        total_of(raw.totals, record.kind).now += record.now;
    }
    total_of(raw.totals, LeakKind::kReachable).now.bytes += reachable;
    raw.records = std::move(records);
    raw.has_records = true;
    raw.all_records = true;
    return raw;
}

}  // namespace weir::test
