// What must hold, or must not: an expression over the figures of metrics.h.
//
//     loss == 0 and latency.p99 < 2s
//     not (server.cpu > 95% or rate.ratio < 0.98) and first_key.max <= 300ms
//
// not, and, or (also !, &&, ||), in this order of precedence; comparisons < <= > >= == != between
// figures and numbers. Units: us ms s m (times), bit kbit Mbit Gbit or k M G (rates), % (CPU),
// B KiB MiB GiB (memory), k M (counts). A time needs its unit unless it is 0.
//
// A figure that is not known makes its comparison neither true nor false.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

#include "bench/load/core/metrics.h"

namespace weir::load {

class ExpressionParser;

class Expression {
  public:
    static constexpr size_t kMaxLength = 1000;
    static constexpr size_t kMaxDepth = 30;

    // kMalformed: the message has the place (counted from 1), what was found and what was expected,
    // and the name that an unknown one may be meant to be. kLimit: too long, or too deep.
    static Result<Expression> parse(std::string_view text);

    const std::string& text() const { return text_; }

    // nullopt: it depends on figures that are not known.
    std::optional<bool> holds(const MetricValues& values) const;

    // The figures in it with their values, "loss 3, latency.p99 12.0 ms": each once.
    std::string found(const MetricValues& values) const;

    // Figures of the server are in it.
    bool needs_server() const;

    // The first of them; empty when there is none.
    std::string_view first_of_server() const;

  private:
    friend class ExpressionParser;

    enum class Kind : uint8_t { kNot, kAnd, kOr, kLess, kLessOrEqual, kEqual };

    struct Operand {
        bool is_metric = false;
        size_t metric = 0;
        double number = 0;
    };

    // Operators follow their operands; > >= != are the others, turned around or negated.
    struct Step {
        Kind kind = Kind::kNot;
        Operand left = {};  // comparisons only
        Operand right = {};
    };

    static std::optional<double> value_of(const Operand& operand, const MetricValues& values);

    std::string text_;
    std::vector<Step> steps_;
};

}  // namespace weir::load
