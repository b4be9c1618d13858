#include "bench/load/core/rtc_signalling.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::load {
namespace {

constexpr size_t kReasonBytes = 160;

std::string_view header_of(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        const size_t end = std::min(head.find("\r\n"), head.size());
        std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(head.size(), end + 2));
        if (line.size() > name.size() && line[name.size()] == ':' &&
            equals_ignore_case(line.substr(0, name.size()), name)) {
            line.remove_prefix(name.size() + 1);
            line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
            return line;
        }
    }
    return {};
}

}  // namespace

std::string rtc_post_request(std::string_view authority,
                             std::string_view path,
                             std::string_view bearer,
                             std::string_view offer) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\n{}Content-Type: application/sdp\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        path, authority,
        bearer.empty() ? std::string() : fmt::format("Authorization: Bearer {}\r\n", bearer),
        offer.size(), offer);
}

std::string rtc_delete_request(std::string_view authority, std::string_view path) {
    return fmt::format("DELETE {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path,
                       authority);
}

Result<HttpAnswer> HttpAnswer::parse(std::string_view text) {
    const size_t head_end = text.find("\r\n\r\n");
    HttpAnswer answer;
    if (!text.starts_with("HTTP/1.") || text.size() < 12 || head_end == std::string_view::npos ||
        std::from_chars(text.data() + 9, text.data() + 12, answer.status).ptr != text.data() + 12) {
        return make_error(ErrorCode::kMalformed, "what answers is no HTTP server");
    }
    answer.location = header_of(text.substr(0, head_end), "Location");
    answer.body = text.substr(head_end + 4);
    return answer;
}

std::string describe(const HttpAnswer& answer) {
    std::string body = answer.body.substr(0, kReasonBytes);
    while (!body.empty() && (body.back() == '\n' || body.back() == '\r')) {
        body.pop_back();
    }
    return fmt::format("status {}{}{}", answer.status, body.empty() ? "" : ": ", body);
}

}  // namespace weir::load
