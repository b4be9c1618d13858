#include "base/redact.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace weir {
namespace {

// `response` is that of Adobe's authentication.
constexpr std::array<std::string_view, 18> kSecretNames = {
    "key",      "token", "access_token", "auth",      "auth_key",   "jwt",
    "pass",     "pwd",   "passwd",       "password",  "passphrase", "secret",
    "response", "sig",   "sign",         "signature", "streamkey",  "stream_key"};
constexpr std::string_view kHidden = "***";
constexpr std::string_view kSeparators = "?&;#";

// "user:password@" in front of the host.
size_t userinfo_size(std::string_view behind_scheme) {
    const std::string_view authority = behind_scheme.substr(0, behind_scheme.find_first_of("/?#"));
    const size_t at = authority.rfind('@');
    return at == std::string_view::npos ? 0 : at;
}

// Where the value of a secret ends that begins at `from` or behind: at the next '&', as a parser of
// queries reads it, or at a '?' with another parameter behind it (Adobe's authentication).
size_t end_of_secret(std::string_view url, size_t from) {
    size_t end = url.find_first_of("&?", from);
    while (end != std::string_view::npos && url[end] == '?' &&
           !split_once(url.substr(end, url.find_first_of("&?", end + 1) - end), '=').found) {
        end = url.find_first_of("&?", end + 1);
    }
    return end;
}

}  // namespace

bool is_secret_parameter(std::string_view name) {
    const std::string decoded = url_decode(name);
    return std::ranges::any_of(
        kSecretNames, [&](std::string_view secret) { return equals_ignore_case(decoded, secret); });
}

std::string redacted_url(std::string_view url) {
    std::string out;
    out.reserve(url.size());
    if (const size_t scheme = url.find("://");
        scheme != std::string_view::npos && url.find_first_of("/?#") == scheme + 1) {
        out += url.substr(0, scheme + 3);
        url.remove_prefix(scheme + 3);
        if (const size_t size = userinfo_size(url); size > 0) {
            out += kHidden;
            url.remove_prefix(size);
        }
    }
    size_t at = url.find_first_of(kSeparators);
    out += url.substr(0, at);
    while (at != std::string_view::npos) {
        out += url[at];
        size_t end = url.find_first_of(kSeparators, at + 1);
        const std::string_view item = url.substr(at + 1, end - at - 1);
        const Halves halves = split_once(item, '=');
        if (halves.found && is_secret_parameter(halves.before)) {
            out += halves.before;
            out += '=';
            out += kHidden;
            end = end_of_secret(url, at + 1);
        } else {
            out += item;
        }
        at = end;
    }
    return out;
}

}  // namespace weir
