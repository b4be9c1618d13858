#include "config/value.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/config_number.h"
#include "base/redact.h"
#include "base/strings.h"
#include "config/value_words.h"
#include "proto/rtmp/stream_name.h"

namespace weir::config {

namespace {

constexpr size_t kMaxVhostName = 255;
constexpr std::string_view kSecretText = "(secret)";

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

// Checks one statement; each function reports at the word that is wrong.
class ValueParser {
  public:
    ValueParser(const Directive& directive,
                const Statement& statement,
                const ValueScope& scope,
                DiagnosticSink& sink)
        : directive_(directive), statement_(statement), scope_(scope), sink_(sink) {}

    std::optional<Value> parse() {
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
        return parse_into(value) ? std::optional(std::move(value)) : std::nullopt;
    }

  private:
    const Token& word(size_t i = 0) const { return statement_.arguments[i]; }

    bool fail(const Token& token, std::string_view expected, std::string_view hint = "") {
        const bool hide = is_hidden(token);
        sink_.report(token.at,
                     fmt::format("found {}, expected {}{}",
                                 hide ? std::string(kSecretText) : token.shown(), expected, hint));
        return false;
    }

    // Any word of a directive with a secret may be the secret, in the wrong place.
    bool is_hidden(const Token& token) const {
        const bool url = directive_.type == ValueType::kIceServer && &token == &word();
        return directive_.secret_from != kNoSecret && !url && token.kind == TokenKind::kWord;
    }

    bool count_fits() {
        size_t least = 1;
        size_t most = 1;
        switch (directive_.type) {
            case ValueType::kBlock: least = most = 0; break;
            case ValueType::kAccess: least = most = 2; break;
            case ValueType::kIceServer: most = 3; break;
            case ValueType::kUser: most = 2; break;
            case ValueType::kLogin:
            case ValueType::kRoleSecret: least = most = 2; break;
            case ValueType::kRoleLogin: least = most = 3; break;
            case ValueType::kSecret:
            case ValueType::kHosts:
            case ValueType::kOrigins:
            case ValueType::kFrames:
            case ValueType::kListen:
            case ValueType::kAddress:
            case ValueType::kNetworks:
            case ValueType::kUrl:
            case ValueType::kCores: most = kMaxConfigArguments; break;
            default: break;
        }
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

    bool parse_into(Value& value) {
        switch (directive_.type) {
            case ValueType::kBlock: return true;
            case ValueType::kVhost: return parse_vhost(value);
            case ValueType::kApplication: return parse_application(value);
            case ValueType::kFlag: return parse_choice(value, "off|on");
            case ValueType::kChoice: return parse_choice(value, directive_.choices);
            case ValueType::kCount: return parse_number(value, {}, 1);
            case ValueType::kSize: return parse_number(value, config_size_units(), 1);
            case ValueType::kDuration:
                return parse_number(value, config_duration_units(), directive_.unit);
            case ValueType::kBitrate: return parse_number(value, config_rate_units(), 1);
            case ValueType::kText: return parse_text(value);
            case ValueType::kHosts: return parse_words(value, is_host_name);
            case ValueType::kOrigins: return parse_words(value, is_origin_pattern);
            case ValueType::kFrames: return parse_words(value, is_frame_source);
            case ValueType::kSecret: return parse_secrets(value);
            case ValueType::kLogin: return parse_login(value, 0);
            case ValueType::kRoleSecret: return parse_role(value) && parse_secret_at(value, 1);
            case ValueType::kRoleLogin: return parse_role(value) && parse_login(value, 1);
            case ValueType::kPath: return parse_path(value);
            case ValueType::kInclude: return true;  // done by Includer
            case ValueType::kListen: return parse_listeners(value);
            case ValueType::kCores: return parse_cores(value);
            case ValueType::kAddress: return parse_addresses(value);
            case ValueType::kAccess: return parse_rule(value);
            case ValueType::kIceServer: return parse_ice_server(value);
            case ValueType::kNetworks: return parse_networks(value);
            case ValueType::kUser: return parse_words(value, is_account_name);
            case ValueType::kUrl: return parse_urls(value);
            case ValueType::kSharedSecret: return parse_shared_secret(value);
        }
        return false;
    }

    bool parse_vhost(Value& value) {
        value.text = word().text == kDefaultVhost ? word().text : to_lower(word().text);
        if (value.text == kDefaultVhost || is_vhost_name(value.text)) {
            return true;
        }
        return fail(word(), "a host name of letters, digits, '.', '-' and '_'");
    }

    // In the form in which names of streams are compared.
    bool parse_application(Value& value) {
        value.text = word().text;
        const bool printable = std::ranges::none_of(value.text, [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return byte < 0x20 || byte == 0x7F;
        });
        if (printable && !value.text.empty() && value.text.size() <= rtmp::kMaxAppSize &&
            rtmp::normal_app(value.text) == value.text) {
            return true;
        }
        return fail(
            word(),
            "the name of an application as in rtmp://HOST/NAME/STREAM: without '?', without "
            "'/' at its ends");
    }

    bool parse_choice(Value& value, std::string_view choices) {
        std::vector<std::string_view> names = split(choices, '|');
        std::optional<size_t> index = index_of(word().text, names);
        if (!index) {
            return fail(word(), expectation(directive_), did_you_mean(word().text, names));
        }
        value.number = *index;
        return true;
    }

    bool parse_number(Value& value, std::span<const ConfigUnit> units, uint64_t bare) {
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

    bool parse_path(Value& value) {
        if (word().text.empty()) {
            return fail(word(), expectation(directive_));
        }
        value.special = !directive_.special.empty() && word().text == directive_.special;
        if (!value.special) {
            value.text = resolve_path(word().text, scope_.folder);
        }
        return true;
    }

    bool parse_text(Value& value) {
        value.text = word().text;
        return !value.text.empty() || fail(word(), expectation(directive_));
    }

    bool parse_words(Value& value, bool (*is_good)(std::string_view)) {
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

    bool parse_secret_at(Value& value, size_t at) {
        const Token& token = word(at);
        std::optional<SecretSource> secret =
            parse_secret(token.text, scope_.folder, directive_.min);
        const bool named =
            directive_.type == ValueType::kLogin || directive_.type == ValueType::kRoleLogin;
        // A key or token stands in URLs and header fields.
        const bool blank = !named && token.text.find(' ') != std::string::npos;
        if (!secret || (blank && !secret->is_file)) {
            return fail(token, expectation(directive_));
        }
        value.secrets.push_back(std::move(*secret));
        return true;
    }

    bool parse_secrets(Value& value) {
        bool good = true;
        for (size_t i = 0; i < statement_.arguments.size(); i++) {
            good = parse_secret_at(value, i) && good;
        }
        return good;
    }

    bool parse_login(Value& value, size_t at) {
        if (!is_login_name(word(at).text)) {
            return fail(word(at), "a name of letters, digits and ._-@+");
        }
        value.text = word(at).text;
        return parse_secret_at(value, at + 1);
    }

    bool parse_role(Value& value) {
        const std::string_view roles[] = {"read", "admin"};
        const std::optional<size_t> role = index_of(word().text, roles);
        if (!role) {
            return fail(word(), "read or admin", did_you_mean(word().text, roles));
        }
        value.number = *role;
        return true;
    }

    // Addresses, then what holds for all of them.
    bool parse_listeners(Value& value) {
        bool good = true;
        bool ssl = false;
        bool proxy_protocol = false;
        for (const Token& token : statement_.arguments) {
            const bool is_ssl = token.text == "ssl" || token.text == "tls";
            if (is_ssl && directive_.contexts == kRtcServerContext) {
                good = fail(token, expectation(directive_), " (WebRTC is encrypted by itself)");
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

    void add_listener(Value& value, const Token& token, std::string address) {
        ListenAddress& listen = value.addresses.emplace_back();
        listen.address = std::move(address);
        listen.origin = origin();
        if (!statement_.name.text.empty()) {  // written
            listen.file = scope_.file;
            listen.line = token.at.line;
            listen.column = token.at.line == 0 ? 0 : token.at.column;
        }
    }

    bool parse_networks(Value& value) {
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

    bool parse_cores(Value& value) {
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
            value.cores.ranges.push_back({static_cast<uint16_t>(*first),
                                          static_cast<uint16_t>(*last), token.at.line,
                                          token.at.column});
        }
        return good;
    }

    bool parse_addresses(Value& value) {
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

    std::string origin() const {
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

    bool parse_rule(Value& value) {
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
            return fail(word(1),
                        "an IPv4 or IPv6 address, ADDRESS/BITS (up to /32 and /128) or all");
        }
        return good && network_is_exact(word(1), *value.rule.network);
    }

    // The URL goes into a Link field as it is.
    bool parse_ice_server(Value& value) {
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
    bool parse_urls(Value& value) {
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

    bool parse_shared_secret(Value& value) {
        const std::string& text = word().text;
        std::optional<SecretSource> secret = parse_secret(text, scope_.folder, kMinSharedSecret);
        if (secret && (secret->is_file || text.size() <= kMaxSharedSecret)) {
            value.secrets.push_back(std::move(*secret));
            return true;
        }
        sink_.report(word().at, fmt::format("found a text of {} characters, expected {}",
                                            text.size(), expectation(directive_)));
        return false;
    }

    // 10.1.2.3/8 says two things at once; which one was meant only its author knows.
    bool network_is_exact(const Token& token, const IpNetwork& network) {
        IpAddress written = *IpAddress::parse(split_once(token.text, '/').before);
        if (written == network.address) {
            return true;
        }
        return fail(token, fmt::format("the network {} or the address {}", network.to_string(),
                                       written.to_string()));
    }

    const Directive& directive_;
    const Statement& statement_;
    const ValueScope& scope_;
    DiagnosticSink& sink_;
};

struct HostPort {
    IpAddress host;
    std::string_view port;
};

// Of the canonical form.
HostPort split_listen(std::string_view address) {
    size_t colon = address.rfind(':');
    std::optional<IpAddress> host = IpAddress::parse(address.substr(0, colon));
    return {host.value_or(IpAddress{}), address.substr(colon + 1)};
}

Statement default_statement(const Directive& directive) {
    Statement statement;
    for (std::string_view word : split(directive.default_text, ' ')) {
        Token token;
        token.kind = TokenKind::kWord;
        token.text = word;
        statement.arguments.push_back(std::move(token));
    }
    return statement;
}

// All bits zero: of IPv6 ("[::]") or of IPv4.
bool includes(const IpAddress& any, const IpAddress& other) {
    if (any == IpAddress{}) {
        return true;
    }
    return any == *IpAddress::parse("0.0.0.0") && other.is_ipv4();
}

}  // namespace

std::optional<std::string> parse_listen(std::string_view text) {
    size_t colon = text.rfind(':');
    std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
    std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
    std::optional<uint64_t> port = parse_uint(digits, 0, UINT16_MAX);
    if (!port) {
        return std::nullopt;
    }
    if (host.empty() || host == "*") {
        return fmt::format("[::]:{}", *port);
    }
    if (host == "localhost") {
        host = "127.0.0.1";
    }
    bool bracketed = host.front() == '[';
    bool v6 = host.find(':') != std::string_view::npos;
    std::optional<IpAddress> address = IpAddress::parse(host);
    if (!address || bracketed != v6 || host.find('%') != std::string_view::npos) {
        return std::nullopt;
    }
    return address->is_ipv4() ? fmt::format("{}:{}", address->to_string(), *port)
                              : fmt::format("[{}]:{}", address->to_string(), *port);
}

bool listen_overlaps(std::string_view a, std::string_view b) {
    HostPort first = split_listen(a);
    HostPort second = split_listen(b);
    if (first.port != second.port || first.port == "0") {
        return false;
    }
    return first.host == second.host || includes(first.host, second.host) ||
           includes(second.host, first.host);
}

std::optional<Value> parse_value(const Directive& directive,
                                 const Statement& statement,
                                 const ValueScope& scope,
                                 DiagnosticSink& sink) {
    return ValueParser(directive, statement, scope, sink).parse();
}

std::string canonical_text(const Directive& directive,
                           const Statement& statement,
                           const Value& value,
                           bool hide_secrets) {
    if (value.special && directive.secret_from == kNoSecret) {
        return std::string(directive.special);
    }
    switch (directive.type) {
        case ValueType::kFlag: return value.number != 0 ? "on" : "off";
        case ValueType::kCount: return std::to_string(value.number);
        case ValueType::kSize: return size_text(value.number);
        case ValueType::kDuration: return duration_text(value.number);
        case ValueType::kBitrate: return bitrate_text(value.number);
        default: break;
    }
    std::string text;
    for (size_t i = 0; i < statement.arguments.size(); i++) {
        std::string word = statement.arguments[i].text;
        if (hide_secrets && i >= directive.secret_from && !word.starts_with("file:")) {
            word = kSecretText;
        } else if (hide_secrets && directive.type == ValueType::kUrl) {
            word = redacted_url(word);
        } else if (directive.type == ValueType::kPath) {
            word = value.text;
        } else if (i >= directive.secret_from && word.starts_with("file:") &&
                   i - directive.secret_from < value.secrets.size()) {
            word = "file:" + value.secrets[i - directive.secret_from].text;
        } else if (directive.type == ValueType::kListen && i < value.addresses.size()) {
            word = value.addresses[i].address;
        }
        text += text.empty() ? "" : " ";
        text += quoted_word(word);
    }
    return text;
}

Value default_value(const Directive& directive, const ValueScope& scope) {
    DiagnosticSink sink("");
    std::optional<Value> value = parse_value(directive, default_statement(directive), scope, sink);
    WEIR_CHECK(value.has_value());
    return *value;
}

std::string default_text_of(const Directive& directive) {
    if (directive.default_text.empty() || directive.type == ValueType::kPath) {
        return std::string(directive.default_text);
    }
    return canonical_text(directive, default_statement(directive), default_value(directive, {}),
                          false);
}

}  // namespace weir::config
