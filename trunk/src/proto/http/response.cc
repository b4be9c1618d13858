#include "proto/http/response.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace weir::http {

namespace {

constexpr std::string_view kServerName = "Weir";

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ");
    for (char c : value) {
        bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
        out.push_back(control ? ' ' : c);
    }
    out.append("\r\n");
}

std::optional<int> number(std::string_view text) {
    int value = 0;
    for (char c : text) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    return value;
}

// Size of the UTF-8 sequence at the front of `text`; 0 when it is broken (RFC 3629 §4).
size_t utf8_size(std::string_view text) {
    auto byte = [&](size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    auto continues = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80; };
    unsigned first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF && continues(1)) {
        return 2;
    }
    if ((first & 0xF0U) == 0xE0 && continues(1) && continues(2)) {
        bool overlong = first == 0xE0 && byte(1) < 0xA0;
        bool surrogate = first == 0xED && byte(1) > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xF0 && first <= 0xF4 && continues(1) && continues(2) && continues(3)) {
        bool outside = (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
        return outside ? 0 : 4;
    }
    return 0;
}

}  // namespace

std::string_view status_text(int status) {
    switch (status) {
        case 100: return "Continue";
        case 101: return "Switching Protocols";
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 206: return "Partial Content";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 304: return "Not Modified";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 406: return "Not Acceptable";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 411: return "Length Required";
        case 412: return "Precondition Failed";
        case 413: return "Content Too Large";
        case 414: return "URI Too Long";
        case 415: return "Unsupported Media Type";
        case 416: return "Range Not Satisfiable";
        case 417: return "Expectation Failed";
        case 422: return "Unprocessable Content";
        case 426: return "Upgrade Required";
        case 428: return "Precondition Required";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        case 508: return "Loop Detected";
        case 505: return "HTTP Version Not Supported";
        default: return "Unknown";
    }
}

std::string http_response_head(int status, const Fields& fields) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, status_text(status));
    append_field(head, "Server", kServerName);
    append_field(head, "Date", http_date(std::time(nullptr)));
    for (const Field& field : fields) {
        append_field(head, field.name, field.value);
    }
    head += "\r\n";
    return head;
}

std::string http_date(time_t time) {
    std::tm utc{};
    gmtime_r(&time, &utc);
    return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                       kDays[static_cast<size_t>(utc.tm_wday)], utc.tm_mday,
                       kMonths[static_cast<size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                       utc.tm_min, utc.tm_sec);
}

// Only the form that is generated today ("Sun, 06 Nov 1994 08:49:37 GMT"); the two obsolete ones
// count as no date.
std::optional<time_t> parse_http_date(std::string_view text) {
    if (text.size() != 29 || text.substr(3, 2) != ", " || text[7] != ' ' || text[11] != ' ' ||
        text[16] != ' ' || text[19] != ':' || text[22] != ':' || text.substr(25) != " GMT") {
        return std::nullopt;
    }
    const auto* month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
    auto day = number(text.substr(5, 2));
    auto year = number(text.substr(12, 4));
    auto hour = number(text.substr(17, 2));
    auto minute = number(text.substr(20, 2));
    auto second = number(text.substr(23, 2));
    if (month == kMonths.end() || !day || !year || !hour || !minute || !second || *day < 1 ||
        *day > 31 || *hour > 23 || *minute > 59 || *second > 60) {
        return std::nullopt;
    }
    std::tm utc{};
    utc.tm_mday = *day;
    utc.tm_mon = static_cast<int>(month - kMonths.begin());
    utc.tm_year = *year - 1900;
    utc.tm_hour = *hour;
    utc.tm_min = *minute;
    utc.tm_sec = *second;
    return timegm(&utc);
}

std::string json_escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 8);
    while (!text.empty()) {
        size_t size = utf8_size(text);
        char c = text[0];
        if (size == 0) {
            out += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            out += {'\\', c};
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(std::max<size_t>(size, 1));
    }
    return out;
}

ErrorBody http_error_body(ErrorFormat format, int status, std::string_view reason) {
    if (format == ErrorFormat::kJson) {
        return {"application/json",
                fmt::format("{{\"code\":{},\"error\":\"{}\"}}\n", status, json_escaped(reason))};
    }
    return {"text/plain; charset=utf-8",
            fmt::format("{} {}: {}\n", status, status_text(status), reason)};
}

}  // namespace weir::http
