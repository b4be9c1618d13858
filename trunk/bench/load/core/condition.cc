#include "bench/load/core/condition.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace weir::load {
namespace {

struct Unit {
    std::string_view name;
    Quantity quantity = Quantity::kCount;
    double factor = 1;
};

using enum Quantity;

constexpr auto kUnits = std::to_array<Unit>({
    {"us", kTime, 0.001},
    {"ms", kTime, 1},
    {"s", kTime, 1e3},
    {"m", kTime, 60e3},
    {"bit", kRate, 1},
    {"kbit", kRate, 1e3},
    {"Mbit", kRate, 1e6},
    {"Gbit", kRate, 1e9},
    {"k", kRate, 1e3},
    {"M", kRate, 1e6},
    {"G", kRate, 1e9},
    {"%", kPercent, 1},
    {"B", kMemory, 1},
    {"KiB", kMemory, 1024},
    {"MiB", kMemory, 1024.0 * 1024},
    {"GiB", kMemory, 1024.0 * 1024 * 1024},
    {"k", kCount, 1e3},
    {"M", kCount, 1e6},
    {"k", kPerSecond, 1e3},
    {"M", kPerSecond, 1e6},
});

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string units_for(Quantity quantity) {
    std::string out;
    for (const Unit& each : kUnits) {
        if (each.quantity == quantity) {
            out += fmt::format("{}{}", out.empty() ? "" : ", ", each.name);
        }
    }
    return out;
}

std::string_view quantity_name(Quantity quantity) {
    switch (quantity) {
        case kCount: return "a count";
        case kTime: return "a time";
        case kRate: return "a bit rate";
        case kRatio: return "a ratio";
        case kPercent: return "a share of a core";
        case kMemory: return "an amount of memory";
        case kPerSecond: return "a number per second";
    }
    return "";
}

}  // namespace

// Recursive descent, a function per level of precedence; depth is limited.
class ExpressionParser {
  public:
    explicit ExpressionParser(std::string_view text) : text_(text) { advance(); }

    Result<Expression> parse() {
        if (text_.size() > Expression::kMaxLength) {
            return make_error(ErrorCode::kLimit, "the condition has {} characters, at most {} do",
                              text_.size(), Expression::kMaxLength);
        }
        WEIR_TRY(parse_or(0));
        if (!token_.empty()) {
            return expected("'and', 'or' or the end");
        }
        out_.text_ = text_;
        return std::move(out_);
    }

  private:
    // A number in front of its unit, a figure, or neither.
    struct Term {
        Expression::Operand operand;
        Quantity quantity = kCount;  // of a figure
        std::string_view unit;       // of a number, as written
        size_t at = 0;
    };

    Error expected(std::string_view what) const {
        return make_error(ErrorCode::kMalformed, "'{}', character {}: expected {}, found {}", text_,
                          token_at_ + 1, what,
                          token_.empty() ? "the end" : fmt::format("'{}'", token_));
    }

    void advance() {
        at_ = std::min(text_.size(), text_.find_first_not_of(" \t\r\n", at_));
        token_at_ = at_;
        size_t size = 0;
        std::string_view rest = text_.substr(at_);
        if (!rest.empty() && is_word(rest[0])) {
            while (size < rest.size() && is_word(rest[size])) {
                size++;
            }
            // A number ends where its unit begins; "%" is one that is no word.
            size += is_digit(rest[0]) && size < rest.size() && rest[size] == '%' ? 1U : 0U;
        } else if (!rest.empty()) {
            static constexpr std::array<std::string_view, 6> kPairs = {
                "<=", ">=", "==", "!=", "&&", "||"};
            size = std::any_of(kPairs.begin(), kPairs.end(),
                               [&](std::string_view each) { return rest.starts_with(each); })
                       ? 2
                       : 1;
        }
        token_ = rest.substr(0, size);
        at_ += size;
    }

    bool take(std::string_view a, std::string_view b) {
        if (token_ != a && token_ != b) {
            return false;
        }
        advance();
        return true;
    }

    void add(Expression::Kind kind) { out_.steps_.push_back({kind}); }

    Error parse_or(size_t depth) {
        WEIR_TRY(parse_and(depth));
        while (take("or", "||")) {
            WEIR_TRY(parse_and(depth));
            add(Expression::Kind::kOr);
        }
        return {};
    }

    Error parse_and(size_t depth) {
        WEIR_TRY(parse_not(depth));
        while (take("and", "&&")) {
            WEIR_TRY(parse_not(depth));
            add(Expression::Kind::kAnd);
        }
        return {};
    }

    Error parse_not(size_t depth) {
        if (depth > Expression::kMaxDepth) {
            return make_error(ErrorCode::kLimit,
                              "character {}: more than {} levels of 'not' and parentheses",
                              token_at_ + 1, Expression::kMaxDepth);
        }
        if (take("not", "!")) {
            WEIR_TRY(parse_not(depth + 1));
            add(Expression::Kind::kNot);
            return {};
        }
        if (take("(", "(")) {
            WEIR_TRY(parse_or(depth + 1));
            return take(")", ")") ? Error() : expected("')'");
        }
        return parse_comparison();
    }

    Error parse_comparison() {
        Term left;
        Term right;
        WEIR_TRY(parse_term(left, "a figure such as loss, a number, 'not' or '('"));
        std::string_view op = token_;
        static constexpr std::array<std::string_view, 6> kOperators = {"<",  "<=", ">",
                                                                       ">=", "==", "!="};
        if (std::find(kOperators.begin(), kOperators.end(), op) == kOperators.end()) {
            return expected("one of < <= > >= == !=");
        }
        advance();
        WEIR_TRY(parse_term(right, "a number or a figure"));
        WEIR_TRY(match(left, right));
        bool swap = op == ">" || op == ">=";
        Expression::Step step;
        step.kind = op == "<" || op == ">"     ? Expression::Kind::kLess
                    : op == "<=" || op == ">=" ? Expression::Kind::kLessOrEqual
                                               : Expression::Kind::kEqual;
        step.left = swap ? right.operand : left.operand;
        step.right = swap ? left.operand : right.operand;
        out_.steps_.push_back(step);
        if (op == "!=") {
            add(Expression::Kind::kNot);
        }
        return {};
    }

    Error parse_term(Term& term, std::string_view what) {
        term.at = token_at_;
        if (token_.empty() || !is_word(token_[0]) || token_ == "and" || token_ == "or" ||
            token_ == "not") {
            return expected(what);
        }
        if (is_digit(token_[0]) || token_[0] == '.') {
            return parse_number(term);
        }
        auto metric = find_metric(token_);
        if (!metric) {
            return make_error(ErrorCode::kMalformed,
                              "'{}', character {}: unknown figure '{}'; did you mean {}? "
                              "('weir-bench metrics' lists all)",
                              text_, token_at_ + 1, token_, nearest_metric(token_));
        }
        term.operand.is_metric = true;
        term.operand.metric = *metric;
        term.quantity = metric_table()[*metric].quantity;
        advance();
        return {};
    }

    Error parse_number(Term& term) {
        auto [end, status] = std::from_chars(token_.data(), token_.data() + token_.size(),
                                             term.operand.number, std::chars_format::fixed);
        if (status != std::errc()) {
            return expected("a number");
        }
        term.unit = token_.substr(static_cast<size_t>(end - token_.data()));
        advance();
        if (term.unit.empty() && !token_.empty()) {
            // "95 %", "2 s"
            bool is_unit = std::any_of(kUnits.begin(), kUnits.end(),
                                       [&](const Unit& each) { return each.name == token_; });
            if (is_unit) {
                term.unit = token_;
                advance();
            }
        }
        return {};
    }

    // Both sides must measure the same; a number gets the other side's unit.
    Error match(Term& left, Term& right) {
        if (left.operand.is_metric && right.operand.is_metric) {
            return left.quantity == right.quantity
                       ? Error()
                       : make_error(ErrorCode::kMalformed,
                                    "'{}', character {}: expected {}, found {}", text_,
                                    right.at + 1, quantity_name(left.quantity),
                                    quantity_name(right.quantity));
        }
        if (!left.operand.is_metric && !right.operand.is_metric) {
            return make_error(ErrorCode::kMalformed,
                              "'{}', character {}: expected a figure on one side of the comparison",
                              text_, left.at + 1);
        }
        return left.operand.is_metric ? scale(right, left.quantity) : scale(left, right.quantity);
    }

    Error scale(Term& number, Quantity quantity) const {
        if (number.unit.empty()) {
            return quantity == kTime && number.operand.number != 0
                       ? make_error(ErrorCode::kMalformed,
                                    "'{}', character {}: expected a time with its unit ({})", text_,
                                    number.at + 1, units_for(kTime))
                       : Error();
        }
        for (const Unit& each : kUnits) {
            if (each.quantity == quantity && each.name == number.unit) {
                number.operand.number *= each.factor;
                return {};
            }
        }
        std::string units = units_for(quantity);
        return make_error(ErrorCode::kMalformed, "'{}', character {}: expected {} ({}), found '{}'",
                          text_, number.at + 1, quantity_name(quantity),
                          units.empty() ? "without a unit" : units, number.unit);
    }

    std::string_view text_;
    std::string_view token_;  // empty: the end
    size_t token_at_ = 0;
    size_t at_ = 0;  // behind the token
    Expression out_;
};

Result<Expression> Expression::parse(std::string_view text) {
    return ExpressionParser(text).parse();
}

std::optional<double> Expression::value_of(const Operand& operand, const MetricValues& values) {
    return operand.is_metric ? values.at(operand.metric) : operand.number;
}

std::optional<bool> Expression::holds(const MetricValues& values) const {
    std::vector<std::optional<bool>> stack;
    auto pop = [&] {
        std::optional<bool> top = stack.back();
        stack.pop_back();
        return top;
    };
    for (const Step& step : steps_) {
        if (step.kind == Kind::kNot) {
            std::optional<bool> value = pop();
            stack.push_back(value ? std::optional<bool>(!*value) : std::nullopt);
        } else if (step.kind == Kind::kAnd || step.kind == Kind::kOr) {
            // One side decides alone when it is false (and) or true (or).
            bool decisive = step.kind == Kind::kOr;
            std::optional<bool> a = pop();
            std::optional<bool> b = pop();
            stack.push_back(a == decisive || b == decisive ? std::optional<bool>(decisive)
                            : a && b                       ? std::optional<bool>(!decisive)
                                                           : std::nullopt);
        } else {
            std::optional<double> a = value_of(step.left, values);
            std::optional<double> b = value_of(step.right, values);
            stack.push_back(!a || !b                          ? std::nullopt
                            : step.kind == Kind::kLess        ? std::optional<bool>(*a < *b)
                            : step.kind == Kind::kLessOrEqual ? std::optional<bool>(*a <= *b)
                                                              : std::optional<bool>(*a == *b));
        }
    }
    return stack.back();
}

std::string Expression::found(const MetricValues& values) const {
    std::vector<size_t> seen;
    std::string out;
    for (const Step& step : steps_) {
        for (const Operand* each : {&step.left, &step.right}) {
            if (!each->is_metric ||
                std::find(seen.begin(), seen.end(), each->metric) != seen.end()) {
                continue;
            }
            seen.push_back(each->metric);
            const MetricInfo& info = metric_table()[each->metric];
            auto value = values.at(each->metric);
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", info.name,
                               value ? metric_text(info.quantity, *value) : "not known");
        }
    }
    return out;
}

bool Expression::needs_server() const {
    return !first_of_server().empty();
}

std::string_view Expression::first_of_server() const {
    for (const Step& step : steps_) {
        for (const Operand* each : {&step.left, &step.right}) {
            if (each->is_metric && metric_table()[each->metric].of_server) {
                return metric_table()[each->metric].name;
            }
        }
    }
    return {};
}

}  // namespace weir::load
