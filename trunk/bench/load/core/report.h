// The result of a run: sections of named values and the conditions that decide pass or fail,
// printed as a table and written as JSON. Every subcommand fills one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bench/load/core/histogram.h"

namespace weir::load {

// A text as a JSON string, quotes included.
std::string json_string(std::string_view text);

class ReportSection {
  public:
    struct Number {
        double value = 0;
        std::string unit;
        int decimals = 0;
        std::string shown = {};  // in the table, instead of value and unit
    };

    struct Distribution {  // milliseconds
        uint64_t count = 0;
        double min = 0, mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
    };

    struct Row {
        std::string key;
        std::string label;
        std::variant<uint64_t, Number, std::string, Distribution> value;
    };

    ReportSection(std::string key, std::string title)
        : key_(std::move(key)), title_(std::move(title)) {}

    // `key` names the value in JSON, `label` in the table.
    ReportSection& count(std::string_view key, std::string_view label, uint64_t value);
    ReportSection& number(std::string_view key,
                          std::string_view label,
                          double value,
                          std::string_view unit,
                          int decimals);
    // Bits per second in JSON, "500.0 kbit/s" in the table.
    ReportSection& rate(std::string_view key, std::string_view label, double bits_per_second);
    ReportSection& text(std::string_view key, std::string_view label, std::string_view value);

    // Of microseconds, shown in milliseconds: count, p50, p95, p99, max. The JSON key should end in
    // _ms.
    ReportSection& distribution(std::string_view key,
                                std::string_view label,
                                const Histogram& microseconds);

    const std::string& key() const { return key_; }

    const std::string& title() const { return title_; }

    const std::vector<Row>& rows() const { return rows_; }

    // The row's value as the table shows it.
    static std::string shown(const Row& row);

  private:
    std::string key_;
    std::string title_;
    std::vector<Row> rows_;
};

class Report {
  public:
    struct Condition {
        std::string key;
        std::string what;
        std::string found;
        bool met = false;
    };

    // `command`: the subcommand; `target`: what was tested.
    Report(std::string command, std::string target)
        : command_(std::move(command)), target_(std::move(target)) {}

    // The reference is valid until the next section() call.
    ReportSection& section(std::string_view key, std::string_view title);

    // A condition of passing. `what` says what must hold, `found` what was seen.
    void expect(std::string_view key, bool met, std::string_view what, std::string found);

    // More of the JSON form: `value` is JSON itself, its lines but the first indented by two.
    void attach(std::string_view key, std::string value) {
        attached_.emplace_back(key, std::move(value));
    }

    // The run ended early; shown, no failure by itself.
    void ended_early(std::string why) { ended_early_ = std::move(why); }

    // Somebody ended it before it had seen what it was to see: neither passed nor failed.
    void incomplete(std::string why) {
        ended_early(std::move(why));
        incomplete_ = true;
    }

    // Nobody was connected: the table has no figures of what never was, only why.
    void nothing_measured() { measured_ = false; }

    enum class Verdict : uint8_t { kPassed, kFailed, kIncomplete };

    Verdict verdict() const;

    bool passed() const { return verdict() == Verdict::kPassed; }

    std::string to_table() const;
    std::string to_json() const;

    // What other forms of the report are made from.
    const std::string& command() const { return command_; }

    const std::string& target() const { return target_; }

    // Why the run ended early; empty when it did not.
    const std::string& why_ended_early() const { return ended_early_; }

    const std::vector<ReportSection>& sections() const { return sections_; }

    const std::vector<Condition>& conditions() const { return conditions_; }

  private:
    std::string command_;
    std::string target_;
    std::string ended_early_;
    bool incomplete_ = false;
    bool measured_ = true;
    std::vector<ReportSection> sections_;
    std::vector<std::pair<std::string, std::string>> attached_;
    std::vector<Condition> conditions_;
};

// "passed", "failed", "incomplete".
std::string_view to_string(Report::Verdict verdict);

}  // namespace weir::load
