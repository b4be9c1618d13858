#include "diagnosis/lsan_log.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::diagnosis {
namespace {

// Takes a decimal number off the front.
std::optional<int64_t> take_number(std::string_view& text) {
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || value < 0) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
}

bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) {
        return false;
    }
    text.remove_prefix(word.size());
    return true;
}

// "Direct leak of 303 byte(s) in 3 object(s) allocated from:"
std::optional<LeakRecord> read_record_line(std::string_view line) {
    LeakRecord record;
    if (take(line, "Direct leak of ")) {
        record.kind = LeakKind::kDefinitely;
    } else if (take(line, "Indirect leak of ")) {
        record.kind = LeakKind::kIndirectly;
    } else {
        return std::nullopt;
    }
    const std::optional<int64_t> bytes = take_number(line);
    if (!bytes || !take(line, " byte(s) in ")) {
        return std::nullopt;
    }
    const std::optional<int64_t> blocks = take_number(line);
    if (!blocks || !take(line, " object(s) allocated from:")) {
        return std::nullopt;
    }
    record.now = {*bytes, *blocks};
    return record;
}

// "303 byte(s) (45%) in 3 allocation(s)": a row of the list of the heap.
std::optional<LeakRecord> read_heap_line(std::string_view line) {
    LeakRecord record;
    record.kind = LeakKind::kReachable;
    const std::optional<int64_t> bytes = take_number(line);
    if (!bytes || !take(line, " byte(s) (") || !take_number(line) || !take(line, "%) in ")) {
        return std::nullopt;
    }
    const std::optional<int64_t> blocks = take_number(line);
    if (!blocks || !take(line, " allocation(s)")) {
        return std::nullopt;
    }
    record.now = {*bytes, *blocks};
    return record;
}

// "/a/b.cc:12:3" or "/a/b.cc:12" into its parts; "(/lib/x.so+0x12)" into the library.
void read_place(std::string_view place, StackFrame& frame) {
    if (place.starts_with('(')) {
        place.remove_prefix(1);
        frame.file = place.substr(0, std::min(place.find_first_of("+)"), kMaxFrameText));
        return;
    }
    // The last number is a column when there are two.
    for (int numbers = 0; numbers < 2; numbers++) {
        const size_t colon = place.rfind(':');
        std::string_view digits = colon == std::string_view::npos ? "" : place.substr(colon + 1);
        const std::optional<int64_t> value = take_number(digits);
        if (!value || !digits.empty() || *value > INT32_MAX) {
            break;
        }
        frame.line = static_cast<int>(*value);
        place = place.substr(0, colon);
    }
    frame.file = place.substr(0, kMaxFrameText);
}

// "#1 0x560be626c3a7 in leak_here(int) /tmp/b/ls.cc:11", "#2 0x7f40 (/lib/x.so+0x12)"
std::optional<StackFrame> read_frame(std::string_view line) {
    line = trim(line);
    if (!take(line, "#") || !take_number(line) || !take(line, " 0x")) {
        return std::nullopt;
    }
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line = trim(line);
    StackFrame frame;
    if (!take(line, "in ")) {
        frame.function = "???";
        read_place(line, frame);
        return frame;
    }
    // The place is behind the last space, unless the name's own parameters go to the end, or the
    // path has spaces: then it begins at the last " /" or " (/".
    size_t space = std::max(line.rfind(" /") + 1, line.rfind(" (/") + 1);
    if (space == 0) {
        space = line.rfind(' ') + 1;
        const bool is_place =
            space > 0 && line.find(':', space) != std::string_view::npos && !line.ends_with(')');
        space = is_place ? space : 0;
    }
    if (space == 0) {
        frame.function = line.substr(0, kMaxFrameText);
        return frame;
    }
    frame.function = line.substr(0, std::min(space - 1, kMaxFrameText));
    read_place(line.substr(space), frame);
    return frame;
}

// "      3        303 leak_here": a row of the table of suppressions.
bool read_suppression(std::string_view line, LeakAmount& sum) {
    line = trim(line);
    const std::optional<int64_t> blocks = take_number(line);
    line = trim(line);
    const std::optional<int64_t> bytes = blocks ? take_number(line) : std::nullopt;
    if (!bytes) {
        return false;
    }
    sum += {*bytes, *blocks};
    return true;
}

// "SUMMARY: AddressSanitizer: 359 byte(s) leaked in 4 allocation(s)."
std::optional<LeakAmount> read_sum(std::string_view line) {
    if (!take(line, "SUMMARY: ") || line.find(": ") == std::string_view::npos) {
        return std::nullopt;
    }
    line.remove_prefix(line.find(": ") + 2);
    const std::optional<int64_t> bytes = take_number(line);
    if (!bytes || !take(line, " byte(s) leaked in ")) {
        return std::nullopt;
    }
    const std::optional<int64_t> blocks = take_number(line);
    if (!blocks || !line.starts_with(" allocation(s)")) {
        return std::nullopt;
    }
    return LeakAmount{*bytes, *blocks};
}

using RecordLine = std::optional<LeakRecord> (*)(std::string_view line);

class Reader {
  public:
    Reader(LsanLog& log, RecordLine record_line) : log_(log), record_line_(record_line) {}

    void take_text(std::string_view text) {
        while (!text.empty()) {
            const size_t end = text.find('\n');
            if (end == std::string_view::npos) {
                break;  // a line that is not finished
            }
            take_line(text.substr(0, end));
            text.remove_prefix(end + 1);
        }
        finish_record();
    }

  private:
    void take_line(std::string_view line) {
        if (std::optional<LeakRecord> record = record_line_(line)) {
            finish_record();
            record_ = std::move(*record);
            open_ = true;
            return;
        }
        if (std::optional<StackFrame> frame = open_ ? read_frame(line) : std::nullopt) {
            if (record_.stack.size() < kMaxReportFrames) {
                record_.stack.push_back(std::move(*frame));
            }
            return;
        }
        finish_record();
        if (line.starts_with("Suppressions used:")) {
            in_suppressions_ = true;
        } else if (const std::optional<LeakAmount> sum = read_sum(line)) {
            log_.sum = *sum;
            log_.complete = true;
        } else if (in_suppressions_ && line.starts_with("---")) {
            in_suppressions_ = false;
        } else if (in_suppressions_) {
            (void)read_suppression(line, log_.suppressed);
        }
    }

    void finish_record() {
        if (open_ && !record_.stack.empty()) {
            if (log_.records.size() < kMaxLsanRecords) {
                record_.key = key_of(record_.kind, record_.stack);
                log_.records.push_back(std::move(record_));
            } else {
                log_.dropped_records++;
            }
        }
        record_ = {};
        open_ = false;
    }

    LsanLog& log_;
    RecordLine record_line_;
    LeakRecord record_;  // that is being read, while open_
    bool open_ = false;
    bool in_suppressions_ = false;
};

}  // namespace

LsanLog parse_lsan_log(std::string_view text) {
    LsanLog log;
    Reader(log, &read_record_line).take_text(text);
    return log;
}

std::vector<LeakRecord> parse_heap_list(std::string_view text,
                                        const std::vector<LeakRecord>& lost) {
    LsanLog log;
    Reader(log, &read_heap_line).take_text(text);
    merge_same(log.records);
    for (const LeakRecord& record : lost) {
        const uint64_t key = key_of(LeakKind::kReachable, record.stack);
        const auto same = std::ranges::lower_bound(log.records, key, {}, &LeakRecord::key);
        if (same != log.records.end() && same->key == key) {
            same->now = same->now - record.now;
        }
    }
    std::erase_if(log.records, [](const LeakRecord& record) { return record.now.bytes <= 0; });
    return std::move(log.records);
}

Result<RawLeaks> lsan_findings(LsanLog log,
                               bool found,
                               uint64_t heap_bytes,
                               std::string_view heap_list) {
    if (found && !log.complete) {
        return make_error(ErrorCode::kInternal,
                          "LeakSanitizer found leaks, but the sum of its report cannot be read; "
                          "the report of the next check may be shorter");
    }
    RawLeaks raw;
    for (const LeakKind kind :
         {LeakKind::kDefinitely, LeakKind::kIndirectly, LeakKind::kSuppressed}) {
        total_of(raw.totals, kind).known = true;
        total_of(raw.totals, kind).blocks_known = true;
    }
    LeakAmount listed;
    for (const LeakRecord& record : log.records) {
        total_of(raw.totals, record.kind).now += record.now;
        listed += record.now;
    }
    raw.has_records = true;
    raw.all_records = listed == log.sum;
    if (!raw.all_records) {
        total_of(raw.totals, LeakKind::kDefinitely).now = log.sum;
        total_of(raw.totals, LeakKind::kIndirectly) = {};
        raw.note = fmt::format(
            "the records are those of {} of {} bytes, smaller ones are missing; indirectly lost "
            "blocks are counted as definitely lost",
            listed.bytes, log.sum.bytes);
    }
    total_of(raw.totals, LeakKind::kSuppressed).now = log.suppressed;
    LeakTotal& reachable = total_of(raw.totals, LeakKind::kReachable);
    reachable.known = true;
    reachable.now.bytes = static_cast<int64_t>(heap_bytes) - log.sum.bytes - log.suppressed.bytes;
    std::vector<LeakRecord> in_use = parse_heap_list(heap_list, log.records);
    raw.records = std::move(log.records);
    std::ranges::move(in_use, std::back_inserter(raw.records));
    return raw;
}

}  // namespace weir::diagnosis
