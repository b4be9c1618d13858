// Values of SIP's smaller header fields: CSeq, RAck, times, option tags (RFC 3261 §20, RFC 3262,
// RFC 4028). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/fields.h"
#include "proto/sip/method.h"

namespace weir::sip {

inline constexpr uint32_t kMaxSequence = 0x7FFFFFFF;  // RFC 3261 §8.1.1.5: below 2^31
inline constexpr uint8_t kDefaultMaxForwards = 70;
inline constexpr size_t kMaxOptionTags = 32;

// "314159 INVITE"
struct CSeq {
    uint32_t number = 0;
    Method method = Method::kUnknown;
    std::string method_name;  // as it was sent

    static std::optional<CSeq> parse(std::string_view text);
    std::string write() const;

    bool operator==(const CSeq&) const = default;
};

// What a PRACK acknowledges (RFC 3262 §7.2): "776656 1 INVITE"
struct RAck {
    uint32_t rseq = 0;
    CSeq cseq;

    static std::optional<RAck> parse(std::string_view text);
    std::string write() const;

    bool operator==(const RAck&) const = default;
};

// "1800;refresher=uac" (RFC 4028 §4)
struct SessionExpires {
    enum class Refresher : uint8_t { kNone, kUac, kUas };

    uint32_t seconds = 0;
    Refresher refresher = Refresher::kNone;

    static std::optional<SessionExpires> parse(std::string_view text);
    std::string write() const;

    bool operator==(const SessionExpires&) const = default;
};

// Whole seconds up to 2^32-1 (delta-seconds), with parameters or a comment behind: Expires, Min-SE,
// Min-Expires, Retry-After "120 (in a meeting);duration=60". A number that is too large counts as
// the largest one, as RFC 3261 §20.19 lets it; nullopt: no number.
std::optional<uint32_t> parse_seconds(std::string_view text);

// 0 to 255 (RFC 3261 §20.22).
std::optional<uint8_t> parse_max_forwards(std::string_view text);

// RSeq: 1 to 2^32-1 (RFC 3262 §7.1).
std::optional<uint32_t> parse_rseq(std::string_view text);

// The tags of Supported, Require, Unsupported, Allow, of all fields of that name; at most
// kMaxOptionTags, the rest is dropped.
std::vector<std::string> option_tags(const http::Fields& fields, std::string_view name);

// Whether Allow, Supported or Require has the word.
inline bool has_option(const http::Fields& fields, std::string_view name, std::string_view tag) {
    return fields.has_token(name, tag);
}

}  // namespace weir::sip
