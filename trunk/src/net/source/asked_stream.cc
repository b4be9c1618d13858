#include "net/source/asked_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/target.h"

namespace weir::net {
namespace {

constexpr std::string_view kSeek = "playseek";
constexpr size_t kMaxSeekBytes = 64;  // two times as ISO 8601 writes them, with zones
constexpr size_t kMaxNptBytes = 13;
// Numbers of so many digits are no place in a recording (three years and more), but a time since
// 1970.
constexpr size_t kEpochDigits = 9;
constexpr size_t kMaxEpochDigits = 10;
constexpr size_t kEpochMillisDigits = 13;
constexpr int kMaxZoneHours = 14;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Takes the parts of a time off the front of a text, each or nothing.
class TimeReaderView {
  public:
    explicit TimeReaderView(std::string_view text) : rest_(text) {}

    // The time, in UTC; nullopt: what stands there is none.
    std::optional<std::chrono::sys_seconds> take_time() {
        const size_t digits = count_digits();
        if ((digits >= kEpochDigits && digits <= kMaxEpochDigits) || digits == kEpochMillisDigits) {
            const auto value =
                static_cast<int64_t>(parse_uint(rest_.substr(0, digits)).value_or(0));
            rest_.remove_prefix(digits);
            return std::chrono::sys_seconds(
                std::chrono::seconds(digits == kEpochMillisDigits ? value / 1000 : value));
        }
        return take_date();
    }

    std::string_view rest() const { return rest_; }

  private:
    // YYYYMMDDHHMMSS, YYYY-MM-DDTHH:MM:SS, and between; a part of a second; a zone, or UTC.
    std::optional<std::chrono::sys_seconds> take_date() {
        namespace chrono = std::chrono;
        const auto year = take_number(4);
        (void)take("-");
        const auto month = take_number(2);
        (void)take("-");
        const auto day = take_number(2);
        (void)take("T");
        const auto hour = take_number(2);
        (void)take(":");
        const auto minute = take_number(2);
        (void)take(":");
        const auto second = take_number(2);
        if (!year || !month || !day || !hour || !minute || !second || *hour > 23 || *minute > 59 ||
            *second > 60) {
            return std::nullopt;
        }
        if (take(".")) {
            rest_.remove_prefix(count_digits());
        }
        const chrono::year_month_day date(chrono::year(*year),
                                          chrono::month(static_cast<unsigned>(*month)),
                                          chrono::day(static_cast<unsigned>(*day)));
        if (!date.ok()) {
            return std::nullopt;
        }
        return chrono::sys_days(date) + chrono::hours(*hour) + chrono::minutes(*minute) +
               chrono::seconds(*second) - take_zone();
    }

    // "Z", "GMT", "UTC", "+0100", "-05:30", "GMT+8"; how far it is before UTC.
    std::chrono::minutes take_zone() {
        const bool named = take("Z") || take("GMT") || take("UTC");
        const TimeReaderView before = *this;
        const bool west = rest_.starts_with('-');
        if (!west && !rest_.starts_with('+')) {
            return {};
        }
        rest_.remove_prefix(1);
        const bool one_digit = named && count_digits() == 1;
        const auto hours = take_number(one_digit ? 1 : 2);
        (void)take(":");
        const auto minutes = take_number(2);
        // "-2026..." and a '-' at the end are no zones: that '-' stands between two times.
        const bool ends = rest_.empty() || rest_.starts_with('-');
        if (!hours || *hours > kMaxZoneHours || minutes.value_or(0) > 59 || !ends) {
            *this = before;
            return {};
        }
        const std::chrono::minutes east =
            std::chrono::hours(*hours) + std::chrono::minutes(minutes.value_or(0));
        return west ? -east : east;
    }

    bool take(std::string_view word) {
        const bool found = equals_ignore_case(rest_.substr(0, word.size()), word);
        rest_.remove_prefix(found ? word.size() : 0);
        return found;
    }

    std::optional<int> take_number(size_t digits) {
        if (count_digits() < digits) {
            return std::nullopt;
        }
        const auto value = parse_uint(rest_.substr(0, digits));
        rest_.remove_prefix(digits);
        return static_cast<int>(value.value_or(0));
    }

    size_t count_digits() const {
        return static_cast<size_t>(std::ranges::find_if_not(rest_, is_digit) - rest_.begin());
    }

    std::string_view rest_;
};

// As RFC 2326 §3.7 writes it.
std::string clock_text(std::chrono::sys_seconds time) {
    namespace chrono = std::chrono;
    const auto day = chrono::floor<chrono::days>(time);
    const chrono::year_month_day date(day);
    const chrono::hh_mm_ss clock(time - day);
    return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

Error no_time() {
    return make_error(ErrorCode::kMalformed,
                      "a time is YYYYMMDDHHMMSS (UTC, or with a zone) or seconds since 1970");
}

// "30", "0:10:30.5", "now", and nothing.
bool is_npt(std::string_view text) {
    return text.size() <= kMaxNptBytes && (text == "now" || std::ranges::all_of(text, [](char c) {
                                               return is_digit(c) || c == ':' || c == '.';
                                           }));
}

// Takes playseek out of a query.
std::string without_seek(std::string_view query, std::string& seek) {
    std::string rest;
    for (const std::string_view item : split(query, '&')) {
        const Halves halves = split_once(item, '=');
        if (halves.before == kSeek) {
            seek = http::percent_decoded(halves.after).value_or("");
        } else if (!item.empty()) {
            rest += rest.empty() ? "" : "&";
            rest += item;
        }
    }
    return rest;
}

}  // namespace

Result<std::string> AskedStream::range_of(std::string_view playseek) {
    const bool plain = std::ranges::all_of(
        playseek, [](char c) { return c > ' ' && c < 0x7F && c != ',' && c != ';'; });
    if (!plain || playseek.size() > kMaxSeekBytes) {
        return make_error(ErrorCode::kMalformed, "playseek is no range of time");
    }
    if (playseek.find('=') != std::string_view::npos) {
        return std::string(playseek);
    }
    TimeReaderView begin(playseek);
    const auto from = begin.take_time();
    if (!from) {
        const Halves halves = split_once(playseek, '-');
        const bool npt = is_npt(halves.before) && is_npt(halves.after) &&
                         !(halves.before.empty() && halves.after.empty());
        return npt ? fmt::format("npt={}-{}", halves.before, halves.after)
                   : Result<std::string>(no_time());
    }
    const std::string range = fmt::format("clock={}-", clock_text(*from));
    if (begin.rest().empty() || begin.rest() == "-") {
        return range;
    }
    TimeReaderView end(begin.rest().substr(1));
    const auto to = begin.rest().starts_with('-') ? end.take_time() : std::nullopt;
    if (!to || !end.rest().empty()) {
        return no_time();
    }
    return range + clock_text(*to);
}

Result<AskedStream> AskedStream::of(const stream::StreamKey& key) {
    AskedStream asked;
    if (key.app == kGroupApp) {
        WEIR_TRY_ASSIGN(asked.url, SourceUrl::parse(fmt::format("udp://{}", key.name)));
        if (asked.url.group.to_string() != key.name || asked.url.group.ttl != 0) {
            return make_error(ErrorCode::kMalformed, "that is no address of a group");
        }
        return asked;
    }
    const std::string_view app = key.app;
    if (!app.starts_with(kRtspApp) || app.size() < kRtspApp.size() + 2 ||
        app[kRtspApp.size()] != '/') {
        return make_error(ErrorCode::kMalformed, "that is no address of a group or RTSP server");
    }
    const Halves place = split_once(app.substr(kRtspApp.size() + 1), '/');
    const Halves name = split_once(key.name, '?');
    std::string path = place.found ? fmt::format("/{}", place.after) : std::string();
    path += fmt::format("/{}", name.before);
    std::string seek;
    const std::string query = without_seek(name.after, seek);
    WEIR_TRY_ASSIGN(asked.url, SourceUrl::parse(fmt::format("rtsp://{}{}{}{}", place.before,
                                                            http::percent_encoded(path),
                                                            query.empty() ? "" : "?", query)));
    if (!asked.url.login.empty()) {
        return make_error(ErrorCode::kMalformed, "an address that is asked for has no password");
    }
    if (!seek.empty()) {
        WEIR_TRY_ASSIGN(asked.range, range_of(seek));
    }
    return asked;
}

}  // namespace weir::net
