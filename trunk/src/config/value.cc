#include "config/value.h"

#include <algorithm>

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
        std::string word = statement.arguments[i].text;
        if (hide_secrets && i >= directive.secret_from && !word.starts_with("file:")) {
            word = kSecretText;
        } else if (hide_secrets &&
                   (directive.type == ValueType::kUrl || directive.type == ValueType::kText)) {
            word = redacted_url(word);
        } else if (hide_secrets && directive.type == ValueType::kSource) {
            word = value.source_url.shown();
        } else if (hide_secrets && directive.type == ValueType::kForward) {
            word = value.source_url.shown_target();
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
