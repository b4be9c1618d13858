#include "net/source/asked_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/target.h"

namespace weir::net {
namespace {

constexpr std::string_view kSeek = "playseek";
constexpr size_t kTimeDigits = 14;  // 20260101120000
constexpr size_t kDateDigits = 8;
// A number of so many digits is no place in a recording (three years and more), but seconds since
// 1970.
constexpr size_t kEpochDigits = 9;
constexpr size_t kMaxEpochDigits = 10;
constexpr std::string_view kZone = "GMT";

bool is_digits(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_epoch(std::string_view text) {
    return text.size() >= kEpochDigits && text.size() <= kMaxEpochDigits && is_digits(text);
}

// The digits YYYYMMDDHHMMSS of seconds since 1970.
std::string date_of_epoch(std::string_view text) {
    namespace chrono = std::chrono;
    int64_t seconds = 0;
    for (const char c : text) {
        seconds = seconds * 10 + (c - '0');
    }
    const chrono::sys_seconds time{chrono::seconds(seconds)};
    const auto day = chrono::floor<chrono::days>(time);
    const chrono::year_month_day date(day);
    const chrono::hh_mm_ss clock(time - day);
    return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

// "20260101120000", "20260101120000GMT", "20260101T120000Z" or "1767268800", to the second; empty
// stays so.
Result<std::string> clock_of(std::string_view text) {
    if (text.ends_with(kZone)) {
        text.remove_suffix(kZone.size());
    }
    std::string digits;
    for (const char c : text) {
        if (c != 'T' && c != 'Z') {
            digits += c;
        }
    }
    if (is_epoch(text)) {
        digits = date_of_epoch(text);
    }
    if (text.empty()) {
        return digits;
    }
    if (digits.size() != kTimeDigits || !is_digits(digits)) {
        return make_error(ErrorCode::kMalformed,
                          "a time is YYYYMMDDHHMMSS (UTC) or seconds since 1970");
    }
    return fmt::format("{}T{}Z", digits.substr(0, kDateDigits), digits.substr(kDateDigits));
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
    if (!plain || playseek.size() > 64) {
        return make_error(ErrorCode::kMalformed, "playseek is no range of time");
    }
    if (playseek.find('=') != std::string_view::npos) {
        return std::string(playseek);
    }
    const Halves halves = split_once(playseek, '-');
    if (halves.before.size() < kTimeDigits && !is_epoch(halves.before)) {
        return fmt::format("npt={}-{}", halves.before, halves.after);
    }
    WEIR_TRY_ASSIGN(const std::string from, clock_of(halves.before));
    WEIR_TRY_ASSIGN(const std::string to, clock_of(halves.after));
    return fmt::format("clock={}-{}", from, to);
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
