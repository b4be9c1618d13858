#include "base/config_number.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir {
namespace {

constexpr uint64_t kKilo = 1024;
constexpr uint64_t kSecond = 1000;

constexpr std::array<ConfigUnit, 3> kSizes = {
    {{"k", kKilo}, {"m", kKilo* kKilo}, {"g", kKilo* kKilo* kKilo}}};
constexpr std::array<ConfigUnit, 3> kRates = {
    {{"k", 1000}, {"m", 1'000'000}, {"g", 1'000'000'000}}};
constexpr std::array<ConfigUnit, 4> kDurations = {
    {{"ms", 1}, {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond}}};

// The largest unit that divides the number; units rise.
std::string with_unit(uint64_t number, std::span<const ConfigUnit> units) {
    for (size_t i = units.size(); i-- > 0;) {
        if (number != 0 && number % units[i].factor == 0) {
            return fmt::format("{}{}", number / units[i].factor, units[i].name);
        }
    }
    return fmt::format("{}", number);
}

}  // namespace

std::span<const ConfigUnit> config_size_units() {
    return kSizes;
}

std::span<const ConfigUnit> config_rate_units() {
    return kRates;
}

std::span<const ConfigUnit> config_duration_units() {
    return kDurations;
}

std::optional<uint64_t> parse_config_number(std::string_view text,
                                            std::span<const ConfigUnit> units,
                                            uint64_t bare) {
    size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) {
        return std::nullopt;
    }
    uint64_t factor = bare;
    if (digits < text.size()) {
        auto unit = std::find_if(units.begin(), units.end(), [&](const ConfigUnit& u) {
            return equals_ignore_case(u.name, text.substr(digits));
        });
        if (unit == units.end()) {
            return std::nullopt;
        }
        factor = unit->factor;
    }
    return parse_uint(text.substr(0, digits), 0, UINT64_MAX / factor)
               .value_or(UINT64_MAX / factor) *
           factor;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> choices) {
    std::string_view nearest = nearest_name(word, choices);
    return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string either_of(std::string_view choices) {
    std::vector<std::string_view> names = split(choices, '|');
    std::string text;
    for (size_t i = 0; i < names.size(); i++) {
        text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
        text += names[i];
    }
    return text;
}

std::string size_text(uint64_t bytes) {
    return with_unit(bytes, kSizes);
}

std::string bitrate_text(uint64_t bits_per_second) {
    return with_unit(bits_per_second, kRates);
}

std::string duration_text(uint64_t milliseconds) {
    return with_unit(milliseconds, kDurations);
}

}  // namespace weir
