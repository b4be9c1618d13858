#include "bench/load/core/options.h"

#include <algorithm>

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

// Letters to change to get from one name to the other (Levenshtein), for "did you mean".
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size(); i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

std::string duration_text(Millis value) {
    return value.count() % 1000 == 0 ? fmt::format("{}s", value.count() / 1000)
                                     : fmt::format("{}ms", value.count());
}

std::string short_rate(uint64_t value) {
    return value % 1000 == 0 && value > 0 ? fmt::format("{}k", value / 1000)
                                          : fmt::format("{}", value);
}

// Stores a Result's value, or gives its error back.
template <typename T, typename Target>
Error store(Result<T> result, Target& target) {
    if (!result.ok()) {
        return result.take_error();
    }
    target = static_cast<Target>(std::move(result).value());
    return {};
}

}  // namespace

void OptionTable::text(std::string_view name,
                       std::string_view value,
                       std::string_view help,
                       std::string& target) {
    options_.push_back({name, value, help, target, [&target](std::string_view given) {
                            target = given;
                            return Error();
                        }});
}

void OptionTable::count(
    std::string_view name, std::string_view help, uint32_t& target, uint32_t low, uint32_t high) {
    options_.push_back({name, "N", help, target == 0 ? "" : fmt::format("{}", target),
                        [&target, low, high](std::string_view given) {
                            return store(parse_count(given, low, high), target);
                        }});
}

void OptionTable::duration(std::string_view name, std::string_view help, Millis& target) {
    options_.push_back(
        {name, "TIME", help, duration_text(target),
         [&target](std::string_view given) { return store(parse_duration(given), target); }});
}

void OptionTable::bit_rate(std::string_view name, std::string_view help, uint64_t& target) {
    options_.push_back(
        {name, "RATE", help, target == 0 ? "" : short_rate(target),
         [&target](std::string_view given) { return store(parse_bit_rate(given), target); }});
}

void OptionTable::list(std::string_view name,
                       std::string_view value,
                       std::string_view help,
                       std::vector<std::string>& target) {
    options_.push_back({name, value, help, "", [&target](std::string_view given) {
                            target.emplace_back(given);
                            return Error();
                        }});
}

void OptionTable::flag(std::string_view name, std::string_view help, bool& target, bool value) {
    options_.push_back({name, "", help, "", [&target, value](std::string_view) {
                            target = value;
                            return Error();
                        }});
}

const OptionTable::Option* OptionTable::find(std::string_view name) const {
    auto found = std::find_if(options_.begin(), options_.end(),
                              [&](const Option& each) { return each.name == name; });
    return found == options_.end() ? nullptr : &*found;
}

Error OptionTable::unknown(std::string_view name) const {
    static constexpr size_t kNear = 3;
    const Option* nearest = nullptr;
    size_t least = kNear + 1;
    for (const Option& option : options_) {
        size_t far = distance(option.name, name);
        if (far < least) {
            least = far;
            nearest = &option;
        }
    }
    if (nearest != nullptr) {
        return make_error(ErrorCode::kMalformed, "unknown option '{}'; did you mean {}?", name,
                          nearest->name);
    }
    return make_error(ErrorCode::kMalformed, "unknown option '{}'; --help lists all", name);
}

Error OptionTable::parse(std::span<const char* const> arguments) {
    for (size_t i = 0; i < arguments.size(); i++) {
        std::string_view argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            help_wanted_ = true;
            return {};
        }
        if (!argument.starts_with("--")) {
            return make_error(ErrorCode::kMalformed,
                              "'{}': expected an option such as {}; --help lists all", argument,
                              options_.empty() ? "--help" : options_.front().name);
        }
        size_t equals = argument.find('=');
        std::string_view name = argument.substr(0, equals);
        const Option* option = find(name);
        if (option == nullptr) {
            return unknown(name);
        }
        std::string_view value;
        if (equals != std::string_view::npos) {
            value = argument.substr(equals + 1);
            if (option->value.empty()) {
                return make_error(ErrorCode::kMalformed, "{} takes no value, found '{}'", name,
                                  value);
            }
        } else if (!option->value.empty()) {
            if (i + 1 == arguments.size()) {
                return make_error(ErrorCode::kMalformed, "{} needs a value: {} {}", name, name,
                                  option->value);
            }
            value = arguments[++i];
        }
        WEIR_TRY(option->set(value).with_context(name));
    }
    return {};
}

std::string OptionTable::help() const {
    std::string out = fmt::format("usage: weir-bench {}\n{}\n\n", usage_, about_);
    for (const Option& option : options_) {
        std::string left = option.value.empty() ? std::string(option.name)
                                                : fmt::format("{} {}", option.name, option.value);
        out += fmt::format("  {:<22} {}", left, option.help);
        out += option.shown_default.empty() ? "\n" : fmt::format(" [{}]\n", option.shown_default);
    }
    return out;
}

}  // namespace weir::load
