// What a leak check found, whatever tool looked: amounts by kind, records with their stacks, the
// verdict; and its JSON. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::diagnosis {

enum class LeakCheck : uint8_t { kFull, kAdded, kChanged, kQuick, kNew };

inline constexpr std::array kLeakChecks = {LeakCheck::kFull, LeakCheck::kAdded, LeakCheck::kChanged,
                                           LeakCheck::kQuick, LeakCheck::kNew};

// "full", "added" ...
std::string_view to_string(LeakCheck check);
std::optional<LeakCheck> parse_leak_check(std::string_view text);

// From the worst on: records are listed in this order.
enum class LeakKind : uint8_t { kDefinitely, kIndirectly, kPossibly, kReachable, kSuppressed };

inline constexpr size_t kLeakKinds = 5;

std::string_view to_string(LeakKind kind);

struct LeakAmount {
    int64_t bytes = 0;
    int64_t blocks = 0;

    LeakAmount& operator+=(const LeakAmount& other) {
        bytes += other.bytes;
        blocks += other.blocks;
        return *this;
    }

    LeakAmount operator-(const LeakAmount& other) const {
        return {bytes - other.bytes, blocks - other.blocks};
    }

    bool operator==(const LeakAmount&) const = default;
};

struct LeakTotal {
    LeakAmount now;
    LeakAmount delta;
    bool known = false;         // the tool can tell this kind; false is null in the JSON
    bool blocks_known = false;  // ... and how many blocks they are
};

using LeakTotals = std::array<LeakTotal, kLeakKinds>;

inline LeakTotal& total_of(LeakTotals& totals, LeakKind kind) {
    return totals[static_cast<size_t>(kind)];
}

inline const LeakTotal& total_of(const LeakTotals& totals, LeakKind kind) {
    return totals[static_cast<size_t>(kind)];
}

struct StackFrame {
    std::string function;  // "???" when it has no name
    std::string file;      // or the library; empty when unknown
    int line = 0;          // 0: unknown

    bool operator==(const StackFrame&) const = default;
};

// Blocks that were allocated by one stack and are of one kind.
struct LeakRecord {
    LeakKind kind = LeakKind::kDefinitely;
    LeakAmount now;
    LeakAmount delta;
    bool has_delta = false;      // the tool gave `delta`; otherwise the judge fills it in
    bool fresh = false;          // no such record before
    int64_t indirect_bytes = 0;  // what is lost with these blocks, because only they pointed to it
    std::vector<StackFrame> stack;     // the allocating function first
    std::vector<uintptr_t> addresses;  // instead, while nobody needs the names
    uint64_t key = 0;  // the same for the same stack and kind in every check of this process
};

// key_of() for records whose stack has names.
uint64_t key_of(LeakKind kind, const std::vector<StackFrame>& stack);

// Adds records of the same key up. Order: by key.
void merge_same(std::vector<LeakRecord>& records);

// What a tool hands over.
struct RawLeaks {
    LeakTotals totals;  // without deltas
    std::vector<LeakRecord> records;
    bool has_records = false;  // false: they are unknown, not none
    bool all_records = false;  // every record there is
    bool all_changes = false;  // else: every one that changed since the last check
    std::string note;          // about the records; empty when there is nothing to say
};

// The tunable part of the verdict; stands in each answer.
struct LeakThresholds {
    int64_t lost_bytes = 1;        // definitely or indirectly lost, more than before
    int64_t possibly_bytes = 1;    // possibly lost, more than before, with a new record
    int64_t growing_bytes = 1024;  // reachable, more than before
    int growing_checks = 2;        // in so many checks in a row, each without a client
};

enum class LeakVerdict : uint8_t { kClean, kGrowing, kLeaking };

std::string_view to_string(LeakVerdict verdict);

struct LeakReport {
    LeakCheck check = LeakCheck::kFull;
    std::string tool;
    double seconds = 0;
    LeakTotals totals;
    std::vector<LeakRecord> records;
    std::string records_note;  // why there are none, or not all; else empty
    bool first = false;        // nothing to compare with: deltas are from the start of the process
    size_t clients = 0;        // connected during the check
    LeakVerdict verdict = LeakVerdict::kClean;
    std::string reason;
    LeakThresholds thresholds;
};

inline constexpr size_t kMaxReportRecords = 100;  // in an answer; the others are only counted
inline constexpr size_t kMaxReportFrames = 40;    // of one stack
inline constexpr size_t kMaxFrameText = 400;      // bytes of a function's or file's name

// The "data" of an answer without its id: one JSON object, at most `limit` bytes (records are left
// out from the end when it would be more, and records_note says so).
std::string leak_report_json(const LeakReport& report, size_t limit);

// The innermost frame that is not of an allocator or of the standard library, "function
// (file:line)"; empty when there is none.
std::string place_of(const LeakRecord& record);

}  // namespace weir::diagnosis
