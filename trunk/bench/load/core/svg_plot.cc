#include "bench/load/core/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bench/load/core/html_text.h"

namespace weir::load {
namespace {

constexpr double kWidth = 1000;
constexpr double kLeft = 58;
constexpr double kRight = 14;
constexpr double kPlotHeight = 170;
constexpr double kBottom = 26;
constexpr double kTop = 22;          // the unit stands here
constexpr double kMarkRow = 15;      // each of the two rows of names of phases
constexpr double kMarkLetter = 6.2;  // about the width of a letter
constexpr size_t kMarkLetters = 28;
constexpr size_t kHoverAreas = 300;
constexpr double kLogFactor = 100;

// Cut between letters, not within the bytes of one.
std::string short_name(const std::string& name) {
    if (name.size() <= kMarkLetters) {
        return name;
    }
    size_t cut = kMarkLetters - 3;
    while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80) {
        cut--;
    }
    return name.substr(0, cut) + "...";
}

class Drawing {
  public:
    Drawing(const Plot& plot, std::span<const PlotMoment> moments, std::span<const PhaseMark> marks)
        : plot_(plot),
          moments_(moments),
          marks_(marks),
          top_(kTop + (marks.empty() ? 0 : 2 * kMarkRow)),
          bottom_(top_ + kPlotHeight),
          time_(plot.by_clients ? linear_scale(PlotUnit::kCount, moments.back().time_s)
                                : time_scale(moments.back().time_s)),
          value_(scale_of(plot)) {}

    std::string draw() const {
        std::string out = fmt::format(
            "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
            bottom_ + kBottom,
            html_escape(plot_.title + (plot_.by_clients ? " by clients" : " over time")));
        add_axes(out);
        for (const PlotLine& line : plot_.lines) {
            add_line(out, line);
        }
        add_marks(out);
        add_hover(out);
        return out + "</svg>\n";
    }

    const PlotScale& value_scale() const { return value_; }

  private:
    static PlotScale scale_of(const Plot& plot) {
        double highest = 0;
        double lowest = INFINITY;
        for (const PlotLine& line : plot.lines) {
            for (const auto& value : line.values) {
                if (value) {
                    highest = std::max(highest, *value);
                    lowest = *value > 0 ? std::min(lowest, *value) : lowest;
                }
            }
        }
        return plot.may_be_logarithmic && std::isfinite(lowest) && highest > lowest * kLogFactor
                   ? log_scale(plot.unit, lowest, highest)
                   : linear_scale(plot.unit, highest);
    }

    std::string moment_text(const PlotMoment& moment) const {
        return plot_.by_clients ? plot_value(PlotUnit::kCount, moment.time_s) + " clients"
                                : time_text(moment.time_s);
    }

    double x(double time_s) const {
        return kLeft + time_.place(time_s) * (kWidth - kLeft - kRight);
    }

    double y(double value) const { return bottom_ - value_.place(value) * kPlotHeight; }

    void add_axes(std::string& out) const {
        for (const Tick& tick : value_.ticks) {
            out += fmt::format(
                "<path class=\"grid\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text class=\"end\" "
                "x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n",
                kLeft, y(tick.value), kWidth - kRight, kLeft - 8, y(tick.value) + 4, tick.label);
        }
        for (const Tick& tick : time_.ticks) {
            // The last label must not leave the picture.
            bool last = x(tick.value) > kWidth - kRight - 20;
            out += fmt::format(
                "<path class=\"axis\" d=\"M{:.1f} {:.0f}v4\"/><text class=\"{}\" x=\"{:.1f}\" "
                "y=\"{:.0f}\">{}</text>\n",
                x(tick.value), bottom_, last ? "end" : "middle", last ? kWidth - 2 : x(tick.value),
                bottom_ + 18, tick.label);
        }
        out += fmt::format("<path class=\"axis\" d=\"M{:.0f} {:.0f}H{:.0f}\"/>\n", kLeft, bottom_,
                           kWidth - kRight);
        if (!value_.unit.empty()) {
            out += fmt::format("<text class=\"end unit\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
                               kLeft - 8, top_ - 12, value_.unit);
        }
    }

    // An unbroken run of values after another; a single one becomes as wide as what it covers.
    void add_line(std::string& out, const PlotLine& line) const {
        std::string path;
        std::string area;
        for (size_t first = 0; first < moments_.size(); first++) {
            if (!line.values[first]) {
                continue;
            }
            size_t end = first + 1;
            while (end < moments_.size() && line.values[end]) {
                end++;
            }
            std::string run = fmt::format("{:.1f}", y(*line.values[first]));
            double begin_x = x(moments_[first].time_s);
            if (end - first == 1) {
                begin_x = x(moments_[first].time_s - moments_[first].span_s);
                run += fmt::format("H{:.1f}", x(moments_[first].time_s));
            }
            for (size_t i = first + 1; i < end; i++) {
                run += fmt::format("L{:.1f} {:.1f}", x(moments_[i].time_s), y(*line.values[i]));
            }
            path += fmt::format("M{:.1f} {}", begin_x, run);
            area += fmt::format("M{:.1f} {}V{:.0f}H{:.1f}Z", begin_x, run, bottom_, begin_x);
            first = end;
        }
        std::string style = html_escape(line.style);
        if (line.filled) {
            out += fmt::format("<path class=\"area {}\" d=\"{}\"/>\n", style, area);
        }
        out += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", style, path);
    }

    // A name goes to the upper row, to the lower when that is taken there, else only the hover
    // title has it. Names come after all lines, so that no line crosses them.
    void add_marks(std::string& out) const {
        std::array<double, 2> taken = {0, 0};
        std::string names;
        out += "<g class=\"mark\">\n";
        for (const PhaseMark& mark : marks_) {
            if (mark.time_s < 0 || mark.time_s > time_.high) {
                continue;
            }
            double at = x(mark.time_s);
            out +=
                fmt::format("<path d=\"M{:.1f} {:.0f}V{:.0f}\"><title>{}: {}</title></path>\n", at,
                            kTop - 6, bottom_, time_text(mark.time_s), html_escape(mark.name));
            std::string name = short_name(mark.name);
            double width = kMarkLetter * static_cast<double>(name.size());
            bool to_left = at + width > kWidth;
            double begin = to_left ? at - width - 4 : at + 4;
            auto* row = std::find_if(taken.begin(), taken.end(),
                                     [&](double each) { return each <= begin; });
            if (row == taken.end()) {
                continue;
            }
            names += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n",
                                 to_left ? "end" : "begin", to_left ? at - 4 : at + 4,
                                 kTop + 4 + kMarkRow * static_cast<double>(row - taken.begin()),
                                 html_escape(name));
            *row = begin + width + 8;
        }
        out += names + "</g>\n";
    }

    // At most kHoverAreas; each shows the highest values of the moments that it covers.
    void add_hover(std::string& out) const {
        size_t step = (moments_.size() + kHoverAreas - 1) / kHoverAreas;
        double from = x(moments_[0].time_s - moments_[0].span_s);
        for (size_t first = 0; first < moments_.size(); first += step) {
            size_t i = std::min(first + step, moments_.size()) - 1;
            double to = x(moments_[i].time_s);
            std::string text = moment_text(moments_[i]);
            for (const PlotLine& line : plot_.lines) {
                std::optional<double> highest;
                for (size_t j = first; j <= i; j++) {
                    if (line.values[j]) {
                        highest = std::max(highest.value_or(0), *line.values[j]);
                    }
                }
                text += fmt::format("\n{}: {}", line.name,
                                    highest ? plot_value(plot_.unit, *highest) : "none");
            }
            out += fmt::format(
                "<rect class=\"hover\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
                "height=\"{:.0f}\">"
                "<title>{}</title></rect>\n",
                from, top_, std::max(to - from, 0.5), kPlotHeight, html_escape(text));
            from = to;
        }
    }

    const Plot& plot_;
    std::span<const PlotMoment> moments_;
    std::span<const PhaseMark> marks_;
    double top_;
    double bottom_;
    PlotScale time_;
    PlotScale value_;
};

bool has_value(const PlotLine& line) {
    return std::any_of(line.values.begin(), line.values.end(),
                       [](const auto& value) { return value.has_value(); });
}

}  // namespace

std::string svg_plot(const Plot& plot,
                     std::span<const PlotMoment> moments,
                     std::span<const PhaseMark> marks) {
    Plot shown{plot.title, plot.unit, plot.may_be_logarithmic, {}, plot.by_clients};
    for (const PlotLine& line : plot.lines) {
        if (line.values.size() == moments.size() && has_value(line)) {
            shown.lines.push_back(line);
        }
    }
    if (shown.lines.empty()) {
        return "";
    }
    Drawing drawing(shown, moments, marks);
    std::string out = fmt::format("<figure>\n<figcaption><b>{}</b>{}<span class=\"legend\">",
                                  html_escape(shown.title),
                                  drawing.value_scale().logarithmic ? " (logarithmic)" : "");
    for (const PlotLine& line : shown.lines) {
        out += fmt::format(
            "<span><svg class=\"key\" viewBox=\"0 0 22 8\" aria-hidden=\"true\">"
            "<path class=\"line {}\" d=\"M1 4H21\"/></svg>{}</span>",
            html_escape(line.style), html_escape(line.name));
    }
    return out + "</span></figcaption>\n" + drawing.draw() + "</figure>\n";
}

}  // namespace weir::load
