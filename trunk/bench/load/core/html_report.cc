#include "bench/load/core/html_report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "bench/load/core/html_text.h"
#include "bench/load/core/load_levels.h"
#include "bench/load/core/svg_plot.h"
#include "bench/load/core/units.h"

namespace weir::load {
namespace {

constexpr size_t kLeastLevels = 3;   // below them, a plot by clients says nothing
constexpr size_t kMaxPoints = 1200;  // of a line; more than a screen has columns for

constexpr std::string_view kStyle = R"CSS(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --edge: #e2e5ea; --text: #1b2330;
  --soft: #667085; --grid: #e8ebef; --good: #137a4b; --good-back: #e3f4ea; --bad: #b42318; --bad-back: #fdeae8;
  --blue: #2563c9; --orange: #c2660a; --green: #15895b; --violet: #7a4fc4; --grey: #98a1b0; --mark: #8a6d1f; }
@media (prefers-color-scheme: dark) { :root { --page: #12161c; --card: #1a2029; --edge: #2c3542; --text: #e4e8ee;
  --soft: #98a4b5; --grid: #29323e; --good: #5fd39b; --good-back: #163527; --bad: #ff8f85; --bad-back: #421d1b;
  --blue: #6aa3ff; --orange: #f0a04b; --green: #4fc793; --violet: #b593f5; --grey: #7f8b9c; --mark: #d6b55c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 40px; }
header { display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center; justify-content: space-between; }
h1 { font-size: 22px; line-height: 1.3; margin: 0; font-weight: 650; }
h2 { font-size: 15px; margin: 34px 0 10px; font-weight: 650; }
h3 { font-size: 13px; margin: 0 0 6px; font-weight: 650; }
p { margin: 2px 0; } .soft { color: var(--soft); } .target { overflow-wrap: anywhere; color: var(--soft); }
.verdict { font-size: 18px; font-weight: 700; letter-spacing: .06em; padding: 6px 18px; border-radius: 8px; }
.pass { color: var(--good); background: var(--good-back); } .fail { color: var(--bad); background: var(--bad-back); }
.notice { border-radius: 8px; padding: 10px 14px; margin: 16px 0 0; } .notice ul { margin: 4px 0 0; padding-left: 20px; }
.early { border: 1px solid var(--edge); background: var(--card); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 18px 0 0; }
.tiles div, .card, figure { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
.tiles div { padding: 10px 14px; } .tiles b { display: block; font-size: 18px; line-height: 1.4; font-weight: 600; white-space: nowrap;
  font-variant-numeric: tabular-nums; } .tiles span { color: var(--soft); font-size: 12.5px; }
figure { margin: 0 0 12px; padding: 12px 14px 6px; }
figcaption { display: flex; flex-wrap: wrap; gap: 2px 8px; align-items: baseline; margin-bottom: 2px; }
.legend { margin-left: auto; display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--soft); font-size: 12.5px; }
svg { display: block; width: 100%; height: auto; } .legend svg { display: inline; width: 22px; height: 8px;
  margin-right: 6px; vertical-align: middle; }
svg text { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.end { text-anchor: end; } .middle { text-anchor: middle; } .unit { font-weight: 600; }
.grid { stroke: var(--grid); fill: none; } .axis { stroke: var(--grey); fill: none; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.blue { stroke: var(--blue); } .orange { stroke: var(--orange); } .green { stroke: var(--green); }
.violet { stroke: var(--violet); } .grey { stroke: var(--grey); } .red { stroke: var(--bad); }
.dashed { stroke: var(--grey); stroke-dasharray: 5 4; }
.area { fill: var(--blue); fill-opacity: .13; stroke: none; } .area.red { fill: var(--bad); } .area.grey { fill: var(--grey); }
.mark path { stroke: var(--mark); stroke-dasharray: 2 3; fill: none; } .mark text { fill: var(--mark);
  paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
.hover { fill: transparent; } .hover:hover { fill: var(--soft); fill-opacity: .16; }
.card { padding: 12px 14px; overflow-x: auto; }
.cards { columns: 2 440px; column-gap: 12px; } .cards .card { break-inside: avoid; margin-bottom: 12px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { padding: 4px 10px 4px 0; text-align: left; vertical-align: top; border-top: 1px solid var(--grid); font-weight: 400; }
tr:first-child > * { border-top: 0; } thead th { color: var(--soft); font-size: 12.5px; }
tbody th { color: var(--soft); } td.number, th.number { text-align: right; padding: 4px 0 4px 12px; white-space: nowrap; }
.yes { color: var(--good); } .no { color: var(--bad); font-weight: 600; }
td, th { overflow-wrap: anywhere; } pre { margin: 0 0 8px; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
@media print { body { background: none; } figure, .card, .tiles div { break-inside: avoid; } }
)CSS";

using Row = ReportSection::Row;

// ---- verdict -----------------------------------------------------------------------------------

const char* verdict_text(const Report& report) {
    switch (report.verdict()) {
        case Report::Verdict::kPassed: return "PASS";
        case Report::Verdict::kFailed: return "FAIL";
        case Report::Verdict::kIncomplete: return "INCOMPLETE";
    }
    return "";
}

std::string header(const Report& report, const RunFacts& facts) {
    const bool passed = report.passed();
    std::string out = fmt::format(
        "<header><div><h1>weir-bench {}</h1>\n<p class=\"target\">{}</p>\n<p class=\"soft\">{}</p>"
        "</div>\n<div class=\"verdict {}\" id=\"verdict\">{}</div></header>\n",
        html_escape(report.command()), html_escape(report.target()), html_escape(facts.started),
        passed ? "pass" : "fail", verdict_text(report));
    if (!report.why_ended_early().empty()) {
        out += fmt::format("<div class=\"notice early\">The run ended early: {}</div>\n",
                           html_escape(report.why_ended_early()));
    }
    if (passed) {
        return out;
    }
    if (std::ranges::all_of(report.conditions(), &Report::Condition::met)) {
        return out;
    }
    out += "<div class=\"notice fail\" id=\"failed\">What did not hold:<ul>\n";
    for (const Report::Condition& each : report.conditions()) {
        if (!each.met) {
            out += fmt::format("<li>{}: <b>{}</b></li>\n", html_escape(each.what),
                               html_escape(each.found));
        }
    }
    return out + "</ul></div>\n";
}

// ---- the figures that people look for first
// ------------------------------------------------------

struct TileSource {
    const char* section;
    const char* row;
    const char* label;
};

constexpr std::array<TileSource, 6> kTiles = {{
    {"clients", "playing", "clients that played"},
    {"media", "bits_per_second", "received"},
    {"latency", "all_ms", "latency, 99th percentile"},
    {"media", "lost", "frames lost"},
    {"server", "cpu_percent", "server CPU, of one core"},
    {"server", "private_kib_per_player", "server memory per player"},
}};

std::string tile_value(const Row& row) {
    if (const auto* delays = std::get_if<ReportSection::Distribution>(&row.value)) {
        return delays->count == 0 ? "none" : plot_value(PlotUnit::kMilliseconds, delays->p99);
    }
    if (row.key == "cpu_percent") {
        const auto* number = std::get_if<ReportSection::Number>(&row.value);
        return number == nullptr ? "" : plot_value(PlotUnit::kPercent, number->value);
    }
    return ReportSection::shown(row);
}

std::string tiles(const Report& report) {
    std::string out;
    for (const TileSource& tile : kTiles) {
        for (const ReportSection& section : report.sections()) {
            for (const Row& row : section.rows()) {
                if (section.key() == tile.section && row.key == tile.row) {
                    out += fmt::format("<div><b>{}</b><span>{}</span></div>\n",
                                       html_escape(tile_value(row)), tile.label);
                }
            }
        }
    }
    return out.empty() ? out : "<div class=\"tiles\">\n" + out + "</div>\n";
}

std::string conditions(const Report& report) {
    if (report.conditions().empty()) {
        return "";
    }
    std::string out =
        "<h2>Conditions</h2>\n<div class=\"card\"><table id=\"conditions\"><thead><tr><th>condition"
        "</th><th>must hold</th><th>found</th><th></th></tr></thead><tbody>\n";
    for (const Report::Condition& each : report.conditions()) {
        out += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
                           html_escape(each.key), html_escape(each.what), html_escape(each.found),
                           each.met ? "yes" : "no", each.met ? "\u2713 met" : "\u2717 not met");
    }
    return out + "</tbody></table></div>\n";
}

// ---- plots -------------------------------------------------------------------------------------

using Values = std::vector<std::optional<double>>;

// Neighbours are merged until there are few enough to draw.
std::vector<TimeSample> drawn(const TimeSeries& series) {
    const std::vector<TimeSample>& all = series.samples();
    size_t step = (all.size() + kMaxPoints - 1) / kMaxPoints;
    std::vector<TimeSample> out;
    for (size_t i = 0; i < all.size(); i++) {
        if (i % step == 0) {
            out.push_back(all[i]);
        } else {
            merge_into(out.back(), all[i]);
        }
    }
    return out;
}

Values values_of(const std::vector<TimeSample>& samples,
                 const std::function<std::optional<double>(const TimeSample&)>& value) {
    Values out;
    out.reserve(samples.size());
    for (const TimeSample& each : samples) {
        out.push_back(value(each));
    }
    return out;
}

// Of a delay; a gap where no frame came.
Values delays_of(const std::vector<TimeSample>& samples, double LatencySample::*member) {
    return values_of(samples, [member](const TimeSample& s) {
        return s.latency.count > 0 ? std::optional(s.latency.*member) : std::nullopt;
    });
}

std::optional<double> number(uint64_t value) {
    return static_cast<double>(value);
}

std::optional<double> if_any(bool any, double value) {
    return any ? std::optional(value) : std::nullopt;
}

std::vector<Plot> plots_of(const std::vector<TimeSample>& samples) {
    auto of = [&](auto value) { return values_of(samples, value); };
    auto any = [&](uint64_t TimeSample::*member) {
        return std::any_of(samples.begin(), samples.end(),
                           [&](const TimeSample& each) { return each.*member > 0; });
    };
    std::vector<Plot> plots;
    plots.push_back(
        {"Clients",
         PlotUnit::kCount,
         false,
         {{"connected", "grey", true, of([](const TimeSample& s) { return number(s.connected); })},
          {"playing", "blue", true, of([](const TimeSample& s) { return number(s.playing); })}}});
    plots.push_back({"Bit rate",
                     PlotUnit::kBitRate,
                     false,
                     {{"received", "blue", true,
                       of([](const TimeSample& s) { return std::optional(s.received_bps); })},
                      {"expected", "dashed", false, of([](const TimeSample& s) {
                           return if_any(s.expected_bps > 0, s.expected_bps);
                       })}}});
    plots.push_back({"End-to-end latency",
                     PlotUnit::kMilliseconds,
                     true,
                     {{"max", "grey", false, delays_of(samples, &LatencySample::max_ms)},
                      {"p99", "violet", false, delays_of(samples, &LatencySample::p99_ms)},
                      {"p95", "blue", false, delays_of(samples, &LatencySample::p95_ms)},
                      {"p50", "green", false, delays_of(samples, &LatencySample::p50_ms)}}});
    if (any(&TimeSample::lost) || any(&TimeSample::stalls)) {
        plots.push_back(
            {"Frames lost, players stalled",
             PlotUnit::kCount,
             false,
             {{"frames lost", "red", true, of([](const TimeSample& s) { return number(s.lost); })},
              {"stalls", "orange", false,
               of([](const TimeSample& s) { return number(s.stalls); })}}});
    }
    plots.push_back(
        {"CPU, of one core",
         PlotUnit::kPercent,
         false,
         {{"server", "blue", true, of([](const TimeSample& s) { return s.server_cpu_percent; })},
          {"load client", "orange", false,
           of([](const TimeSample& s) { return std::optional(s.client_cpu_percent); })}}});
    plots.push_back(
        {"Memory",
         PlotUnit::kBytes,
         false,
         {{"server", "blue", true, of([](const TimeSample& s) {
               return s.server_memory_bytes ? number(*s.server_memory_bytes) : std::nullopt;
           })},
          {"load client", "orange", false, of([](const TimeSample& s) {
               return if_any(s.client_memory_bytes > 0, static_cast<double>(s.client_memory_bytes));
           })}}});
    return plots;
}

std::string plots(const TimeSeries& series) {
    if (series.empty()) {
        return "";
    }
    std::vector<TimeSample> samples = drawn(series);
    std::vector<PlotMoment> moments;
    moments.reserve(samples.size());
    for (const TimeSample& each : samples) {
        moments.push_back({each.time_s, each.span_s});
    }
    std::string out = "<h2>Over time</h2>\n";
    for (const Plot& plot : plots_of(samples)) {
        out += svg_plot(plot, moments, series.marks());
    }
    bool lossless = std::all_of(samples.begin(), samples.end(), [](const TimeSample& each) {
        return each.lost == 0 && each.stalls == 0;
    });
    if (lossless) {
        out += "<p class=\"soft\">No frame was lost and no player stalled at any time.</p>\n";
    }
    return out;
}

std::string plots_by_clients(const TimeSeries& series) {
    const std::vector<LoadLevel> levels = load_levels(series);
    if (levels.size() < kLeastLevels) {
        return "";
    }
    std::vector<PlotMoment> moments;
    Values cpu;
    Values rate;
    Values delay;
    Values lost;
    for (const LoadLevel& level : levels) {
        const auto clients = static_cast<double>(level.clients);
        moments.push_back({clients, moments.empty() ? clients : clients - moments.back().time_s});
        cpu.push_back(level.server_cpu_percent);
        rate.emplace_back(level.received_bps);
        delay.push_back(level.p99_ms);
        lost.emplace_back(level.lost_per_s);
    }
    const std::array<Plot, 4> plots = {{
        {"Server CPU, of one core",
         PlotUnit::kPercent,
         false,
         {{"server", "blue", true, cpu}},
         true},
        {"Bit rate", PlotUnit::kBitRate, false, {{"received", "blue", true, rate}}, true},
        {"End-to-end latency",
         PlotUnit::kMilliseconds,
         true,
         {{"p99", "violet", false, delay}},
         true},
        {"Frames lost each second", PlotUnit::kCount, false, {{"lost", "red", true, lost}}, true},
    }};
    std::string out = "<h2>By number of clients</h2>\n";
    for (const Plot& plot : plots) {
        out += svg_plot(plot, moments, {});
    }
    return out;
}

// ---- tables ------------------------------------------------------------------------------------

std::string delays_table(const ReportSection& section) {
    std::string out;
    for (const Row& row : section.rows()) {
        const auto* delays = std::get_if<ReportSection::Distribution>(&row.value);
        if (delays == nullptr) {
            continue;
        }
        out += fmt::format("<tr><th>{}</th>", html_escape(row.label));
        if (delays->count == 0) {
            out += "<td class=\"number\" colspan=\"5\">no sample</td></tr>\n";
            continue;
        }
        for (double value : {delays->p50, delays->p95, delays->p99, delays->max}) {
            out += fmt::format("<td class=\"number\">{:.1f}</td>", value);
        }
        out += fmt::format("<td class=\"number\">{}</td></tr>\n", grouped(delays->count));
    }
    return out.empty() ? out
                       : "<table><thead><tr><th>milliseconds</th><th class=\"number\">p50</th><th "
                         "class=\"number\">p95</th><th class=\"number\">p99</th><th "
                         "class=\"number\">max</th><th class=\"number\">count</th></tr></thead>"
                         "<tbody>\n" +
                             out + "</tbody></table>\n";
}

std::string values_table(const ReportSection& section) {
    std::string out;
    for (const Row& row : section.rows()) {
        if (std::holds_alternative<ReportSection::Distribution>(row.value)) {
            continue;
        }
        bool text = std::holds_alternative<std::string>(row.value);
        out += fmt::format("<tr><th>{}</th><td{}>{}</td></tr>\n", html_escape(row.label),
                           text ? "" : " class=\"number\"", html_escape(ReportSection::shown(row)));
    }
    return out.empty() ? out : "<table><tbody>\n" + out + "</tbody></table>\n";
}

std::string tables(const Report& report) {
    std::string out;
    for (const ReportSection& section : report.sections()) {
        out +=
            fmt::format("<section class=\"card\"><h3>{}</h3>\n{}{}</section>\n",
                        html_escape(section.title()), values_table(section), delays_table(section));
    }
    return out.empty() ? out : "<h2>Figures</h2>\n<div class=\"cards\">\n" + out + "</div>\n";
}

std::string run_facts(const RunFacts& facts) {
    std::string rows;
    for (const auto& [name, value] : facts.environment) {
        rows +=
            fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_escape(name), html_escape(value));
    }
    std::string out = "<h2>The run</h2>\n<div class=\"card\">";
    if (!facts.command_line.empty()) {
        out += fmt::format("<pre id=\"command\">{}</pre>\n", html_escape(facts.command_line));
    }
    if (!rows.empty()) {
        out += "<table><tbody>\n" + rows + "</tbody></table>\n";
    }
    return out + "</div>\n";
}

}  // namespace

std::string html_report(const Report& report, const TimeSeries& series, const RunFacts& facts) {
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; img-src data:\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<link rel=\"icon\" href=\"data:,\"/>\n<title>{}: weir-bench {} {}</title>\n<style>",
        verdict_text(report), html_escape(report.command()), html_escape(report.target()));
    out += kStyle;
    out += "</style>\n</head>\n<body>\n<main>\n";
    out += header(report, facts) + tiles(report) + plots(series) + plots_by_clients(series) +
           conditions(report) + tables(report) + run_facts(facts);
    return out + "</main>\n</body>\n</html>\n";
}

}  // namespace weir::load
