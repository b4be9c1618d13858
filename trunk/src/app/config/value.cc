#include "app/config/value.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/check.h"
#include "base/config_number.h"
#include "base/strings.h"

namespace weir::app {

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

std::string resolve_path(std::string_view path, std::string_view folder) {
    std::filesystem::path resolved(path);
    if (resolved.is_relative()) {
        resolved = std::filesystem::path(folder) / resolved;
    }
    return resolved.lexically_normal().string();
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
        return parse_into(value) ? std::optional(std::move(value)) : std::nullopt;
    }

  private:
    const Token& word(size_t i = 0) const { return statement_.arguments[i]; }

    bool fail(const Token& token, std::string_view expected, std::string_view hint = "") {
        sink_.report(token.at,
                     fmt::format("found {}, expected {}{}", token.shown(), expected, hint));
        return false;
    }

    bool count_fits() {
        size_t least = 1;
        size_t most = 1;
        switch (directive_.type) {
            case ValueType::kBlock: least = most = 0; break;
            case ValueType::kAccess: least = most = 2; break;
            case ValueType::kIceServer: most = 3; break;
            case ValueType::kListen:
            case ValueType::kAddress:
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
                                                     count == 0 ? "no value" : "only one value",
                                                     directive_.name, expectation(directive_)));
        }
        return count >= least;
    }

    bool parse_into(Value& value) {
        switch (directive_.type) {
            case ValueType::kBlock: return true;
            case ValueType::kVhost: return parse_vhost(value);
            case ValueType::kFlag: return parse_choice(value, "off|on");
            case ValueType::kChoice: return parse_choice(value, directive_.choices);
            case ValueType::kCount: return parse_number(value, {}, 1);
            case ValueType::kSize: return parse_number(value, config_size_units(), 1);
            case ValueType::kDuration:
                return parse_number(value, config_duration_units(), directive_.unit);
            case ValueType::kPath: return parse_path(value);
            case ValueType::kListen: return parse_listeners(value);
            case ValueType::kCores: return parse_cores(value);
            case ValueType::kAddress: return parse_addresses(value);
            case ValueType::kAccess: return parse_rule(value);
            case ValueType::kIceServer: return parse_ice_server(value);
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
        value.text = resolve_path(word().text, scope_.folder);
        return true;
    }

    bool parse_listeners(Value& value) {
        bool good = true;
        for (const Token& token : statement_.arguments) {
            std::optional<std::string> address = parse_listen(token.text);
            if (!address) {
                good = fail(token, expectation(directive_));
                continue;
            }
            value.addresses.push_back({std::move(*address), origin()});
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
            return fail(word(1), "an IPv4 or IPv6 address, ADDRESS/BITS or all");
        }
        return good && network_is_exact(*value.rule.network);
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

    // 10.1.2.3/8 says two things at once; which one was meant only its author knows.
    bool network_is_exact(const IpNetwork& network) {
        IpAddress written = *IpAddress::parse(split_once(word(1).text, '/').before);
        if (written == network.address) {
            return true;
        }
        return fail(word(1), fmt::format("the network {} or the address {}", network.to_string(),
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

Value default_value(const Directive& directive, const ValueScope& scope) {
    Statement statement;
    for (std::string_view word : split(directive.default_text, ' ')) {
        Token token;
        token.kind = TokenKind::kWord;
        token.text = word;
        statement.arguments.push_back(std::move(token));
    }
    DiagnosticSink sink("");
    std::optional<Value> value = parse_value(directive, statement, scope, sink);
    WEIR_CHECK(value.has_value());
    return *value;
}

}  // namespace weir::app
