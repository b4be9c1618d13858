#include "proto/rtsp/header_values.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::rtsp {
namespace {

constexpr size_t kMicrosecondDigits = 6;

bool is_visible(char c) {
    return c > ' ' && c < '\x7F';
}

bool is_url(std::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](char c) { return is_visible(c) && c != '"'; });
}

std::string_view without_quotes(std::string_view text) {
    if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
        return text.substr(1, text.size() - 2);
    }
    return text;
}

// The digits after the point, of which the first six count.
std::optional<Range::Time> parse_fraction(std::string_view digits) {
    if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    int64_t value = 0;
    for (size_t i = 0; i < kMicrosecondDigits; i++) {
        value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
    }
    return Range::Time(value);
}

// "12", "12.5" or "1:02:03.25" (RFC 2326 §3.6).
std::optional<Range::Time> parse_npt_time(std::string_view text) {
    const Halves halves = split_once(text, '.');
    const std::optional<Range::Time> fraction = parse_fraction(halves.after);
    const std::vector<std::string_view> parts = split(halves.before, ':', 4);
    if (!fraction || (parts.size() != 1 && parts.size() != 3)) {
        return std::nullopt;
    }
    constexpr uint64_t kMaxSeconds = std::chrono::seconds(kMaxNptTime).count();
    uint64_t seconds = 0;
    for (size_t i = 0; i < parts.size(); i++) {
        const std::optional<uint64_t> part =
            parse_uint(parts[i], 0, i == 0 ? kMaxSeconds : uint64_t{59});
        if (!part) {
            return std::nullopt;
        }
        seconds = seconds * 60 + *part;
    }
    if (seconds > kMaxSeconds) {
        return std::nullopt;
    }
    return std::chrono::seconds(seconds) + *fraction;
}

std::optional<Range> parse_npt(std::string_view text) {
    const Halves halves = split_once(text, '-');
    const std::string_view start = trim(halves.before);
    const std::string_view end = trim(halves.after);
    Range range;
    range.from_now = equals_ignore_case(start, "now");
    if (!range.from_now && !start.empty()) {
        range.start = parse_npt_time(start);
    }
    if (!end.empty()) {
        range.end = parse_npt_time(end);
    }
    // The dash may be missing: "npt=0" and "npt=now" of old clients mean an open end.
    const bool start_ok = start.empty() || range.from_now || range.start;
    const bool end_ok = end.empty() || range.end;
    const bool empty = start.empty() && end.empty();
    const bool backwards = range.start && range.end && *range.end < *range.start;
    return start_ok && end_ok && !empty && !backwards ? std::optional(range) : std::nullopt;
}

std::string npt_text(Range::Time time) {
    const auto all = time.count();
    return fmt::format("{}.{:06}", all / 1'000'000, all % 1'000'000);
}

// Takes off one entry of RTP-Info. URLs may hold commas, so an entry ends only where the next one
// begins.
std::string_view take_entry(std::string_view& text) {
    size_t end = 0;
    while (end < text.size()) {
        end = std::min(text.find(',', end), text.size());
        const std::string_view next = trim(text.substr(std::min(end + 1, text.size())));
        if (equals_ignore_case(next.substr(0, 4), "url=")) {
            break;
        }
        end = std::min(end + 1, text.size());
    }
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return trim(entry);
}

// Takes ";seq=1" or ";rtptime=2" off the end of an entry, in whatever order; false: nothing more.
// From the end, since URLs may hold semicolons.
bool take_number(std::string_view& entry, RtpInfo& info) {
    const size_t at = entry.rfind(';');
    if (at == std::string_view::npos) {
        return false;
    }
    const Halves halves = split_once(entry.substr(at + 1), '=');
    const std::string_view name = trim(halves.before);
    const std::string_view value = trim(halves.after);
    if (equals_ignore_case(name, "seq")) {
        if (const auto seq = parse_uint(value, 0, UINT16_MAX)) {
            info.seq = static_cast<uint16_t>(*seq);
        }
    } else if (equals_ignore_case(name, "rtptime")) {
        if (const auto time = parse_uint(value, 0, UINT32_MAX)) {
            info.rtptime = static_cast<uint32_t>(*time);
        }
    } else if (!trim(entry.substr(at + 1)).empty() && !equals_ignore_case(name, "ssrc")) {
        return false;
    }
    entry = entry.substr(0, at);
    return true;
}

}  // namespace

std::optional<SessionField> parse_session(std::string_view value) {
    const Halves halves = split_once(value, ';');
    SessionField session;
    session.id = trim(halves.before);
    if (session.id.empty() || session.id.size() > kMaxSessionId ||
        !std::ranges::all_of(session.id, is_visible)) {
        return std::nullopt;
    }
    for (const std::string_view parameter : split(halves.after, ';', 16)) {
        const Halves pair = split_once(parameter, '=');
        const std::optional<uint64_t> seconds = parse_uint(trim(pair.after), 1);
        if (equals_ignore_case(trim(pair.before), "timeout") && seconds) {
            session.timeout = std::chrono::seconds(
                std::min<uint64_t>(*seconds, uint64_t{kMaxSessionTimeout.count()}));
        }
    }
    return session;
}

std::string write(const SessionField& session) {
    std::string out;
    std::ranges::copy_if(session.id, std::back_inserter(out),
                         [](char c) { return is_visible(c) && c != ';'; });
    if (session.timeout) {
        out += fmt::format(";timeout={}", session.timeout->count());
    }
    return out;
}

std::optional<Range> parse_range(std::string_view value) {
    // ";time=..." says when the request is to be obeyed; live sources obey at once.
    const Halves halves = split_once(trim(value.substr(0, value.find(';'))), '=');
    const std::string unit = to_lower(trim(halves.before));
    if (!halves.found || unit.empty()) {
        return std::nullopt;
    }
    if (unit == "npt") {
        return parse_npt(trim(halves.after));
    }
    Range range;
    range.unit = unit == "clock"                                 ? Range::Unit::kClock
                 : unit == "smpte" || unit.starts_with("smpte-") ? Range::Unit::kSmpte
                                                                 : Range::Unit::kOther;
    return range;
}

std::string write(const Range& range) {
    const std::string start = range.from_now ? "now" : range.start ? npt_text(*range.start) : "";
    return fmt::format("npt={}-{}", start, range.end ? npt_text(*range.end) : "");
}

std::vector<RtpInfo> parse_rtp_info(std::string_view value) {
    std::vector<RtpInfo> out;
    while (!value.empty() && out.size() < kMaxRtpInfos) {
        std::string_view entry = take_entry(value);
        RtpInfo info;
        while (take_number(entry, info)) {
        }
        entry = trim(entry);
        if (!equals_ignore_case(entry.substr(0, 4), "url=")) {
            continue;
        }
        std::string_view url = without_quotes(trim(entry.substr(4)));
        RtpInfo within;  // what stands in the quotes, but cannot be told from a parameter outside
        while (take_number(url, within)) {
        }
        if (is_url(url)) {
            info.url = url;
            out.push_back(std::move(info));
        }
    }
    return out;
}

std::string write(const std::vector<RtpInfo>& infos) {
    std::string out;
    for (const RtpInfo& info : infos) {
        if (!is_url(info.url)) {
            continue;
        }
        out += fmt::format("{}url={}", out.empty() ? "" : ",", info.url);
        out += info.seq ? fmt::format(";seq={}", *info.seq) : "";
        out += info.rtptime ? fmt::format(";rtptime={}", *info.rtptime) : "";
    }
    return out;
}

}  // namespace weir::rtsp
