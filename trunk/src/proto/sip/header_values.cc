#include "proto/sip/header_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/text.h"
#include "proto/sip/parameters.h"

namespace weir::sip {
namespace {

// The first word, and the rest without the blanks in between.
struct Words {
    std::string_view first;
    std::string_view rest;
};

Words cut_word(std::string_view text) {
    text = http::trimmed(text);
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    return {text.substr(0, end), http::trimmed(text.substr(end))};
}

}  // namespace

std::optional<CSeq> CSeq::parse(std::string_view text) {
    const Words words = cut_word(text);
    const std::optional<uint64_t> number = parse_uint(words.first, 0, kMaxSequence);
    if (!number || !http::is_token(words.rest)) {
        return std::nullopt;
    }
    return CSeq{static_cast<uint32_t>(*number), parse_method(words.rest), std::string(words.rest)};
}

std::string CSeq::write() const {
    return fmt::format(
        "{} {}", number,
        method == Method::kUnknown ? std::string_view(method_name) : to_string(method));
}

std::optional<RAck> RAck::parse(std::string_view text) {
    const Words words = cut_word(text);
    const std::optional<uint32_t> rseq = parse_rseq(words.first);
    std::optional<CSeq> cseq = CSeq::parse(words.rest);
    if (!rseq || !cseq) {
        return std::nullopt;
    }
    return RAck{*rseq, std::move(*cseq)};
}

std::string RAck::write() const {
    return fmt::format("{} {}", rseq, cseq.write());
}

std::optional<SessionExpires> SessionExpires::parse(std::string_view text) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::optional<uint32_t> seconds = parse_seconds(text.substr(0, end));
    const std::optional<Parameters> parameters = Parameters::parse_of_header(text.substr(end));
    if (!seconds || !parameters) {
        return std::nullopt;
    }
    SessionExpires out{*seconds, Refresher::kNone};
    const std::string_view refresher = parameters->get("refresher").value_or("");
    if (equals_ignore_case(refresher, "uac")) {
        out.refresher = Refresher::kUac;
    } else if (equals_ignore_case(refresher, "uas")) {
        out.refresher = Refresher::kUas;
    }
    return out;
}

std::string SessionExpires::write() const {
    return fmt::format("{}{}", seconds,
                       refresher == Refresher::kUac   ? ";refresher=uac"
                       : refresher == Refresher::kUas ? ";refresher=uas"
                                                      : "");
}

std::optional<uint32_t> parse_seconds(std::string_view text) {
    text = http::trimmed(text);
    const std::string_view digits =
        text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
    const std::string_view rest = http::trimmed(text.substr(digits.size()));
    if (digits.empty() || !(rest.empty() || rest[0] == ';' || rest[0] == '(')) {
        return std::nullopt;
    }
    const std::optional<uint64_t> value = parse_uint(digits, 0, UINT32_MAX);
    return static_cast<uint32_t>(value.value_or(UINT32_MAX));
}

std::optional<uint8_t> parse_max_forwards(std::string_view text) {
    const std::optional<uint64_t> value = parse_uint(http::trimmed(text), 0, UINT8_MAX);
    return value ? std::optional(static_cast<uint8_t>(*value)) : std::nullopt;
}

std::optional<uint32_t> parse_rseq(std::string_view text) {
    const std::optional<uint64_t> value = parse_uint(http::trimmed(text), 1, UINT32_MAX);
    return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

std::vector<std::string> option_tags(const http::Fields& fields, std::string_view name) {
    std::vector<std::string> out;
    for (const http::Field& field : fields) {
        if (!http::equal_ignoring_case(field.name, name)) {
            continue;
        }
        for (const std::string_view each : split(field.value, ',', kMaxOptionTags)) {
            const std::string_view tag = http::trimmed(each);
            if (http::is_token(tag) && out.size() < kMaxOptionTags) {
                out.emplace_back(tag);
            }
        }
    }
    return out;
}

}  // namespace weir::sip
