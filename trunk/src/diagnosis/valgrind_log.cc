#include "diagnosis/valgrind_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace weir::diagnosis {
namespace {

// Reads a line from its start; after a failed read the line is of no use.
class LineView {
  public:
    explicit LineView(std::string_view text) : text_(text) {}

    bool skip(std::string_view word) {
        if (!text_.starts_with(word)) {
            return false;
        }
        text_.remove_prefix(word.size());
        return true;
    }

    void skip_spaces() {
        text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
    }

    // "1,045"
    std::optional<int64_t> number() {
        int64_t value = 0;
        size_t digits = 0;
        while (!text_.empty() && (text_.front() == ',' || is_digit(text_.front()))) {
            if (text_.front() != ',') {
                if (++digits > 18) {
                    return std::nullopt;
                }
                value = value * 10 + (text_.front() - '0');
            }
            text_.remove_prefix(1);
        }
        return digits > 0 ? std::optional(value) : std::nullopt;
    }

    // " (+1,045)" or " (-3)"; nullopt when there is none.
    std::optional<int64_t> delta() {
        LineView ahead = *this;
        if (!ahead.skip(" (")) {
            return std::nullopt;
        }
        const bool negative = ahead.skip("-");
        if (!negative && !ahead.skip("+")) {
            return std::nullopt;
        }
        const std::optional<int64_t> value = ahead.number();
        if (!value || !ahead.skip(")")) {
            return std::nullopt;
        }
        *this = ahead;
        return negative ? -*value : *value;
    }

    std::string_view rest() const { return text_; }

  private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    std::string_view text_;
};

struct Count {
    int64_t value = 0;
    int64_t delta = 0;
    bool has_delta = false;
};

std::optional<Count> read_count(LineView& line) {
    const std::optional<int64_t> value = line.number();
    if (!value) {
        return std::nullopt;
    }
    const std::optional<int64_t> delta = line.delta();
    return Count{*value, delta.value_or(0), delta.has_value()};
}

struct KindName {
    LeakKind kind;
    std::string_view summary;
    std::string_view record;
};

constexpr std::array<KindName, kLeakKinds> kKinds = {{
    {LeakKind::kDefinitely, "definitely lost: ", "definitely lost"},
    {LeakKind::kIndirectly, "indirectly lost: ", "indirectly lost"},
    {LeakKind::kPossibly, "possibly lost: ", "possibly lost"},
    {LeakKind::kReachable, "still reachable: ", "still reachable"},
    {LeakKind::kSuppressed, "suppressed: ", "suppressed"},
}};

// "definitely lost: 2,200 (+1,155) bytes in 21 (+11) blocks"
bool read_summary_line(LineView line, LeakTotals& totals) {
    line.skip_spaces();
    for (const KindName& name : kKinds) {
        if (!line.skip(name.summary)) {
            continue;
        }
        const std::optional<Count> bytes = read_count(line);
        if (!bytes || !line.skip(" bytes in ")) {
            return false;
        }
        const std::optional<Count> blocks = read_count(line);
        if (!blocks || !line.skip(" blocks")) {
            return false;
        }
        LeakTotal& total = total_of(totals, name.kind);
        total.now = {bytes->value, blocks->value};
        total.known = true;
        total.blocks_known = true;
        return true;
    }
    return false;
}

// "72 (+72) (16 (+16) direct, 56 (+56) indirect) bytes in 1 (+1) blocks are definitely lost in new
// loss record 4 of 6". With an indirect part the first number is the sum of both.
std::optional<LeakRecord> read_record_line(LineView line) {
    std::optional<Count> bytes = read_count(line);
    if (!bytes) {
        return std::nullopt;
    }
    LeakRecord record;
    if (line.skip(" (")) {
        const std::optional<Count> direct = read_count(line);
        if (!direct || !line.skip(" direct, ")) {
            return std::nullopt;
        }
        const std::optional<Count> indirect = read_count(line);
        if (!indirect || !line.skip(" indirect)")) {
            return std::nullopt;
        }
        bytes = direct;
        record.indirect_bytes = indirect->value;
    }
    if (!line.skip(" bytes in ")) {
        return std::nullopt;
    }
    const std::optional<Count> blocks = read_count(line);
    if (!blocks || !line.skip(" blocks are ")) {
        return std::nullopt;
    }
    const auto kind = std::ranges::find_if(
        kKinds, [&](const KindName& name) { return line.rest().starts_with(name.record); });
    if (kind == kKinds.end() || line.rest().find("loss record") == std::string_view::npos) {
        return std::nullopt;
    }
    record.kind = kind->kind;
    record.now = {bytes->value, blocks->value};
    record.delta = {bytes->delta, blocks->delta};
    record.has_delta = bytes->has_delta;
    return record;
}

// "   at 0x48417B4: malloc (in /usr/libexec/x.so)", "   by 0x1093AD: leak_here(int) (vg.cc:13)"
std::optional<StackFrame> read_frame(LineView line) {
    line.skip_spaces();
    if (!line.skip("at 0x") && !line.skip("by 0x")) {
        return std::nullopt;
    }
    const size_t colon = line.rest().find(": ");
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view function = line.rest().substr(colon + 2);
    StackFrame frame;
    const size_t bracket = function.rfind(" (");
    if (function.ends_with(')') && bracket != std::string_view::npos) {
        std::string_view place = function.substr(bracket + 2);
        place.remove_suffix(1);
        const size_t line_at = place.rfind(':');
        if (place.starts_with("in ")) {
            frame.file = place.substr(3);
            function = function.substr(0, bracket);
        } else if (line_at != std::string_view::npos) {
            const std::string_view number = place.substr(line_at + 1);
            const auto [end, failed] =
                std::from_chars(number.data(), number.data() + number.size(), frame.line);
            if (failed == std::errc() && end == number.data() + number.size()) {
                frame.file = place.substr(0, line_at);
                function = function.substr(0, bracket);
            }
        }  // else the bracket is the parameter list of a function without a file
    }
    frame.function = function.substr(0, kMaxFrameText);
    return frame;
}

// "==123== " or, with --time-stamp=yes, "==00:00:00:01.234 123== ".
bool take_prefix(std::string_view& line, std::string_view id) {
    const size_t end = line.starts_with("==") ? line.find("== ", 2) : std::string_view::npos;
    if (end == std::string_view::npos) {
        return false;
    }
    const std::string_view inside = line.substr(2, end - 2);
    if (!inside.ends_with(id) ||
        (inside.size() > id.size() && inside[inside.size() - id.size() - 1] != ' ')) {
        return false;
    }
    line.remove_prefix(end + 3);
    return true;
}

// Joins lines to records and a summary.
class Reader {
  public:
    explicit Reader(ValgrindLog& log) : log_(log) {}

    void take(std::string_view text) {
        const LineView line(text);
        if (in_summary_ && read_summary_line(line, totals_)) {
            // The last of the five lines makes it whole; a summary that is cut off is none.
            if (total_of(totals_, LeakKind::kSuppressed).known) {
                log_.totals = totals_;
                log_.has_summary = true;
                in_summary_ = false;
            }
            return;
        }
        if (text == "LEAK SUMMARY:") {
            finish_record();
            in_summary_ = true;
            totals_ = {};
            return;
        }
        // All blocks were freed: valgrind writes this instead of a summary of zeros.
        if (text.starts_with("All heap blocks were freed")) {
            for (LeakTotal& total : log_.totals) {
                total = {{}, {}, true, true};
            }
            log_.has_summary = true;
            return;
        }
        if (std::optional<LeakRecord> record = read_record_line(line)) {
            finish_record();
            record_ = std::move(record);
            return;
        }
        if (std::optional<StackFrame> frame = record_ ? read_frame(line) : std::nullopt) {
            if (record_->stack.size() < kMaxReportFrames) {
                record_->stack.push_back(std::move(*frame));
            }
            return;
        }
        finish_record();
    }

    void finish() {
        finish_record();
        if (log_.records.size() > kMaxValgrindRecords) {
            log_.dropped_records = log_.records.size() - kMaxValgrindRecords;
            log_.records.erase(log_.records.begin(),
                               log_.records.begin() + static_cast<int64_t>(log_.dropped_records));
        }
    }

  private:
    void finish_record() {
        if (record_ && !record_->stack.empty()) {
            record_->key = key_of(record_->kind, record_->stack);
            log_.records.push_back(std::move(*record_));
        }
        record_.reset();
    }

    ValgrindLog& log_;
    std::optional<LeakRecord> record_;
    LeakTotals totals_;
    bool in_summary_ = false;
};

}  // namespace

ValgrindLog parse_valgrind_log(std::string_view text, int pid) {
    const std::string id = std::to_string(pid);
    ValgrindLog log;
    Reader reader(log);
    while (!text.empty()) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            break;  // a line that is not finished
        }
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (take_prefix(line, id)) {
            reader.take(line);
        }
    }
    reader.finish();
    return log;
}

}  // namespace weir::diagnosis
