// The report of a run as one HTML page for a browser or an attachment: verdict, conditions, plots
// over time, tables. Self-contained: styles and plots (inline SVG) are inside, there is no script
// and nothing is loaded, which the page's own content security policy also says. Follows the
// reader's light or dark setting. Well-formed XML as well, and every text is escaped.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/load/core/report.h"
#include "bench/load/core/time_series.h"

namespace weir::load {

// Where, when and with what the run was made.
struct RunFacts {
    std::string command_line;
    std::string started;  // date and time for people, "2026-11-21 11:00:37 UTC"

    // Name and value: machine, cores, kernel, versions ...
    std::vector<std::pair<std::string, std::string>> environment;
};

// This process and machine: the command line quoted for a shell, the time now, processor, cores,
// kernel, memory, version of the load client. What cannot be found out is left out.
RunFacts gather_facts(std::span<const char* const> arguments);

// An empty series gives a page without plots.
std::string html_report(const Report& report, const TimeSeries& series, const RunFacts& facts);

}  // namespace weir::load
