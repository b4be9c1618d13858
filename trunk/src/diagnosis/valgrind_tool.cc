#include <unistd.h>

#include <fmt/format.h>

#include "diagnosis/leak_tool.h"
#include "diagnosis/valgrind_log.h"
#include "io/valgrind_check.h"

namespace weir::diagnosis {
namespace {

constexpr size_t kMaxReportBytes = 4 * 1024 * 1024;  // its end: the largest records and the summary

io::ValgrindCheck to_valgrind(LeakCheck check) {
    switch (check) {
        case LeakCheck::kFull: return io::ValgrindCheck::kFull;
        // `added` leaves out what shrank, and the next check would compare with what it was before.
        case LeakCheck::kAdded:
        case LeakCheck::kChanged: return io::ValgrindCheck::kChanged;
        case LeakCheck::kQuick: return io::ValgrindCheck::kQuick;
        case LeakCheck::kNew: return io::ValgrindCheck::kNew;
    }
    return io::ValgrindCheck::kFull;
}

LeakTotal total(uint64_t bytes, uint64_t blocks) {
    return {{static_cast<int64_t>(bytes), static_cast<int64_t>(blocks)}, {}, true, true};
}

// Without valgrind's text: the counts, in which definitely and indirectly lost are one.
LeakTotals totals_of(const io::ValgrindReport& report) {
    LeakTotals totals;
    total_of(totals, LeakKind::kDefinitely) = total(report.bytes.lost, report.blocks.lost);
    total_of(totals, LeakKind::kPossibly) = total(report.bytes.possibly, report.blocks.possibly);
    total_of(totals, LeakKind::kReachable) = total(report.bytes.reachable, report.blocks.reachable);
    total_of(totals, LeakKind::kSuppressed) =
        total(report.bytes.suppressed, report.blocks.suppressed);
    return totals;
}

class ValgrindTool final : public LeakTool {
  public:
    std::string_view name() const override { return "valgrind"; }

    std::vector<LeakCheck> checks() const override {
        std::vector<LeakCheck> checks(kLeakChecks.begin(), kLeakChecks.end());
        if (!io::knows_new_valgrind_check()) {
            checks.pop_back();
        }
        return checks;
    }

    Result<RawLeaks> run(LeakCheck check) override {
        WEIR_TRY_ASSIGN(io::ValgrindReport report,
                        io::valgrind_leak_check(to_valgrind(check), kMaxReportBytes));
        RawLeaks raw;
        raw.totals = totals_of(report);
        if (report.text.empty()) {
            raw.note = std::move(report.no_text) +
                       "; without it the indirectly lost blocks are counted as definitely lost";
            return raw;
        }
        ValgrindLog log = parse_valgrind_log(report.text, getpid());
        if (!log.has_summary) {
            raw.note =
                "valgrind's report has no summary that can be read; the indirectly lost "
                "blocks are counted as definitely lost";
            return raw;
        }
        raw.totals = log.totals;
        raw.records = std::move(log.records);
        raw.has_records = check != LeakCheck::kQuick;
        raw.all_records = check == LeakCheck::kFull;
        raw.all_changes = check == LeakCheck::kAdded || check == LeakCheck::kChanged;
        if (log.dropped_records > 0) {
            raw.note = fmt::format("{} smaller records are not looked at", log.dropped_records);
        } else if (raw.has_records && raw.records.empty() && has_losses(raw.totals) &&
                   raw.all_records) {
            raw.note = "valgrind lists no records; start it with --leak-check=full";
        }
        return raw;
    }

  private:
    static bool has_losses(const LeakTotals& totals) {
        return total_of(totals, LeakKind::kDefinitely).now.bytes > 0 ||
               total_of(totals, LeakKind::kPossibly).now.bytes > 0;
    }
};

}  // namespace

std::unique_ptr<LeakTool> make_valgrind_tool() {
    return io::on_valgrind() ? std::make_unique<ValgrindTool>() : nullptr;
}

}  // namespace weir::diagnosis
