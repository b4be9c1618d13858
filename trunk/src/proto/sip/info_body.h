// Bodies of INFO: digits of DTMF as many phones and gateways send them (application/dtmf-relay,
// application/dtmf; no RFC describes either), and the request for a key frame (RFC 5168). Pure.
//
//     Signal=5            5            <media_control> ... <picture_fast_update/> ...
//     Duration=160
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace weir::sip {

inline constexpr std::string_view kDtmfRelayType = "application/dtmf-relay";
inline constexpr std::string_view kDtmfType = "application/dtmf";
inline constexpr std::string_view kMediaControlType = "application/media_control+xml";

struct InfoDigit {
    static constexpr Millis kMinDuration{40};
    static constexpr Millis kMaxDuration{4000};

    char digit = 0;  // '0' to '9', '*', '#', 'A' to 'D', '!' for flash
    Millis duration{100};

    bool operator==(const InfoDigit&) const = default;
};

// `type`: Content-Type, with or without parameters. Nothing: another type, or no digit in it.
// Durations beyond the limits are brought within them.
std::optional<InfoDigit> parse_info_digit(std::string_view type, std::string_view body);

// A body of kDtmfRelayType.
std::string write_info_digit(const InfoDigit& digit);

// The peer's decoder needs a key frame.
bool asks_for_picture(std::string_view type, std::string_view body);

}  // namespace weir::sip
