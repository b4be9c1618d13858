#include "proto/http/digest_auth.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/hmac.h"
#include "base/strings.h"

namespace weir::http {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 4> kAlgorithms = {"MD5", "MD5-sess", "SHA-256",
                                                         "SHA-256-sess"};

struct Parameter {
    std::string name;
    std::string value;
};

// A scheme with what follows it up to the next scheme.
struct Part {
    std::string scheme;
    std::vector<Parameter> parameters;

    std::optional<std::string_view> find(std::string_view name) const {
        for (const Parameter& parameter : parameters) {
            if (equals_ignore_case(parameter.name, name)) {
                return parameter.value;
            }
        }
        return std::nullopt;
    }

    std::string get(std::string_view name) const { return std::string(find(name).value_or("")); }
};

void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view take_token(std::string_view& text) {
    const auto end = std::ranges::find_if_not(text, is_token_character);
    const std::string_view token = text.substr(0, static_cast<size_t>(end - text.begin()));
    text.remove_prefix(token.size());
    return token;
}

// Quoted (RFC 9110 §5.6.4), or everything up to the next comma: cameras leave quotes out also where
// the value is no token.
std::string take_value(std::string_view& text) {
    std::string value;
    if (!text.starts_with('"')) {
        const size_t end = std::min(text.find(','), text.size());
        value = trimmed(text.substr(0, end));
        text.remove_prefix(end);
        return value;
    }
    size_t at = 1;
    while (at < text.size() && text[at] != '"') {
        at += text[at] == '\\' && at + 1 < text.size() ? 1U : 0U;
        value += text[at++];
    }
    text.remove_prefix(std::min(at + 1, text.size()));
    return value;
}

// RFC 9110 §11.6.1: commas separate parameters and challenges alike. A token that no '=' follows
// begins a challenge.
std::vector<Part> parse_parts(std::string_view text) {
    std::vector<Part> parts;
    size_t parameters = 0;
    if (text.size() > kMaxAuthBytes) {
        return parts;
    }
    while (!text.empty() && parameters < kMaxAuthParameters) {
        skip_blanks(text);
        const std::string_view token = take_token(text);
        skip_blanks(text);
        if (token.empty()) {
            text.remove_prefix(text.empty() ? 0 : 1);  // a comma, or what does not belong here
        } else if (!text.starts_with('=')) {
            if (parts.size() == kMaxChallenges) {
                break;
            }
            parts.push_back({std::string(token), {}});
        } else {
            text.remove_prefix(1);
            skip_blanks(text);
            std::string value = take_value(text);
            parameters++;
            if (!parts.empty()) {
                parts.back().parameters.push_back({std::string(token), std::move(value)});
            }
        }
    }
    return parts;
}

std::optional<DigestAlgorithm> parse_algorithm(std::string_view name) {
    for (size_t i = 0; i < kAlgorithms.size(); i++) {
        if (equals_ignore_case(name, kAlgorithms[i])) {
            return static_cast<DigestAlgorithm>(i);
        }
    }
    return std::nullopt;
}

bool has_auth(std::string_view qop) {
    const std::vector<std::string_view> options = split(qop, ',', 16);
    return std::ranges::any_of(
        options, [](std::string_view each) { return equals_ignore_case(trim(each), "auth"); });
}

bool is_sha256(DigestAlgorithm algorithm) {
    return algorithm == DigestAlgorithm::kSha256 || algorithm == DigestAlgorithm::kSha256Sess;
}

// Deviation: RFC 7616 §3.4 reads an answer without `algorithm` as MD5. Clients (aiortsp 1.4) leave
// it out for SHA-256, too, and the length tells.
DigestAlgorithm unnamed_algorithm(std::string_view response) {
    constexpr size_t kSha256Digits = 64;
    const bool digits = std::ranges::all_of(response, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
    return digits && response.size() == kSha256Digits ? DigestAlgorithm::kSha256
                                                      : DigestAlgorithm::kMd5;
}

bool is_session(DigestAlgorithm algorithm) {
    return algorithm == DigestAlgorithm::kMd5Sess || algorithm == DigestAlgorithm::kSha256Sess;
}

std::string hash(DigestAlgorithm algorithm, std::string_view text) {
    return is_sha256(algorithm) ? hex(sha256(as_bytes(text))) : hex(md5(as_bytes(text)));
}

// RFC 7616 §3.4.1 to §3.4.3; without qop RFC 2617 §3.2.2.1.
std::string response_of(const Credentials& c, std::string_view password, std::string_view method) {
    std::string ha1 = hash(c.algorithm, fmt::format("{}:{}:{}", c.user, c.realm, password));
    if (is_session(c.algorithm)) {
        ha1 = hash(c.algorithm, fmt::format("{}:{}:{}", ha1, c.nonce, c.cnonce));
    }
    const std::string ha2 = hash(c.algorithm, fmt::format("{}:{}", method, c.uri));
    return hash(c.algorithm,
                c.qop_auth ? fmt::format("{}:{}:{}:{}:auth:{}", ha1, c.nonce, c.nc, c.cnonce, ha2)
                           : fmt::format("{}:{}:{}", ha1, c.nonce, ha2));
}

// ", name=\"value\"", with nothing in it that could end the value or the field.
void append_quoted(std::string& out, std::string_view name, std::string_view value) {
    out += out.ends_with(' ') ? "" : ", ";
    out += name;
    out += "=\"";
    for (const char c : value) {
        if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
            continue;
        }
        out += c == '"' || c == '\\' ? "\\" : "";
        out += c;
    }
    out += '"';
}

std::optional<Challenge> challenge_of(const Part& part) {
    Challenge out;
    out.realm = part.get("realm");
    if (equals_ignore_case(part.scheme, "Basic")) {
        out.scheme = AuthScheme::kBasic;
        return out;
    }
    const std::optional<std::string_view> algorithm = part.find("algorithm");
    const std::optional<DigestAlgorithm> known = parse_algorithm(algorithm.value_or("MD5"));
    const std::optional<std::string_view> qop = part.find("qop");
    out.nonce = part.get("nonce");
    // An empty qop is none: cameras write qop="".
    out.qop_auth = has_auth(qop.value_or(""));
    const bool qop_known = out.qop_auth || trim(qop.value_or("")).empty();
    if (!equals_ignore_case(part.scheme, "Digest") || !known || !qop_known || out.nonce.empty()) {
        return std::nullopt;
    }
    out.algorithm = *known;
    out.names_algorithm = algorithm.has_value();
    out.opaque = part.get("opaque");
    out.stale = equals_ignore_case(part.get("stale"), "true");
    return out;
}

std::optional<Credentials> parse_basic(std::string_view text) {
    const std::optional<Bytes> pair = parse_base64(trimmed(text));
    if (!pair || text.size() > kMaxAuthBytes) {
        return std::nullopt;
    }
    const Halves halves = split_once(as_text(*pair), ':');
    if (!halves.found) {
        return std::nullopt;
    }
    Credentials out;
    out.scheme = AuthScheme::kBasic;
    out.user = halves.before;
    out.password = halves.after;
    return out;
}

}  // namespace

std::string_view to_string(DigestAlgorithm algorithm) {
    return kAlgorithms[static_cast<size_t>(algorithm)];
}

std::vector<Challenge> parse_challenges(std::string_view value) {
    std::vector<Challenge> out;
    for (const Part& part : parse_parts(value)) {
        if (std::optional<Challenge> challenge = challenge_of(part)) {
            out.push_back(std::move(*challenge));
        }
    }
    return out;
}

std::vector<Challenge> parse_challenges(const Fields& fields, std::string_view name) {
    std::vector<Challenge> out;
    for (const Field& field : fields) {
        if (!equal_ignoring_case(field.name, name)) {
            continue;
        }
        for (Challenge& challenge : parse_challenges(field.value)) {
            if (out.size() < kMaxChallenges) {
                out.push_back(std::move(challenge));
            }
        }
    }
    return out;
}

const Challenge* strongest(const std::vector<Challenge>& challenges, bool allow_basic) {
    const auto strength = [&](const Challenge& each) {
        return each.scheme == AuthScheme::kBasic ? (allow_basic ? 1 : 0)
               : is_sha256(each.algorithm)       ? 3
                                                 : 2;
    };
    const Challenge* best = nullptr;
    for (const Challenge& each : challenges) {
        if (strength(each) > (best == nullptr ? 0 : strength(*best))) {
            best = &each;
        }
    }
    return best;
}

std::string write(const Challenge& challenge) {
    const bool basic = challenge.scheme == AuthScheme::kBasic;
    std::string out = basic ? "Basic " : "Digest ";
    append_quoted(out, "realm", challenge.realm);
    if (basic) {
        return out;
    }
    append_quoted(out, "nonce", challenge.nonce);
    // live555 reads it right behind the nonce only.
    out += challenge.stale ? ", stale=true" : "";
    if (!challenge.opaque.empty()) {
        append_quoted(out, "opaque", challenge.opaque);
    }
    if (challenge.names_algorithm || challenge.algorithm != DigestAlgorithm::kMd5) {
        out += fmt::format(", algorithm={}", to_string(challenge.algorithm));
    }
    if (challenge.qop_auth) {
        append_quoted(out, "qop", "auth");
    }
    return out;
}

std::optional<Credentials> parse_credentials(std::string_view value) {
    constexpr std::string_view kBasic = "Basic ";
    value = trimmed(value);
    if (equals_ignore_case(value.substr(0, kBasic.size()), kBasic)) {
        return parse_basic(value.substr(kBasic.size()));
    }
    const std::vector<Part> parts = parse_parts(value);
    if (parts.size() != 1 || !equals_ignore_case(parts[0].scheme, "Digest")) {
        return std::nullopt;
    }
    const Part& part = parts[0];
    const std::optional<std::string_view> algorithm = part.find("algorithm");
    const std::string qop = part.get("qop");
    Credentials out;
    out.user = part.get("username");
    out.realm = part.get("realm");
    out.nonce = part.get("nonce");
    out.uri = part.get("uri");
    out.response = part.get("response");
    out.opaque = part.get("opaque");
    out.cnonce = part.get("cnonce");
    out.nc = part.get("nc");
    out.names_algorithm = algorithm.has_value();
    const std::optional<DigestAlgorithm> known =
        algorithm ? parse_algorithm(*algorithm) : unnamed_algorithm(out.response);
    out.qop_auth = equals_ignore_case(qop, "auth");
    const bool complete = part.find("username") && part.find("realm") && !out.nonce.empty() &&
                          !out.uri.empty() && !out.response.empty();
    const bool counted = !out.qop_auth || (!out.cnonce.empty() && !out.nc.empty());
    if (!complete || !counted || !known || (!qop.empty() && !out.qop_auth)) {
        return std::nullopt;
    }
    out.algorithm = *known;
    return out;
}

std::string write(const Credentials& credentials) {
    if (credentials.scheme == AuthScheme::kBasic) {
        const std::string pair = fmt::format("{}:{}", credentials.user, credentials.password);
        return "Basic " + base64(as_bytes(pair));
    }
    std::string out = "Digest ";
    append_quoted(out, "username", credentials.user);
    append_quoted(out, "realm", credentials.realm);
    append_quoted(out, "nonce", credentials.nonce);
    append_quoted(out, "uri", credentials.uri);
    append_quoted(out, "response", credentials.response);
    if (credentials.names_algorithm ||
        credentials.algorithm != unnamed_algorithm(credentials.response)) {
        out += fmt::format(", algorithm={}", to_string(credentials.algorithm));
    }
    if (!credentials.opaque.empty()) {
        append_quoted(out, "opaque", credentials.opaque);
    }
    if (!credentials.cnonce.empty()) {
        append_quoted(out, "cnonce", credentials.cnonce);
    }
    if (credentials.qop_auth) {
        // A number of eight hex digits; anything else was made by nobody.
        std::string nc = credentials.nc;
        std::erase_if(nc, [](char c) { return !is_token_character(c); });
        out += fmt::format(", qop=auth, nc={}", nc);
    }
    return out;
}

Credentials answer(const Challenge& challenge,
                   const UserInfo& login,
                   std::string_view method,
                   std::string_view uri,
                   std::string_view cnonce,
                   uint32_t count) {
    Credentials out;
    out.scheme = challenge.scheme;
    out.user = login.user;
    if (challenge.scheme == AuthScheme::kBasic) {
        out.password = login.password;
        return out;
    }
    out.realm = challenge.realm;
    out.nonce = challenge.nonce;
    out.uri = uri;
    out.opaque = challenge.opaque;
    out.algorithm = challenge.algorithm;
    out.names_algorithm = challenge.names_algorithm || challenge.algorithm != DigestAlgorithm::kMd5;
    out.qop_auth = challenge.qop_auth;
    if (out.qop_auth || is_session(out.algorithm)) {
        out.cnonce = cnonce;
    }
    if (out.qop_auth) {
        out.nc = fmt::format("{:08x}", count);
    }
    out.response = response_of(out, login.password, method);
    return out;
}

bool verify(const Credentials& credentials,
            std::string_view realm,
            std::string_view password,
            std::string_view method) {
    if (credentials.scheme == AuthScheme::kBasic) {
        return equal_in_constant_time(as_bytes(credentials.password), as_bytes(password));
    }
    const std::string expected = response_of(credentials, password, method);
    const std::string shown = to_lower(credentials.response);
    return equal_in_constant_time(as_bytes(expected), as_bytes(shown)) &&
           credentials.realm == realm;
}

}  // namespace weir::http
