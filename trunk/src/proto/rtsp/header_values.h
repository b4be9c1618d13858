// The values of the fields Session, Range and RTP-Info (RFC 2326 §12.37, §12.29, §12.33). Pure
// functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rtsp {

inline constexpr size_t kMaxSessionId = 256;
inline constexpr size_t kMaxRtpInfos = 64;                         // those after them are not read
inline constexpr std::chrono::seconds kDefaultSessionTimeout{60};  // RFC 2326 §12.37
inline constexpr std::chrono::seconds kMaxSessionTimeout{24 * 60 * 60};  // longer counts as this
inline constexpr std::chrono::hours kMaxNptTime{1'000'000};

// "12345678;timeout=60"
struct SessionField {
    std::string id;
    std::optional<std::chrono::seconds> timeout;  // none: the default

    bool operator==(const SessionField&) const = default;
};

// nullopt: no id, or one that is too long or holds other than visible characters. RFC 2326 allows
// fewer characters, but cameras use all of them, and an id is only ever given back. Blanks may
// stand around ';' and '='. A timeout that is 0 or no number counts as none.
std::optional<SessionField> parse_session(std::string_view value);
std::string write(const SessionField& session);

// "npt=now-", "npt=1.5-20"
struct Range {
    enum class Unit : uint8_t { kNpt, kClock, kSmpte, kOther };
    using Time = std::chrono::microseconds;

    Unit unit = Unit::kNpt;
    // Of kNpt only. Live sources have one meaningful start: now.
    bool from_now = false;
    std::optional<Time> start;  // none, without from_now: "npt=-20", the last 20 seconds
    std::optional<Time> end;    // none: open

    bool operator==(const Range&) const = default;
};

// npt is read (RFC 2326 §3.6); of clock and smpte, also smpte-25 and so on, only the unit is told.
// nullopt: malformed, a 457.
std::optional<Range> parse_range(std::string_view value);

// Only for kNpt.
std::string write(const Range& range);

// The first packet after PLAY, of one track.
struct RtpInfo {
    std::string url;  // as it was sent; absolute, or relative to the request
    std::optional<uint16_t> seq;
    std::optional<uint32_t> rtptime;

    bool operator==(const RtpInfo&) const = default;
};

// Entries without a URL are left out: then nothing tells the track. Numbers out of their range
// count as missing.
std::vector<RtpInfo> parse_rtp_info(std::string_view value);
std::string write(const std::vector<RtpInfo>& infos);

}  // namespace weir::rtsp
