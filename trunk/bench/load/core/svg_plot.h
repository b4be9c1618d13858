// One plot over time, or by the number of clients, as inline SVG in a <figure>: title, legend, axes
// with units, lines, the marks of phases, and for each moment an area whose hover title lists the
// values. Colours come from the page's styles, by the class of a line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/load/core/plot_scale.h"
#include "bench/load/core/time_series.h"

namespace weir::load {

struct PlotLine {
    std::string name;
    std::string style;                          // a class of the page's styles
    bool filled = false;                        // down to the axis
    std::vector<std::optional<double>> values;  // one per moment; none leaves a gap
};

struct PlotMoment {
    double time_s = 0;  // the end of what it covers; or a number of clients
    double span_s = 1;
};

struct Plot {
    std::string title;
    PlotUnit unit = PlotUnit::kCount;
    bool may_be_logarithmic = false;  // when the values lie more than a factor of 100 apart
    std::vector<PlotLine> lines;
    bool by_clients = false;  // moments are numbers of clients
};

// The moments are in rising order; lines have as many values. Lines without any value are left
// out, and without any line the result is empty.
std::string svg_plot(const Plot& plot,
                     std::span<const PlotMoment> moments,
                     std::span<const PhaseMark> marks);

}  // namespace weir::load
