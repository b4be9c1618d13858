#include "diagnosis/leak_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "net/api/answer.h"

namespace weir::diagnosis {
namespace {

constexpr std::array<std::string_view, 5> kCheckNames = {"full", "added", "changed", "quick",
                                                         "new"};
constexpr std::array<std::string_view, kLeakKinds> kKindNames = {
    "definitely", "indirectly", "possibly", "reachable", "suppressed"};
constexpr std::array<std::string_view, 3> kVerdictNames = {"clean", "growing", "leaking"};

// Frames that say how memory was had, not by whom.
constexpr std::array<std::string_view, 24> kAllocators = {
    "malloc",         "calloc",      "realloc",  "reallocarray", "memalign",       "aligned_alloc",
    "posix_memalign", "strdup",      "strndup",  "operator new", "__interceptor_", "__gnu_cxx::",
    "std::",          "void std::",  "tc_",      "tcmalloc",     "fmt::",          "__libc_",
    "void* __gnu",    "char* std::", "decltype", "nlohmann::",   "GetHeapProfile", "cpp_alloc"};

// Files of the standard library's templates, of which valgrind tells the name only and names the
// functions without "std::".
constexpr std::array<std::string_view, 11> kLibraryFiles = {
    "stl_",       "std_",         "alloc",  "new_allocator", "invoke",   "unique_ptr",
    "shared_ptr", "basic_string", "vector", "deque",         "hashtable"};

bool is_library_file(std::string_view file) {
    if (file.find("/include/c++/") != std::string_view::npos) {
        return true;
    }
    return file.find('/') == std::string_view::npos &&
           (file.ends_with(".h") || file.ends_with(".tcc")) &&
           std::ranges::any_of(kLibraryFiles,
                               [&](std::string_view name) { return file.starts_with(name); });
}

net::Json cut(std::string_view text) {
    return std::string(text.substr(0, kMaxFrameText));
}

net::Json amount_json(const LeakTotal& total) {
    if (!total.known) {
        return {{"bytes", nullptr},
                {"blocks", nullptr},
                {"bytes_delta", nullptr},
                {"blocks_delta", nullptr}};
    }
    net::Json json = {{"bytes", total.now.bytes},
                      {"blocks", total.now.blocks},
                      {"bytes_delta", total.delta.bytes},
                      {"blocks_delta", total.delta.blocks}};
    if (!total.blocks_known) {
        json["blocks"] = nullptr;
        json["blocks_delta"] = nullptr;
    }
    return json;
}

net::Json record_json(const LeakRecord& record) {
    net::Json json = {{"kind", to_string(record.kind)},      {"bytes", record.now.bytes},
                      {"blocks", record.now.blocks},         {"bytes_delta", record.delta.bytes},
                      {"blocks_delta", record.delta.blocks}, {"new", record.fresh}};
    if (record.indirect_bytes != 0) {
        json["indirect_bytes"] = record.indirect_bytes;
    }
    net::Json stack = net::Json::array();
    for (const StackFrame& frame : record.stack) {
        if (stack.size() == kMaxReportFrames) {
            break;
        }
        stack.push_back(
            {{"function", cut(frame.function)}, {"file", cut(frame.file)}, {"line", frame.line}});
    }
    json["stack"] = std::move(stack);
    return json;
}

net::Json head_json(const LeakReport& report) {
    net::Json json = {
        {"check", to_string(report.check)}, {"tool", report.tool}, {"seconds", report.seconds}};
    for (size_t i = 0; i < kLeakKinds; i++) {
        json[std::string(kKindNames[i])] = amount_json(report.totals[i]);
    }
    return json;
}

}  // namespace

std::string_view to_string(LeakCheck check) {
    return kCheckNames[static_cast<size_t>(check)];
}

std::optional<LeakCheck> parse_leak_check(std::string_view text) {
    const auto found = std::ranges::find(kCheckNames, text);
    if (found == kCheckNames.end()) {
        return std::nullopt;
    }
    return kLeakChecks[static_cast<size_t>(found - kCheckNames.begin())];
}

std::string_view to_string(LeakKind kind) {
    return kKindNames[static_cast<size_t>(kind)];
}

std::string_view to_string(LeakVerdict verdict) {
    return kVerdictNames[static_cast<size_t>(verdict)];
}

uint64_t key_of(LeakKind kind, const std::vector<StackFrame>& stack) {
    // FNV-1a: the same in every check, and enough for some thousand stacks.
    uint64_t hash = 0xcbf29ce484222325U;
    const auto add = [&hash](std::string_view text) {
        for (const char c : text) {
            hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3U;
        }
        hash = (hash ^ 0xffU) * 0x100000001b3U;
    };
    add(to_string(kind));
    for (const StackFrame& frame : stack) {
        add(frame.function);
        add(frame.file);
        add(std::to_string(frame.line));
    }
    return hash;
}

void merge_same(std::vector<LeakRecord>& records) {
    std::ranges::stable_sort(records, {}, &LeakRecord::key);
    size_t kept = 0;
    for (size_t i = 0; i < records.size(); i++) {
        if (kept > 0 && records[kept - 1].key == records[i].key) {
            LeakRecord& sum = records[kept - 1];
            sum.now += records[i].now;
            sum.delta += records[i].delta;
            sum.indirect_bytes += records[i].indirect_bytes;
            sum.fresh = sum.fresh && records[i].fresh;
            sum.has_delta = sum.has_delta && records[i].has_delta;
            continue;
        }
        if (kept != i) {
            records[kept] = std::move(records[i]);
        }
        kept++;
    }
    records.resize(kept);
}

std::string leak_report_json(const LeakReport& report, size_t limit) {
    net::Json tail = {{"verdict", to_string(report.verdict)},
                      {"reason", report.reason},
                      {"first", report.first},
                      {"clients", report.clients},
                      {"thresholds",
                       {{"lost_bytes", report.thresholds.lost_bytes},
                        {"possibly_bytes", report.thresholds.possibly_bytes},
                        {"growing_bytes", report.thresholds.growing_bytes},
                        {"growing_checks", report.thresholds.growing_checks}}}};
    const std::string head = net::dumped(head_json(report));
    const std::string end = net::dumped(tail);
    // Braces, the names of the members between the parts, and the longest note of ours.
    const size_t around = head.size() + end.size() + report.records_note.size() + 256;
    std::string records;
    std::string note = report.records_note;
    for (size_t i = 0; i < report.records.size(); i++) {
        const std::string record = net::dumped(record_json(report.records[i]));
        if (around + records.size() + record.size() > limit) {
            note += fmt::format("{}{} more records do not fit into this answer",
                                note.empty() ? "" : "; ", report.records.size() - i);
            break;
        }
        records += (i == 0 ? "" : ",") + record;
    }
    return head.substr(0, head.size() - 1) + ",\"records\":[" + records +
           "],\"records_note\":" + net::dumped(net::Json(note)) + "," + end.substr(1);
}

std::string place_of(const LeakRecord& record) {
    for (const StackFrame& frame : record.stack) {
        const bool allocator = std::ranges::any_of(
            kAllocators, [&](std::string_view name) { return frame.function.starts_with(name); });
        if (allocator || frame.function == "???" || frame.function.empty() ||
            is_library_file(frame.file)) {
            continue;
        }
        const std::string function = frame.function.substr(0, kMaxFrameText);
        const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
        if (file.empty()) {
            return function;
        }
        return frame.line > 0 ? fmt::format("{} ({}:{})", function, file, frame.line)
                              : fmt::format("{} ({})", function, file);
    }
    return {};
}

}  // namespace weir::diagnosis
