#include "app/access/jwt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "app/access/strict_json.h"
#include "base/base64.h"
#include "base/strings.h"

namespace weir::app {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 4;
constexpr double kMaxDate = 9'007'199'254'740'992;  // whole numbers that a double holds

Error denied(std::string_view why) {
    return make_error(ErrorCode::kDenied, "{}", why);
}

struct PartsView {
    std::string_view header;
    std::string_view payload;
    std::string_view signature;
    std::string_view signed_part;  // header and payload as they came
};

std::optional<PartsView> split_token(std::string_view token) {
    const size_t first = token.find('.');
    const size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
    if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return PartsView{token.substr(0, first), token.substr(first + 1, second - first - 1),
                     token.substr(second + 1), token.substr(0, second)};
}

std::optional<Json> parse_part(std::string_view part) {
    const std::optional<Bytes> bytes = parse_base64url(part);
    return bytes ? parse_strict_object(as_text(*bytes), kMaxDepth) : std::nullopt;
}

// The header and one of the keys that fit it (RFC 8725 §3.1: the key says the algorithm).
Error check_signature(const PartsView& parts, const JwtKeys& keys) {
    if (parts.header.size() > kMaxJwtHeader) {
        return denied("its header is too long");
    }
    const std::optional<Json> header = parse_part(parts.header);
    const std::optional<Bytes> signature = parse_base64url(parts.signature);
    if (!header || !signature) {
        return denied("it is not well-formed");
    }
    const auto named = header->find("alg");
    if (named == header->end() || !named->is_string()) {
        return denied("its header names no algorithm");
    }
    const std::string& algorithm = named->get_ref<const std::string&>();
    // RFC 7515 §4.1.11: extensions that must be understood, and are not.
    if (header->contains("crit") || header->contains("b64") || header->contains("zip")) {
        return denied("its header asks for an extension");
    }
    const auto id = header->find("kid");
    if (id != header->end() && !id->is_string()) {
        return denied("its key id is no text");
    }
    const std::string* wanted = id == header->end() ? nullptr : &id->get_ref<const std::string&>();
    bool has_candidate = false;
    for (const JwtKey& key : keys) {
        const bool fits = algorithm == key.algorithm() &&
                          (wanted == nullptr || key.id.empty() || *wanted == key.id);
        if (fits && key.verify(parts.signed_part, *signature)) {
            return {};
        }
        has_candidate = has_candidate || fits;
    }
    return denied(has_candidate ? "its signature is wrong"
                                : "there is no key for its algorithm and key id");
}

// A NumericDate (RFC 7519 §2); none when it is something else.
std::optional<double> date_of(const Json& value) {
    if (!value.is_number()) {
        return std::nullopt;
    }
    const auto date = value.get<double>();
    return std::isfinite(date) && date >= 0 && date <= kMaxDate ? std::optional(date)
                                                                : std::nullopt;
}

Error check_time(const Json& claims, double now_s) {
    for (const char* name : {"exp", "nbf", "iat"}) {
        if (claims.contains(name) && !date_of(claims[name])) {
            return make_error(ErrorCode::kDenied, "its claim {} is no time", name);
        }
    }
    if (!claims.contains("exp")) {
        return denied("it has no claim exp: when it expires must be said");
    }
    if (*date_of(claims["exp"]) + kJwtLeewayS <= now_s) {
        return denied("it has expired");
    }
    for (const char* name : {"nbf", "iat"}) {
        if (claims.contains(name) && *date_of(claims[name]) - kJwtLeewayS > now_s) {
            return denied("it is not valid yet");
        }
    }
    return {};
}

// A text or a list of texts of which one will do. What is neither matches nothing.
bool any_of(const Json& value, const std::function<bool(std::string_view)>& matches) {
    if (value.is_string()) {
        return matches(value.get_ref<const std::string&>());
    }
    return value.is_array() && std::any_of(value.begin(), value.end(), [&](const Json& each) {
               return each.is_string() && matches(each.get_ref<const std::string&>());
           });
}

struct Claim {
    const char* name;
    bool required;
    std::function<bool(std::string_view)> matches;
    const char* refusal;
};

bool has_address(std::string_view network, std::string_view ip) {
    const std::optional<config::IpNetwork> parsed = config::IpNetwork::parse(network);
    const std::optional<config::IpAddress> address = config::IpAddress::parse(ip);
    return parsed && address && parsed->contains(*address);
}

Error check_claims(const Json& claims, const JwtQuestion& question) {
    const auto pattern = [](std::string_view name) {
        return [name](std::string_view wanted) { return matches_pattern(wanted, name); };
    };
    const std::array<Claim, 6> table = {{
        {"action", true,
         [&](std::string_view wanted) { return wanted == to_string(question.action); },
         "it does not allow that action"},
        {"app", true, pattern(question.app), "it is for another app"},
        {"stream", true, pattern(question.stream), "it is for another stream"},
        {"vhost", false,
         [&](std::string_view wanted) { return equals_ignore_case(wanted, question.vhost); },
         "it is for another vhost"},
        {"ip", false, [&](std::string_view wanted) { return has_address(wanted, question.ip); },
         "it is for another address"},
        {"aud", !question.audience.empty(),
         [&](std::string_view wanted) {
             return !question.audience.empty() && wanted == question.audience;
         },
         "it is for another audience"},
    }};
    for (const Claim& claim : table) {
        const auto found = claims.find(claim.name);
        if (found == claims.end() && claim.required) {
            return make_error(ErrorCode::kDenied, "it has no claim {}", claim.name);
        }
        if (found != claims.end() && !any_of(*found, claim.matches)) {
            return denied(claim.refusal);
        }
    }
    return {};
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
    size_t at = 0;
    size_t in_pattern = 0;
    size_t star = std::string_view::npos;
    size_t behind_star = 0;
    while (at < text.size()) {
        if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
            star = in_pattern++;
            behind_star = at;
        } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
            in_pattern++;
            at++;
        } else if (star != std::string_view::npos) {
            in_pattern = star + 1;
            at = ++behind_star;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

bool looks_like_jwt(std::string_view token) {
    return split_token(token).has_value();
}

Error check_jwt(std::string_view token, const JwtKeys& keys, const JwtQuestion& question) {
    if (token.size() > kMaxJwt) {
        return denied("it is too long");
    }
    const std::optional<PartsView> parts = split_token(token);
    if (!parts) {
        return denied("it does not have three parts");
    }
    WEIR_TRY(check_signature(*parts, keys));
    const std::optional<Json> claims = parse_part(parts->payload);
    if (!claims) {
        return denied("its claims are no JSON object with unique names");
    }
    WEIR_TRY(check_time(*claims, static_cast<double>(question.now_s)));
    return check_claims(*claims, question);
}

}  // namespace weir::app
