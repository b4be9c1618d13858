#include "proto/sip/uri.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/net_address.h"
#include "base/strings.h"
#include "proto/http/fields.h"

namespace weir::sip {
namespace {

constexpr size_t kMaxHostBytes = 255;

// RFC 3261 §25.1 user-unreserved, password.
constexpr std::string_view kUserMarks = "&=+$,;?/";
constexpr std::string_view kPasswordMarks = "&=+$,";
constexpr std::string_view kHeaderMarks = "[]/?:+$";

bool is_name_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '.' || c == '_';
}

bool is_uri_text(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '\x7F' || c == '<' || c == '>' ||
               c == '"';
    });
}

bool parse_headers(std::string_view text, std::vector<UriHeader>& out) {
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const Halves halves = split_once(item, '=');
        const std::optional<std::string> name = unescape(halves.before);
        const std::optional<std::string> value = unescape(halves.after);
        if (!halves.found || !name || name->empty() || !value || out.size() == kMaxUriHeaders) {
            return false;
        }
        out.push_back({*name, *value});
    }
    return true;
}

bool parse_user(std::string_view text, SipUri& out) {
    const Halves halves = split_once(text, ':');
    std::optional<std::string> user = unescape(halves.before);
    std::optional<std::string> password = unescape(halves.after);
    if (!user || user->empty() || !password) {
        return false;
    }
    out.user = std::move(*user);
    out.password = std::move(*password);
    return true;
}

// Behind "tel:".
std::optional<SipUri> parse_tel(std::string_view text) {
    static constexpr std::string_view kDigits = "+-.()*#";
    SipUri out;
    out.scheme = Scheme::kTel;
    out.user = text.substr(0, text.find(';'));
    const bool number = std::ranges::all_of(out.user, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f') ||
               kDigits.find(c) != std::string_view::npos;
    });
    std::optional<Parameters> parameters = Parameters::parse_of_uri(text.substr(out.user.size()));
    if (out.user.empty() || !number || !parameters) {
        return std::nullopt;
    }
    out.parameters = std::move(*parameters);
    return out;
}

std::string_view scheme_text(Scheme scheme) {
    constexpr std::array<std::string_view, 3> kSchemes = {"sip", "sips", "tel"};
    return kSchemes[static_cast<size_t>(scheme)];
}

// The digits of a number without what only helps the eye (RFC 3966 §5).
std::string plain_number(std::string_view number) {
    std::string out = to_lower(number);
    std::erase_if(out, [](char c) { return c == '-' || c == '.' || c == '(' || c == ')'; });
    return out;
}

// A parameter that both have must match; one of these must not be in one of them alone.
bool equivalent_parameters(const Parameters& a, const Parameters& b) {
    constexpr std::array<std::string_view, 5> kMatter = {"user", "ttl", "method", "maddr",
                                                         "transport"};
    for (const Parameter& each : a) {
        const std::optional<std::string_view> other = b.get(each.name);
        const bool matters = std::ranges::any_of(
            kMatter, [&](std::string_view name) { return equals_ignore_case(name, each.name); });
        if (other ? !equals_ignore_case(*other, each.value) : matters) {
            return false;
        }
    }
    return std::ranges::none_of(kMatter,
                                [&](std::string_view name) { return b.has(name) && !a.has(name); });
}

bool equivalent_headers(const std::vector<UriHeader>& a, const std::vector<UriHeader>& b) {
    return a.size() == b.size() && std::ranges::all_of(a, [&](const UriHeader& each) {
               return std::ranges::any_of(b, [&](const UriHeader& other) {
                   return equals_ignore_case(each.name, other.name) && each.value == other.value;
               });
           });
}

}  // namespace

std::string_view without_brackets(std::string_view host) {
    return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

bool is_host(std::string_view text) {
    if (text.empty() || text.size() > kMaxHostBytes) {
        return false;
    }
    if (text.starts_with('[')) {
        const std::string_view ip = without_brackets(text);
        return text.ends_with(']') && ip.find(':') != std::string_view::npos &&
               NetAddress::parse_ip(ip, 0).has_value();
    }
    return std::ranges::all_of(text, is_name_character);
}

std::optional<HostPort> parse_host_port(std::string_view text) {
    const size_t host_end =
        text.starts_with('[') ? std::min(text.find(']'), text.size() - 1) + 1 : text.find(':');
    const std::string_view host = text.substr(0, host_end);
    const std::string_view rest = text.substr(std::min(host_end, text.size()));
    if (!is_host(host)) {
        return std::nullopt;
    }
    HostPort out{to_lower(host), 0};
    if (!rest.empty()) {
        const std::optional<uint64_t> port = parse_uint(rest.substr(1), 1, UINT16_MAX);
        if (rest[0] != ':' || !port) {
            return std::nullopt;
        }
        out.port = static_cast<uint16_t>(*port);
    }
    return out;
}

std::optional<SipUri> SipUri::parse(std::string_view text) {
    if (text.size() > kMaxUriBytes || !is_uri_text(text)) {
        return std::nullopt;
    }
    const Halves scheme = split_once(text, ':');
    if (equals_ignore_case(scheme.before, "tel")) {
        return parse_tel(scheme.after);
    }
    SipUri out;
    out.scheme = equals_ignore_case(scheme.before, "sips") ? Scheme::kSips : Scheme::kSip;
    if (!scheme.found ||
        (out.scheme == Scheme::kSip && !equals_ignore_case(scheme.before, "sip"))) {
        return std::nullopt;
    }
    std::string_view rest = scheme.after;
    // A user may hold ';' and '?', but no '@' without escape.
    if (const size_t at = rest.find('@'); at != std::string_view::npos) {
        if (!parse_user(rest.substr(0, at), out)) {
            return std::nullopt;
        }
        rest.remove_prefix(at + 1);
    }
    const Halves question = split_once(rest, '?');
    const bool headers = parse_headers(question.after, out.headers);
    const std::string_view address = question.before.substr(0, question.before.find(';'));
    std::optional<HostPort> place = parse_host_port(address);
    std::optional<Parameters> parameters =
        Parameters::parse_of_uri(question.before.substr(address.size()));
    if (!headers || !place || !parameters) {
        return std::nullopt;
    }
    out.host = std::move(place->host);
    out.port = place->port;
    out.parameters = std::move(*parameters);
    return out;
}

std::string SipUri::write_public() const {
    std::string out = fmt::format("{}:", scheme_text(scheme));
    if (scheme == Scheme::kTel) {
        return out + escape(user, "+#") + parameters.write_for_uri();
    }
    if (!user.empty()) {
        out += escape(user, kUserMarks) + "@";
    }
    out += host;
    if (port != 0) {
        out += fmt::format(":{}", port);
    }
    return out + parameters.write_for_uri();
}

std::string SipUri::write() const {
    std::string out = write_public();
    if (!password.empty() && !user.empty()) {
        const size_t at = scheme_text(scheme).size() + 1 + escape(user, kUserMarks).size();
        out.insert(at, ":" + escape(password, kPasswordMarks));
    }
    for (size_t i = 0; i < headers.size(); i++) {
        out += i == 0 ? '?' : '&';
        out += escape(headers[i].name, kHeaderMarks) + "=" + escape(headers[i].value, kHeaderMarks);
    }
    return out;
}

std::string SipUri::address_of_record() const {
    if (scheme == Scheme::kTel) {
        return "tel:" + plain_number(user);
    }
    return fmt::format("sip:{}{}{}", escape(user, kUserMarks), user.empty() ? "" : "@", host);
}

bool SipUri::equivalent(const SipUri& other) const {
    if (scheme != other.scheme) {
        return false;
    }
    if (scheme == Scheme::kTel) {
        return plain_number(user) == plain_number(other.user) &&
               equivalent_parameters(parameters, other.parameters);
    }
    return user == other.user && password == other.password && host == other.host &&
           port == other.port && equivalent_parameters(parameters, other.parameters) &&
           equivalent_headers(headers, other.headers);
}

uint16_t SipUri::port_or_default() const {
    return port != 0 ? port : scheme == Scheme::kSips ? 5061 : 5060;
}

}  // namespace weir::sip
