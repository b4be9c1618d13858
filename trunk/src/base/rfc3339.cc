#include "base/rfc3339.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr int64_t kMsPerSecond = 1'000;
constexpr size_t kMaxDigits = 11;  // of seconds since 1970

// The first `count` characters as a number, which are taken away. nullopt: they are no digits.
std::optional<int64_t> take_number(std::string_view& text, size_t count) {
    if (count == 0 || text.size() < count) {
        return std::nullopt;
    }
    int64_t value = 0;
    for (const char c : text.substr(0, count)) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

size_t digits_of(std::string_view text) {
    const auto* const end = std::ranges::find_if(text, [](char c) { return c < '0' || c > '9'; });
    return static_cast<size_t>(end - text.begin());
}

// ".5" as 500; 0 where there is none. nullopt: a point without digits.
std::optional<int64_t> take_fraction(std::string_view& text) {
    if (!take(text, ".")) {
        return 0;
    }
    const size_t digits = digits_of(text);
    int64_t ms = 0;
    for (size_t i = 0; i < 3; i++) {
        ms = ms * 10 + (i < digits ? text[i] - '0' : 0);
    }
    text.remove_prefix(digits);
    return digits > 0 ? std::optional(ms) : std::nullopt;
}

// Minutes east of Greenwich.
std::optional<int64_t> take_offset(std::string_view& text) {
    if (take(text, "Zz")) {
        return 0;
    }
    const bool west = text.starts_with('-');
    if (!take(text, "+ -")) {
        return std::nullopt;
    }
    const auto hours = take_number(text, 2);
    const bool colon = take(text, ":");
    const auto minutes = colon ? take_number(text, 2) : std::nullopt;
    if (!hours || !minutes || *hours > 23 || *minutes > 59) {
        return std::nullopt;
    }
    return (west ? -1 : 1) * (*hours * 60 + *minutes);
}

}  // namespace

std::optional<int64_t> parse_time_point(std::string_view text) {
    if (const size_t digits = digits_of(text); digits > 4 && digits <= kMaxDigits) {
        const auto whole = take_number(text, digits);
        const auto fraction = take_fraction(text);
        return fraction && text.empty() ? std::optional(*whole * kMsPerSecond + *fraction)
                                        : std::nullopt;
    }
    const auto year = take_number(text, 4);
    const bool dash = take(text, "-");
    const auto month = take_number(text, 2);
    const bool dashes = dash && take(text, "-");
    const auto day = take_number(text, 2);
    const bool date = dashes && take(text, "Tt ");
    const auto hour = take_number(text, 2);
    const bool colon = date && take(text, ":");
    const auto minute = take_number(text, 2);
    const bool colons = colon && take(text, ":");
    const auto second = take_number(text, 2);
    const auto fraction = take_fraction(text);
    const auto offset = take_offset(text);
    if (!year || !month || !day || !hour || !minute || !second || !fraction || !offset || !colons ||
        !text.empty() || *hour > 23 || *minute > 59 || *second > 60) {
        return std::nullopt;
    }
    const std::chrono::year_month_day when{std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!when.ok()) {
        return std::nullopt;
    }
    const int64_t days = std::chrono::sys_days(when).time_since_epoch().count();
    const int64_t minutes = (days * 24 + *hour) * 60 + *minute - *offset;
    return (minutes * 60 + *second) * kMsPerSecond + *fraction;
}

std::string write_time_point(int64_t wall_ms) {
    const std::time_t seconds = wall_ms / kMsPerSecond;
    tm utc{};
    gmtime_r(&seconds, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       wall_ms % kMsPerSecond);
}

}  // namespace weir
