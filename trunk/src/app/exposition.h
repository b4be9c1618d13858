// Writes the Prometheus text format 0.0.4: a head for each series, then its samples.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace weir::app {

class Exposition {
  public:
    void head(std::string_view name, std::string_view type, std::string_view help) {
        fmt::format_to(out(), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    }

    template <typename Value>
    void sample(std::string_view name, Value value, std::string_view labels = {}) {
        fmt::format_to(out(), "{}{} {}\n", name, labels, value);
    }

    template <typename Value>
    void single(std::string_view name, std::string_view type, std::string_view help, Value value) {
        head(name, type, help);
        sample(name, value);
    }

    std::string take() { return std::move(text_); }

  private:
    std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }

    std::string text_;
};

// A label's value: quote and backslash escaped; what is not plain ASCII (and '%') as %XX, so that
// no two names fall together.
std::string label_value(std::string_view text);

}  // namespace weir::app
