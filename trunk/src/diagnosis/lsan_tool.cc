#include "base/build.h"
#include "diagnosis/leak_tool.h"
#include "diagnosis/lsan_log.h"
#include "io/leak_check.h"

namespace weir::diagnosis {
namespace {

constexpr size_t kMaxReportBytes = 4 * 1024 * 1024;  // the largest records, and the sum

// LeakSanitizer reports all that is lost since the start, each time; what is new is for the judge
// to find out. It knows neither "possibly" nor "reachable": the latter is what the allocator has
// given out and the report does not name.
class LsanTool final : public LeakTool {
  public:
    std::string_view name() const override { return "lsan"; }

    std::vector<LeakCheck> checks() const override { return {LeakCheck::kFull, LeakCheck::kAdded}; }

    Result<RawLeaks> run(LeakCheck) override {
        WEIR_TRY_ASSIGN(const io::SanitizerLeaks leaks, io::sanitizer_leaks(kMaxReportBytes));
        return lsan_findings(parse_lsan_log(leaks.text), leaks.found, leaks.heap_bytes, leaks.heap);
    }
};

}  // namespace

std::unique_ptr<LeakTool> make_lsan_tool() {
    if constexpr (WEIR_ASAN != 0) {
        return std::make_unique<LsanTool>();
    }
    return nullptr;
}

}  // namespace weir::diagnosis
