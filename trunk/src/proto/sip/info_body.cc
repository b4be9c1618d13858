#include "proto/sip/info_body.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::sip {
namespace {

constexpr std::string_view kDigits = "0123456789*#ABCD!";  // by number of the event (RFC 4733)
constexpr size_t kMaxLines = 16;
constexpr uint64_t kMaxNumber = 1'000'000;

bool is_type(std::string_view type, std::string_view wanted) {
    return equals_ignore_case(trim(split_once(type, ';').before), wanted);
}

// "5", "d", or the number of an event: "11" is '#'.
char digit_of(std::string_view text) {
    if (text.size() == 1) {
        const char upper =
            text[0] >= 'a' && text[0] <= 'd' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
        return kDigits.find(upper) == std::string_view::npos ? '\0' : upper;
    }
    const auto number = parse_uint(text, 10, kDigits.size() - 1);
    return number ? kDigits[*number] : '\0';
}

Millis bounded(uint64_t ms) {
    return std::clamp(Millis(static_cast<int64_t>(ms)), InfoDigit::kMinDuration,
                      InfoDigit::kMaxDuration);
}

}  // namespace

std::optional<InfoDigit> parse_info_digit(std::string_view type, std::string_view body) {
    InfoDigit out;
    if (is_type(type, kDtmfType)) {
        out.digit = digit_of(trim(body));
    } else if (is_type(type, kDtmfRelayType)) {
        for (const std::string_view line : split(body, '\n', kMaxLines)) {
            const Halves halves = split_once(line, '=');
            const std::string_view name = trim(halves.before);
            const std::string_view value = trim(halves.after);
            if (equals_ignore_case(name, "Signal")) {
                out.digit = digit_of(value);
            } else if (equals_ignore_case(name, "Duration")) {
                if (const auto ms = parse_uint(value, 0, kMaxNumber)) {
                    out.duration = bounded(*ms);
                }
            }
        }
    }
    return out.digit == '\0' ? std::nullopt : std::optional(out);
}

std::string write_info_digit(const InfoDigit& digit) {
    return fmt::format("Signal={}\r\nDuration={}\r\n", digit.digit, digit.duration.count());
}

bool asks_for_picture(std::string_view type, std::string_view body) {
    return is_type(type, kMediaControlType) &&
           body.find("picture_fast_update") != std::string_view::npos;
}

}  // namespace weir::sip
