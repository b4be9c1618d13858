#include "diagnosis/heap_profile.h"

#include <charconv>
#include <utility>

#include "base/strings.h"

namespace weir::diagnosis {
namespace {

bool take(std::string_view& text, std::string_view word) {
    text = trim(text);
    if (!text.starts_with(word)) {
        return false;
    }
    text.remove_prefix(word.size());
    return true;
}

template <typename Number>
bool take_number(std::string_view& text, Number& value, int base = 10) {
    text = trim(text);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (failed != std::errc() || value < 0) {
        return false;
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
}

// "10:  2010 [  12:  3000] @": blocks and bytes in use, and in brackets what was ever allocated.
bool take_amounts(std::string_view& text, LeakAmount& in_use) {
    LeakAmount ever;
    return take_number(text, in_use.blocks) && take(text, ":") && take_number(text, in_use.bytes) &&
           take(text, "[") && take_number(text, ever.blocks) && take(text, ":") &&
           take_number(text, ever.bytes) && take(text, "]") && take(text, "@");
}

uint64_t key_of(const std::vector<uintptr_t>& addresses) {
    uint64_t hash = 0xcbf29ce484222325U;
    for (const uintptr_t address : addresses) {
        hash = (hash ^ address) * 0x100000001b3U;
        hash ^= hash >> 32U;
    }
    return hash;
}

bool read_record(std::string_view line, LeakRecord& record) {
    if (!take_amounts(line, record.now)) {
        return false;
    }
    while (take(line, "0x") && record.addresses.size() < kMaxReportFrames) {
        uintptr_t address = 0;
        if (!take_number(line, address, 16)) {
            return false;
        }
        record.addresses.push_back(address);
    }
    record.kind = LeakKind::kReachable;
    record.key = key_of(record.addresses);
    return !record.addresses.empty();
}

}  // namespace

HeapProfile parse_heap_profile(std::string_view text) {
    HeapProfile profile;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            break;  // a line that is not finished
        }
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (!profile.valid) {
            LeakAmount in_use;
            profile.valid = take(line, "heap profile:") && take_amounts(line, in_use);
            if (!profile.valid) {
                break;
            }
            continue;
        }
        if (line.starts_with("MAPPED_LIBRARIES:")) {
            break;
        }
        LeakRecord record;
        if (!read_record(line, record)) {
            continue;
        }
        if (profile.records.size() < kMaxHeapStacks) {
            profile.records.push_back(std::move(record));
        } else {
            profile.dropped_records++;
        }
    }
    return profile;
}

}  // namespace weir::diagnosis
