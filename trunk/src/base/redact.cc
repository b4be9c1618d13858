#include "base/redact.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir {
namespace {

// `response` is that of Adobe's authentication.
constexpr std::array<std::string_view, 18> kSecretNames = {
    "key",      "token", "access_token", "auth",      "auth_key",   "jwt",
    "pass",     "pwd",   "passwd",       "password",  "passphrase", "secret",
    "response", "sig",   "sign",         "signature", "streamkey",  "stream_key"};
constexpr std::string_view kHidden = "***";
constexpr std::string_view kBehindScheme = "://";
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

// Of a URL that an operator wrote: the pieces put together are the URL.
struct UrlPartsView {
    std::string_view scheme;  // "http://"
    std::string_view login;   // "user:password"; a '/' that should be %2F counts for the password
    std::string_view place;   // from '@', or from the host on
    std::string_view query;   // from '?' or '#' on
};

// The whole login, where a '?' or '#' in it should be %3F or %23: up to the last '@' in front of
// the first '/'.
size_t end_of_login(std::string_view url, size_t begin, size_t query) {
    const size_t slash = url.find('/', begin);
    const size_t at = url.substr(0, slash).rfind('@');
    return at == std::string_view::npos || at < query ? std::string_view::npos : at;
}

// `whole_login`: a '?' or '#' in front of an '@' belongs to the password.
std::optional<UrlPartsView> parts_of(std::string_view url, bool whole_login = true) {
    const size_t scheme = url.find(kBehindScheme);
    if (scheme == std::string_view::npos) {
        return std::nullopt;
    }
    const size_t begin = scheme + kBehindScheme.size();
    size_t query = std::min(url.find_first_of("?#", begin), url.size());
    size_t at = url.substr(0, query).rfind('@');
    if (const size_t login = end_of_login(url, begin, query);
        whole_login && login != std::string_view::npos) {
        at = login;
        query = std::min(url.find_first_of("?#", at), url.size());
    }
    const size_t place = at == std::string_view::npos || at < begin ? begin : at;
    return UrlPartsView{url.substr(0, begin), url.substr(begin, place - begin),
                        url.substr(place, query - place), url.substr(query)};
}

void add_secrets(const UrlPartsView& parts, std::vector<std::string>& out) {
    const Halves login = split_once(parts.login, ':');
    for (const std::string_view part : {login.before, login.after}) {
        out.emplace_back(part);
        out.push_back(url_decode(part));
    }
    for (const QueryItem& item : parse_query(parts.query)) {
        out.push_back(item.value.empty() ? item.key : item.value);
    }
}

// Of each piece with an address: what is secret in it, and its last word, the stream key.
void add_stream_keys(std::string_view word, std::vector<std::string>& out) {
    for (const char separator : {'|', ','}) {
        for (const std::string_view piece : split(word, separator)) {
            for (size_t at = piece.find(kBehindScheme); at != std::string_view::npos;
                 at = piece.find(kBehindScheme, at + 1)) {
                const std::string_view url = piece.substr(at);
                std::ranges::move(secrets_of_url(url), std::back_inserter(out));
                const std::string_view path = split_once(url, '?').before;
                out.emplace_back(path.substr(path.rfind('/') + 1));
            }
        }
    }
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

std::string hidden_url(std::string_view url) {
    const std::optional<UrlPartsView> parts = parts_of(url);
    if (!parts) {
        return std::string(url);
    }
    std::string out(parts->scheme);
    out += parts->login.empty() ? "" : kHidden;
    out += parts->place;
    if (parts->query.size() > 1) {
        out += parts->query.front();
        out += kHidden;
    }
    return out;
}

std::string hidden_path(std::string_view url) {
    const std::optional<UrlPartsView> parts = parts_of(url);
    if (!parts) {
        return std::string(url);
    }
    const std::string_view host = parts->place.substr(0, parts->place.find('/'));
    const bool more = parts->place.size() > host.size() + 1 || parts->query.size() > 1;
    return fmt::format("{}{}{}{}", parts->scheme, parts->login.empty() ? "" : kHidden, host,
                       more ? fmt::format("/{}", kHidden) : parts->place.substr(host.size()));
}

std::string path_of_url(std::string_view url) {
    const std::optional<UrlPartsView> parts = parts_of(url);
    return parts ? std::string(split_once(parts->place, '/').after) : std::string();
}

std::vector<std::string> secrets_of_url(std::string_view url) {
    std::vector<std::string> out;
    const std::optional<UrlPartsView> parts = parts_of(url);
    if (!parts) {
        return out;
    }
    add_secrets(*parts, out);
    if (const auto narrow = parts_of(url, false); narrow->login != parts->login) {
        add_secrets(*narrow, out);  // perhaps the '@' belongs to the query
    }
    std::erase(out, "");
    return out;
}

std::vector<std::string> secrets_of_argument(std::string_view word) {
    std::vector<std::string> out = secrets_of_url(word);
    add_stream_keys(word, out);
    if (const Halves option = split_once(word, '='); word.starts_with('-') && option.found) {
        out.emplace_back(option.after);
    }
    std::erase(out, "");
    return out;
}

}  // namespace weir
