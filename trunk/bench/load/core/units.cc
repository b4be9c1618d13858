#include "bench/load/core/units.h"

#include <array>
#include <charconv>
#include <cmath>

namespace weir::load {
namespace {

// A decimal number in front of a unit; nullopt when there is none or it is negative.
std::optional<double> leading_number(std::string_view& text) {
    double value = 0;
    auto [end, status] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (status != std::errc() || value < 0 || !std::isfinite(value)) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
}

uint16_t default_port(std::string_view scheme) {
    if (scheme == "rtmp") {
        return 1935;
    }
    if (scheme == "rtmps" || scheme == "https" || scheme == "wss") {
        return 443;
    }
    if (scheme == "srt") {
        return 10080;
    }
    return scheme == "http" || scheme == "ws" ? 8080 : 0;
}

Error split_authority(std::string_view text, std::string_view authority, Url& url) {
    std::string_view port;
    if (authority.starts_with('[')) {
        size_t close = authority.find(']');
        if (close == std::string_view::npos) {
            return make_error(ErrorCode::kMalformed, "URL '{}': the '[' has no ']'", text);
        }
        url.host = authority.substr(1, close - 1);
        port = authority.substr(close + 1);
    } else {
        size_t colon = authority.find(':');
        url.host = authority.substr(0, colon);
        port = colon == std::string_view::npos ? std::string_view() : authority.substr(colon);
    }
    if (url.host.empty()) {
        return make_error(ErrorCode::kMalformed, "URL '{}' has no host", text);
    }
    if (port.empty()) {
        return {};
    }
    auto number = port.starts_with(':')
                      ? parse_count(port.substr(1), 1, 65535)
                      : Result<uint64_t>(make_error(ErrorCode::kMalformed, "no number"));
    if (!number.ok()) {
        return make_error(ErrorCode::kMalformed, "URL '{}': '{}' is no port", text, port);
    }
    url.port = static_cast<uint16_t>(*number);
    return {};
}

}  // namespace

Result<uint64_t> parse_count(std::string_view text, uint64_t low, uint64_t high) {
    uint64_t value = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status == std::errc::invalid_argument || end != text.data() + text.size()) {
        return make_error(ErrorCode::kMalformed, "'{}': expected a number from {} to {}", text, low,
                          high);
    }
    if (status != std::errc() || value < low || value > high) {
        return make_error(ErrorCode::kLimit, "{}: expected {} to {}", text, low, high);
    }
    return value;
}

Result<Millis> parse_duration(std::string_view text) {
    struct Unit {
        std::string_view name;
        double ms;
    };

    static constexpr std::array<Unit, 5> kUnits = {
        {{"ms", 1}, {"s", 1e3}, {"", 1e3}, {"m", 60e3}, {"h", 3600e3}}};
    static constexpr double kMostMs = 30.0 * 24 * 3600e3;
    std::string_view rest = text;
    if (auto value = leading_number(rest)) {
        for (const Unit& unit : kUnits) {
            if (rest == unit.name && *value * unit.ms <= kMostMs) {
                return Millis(std::llround(*value * unit.ms));
            }
        }
    }
    return make_error(ErrorCode::kMalformed,
                      "'{}': expected a duration such as 30s, 500ms or 2m, at most 720h", text);
}

Result<uint64_t> parse_bit_rate(std::string_view text) {
    static constexpr double kMost = 1e9;
    std::string_view rest = text;
    if (auto value = leading_number(rest)) {
        double factor = rest.empty()                 ? 1
                        : rest == "k" || rest == "K" ? 1e3
                        : rest == "M" || rest == "m" ? 1e6
                                                     : 0;
        if (factor > 0 && *value * factor <= kMost) {
            return static_cast<uint64_t>(std::llround(*value * factor));
        }
    }
    return make_error(ErrorCode::kMalformed,
                      "'{}': expected a bit rate such as 500k or 4M, at most 1000M", text);
}

std::string grouped(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t at = digits.size(); at > 3; at -= 3) {
        digits.insert(at - 3, 1, ',');
    }
    return digits;
}

std::string bit_rate_text(double bits_per_second) {
    if (bits_per_second >= 1e9) {
        return fmt::format("{:.2f} Gbit/s", bits_per_second / 1e9);
    }
    if (bits_per_second >= 1e6) {
        return fmt::format("{:.1f} Mbit/s", bits_per_second / 1e6);
    }
    return fmt::format("{:.1f} kbit/s", bits_per_second / 1e3);
}

std::string Url::authority() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                               : fmt::format("[{}]:{}", host, port);
}

bool Url::tls() const {
    return scheme == "rtmps" || scheme == "https" || scheme == "wss";
}

Result<Url> parse_url(std::string_view text) {
    size_t mark = text.find("://");
    if (mark == std::string_view::npos || mark == 0) {
        return make_error(ErrorCode::kMalformed,
                          "'{}' is no URL: expected something like rtmp://host/app/stream", text);
    }
    Url url;
    url.scheme = text.substr(0, mark);
    url.port = default_port(url.scheme);
    if (url.port == 0) {
        return make_error(
            ErrorCode::kUnsupported,
            "URL '{}': scheme '{}' is not known here: rtmp, http, ws, or these with s, or srt",
            text, url.scheme);
    }
    std::string_view rest = text.substr(mark + 3);
    size_t slash = rest.find('/');
    WEIR_TRY(split_authority(text, rest.substr(0, slash), url));
    url.path = slash == std::string_view::npos ? "/" : std::string(rest.substr(slash));
    if (url.scheme == "rtmp" || url.scheme == "rtmps") {
        std::string_view path = url.path;
        std::string_view before_query = path.substr(0, path.find('?'));
        size_t last = before_query.rfind('/');
        if (last == 0 || last == std::string_view::npos || last + 1 == before_query.size()) {
            return make_error(ErrorCode::kMalformed, "URL '{}': expected rtmp://host/app/stream",
                              text);
        }
        url.app = path.substr(1, last - 1);
        url.stream = path.substr(last + 1);
    }
    return url;
}

std::string numbered(std::string_view pattern, uint32_t number) {
    size_t at = pattern.find("%d");
    if (at == std::string_view::npos) {
        return std::string(pattern);
    }
    return fmt::format("{}{}{}", pattern.substr(0, at), number, pattern.substr(at + 2));
}

bool has_number(std::string_view pattern) {
    return pattern.find("%d") != std::string_view::npos;
}

}  // namespace weir::load
