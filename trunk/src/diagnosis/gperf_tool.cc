#include <fmt/format.h>

#include "diagnosis/heap_profile.h"
#include "diagnosis/heap_symbols.h"
#include "diagnosis/leak_tool.h"
#include "diagnosis/profilers.h"

#if WEIR_HEAP_PROFILER
#include <gperftools/malloc_extension.h>
#endif

namespace weir::diagnosis {

#if WEIR_HEAP_PROFILER

namespace {

constexpr const char* kPrefix = "gperf.weir.leaks";  // of what gperftools writes by itself
constexpr int64_t kProfilerBuffer = 1 << 20;         // in which it makes the text

// The heap profiler says what is in use, by stack, and not whether anything points to it: all is
// "reachable", and what grows is for the judge to find out.
class GperfTool final : public LeakTool {
  public:
    std::string_view name() const override { return "gperf"; }

    std::vector<LeakCheck> checks() const override { return {LeakCheck::kFull, LeakCheck::kAdded}; }

    Result<RawLeaks> run(LeakCheck) override {
        RawLeaks raw;
        LeakTotal& reachable = total_of(raw.totals, LeakKind::kReachable);
        size_t in_use = 0;
        reachable.known = MallocExtension::instance()->GetNumericProperty(
            "generic.current_allocated_bytes", &in_use);
        reachable.now.bytes = static_cast<int64_t>(in_use);
        if (!heap_profile_running()) {
            WEIR_TRY(start_heap_profile(kPrefix));
            raw.note =
                "the heap profile begins with this check: the next one shows what grows, by "
                "stack, without what was allocated before";
            return raw;
        }
        WEIR_TRY_ASSIGN(const std::string text, dump_heap_profile());
        HeapProfile profile = parse_heap_profile(text);
        if (!profile.valid) {
            return make_error(ErrorCode::kInternal, "the heap profile cannot be read");
        }
        std::erase_if(profile.records, [](const LeakRecord& record) {
            return record.now == LeakAmount{kProfilerBuffer, 1} && record.addresses.size() > 0 &&
                   is_heap_profiler(record.addresses.front());
        });
        raw.records = std::move(profile.records);
        raw.has_records = true;
        raw.all_records = true;
        if (profile.dropped_records > 0) {
            raw.note = fmt::format("{} smaller records are not looked at", profile.dropped_records);
        }
        return raw;
    }

    void name_stacks(std::vector<LeakRecord>& records) override {
        for (LeakRecord& record : records) {
            if (record.stack.empty()) {
                record.stack = name_addresses(record.addresses);
            }
        }
    }
};

}  // namespace

std::unique_ptr<LeakTool> make_gperf_tool() {
    return std::make_unique<GperfTool>();
}

#else

std::unique_ptr<LeakTool> make_gperf_tool() {
    return nullptr;
}

#endif

}  // namespace weir::diagnosis
