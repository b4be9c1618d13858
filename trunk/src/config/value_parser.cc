#include "config/value_parser.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/redact.h"
#include "base/strings.h"
#include "config/command_words.h"
#include "config/named_stream.h"
#include "config/value_types.h"
#include "net/record_name.h"
#include "proto/rtmp/stream_name.h"
#include "proto/sip/uri.h"

namespace weir::config {
namespace {

constexpr size_t kMaxVhostName = 255;

std::optional<size_t> index_of(std::string_view word, std::span<const std::string_view> choices) {
    auto found = std::find(choices.begin(), choices.end(), word);
    return found == choices.end() ? std::nullopt : std::optional<size_t>(found - choices.begin());
}

bool is_vhost_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxVhostName &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
                      c == '_' || c == ':';
           });
}

// APP/STREAM; the app may have slashes of its own.
bool names_stream(std::string_view text) {
    const size_t slash = text.rfind('/');
    rtmp::StreamName name;
    return slash != std::string_view::npos &&
           !rtmp::parse_path(text.substr(0, slash), text.substr(slash + 1), name);
}

}  // namespace

std::optional<Value> ValueParser::parse() {
    if (!count_fits()) {
        return std::nullopt;
    }
    for (const Token& token : statement_.arguments) {
        if (token.broken) {
            return std::nullopt;  // the forgotten quote is reported
        }
    }
    Value value;
    value.at = statement_.name.at;
    const ValueType type = directive_.type;
    return (this->*value_type(type).parse)(value) ? std::optional(std::move(value)) : std::nullopt;
}

bool ValueParser::fail(const Token& token, std::string_view expected, std::string_view hint) {
    sink_.report(token.at, fmt::format("found {}, expected {}{}", shown(token), expected, hint));
    return false;
}

// Any word of a directive with a secret may be the secret, in the wrong place.
std::string ValueParser::shown(const Token& token) const {
    const bool url = directive_.type == ValueType::kIceServer && &token == &word();
    const UrlSecrets urls = value_type(directive_.type).urls;
    Token copy = token;
    copy.hidden = token.hidden || urls == UrlSecrets::kTarget ||
                  (directive_.secret_from != kNoSecret && !url);
    copy.text = hidden_url(token.text);
    return copy.shown();
}

bool ValueParser::count_fits() {
    const auto [least, most] = value_type(directive_.type).words;
    size_t count = statement_.arguments.size();
    if (count > most) {
        return fail(word(most),
                    most == 0              ? "'{'"
                    : statement_.has_block ? "'{'"
                                           : "';'",
                    fmt::format(" ({} takes {})", directive_.name,
                                most == 0   ? "no value"
                                : most == 1 ? "one value"
                                : most == 2 ? "two values"
                                            : "at most three values"));
    }
    if (count < least && !statement_.broken) {
        sink_.report(statement_.end, fmt::format("found {} for {}, expected {}",
                                                 count == 0   ? "no value"
                                                 : count == 1 ? "only one value"
                                                              : "only two values",
                                                 directive_.name, expectation(directive_)));
    }
    return count >= least;
}

bool ValueParser::parse_vhost(Value& value) {
    value.text = word().text == kDefaultVhost ? word().text : to_lower(word().text);
    if (value.text == kDefaultVhost || is_vhost_name(value.text)) {
        return true;
    }
    return fail(word(), "a host name of letters, digits, '.', '-' and '_'");
}

// In the form in which names of streams are compared.
bool ValueParser::parse_application(Value& value) {
    value.text = word().text;
    const bool printable = std::ranges::none_of(value.text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7F;
    });
    if (printable && !value.text.empty() && value.text.size() <= rtmp::kMaxAppSize &&
        rtmp::normal_app(value.text) == value.text) {
        return true;
    }
    return fail(word(),
                "the name of an application as in rtmp://HOST/NAME/STREAM: without '?', without "
                "'/' at its ends");
}

bool ValueParser::parse_choice_of(Value& value, std::string_view choices) {
    std::vector<std::string_view> names = split(choices, '|');
    std::optional<size_t> index = index_of(word().text, names);
    if (!index) {
        return fail(word(), expectation(directive_), did_you_mean(word().text, names));
    }
    value.number = *index;
    return true;
}

bool ValueParser::parse_number(Value& value, std::span<const ConfigUnit> units, uint64_t bare) {
    std::optional<uint64_t> number = parse_config_number(word().text, units, bare);
    if (!directive_.special.empty() && word().text == directive_.special) {
        value.special = true;
        value.number = number.value_or(0);
        return true;
    }
    if (!number || *number < directive_.min || *number > directive_.max) {
        const std::string_view special[] = {directive_.special};
        return fail(word(), expectation(directive_),
                    directive_.special.empty() ? "" : did_you_mean(word().text, special));
    }
    value.number = *number;
    return true;
}

bool ValueParser::parse_path(Value& value) {
    if (word().text.empty()) {
        return fail(word(), expectation(directive_));
    }
    value.special = !directive_.special.empty() && word().text == directive_.special;
    if (!value.special) {
        value.text = resolve_path(word().text, scope_.folder);
    }
    return true;
}

bool ValueParser::parse_text(Value& value) {
    value.text = word().text;
    return !value.text.empty() || fail(word(), expectation(directive_));
}

bool ValueParser::parse_words(Value& value, bool (*is_good)(std::string_view)) {
    bool good = true;
    for (const Token& token : statement_.arguments) {
        if (!is_good(token.text)) {
            good = fail(token, expectation(directive_));
            continue;
        }
        value.words.push_back(to_lower(token.text));
    }
    return good;
}

bool ValueParser::parse_secret_at(Value& value, size_t at) {
    const Token& token = word(at);
    std::optional<SecretSource> secret = parse_secret(token.text, scope_.folder, directive_.min);
    // Keys and tokens, of which there may be several, stand in URLs and header fields.
    const bool in_urls = directive_.type == ValueType::kRoleSecret ||
                         (directive_.type == ValueType::kSecret && directive_.repeatable);
    if (!secret) {
        return fail(token, expectation(directive_));
    }
    if (in_urls && !secret->is_file && token.text.find(' ') != std::string::npos) {
        return fail(token, fmt::format("{} without blanks", expectation(directive_)));
    }
    value.secrets.push_back(std::move(*secret));
    return true;
}

bool ValueParser::parse_secrets(Value& value) {
    if (!directive_.repeatable && statement_.arguments.size() > 1) {
        return fail(word(1), "';'",
                    fmt::format(" ({} takes one value; one with blanks belongs in quotes)",
                                directive_.name));
    }
    bool good = true;
    for (size_t i = 0; i < statement_.arguments.size(); i++) {
        good = parse_secret_at(value, i) && good;
    }
    return good;
}

bool ValueParser::parse_login_at(Value& value, size_t at) {
    if (!is_login_name(word(at).text)) {
        return fail(word(at), "a name of letters, digits and ._-@+");
    }
    value.text = word(at).text;
    return parse_secret_at(value, at + 1);
}

bool ValueParser::parse_role(Value& value) {
    const std::string_view roles[] = {"read", "operate", "admin"};  // as ApiRole
    const std::optional<size_t> role = index_of(word().text, roles);
    if (!role) {
        return fail(word(), "read, operate or admin", did_you_mean(word().text, roles));
    }
    value.number = *role;
    return true;
}

// Addresses, then what holds for all of them.
bool ValueParser::parse_listeners(Value& value) {
    bool good = true;
    bool ssl = false;
    bool proxy_protocol = false;
    for (const Token& token : statement_.arguments) {
        const bool is_ssl = token.text == "ssl" || token.text == "tls";
        if (is_ssl && directive_.contexts == kRtcServerContext) {
            good = fail(token, expectation(directive_), " (WebRTC is encrypted by itself)");
        } else if (is_ssl && directive_.name == "rtp_listen") {
            good = fail(token, expectation(directive_), " (RTSPS is encrypted by listen)");
        } else if ((is_ssl || token.text == "proxy_protocol") && value.addresses.empty()) {
            good = good && fail(token, expectation(directive_), " in front of it");
        } else if (is_ssl || token.text == "proxy_protocol") {
            (is_ssl ? ssl : proxy_protocol) = true;
        } else if (std::optional<std::string> address = parse_listen(token.text); !address) {
            const std::string_view words[] = {"ssl", "proxy_protocol"};
            good = fail(token, expectation(directive_), did_you_mean(token.text, words));
        } else if (ssl || proxy_protocol) {
            good = fail(token, "';'", " (addresses stand in front of ssl and proxy_protocol)");
        } else {
            add_listener(value, token, std::move(*address));
        }
    }
    for (ListenAddress& listen : value.addresses) {
        listen.ssl = ssl;
        listen.proxy_protocol = proxy_protocol;
    }
    return good;
}

void ValueParser::add_listener(Value& value, const Token& token, std::string address) {
    ListenAddress& listen = value.addresses.emplace_back();
    listen.address = std::move(address);
    listen.origin = origin();
    if (!statement_.name.text.empty()) {  // written
        listen.file = scope_.file;
        listen.line = token.at.line;
        listen.column = token.at.line == 0 ? 0 : token.at.column;
    }
}

bool ValueParser::parse_networks(Value& value) {
    const bool none = !directive_.special.empty() && word().text == directive_.special;
    if (none && statement_.arguments.size() == 1) {
        value.special = true;
        return true;
    }
    bool good = true;
    for (const Token& token : statement_.arguments) {
        const std::optional<IpNetwork> network = IpNetwork::parse(token.text);
        if (!network) {
            good = fail(token, expectation(directive_));
        } else if (network_is_exact(token, *network)) {
            value.networks.push_back(*network);
        } else {
            good = false;
        }
    }
    return good;
}

bool ValueParser::parse_cores(Value& value) {
    bool good = true;
    for (const Token& token : statement_.arguments) {
        Halves ends = split_once(token.text, '-');
        const bool is_range = token.text.find('-') != std::string::npos;
        std::optional<uint64_t> first = parse_uint(ends.before, 0, kMaxCore);
        std::optional<uint64_t> last =
            is_range ? parse_uint(ends.after, first.value_or(0), kMaxCore) : first;
        if (!first || !last) {
            good = fail(token, expectation(directive_));
            continue;
        }
        value.cores.ranges.push_back({static_cast<uint16_t>(*first), static_cast<uint16_t>(*last),
                                      token.at.line, token.at.column});
    }
    return good;
}

bool ValueParser::parse_addresses(Value& value) {
    bool good = true;
    for (const Token& token : statement_.arguments) {
        std::optional<NetAddress> address = NetAddress::parse_ip(token.text, 0);
        if (!address) {
            address = NetAddress::parse(token.text);
        }
        if (!address || address->is_any()) {
            good = fail(token, expectation(directive_));
            continue;
        }
        value.candidates.push_back(*address);
    }
    return good;
}

std::string ValueParser::origin() const {
    std::string_view block =
        directive_.contexts == kGlobalContext ? "" : to_string(Context(directive_.contexts));
    std::string name = fmt::format("{}{}{}", block, block.empty() ? "" : " ", directive_.name);
    if (statement_.name.text.empty()) {
        return name + " (default)";
    }
    if (statement_.name.at.line == 0) {
        return scope_.file;  // "WEIR_LISTEN in the environment"
    }
    return fmt::format("{} in {}:{}", name, scope_.file.empty() ? "(text)" : scope_.file,
                       statement_.name.at.line);
}

bool ValueParser::parse_rule(Value& value) {
    const std::string_view actions[] = {to_string(Action::kPublish), to_string(Action::kPlay)};
    std::optional<size_t> action = index_of(word(0).text, actions);
    bool good = true;
    if (!action) {
        good = fail(word(0), "publish or play", did_you_mean(word(0).text, actions));
    }
    value.rule.allow = directive_.name == "allow";
    value.rule.action = action == 1u ? Action::kPlay : Action::kPublish;
    if (word(1).text == "all") {
        return good;
    }
    value.rule.network = IpNetwork::parse(word(1).text);
    if (!value.rule.network) {
        return fail(word(1), "an IPv4 or IPv6 address, ADDRESS/BITS (up to /32 and /128) or all");
    }
    return good && network_is_exact(word(1), *value.rule.network);
}

// The URL goes into a Link field as it is.
bool ValueParser::parse_ice_server(Value& value) {
    const std::string& url = word().text;
    const bool stun = url.starts_with("stun:") || url.starts_with("stuns:");
    const bool turn = url.starts_with("turn:") || url.starts_with("turns:");
    const bool plain = std::ranges::all_of(
        url, [](char c) { return c > ' ' && c <= '~' && c != '<' && c != '>' && c != '"'; });
    if ((!stun && !turn) || !plain || url.ends_with(':')) {
        return fail(word(), expectation(directive_));
    }
    const size_t count = statement_.arguments.size();
    if (stun && count > 1) {
        return fail(word(1), "';'", " (STUN takes no user and password)");
    }
    if (turn && count != 3) {
        sink_.report(count == 1 ? statement_.end : word(1).at,
                     fmt::format("found {} behind {}, expected USER PASSWORD",
                                 count == 1 ? "nothing" : "one word", url));
        return false;
    }
    value.ice_server.url = url;
    if (turn) {
        value.ice_server.username = word(1).text;
        value.ice_server.credential = word(2).text;
    }
    return true;
}

// May hold a token of the operator's: what is wrong is said without showing it.
bool ValueParser::parse_urls(Value& value) {
    bool good = true;
    for (const Token& token : statement_.arguments) {
        Result<http::Url> url = http::Url::parse(token.text);
        if (!url.ok()) {
            sink_.report(token.at,
                         fmt::format("found no URL of a server, {}", url.error().message()));
            good = false;
            continue;
        }
        value.urls.push_back(std::move(*url));
    }
    return good;
}

bool ValueParser::parse_source_url(Value& value) {
    Result<net::SourceUrl> url = net::SourceUrl::parse(word().text);
    const bool forward = directive_.type == ValueType::kForward;
    const bool origin = directive_.type == ValueType::kOrigin;
    if (origin && (!url.ok() || !url->is_server())) {
        sink_.report(word().at, fmt::format("found no address of a server, expected {}",
                                            expectation(directive_)));
        return false;
    }
    if (!url.ok() || (forward && (url->is_http() || url->is_whep() ||
                                  (url->path.empty() && !url->has_stream_id())))) {
        const bool is_group =
            word().text.starts_with("udp://") || word().text.starts_with("rtp://");
        sink_.report(word().at,
                     is_group && !forward
                         ? fmt::format("found no address of a group: {}", url.error().message())
                         : fmt::format("found no address of a stream, expected {}",
                                       expectation(directive_)));
        return false;
    }
    value.source_url = std::move(*url);
    return true;
}

bool ValueParser::parse_group_out(Value& value) {
    const Token& name = statement_.arguments[0];
    const Token& target = statement_.arguments[1];
    rtmp::StreamName stream;
    if (rtmp::parse_path("app", name.text, stream)) {
        sink_.report(name.at, fmt::format("found no name of a stream, expected {}",
                                          expectation(directive_)));
        return false;
    }
    Result<net::SourceUrl> url = net::SourceUrl::parse(target.text);
    if (!url.ok() || !url->is_group()) {
        sink_.report(target.at, fmt::format("found no address of a group, expected {}",
                                            expectation(directive_)));
        return false;
    }
    value.text = name.text;
    value.source_url = std::move(*url);
    return true;
}

// Of a program that is run beside streams: `$` begins a variable that is known.
bool ValueParser::parse_command(Value& value) {
    for (const Token& token : statement_.arguments) {
        if (const std::string wrong = variables_problem(token.text); !wrong.empty()) {
            sink_.report(token.at, fmt::format("found {} in {}; expected $app, $name or $vhost, or "
                                               "no '$'",
                                               wrong, directive_.name));
            return false;
        }
        if (value.words.empty() && token.text.empty()) {
            return fail(token, expectation(directive_));
        }
        value.words.push_back(token.text);
    }
    return true;
}

bool ValueParser::parse_stream_names(Value& value) {
    const stream::StreamKey sample{"vhost", "app", "stream"};
    for (const Token& token : statement_.arguments) {
        if (!named_stream(token.text, sample)) {
            return fail(token, expectation(directive_));
        }
        value.words.push_back(token.text);
    }
    return true;
}

bool ValueParser::parse_stream_name(Value& value) {
    value.text = word(0).text;
    return names_stream(value.text) || fail(word(0), expectation(directive_));
}

bool ValueParser::parse_dial(Value& value) {
    for (size_t i = 0; i < statement_.arguments.size(); i++) {
        const Token& token = word(i);
        const bool good = i == 0 ? !token.text.empty() : names_stream(token.text);
        if (!good) {
            return fail(token, expectation(directive_));
        }
        value.words.push_back(token.text);
    }
    return true;
}

bool ValueParser::parse_keep(Value& value) {
    bool has_time = false;
    bool has_size = false;
    for (const Token& token : statement_.arguments) {
        if (is_ambiguous_keep(token.text)) {
            sink_.report(token.at, fmt::format("found {}, which could be minutes or megabytes: "
                                               "write {}in or {}b",
                                               token.shown(), token.text, token.text));
            return false;
        }
        const std::optional<KeepWord> keep = parse_keep_word(token.text);
        if (!keep || std::exchange(keep->ms > 0 ? has_time : has_size, true)) {
            return fail(token, expectation(directive_));
        }
        value.words.push_back(token.text);
    }
    return true;
}

bool ValueParser::parse_record_name(Value& value) {
    if (const Error error = net::check_pattern(word().text)) {
        return fail(word(), fmt::format("{}: {}", expectation(directive_), error.message()));
    }
    value.text = word().text;
    return true;
}

bool ValueParser::parse_extension(Value& value) {
    for (size_t i = 0; i < 2; i++) {
        if (!is_login_name(word(i).text)) {
            return fail(word(i), expectation(directive_));
        }
        value.words.push_back(word(i).text);
    }
    return true;
}

bool ValueParser::parse_call_targets(Value& value) {
    bool good = true;
    for (const Token& token : statement_.arguments) {
        const std::optional<IpNetwork> network = IpNetwork::parse(token.text);
        std::string_view name = token.text;
        name.remove_prefix(name.starts_with("*.") ? 2 : 0);
        if (network) {
            good = network_is_exact(token, *network) && good;
            value.networks.push_back(*network);
        } else if (sip::is_host(name)) {
            value.words.push_back(to_lower(token.text));
        } else {
            good = fail(token, expectation(directive_));
        }
    }
    return good;
}

bool ValueParser::parse_sip_user(Value& value) {
    const auto uri = sip::SipUri::parse(word().text);
    if (!uri || uri->scheme != sip::Scheme::kSip || uri->user.empty() || !uri->password.empty() ||
        uri->port != 0 || !(uri->parameters == sip::Parameters()) || !uri->headers.empty()) {
        sink_.report(word().at, fmt::format("found no address of a user, expected {}",
                                            expectation(directive_)));  // it may have a password
        return false;
    }
    value.words = {uri->user, uri->host};
    return true;
}

bool ValueParser::parse_outside(Value& value) {
    constexpr std::string_view kUsualCalls = "2";
    constexpr uint64_t kMostCalls = 10'000;
    constexpr uint64_t kMostDigits = 32;
    std::string_view digits = word(0).text;
    digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
    const bool is_prefix = !word(0).text.empty() && digits.size() <= kMostDigits &&
                           digits.find_first_not_of("0123456789") == std::string_view::npos;
    const auto via = sip::SipUri::parse("sip:" + word(2).text);
    if (!is_prefix || word(1).text != "via") {
        return fail(word(is_prefix ? 1 : 0), expectation(directive_));
    }
    if (!via || via->user.empty() || !via->password.empty() || via->host.empty()) {
        sink_.report(word(2).at,
                     fmt::format("found no registration, expected {}", expectation(directive_)));
        return false;
    }
    value.words = {word(0).text, word(2).text, std::string(kUsualCalls), "0"};
    for (size_t i = 3; i < statement_.arguments.size(); i++) {
        const std::string& name = word(i).text;
        if (name == "users" && i + 1 < statement_.arguments.size()) {
            while (++i < statement_.arguments.size() && is_login_name(word(i).text)) {
                value.words.push_back(word(i).text);
            }
            return i == statement_.arguments.size() || fail(word(i), expectation(directive_));
        }
        const bool calls = name == "max_calls";
        const bool last = ++i == statement_.arguments.size();
        if (last || (!calls && name != "strip") ||
            !parse_uint(word(i).text, calls ? 1 : 0, calls ? kMostCalls : kMostDigits)) {
            return fail(word(last ? i - 1 : i), expectation(directive_));
        }
        value.words[calls ? 2 : 3] = word(i).text;
    }
    return true;
}

bool ValueParser::parse_sip_servers(Value& value) {
    for (const Token& token : statement_.arguments) {
        const bool is_uri = token.text.starts_with("sip:") || token.text.starts_with("sips:");
        const auto uri = sip::SipUri::parse(is_uri ? token.text : "sip:" + token.text);
        if (!uri || uri->host.empty() || !uri->user.empty() || !uri->headers.empty()) {
            sink_.report(token.at, fmt::format("found no address of a server, expected {}",
                                               expectation(directive_)));
            return false;
        }
        value.words.push_back(token.text);
    }
    return true;
}

bool ValueParser::parse_sip_domains(Value& value) {
    for (const Token& token : statement_.arguments) {
        if (!sip::parse_host_port(token.text)) {
            return fail(token, expectation(directive_));
        }
        value.words.push_back(to_lower(token.text));
    }
    return true;
}

bool ValueParser::parse_port_range(Value& value) {
    constexpr uint64_t kLowest = 1024;
    const Halves ends = split_once(word().text, '-');
    const auto first = parse_uint(ends.before, kLowest, UINT16_MAX - 1);
    const auto last = parse_uint(ends.after, first.value_or(0) + 1, UINT16_MAX);
    if (!first || !last) {
        return fail(word(), expectation(directive_));
    }
    value.cores.ranges.push_back({static_cast<uint16_t>(*first), static_cast<uint16_t>(*last),
                                  word().at.line, word().at.column});
    return true;
}

bool ValueParser::parse_shared_secret(Value& value) {
    const std::string& text = word().text;
    std::optional<SecretSource> secret = parse_secret(text, scope_.folder, kMinSharedSecret);
    if (secret && (secret->is_file || text.size() <= kMaxSharedSecret)) {
        value.secrets.push_back(std::move(*secret));
        return true;
    }
    sink_.report(word().at, fmt::format("found a text of {} characters, expected {}", text.size(),
                                        expectation(directive_)));
    return false;
}

// 10.1.2.3/8 says two things at once; which one was meant only its author knows.
bool ValueParser::network_is_exact(const Token& token, const IpNetwork& network) {
    IpAddress written = *IpAddress::parse(split_once(token.text, '/').before);
    if (written == network.address) {
        return true;
    }
    return fail(token, fmt::format("the network {} or the address {}", network.to_string(),
                                   written.to_string()));
}

}  // namespace weir::config
