#include "bench/load/core/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

double ms(uint64_t microseconds) {
    return static_cast<double>(microseconds) / 1000.0;
}

template <typename... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};

template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

ReportSection& ReportSection::count(std::string_view key, std::string_view label, uint64_t value) {
    rows_.push_back({std::string(key), std::string(label), value});
    return *this;
}

ReportSection& ReportSection::number(std::string_view key,
                                     std::string_view label,
                                     double value,
                                     std::string_view unit,
                                     int decimals) {
    rows_.push_back(
        {std::string(key), std::string(label), Number{value, std::string(unit), decimals}});
    return *this;
}

ReportSection& ReportSection::rate(std::string_view key,
                                   std::string_view label,
                                   double bits_per_second) {
    rows_.push_back({std::string(key), std::string(label),
                     Number{bits_per_second, "bit/s", 0, bit_rate_text(bits_per_second)}});
    return *this;
}

ReportSection& ReportSection::text(std::string_view key,
                                   std::string_view label,
                                   std::string_view value) {
    rows_.push_back({std::string(key), std::string(label), std::string(value)});
    return *this;
}

ReportSection& ReportSection::distribution(std::string_view key,
                                           std::string_view label,
                                           const Histogram& microseconds) {
    const Histogram& h = microseconds;
    Distribution value{h.count(),           ms(h.min()),          h.mean() / 1000.0,
                       ms(h.quantile(0.5)), ms(h.quantile(0.95)), ms(h.quantile(0.99)),
                       ms(h.max())};
    rows_.push_back({std::string(key), std::string(label), value});
    return *this;
}

std::string ReportSection::shown(const Row& row) {
    return std::visit(
        Overloaded{[](uint64_t v) { return grouped(v); },
                   [](const Number& v) {
                       return v.shown.empty()
                                  ? fmt::format("{:.{}f} {}", v.value, v.decimals, v.unit)
                                  : v.shown;
                   },
                   [](const std::string& v) { return v; },
                   [](const Distribution& v) {
                       return v.count == 0
                                  ? std::string("no sample")
                                  : fmt::format("p50 {:.1f}  p95 {:.1f}  p99 {:.1f}  max {:.1f} ms",
                                                v.p50, v.p95, v.p99, v.max);
                   }},
        row.value);
}

ReportSection& Report::section(std::string_view key, std::string_view title) {
    return sections_.emplace_back(std::string(key), std::string(title));
}

void Report::expect(std::string_view key, bool met, std::string_view what, std::string found) {
    conditions_.push_back({std::string(key), std::string(what), std::move(found), met});
}

Report::Verdict Report::verdict() const {
    if (incomplete_) {
        return Verdict::kIncomplete;
    }
    const bool all = std::all_of(conditions_.begin(), conditions_.end(),
                                 [](const Condition& each) { return each.met; });
    return all ? Verdict::kPassed : Verdict::kFailed;
}

std::string_view to_string(Report::Verdict verdict) {
    switch (verdict) {
        case Report::Verdict::kPassed: return "passed";
        case Report::Verdict::kFailed: return "failed";
        case Report::Verdict::kIncomplete: return "incomplete";
    }
    return "";
}

std::string Report::to_table() const {
    std::string out = fmt::format("{} {}\n", command_, target_);
    for (const ReportSection& section : sections_) {
        out += fmt::format("\n{}\n", section.title());
        for (const ReportSection::Row& row : section.rows()) {
            const auto* times = std::get_if<ReportSection::Distribution>(&row.value);
            if (measured_ || times == nullptr || times->count > 0) {
                out += fmt::format("  {:<28} {}\n", row.label, ReportSection::shown(row));
            }
        }
        if (!measured_) {
            break;  // the first says who was connected; the others would be zeros
        }
    }
    out += '\n';
    if (!ended_early_.empty()) {
        out += fmt::format("ended early: {}\n", ended_early_);
    }
    for (const Condition& condition : conditions_) {
        if (!condition.met) {
            out += fmt::format("{} {}: {}: {}\n", incomplete_ ? "NOT SEEN" : "FAILED",
                               condition.key, condition.what, condition.found);
        }
    }
    out += verdict() == Verdict::kPassed       ? "PASSED\n"
           : verdict() == Verdict::kIncomplete ? "INCOMPLETE: it was ended before its time\n"
                                               : "";
    return out;
}

std::string Report::to_json() const {
    std::string out = fmt::format(
        "{{\n  \"command\": {},\n  \"target\": {},\n  \"passed\": {},\n  \"verdict\": "
        "\"{}\",\n  \"ended_early\": {}",
        json_string(command_), json_string(target_), passed(), to_string(verdict()),
        json_string(ended_early_));
    for (const ReportSection& section : sections_) {
        out += fmt::format(",\n  {}: {{", json_string(section.key()));
        const char* separator = "\n    ";
        for (const ReportSection::Row& row : section.rows()) {
            out += separator + json_string(row.key) + ": ";
            separator = ",\n    ";
            out += std::visit(
                Overloaded{
                    [](uint64_t v) { return std::to_string(v); },
                    [](const ReportSection::Number& v) {
                        return fmt::format("{:.{}f}", v.value, v.decimals);
                    },
                    [](const std::string& v) { return json_string(v); },
                    [](const ReportSection::Distribution& v) {
                        return fmt::format(
                            "{{\"count\": {}, \"min\": {:.3f}, \"mean\": {:.3f}, \"p50\": {:.3f}, "
                            "\"p95\": {:.3f}, \"p99\": {:.3f}, \"max\": {:.3f}}}",
                            v.count, v.min, v.mean, v.p50, v.p95, v.p99, v.max);
                    }},
                row.value);
        }
        out += "\n  }";
    }
    out += ",\n  \"conditions\": [";
    const char* separator = "\n    ";
    for (const Condition& condition : conditions_) {
        out += fmt::format("{}{{\"name\": {}, \"met\": {}, \"expected\": {}, \"found\": {}}}",
                           separator, json_string(condition.key), condition.met,
                           json_string(condition.what), json_string(condition.found));
        separator = ",\n    ";
    }
    out += "\n  ]";
    for (const auto& [key, value] : attached_) {
        out += fmt::format(",\n  {}: {}", json_string(key), value);
    }
    out += "\n}\n";
    return out;
}

}  // namespace weir::load
