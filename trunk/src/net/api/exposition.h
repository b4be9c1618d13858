// Writes the Prometheus text format 0.0.4: a head for each series, then its samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace weir::net {

class Exposition {
  public:
    void head(std::string_view name, std::string_view type, std::string_view help) {
        add("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    }

    template <typename Value>
    void sample(std::string_view name, Value value, std::string_view labels = {}) {
        add("{}{} {}\n", name, labels, value);
    }

    template <typename Value>
    void single(std::string_view name, std::string_view type, std::string_view help, Value value) {
        head(name, type, help);
        sample(name, value);
    }

    // Cumulative buckets of `counts` (one more than bounds: what is beyond them), with sum and
    // count. Bounds and sum in seconds.
    template <typename Bounds, typename Counts>
    void histogram(std::string_view name,
                   std::string_view help,
                   const Bounds& bounds,
                   double seconds_per_bound,
                   const Counts& counts,
                   double sum) {
        head(name, "histogram", help);
        uint64_t so_far = 0;
        for (size_t i = 0; i < counts.size(); i++) {
            so_far += counts[i];
            const std::string le =
                i < bounds.size()
                    ? fmt::format("{:g}", static_cast<double>(bounds[i]) * seconds_per_bound)
                    : "+Inf";
            add("{}_bucket{{le=\"{}\"}} {}\n", name, le, so_far);
        }
        add("{0}_sum {1}\n{0}_count {2}\n", name, sum, so_far);
    }

    std::string take() { return std::move(text_); }

  private:
    // fmt::format_to() would compile all of fmt in every file that writes a figure.
    template <typename... Args>
    void add(fmt::format_string<Args...> format, const Args&... args) {
        append(format, fmt::make_format_args(args...));
    }

    void append(fmt::string_view format, fmt::format_args args);

    std::string text_;
};

// A label's value: quote and backslash escaped; what is not plain ASCII (and '%') as %XX, so that
// no two names fall together. One of more than kMaxLabelBytes is cut, and ends in a hash of all of
// it.
inline constexpr size_t kMaxLabelBytes = 200;
std::string label_value(std::string_view text);

}  // namespace weir::net
