#include "net/record_name.h"

#include <ctime>

#include <fmt/format.h>

#include "base/fnv.h"
#include "base/strings.h"

namespace weir::net {
namespace {

bool stays(char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') ||
           std::string_view("-_.~+@,").find(each) != std::string_view::npos;
}

std::tm local_time(int64_t wall_time_ms) {
    const std::time_t seconds = wall_time_ms / 1000;
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return parts;
}

std::string time_text(int64_t wall_time_ms) {
    const std::tm parts = local_time(wall_time_ms);
    return fmt::format("{:04}-{:02}-{:02}_{:02}-{:02}-{:02}", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::string safe_name(std::string_view name) {
    std::string safe;
    for (const char each : name) {
        if (stays(each) && !(safe.empty() && each == '.')) {
            safe += each;
        } else {
            safe += fmt::format("%{:02X}", static_cast<uint8_t>(each));
        }
    }
    if (safe.size() > kMaxNameBytes) {
        constexpr size_t kNumber = 17;
        safe.resize(kMaxNameBytes - kNumber);
        safe += fmt::format("-{:016x}", fnv1a(name));
    }
    return safe.empty() ? "%" : safe;
}

std::string plain_name(std::string_view safe) {
    return safe == "%" ? "" : url_decode(safe);
}

Error check_pattern(std::string_view pattern) {
    if (pattern.empty() || pattern.size() > kMaxPatternBytes) {
        return make_error(ErrorCode::kMalformed, "a pattern has 1 to {} characters",
                          kMaxPatternBytes);
    }
    for (const std::string_view component : split(pattern, '/')) {
        if (component.empty() || component.front() == '.') {
            return make_error(ErrorCode::kMalformed,
                              "a part between slashes is empty or begins with a dot");
        }
    }
    for (size_t at = 0; at < pattern.size(); at++) {
        if (pattern[at] == '{') {
            const size_t end = pattern.find('}', at);
            const std::string_view word =
                end == std::string_view::npos ? "" : pattern.substr(at + 1, end - at - 1);
            if (word != "vhost" && word != "app" && word != "stream" && word != "time") {
                return make_error(ErrorCode::kMalformed,
                                  "only {{vhost}}, {{app}}, {{stream}} and {{time}} may stand in "
                                  "braces");
            }
            at = end;
        } else if (pattern[at] != '/' && !stays(pattern[at])) {
            return make_error(ErrorCode::kMalformed, "the character '{}' may not stand in it",
                              pattern[at]);
        }
    }
    return {};
}

std::string record_name(std::string_view pattern,
                        const stream::StreamKey& key,
                        int64_t wall_time_ms) {
    std::string name;
    for (size_t at = 0; at < pattern.size(); at++) {
        if (pattern[at] != '{') {
            name += pattern[at];
            continue;
        }
        const size_t end = pattern.find('}', at);
        const std::string_view word = pattern.substr(at + 1, end - at - 1);
        name += word == "vhost"    ? safe_name(key.vhost)
                : word == "app"    ? safe_name(key.app)
                : word == "stream" ? safe_name(key.name)
                                   : time_text(wall_time_ms);
        at = end;
    }
    return name;
}

int64_t next_midnight_ms(int64_t wall_time_ms) {
    std::tm parts = local_time(wall_time_ms);
    parts.tm_mday++;
    parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
    parts.tm_isdst = -1;
    return static_cast<int64_t>(std::mktime(&parts)) * 1000;
}

}  // namespace weir::net
