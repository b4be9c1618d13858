#include "config/value.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/check.h"
#include "base/config_number.h"
#include "base/redact.h"
#include "base/strings.h"
#include "config/value_parser.h"
#include "config/value_types.h"
#include "config/value_words.h"

namespace weir::config {

namespace {

// Shorter ones are parts of other words, so they cannot be looked for.
constexpr size_t kLeastSecret = 4;  // bytes
constexpr size_t kLeastPart = 8;    // the same of what is perhaps none: "json" in a query

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
        if (word.size() > 2 && word.starts_with('"') && word.ends_with('"')) {
            word = word.substr(1, word.size() - 2);
        }
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

bool is_file_of_secrets(std::string_view word) {
    return word.starts_with("file:");
}

std::string canonical_word(const Directive& directive,
                           const Value& value,
                           size_t at,
                           const std::string& word) {
    if (directive.type == ValueType::kPath) {
        return value.text;
    }
    if (directive.type == ValueType::kListen && at < value.addresses.size()) {
        return value.addresses[at].address;
    }
    if (at >= directive.secret_from && is_file_of_secrets(word) &&
        at - directive.secret_from < value.secrets.size()) {
        return "file:" + value.secrets[at - directive.secret_from].text;
    }
    return word;
}

// The words of a program are secret without exception: "file:" means nothing there.
std::string without_secret(const Directive& directive,
                           const Value& value,
                           size_t at,
                           std::string word) {
    if (at >= directive.secret_from) {
        const bool file = is_file_of_secrets(word) && directive.type != ValueType::kCommand;
        return file ? word : std::string(kSecretText);
    }
    switch (value_type(directive.type).urls) {
        case UrlSecrets::kNone: break;
        case UrlSecrets::kParts: return hidden_url(word);
        case UrlSecrets::kPath: return hidden_path(word);
        case UrlSecrets::kSource: return value.source_url.shown();
        case UrlSecrets::kTarget: return value.source_url.shown_target();
    }
    return word;
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
    if (const auto text_of = value_type(directive.type).text) {
        return text_of(value);
    }
    std::string text;
    for (size_t i = 0; i < statement.arguments.size(); i++) {
        std::string word = canonical_word(directive, value, i, statement.arguments[i].text);
        if (hide_secrets) {
            word = without_secret(directive, value, i, std::move(word));
        }
        text += text.empty() ? "" : " ";
        text += quoted_word(word);
    }
    return text;
}

std::vector<std::string> secrets_of(const Directive& directive,
                                    const Statement& statement,
                                    const Value& value) {
    std::vector<std::string> out;
    const auto add = [&out](std::string_view secret, size_t least) {
        if (secret.size() >= least) {
            out.emplace_back(secret);
        }
    };
    const bool command = directive.type == ValueType::kCommand;
    const UrlSecrets urls = value_type(directive.type).urls;
    for (size_t i = 0; i < statement.arguments.size(); i++) {
        const std::string& word = statement.arguments[i].text;
        const bool secret = i >= directive.secret_from && !is_file_of_secrets(word);
        if (!secret && urls == UrlSecrets::kNone) {
            continue;
        }
        for (const std::string& part : command ? secrets_of_argument(word) : secrets_of_url(word)) {
            add(part, kLeastPart);
        }
        if (urls == UrlSecrets::kPath) {
            add(path_of_url(word), kLeastPart);
        }
        if (secret && !(command && word.starts_with('-'))) {
            add(word, command ? kLeastPart : kLeastSecret);
        }
    }
    if (urls == UrlSecrets::kTarget &&
        value.source_url.shown_target() != value.source_url.shown()) {
        add(value.source_url.last(), kLeastPart);
    }
    return out;
}

std::vector<std::string> possible_secrets(const Statement& statement) {
    std::vector<std::string> out;
    bool known = false;
    const auto add = [&out](std::string_view word, size_t least) {
        if (word.size() >= least) {
            out.emplace_back(word);
        }
    };
    for (const Directive& directive : directives()) {
        if (directive.name == statement.name.text) {
            known = true;
            std::ranges::move(secrets_of(directive, statement, {}), std::back_inserter(out));
        }
        if (directive.name == statement.name.text &&
            value_type(directive.type).urls == UrlSecrets::kTarget) {
            for (const Token& word : statement.arguments) {
                for (const std::string& part : secrets_of_argument(word.text)) {
                    add(part, kLeastPart);
                }
            }
        }
    }
    if (!known || statement.name.hidden) {
        add(statement.name.hidden ? statement.name.text : "", kLeastSecret);
        for (const Token& word : statement.arguments) {
            add(word.text, statement.name.hidden ? kLeastSecret : kLeastPart);
        }
    }
    for (const Statement& inner : statement.block) {
        std::ranges::move(possible_secrets(inner), std::back_inserter(out));
    }
    return out;
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
