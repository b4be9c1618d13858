#include "config/environment.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/strings.h"
#include "config/value_types.h"

namespace weir::config {
namespace {

constexpr std::string_view kPrefix = "WEIR_";
constexpr std::string_view kVhostKey = "vhost.";
constexpr size_t kMaxShownName = 80;
constexpr size_t kMaxWarnings = 20;

// Read elsewhere, or by the tools around the server.
constexpr std::string_view kOtherNames[] = {kConfigFileVariable, "WEIR_CANDIDATE", "WEIR_PLANT",
                                            "WEIR_BIN",          "WEIR_BENCH",     "WEIR_PORTS"};

bool opens_block(const Directive& directive) {
    return directive.type == ValueType::kBlock;
}

// Rules of access mean something in their order only: the block has the variable.
bool holds_rules(const Directive& block) {
    return std::ranges::any_of(directives(), [&](const Directive& directive) {
        return (directive.contexts & block.opens) != 0 && directive.type == ValueType::kAccess;
    });
}

void add_slots(std::vector<EnvironmentSlot>& slots,
               Context context,
               const std::string& path,
               const std::vector<const Directive*>& blocks) {
    for (const Directive& directive : directives()) {
        const bool of_vhost = (directive.contexts & kVhostContext) != 0;
        if ((directive.contexts & context) == 0 || directive.type == ValueType::kAccess ||
            directive.type == ValueType::kInclude || directive.type == ValueType::kVhost ||
            directive.type == ValueType::kApplication || may_have_block(directive) ||
            directive.name == kUnresolvedName || (context == kGlobalContext && of_vhost)) {
            continue;
        }
        const std::string key = path + std::string(directive.name);
        if (!opens_block(directive) || holds_rules(directive)) {
            std::string name = key;
            std::ranges::transform(name, name.begin(), [](char c) {
                return c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
            });
            slots.push_back({std::string(kPrefix) + name, key, &directive, blocks});
        }
        if (opens_block(directive)) {
            std::vector<const Directive*> inner = blocks;
            inner.push_back(&directive);
            add_slots(slots, directive.opens, key + ".", inner);
        }
    }
}

bool takes_one_value(const Directive& directive) {
    return value_type(directive.type).one_word && !directive.repeatable;
}

Token word(std::string text, Position at) {
    Token token;
    token.kind = TokenKind::kWord;
    token.at = at;
    token.end = at;
    token.text = std::move(text);
    return token;
}

}  // namespace

Environment read_environment() {
    Environment found;
    for (char** at = environ; at != nullptr && *at != nullptr; at++) {
        const Halves halves = split_once(*at, '=');
        if (halves.before.starts_with(kPrefix) || halves.before == "CANDIDATE") {
            found.emplace_back(halves.before, halves.after);
        }
    }
    std::ranges::sort(found);
    return found;
}

const std::vector<EnvironmentSlot>& environment_slots() {
    static const std::vector<EnvironmentSlot> all = [] {
        std::vector<EnvironmentSlot> slots;
        add_slots(slots, kGlobalContext, "", {});
        add_slots(slots, kVhostContext, std::string(kVhostKey), {});
        return slots;
    }();
    return all;
}

const EnvironmentSlot* find_slot(std::string_view name) {
    const auto found = std::ranges::find(environment_slots(), name, &EnvironmentSlot::name);
    return found == environment_slots().end() ? nullptr : &*found;
}

std::vector<Statement> statements_of(const EnvironmentSlot& slot,
                                     std::string_view value,
                                     uint16_t file,
                                     DiagnosticSink& sink) {
    const Position at{0, 1, file};
    const std::string name(slot.directive->name);
    if (takes_one_value(*slot.directive)) {
        Statement statement;
        statement.name = word(name, at);
        statement.end = at;
        statement.arguments.push_back(word(std::string(trim(value)), at));
        return {std::move(statement)};
    }
    const bool rules = opens_block(*slot.directive);
    std::vector<Statement> statements;
    std::string text(value);
    std::ranges::replace(text, '\n', ' ');
    LexerView lexer(text, sink, at);
    bool open = false;
    for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
        token.at = at;
        token.end = at;
        if (token.kind == TokenKind::kSemicolon) {
            open = false;
        } else if (token.kind != TokenKind::kWord) {
            sink.report(at, fmt::format("found {}, expected words and ';'", token.shown()));
            return {};
        } else if (open) {
            statements.back().arguments.push_back(std::move(token));
        } else {
            open = true;
            Statement& statement = statements.emplace_back();
            statement.end = at;
            statement.name = rules ? token : word(name, at);
            if (!rules) {
                statement.arguments.push_back(std::move(token));
            }
        }
        if (!statements.empty() && statements.back().arguments.size() > kMaxConfigArguments) {
            sink.report(at, fmt::format("found more than {} values", kMaxConfigArguments));
            return {};
        }
    }
    return statements;
}

bool is_kubernetes_name(std::string_view name, std::string_view value) {
    if (!name.starts_with(kPrefix)) {
        return false;
    }
    if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") ||
        name.find("_SERVICE_PORT_") != std::string_view::npos) {
        return true;
    }
    const bool is_url =
        value.starts_with("tcp://") || value.starts_with("udp://") || value.starts_with("sctp://");
    if (name.ends_with("_PORT") && is_url) {
        return true;
    }
    // ..._PORT_1935_TCP, and the same with _PROTO, _PORT and _ADDR.
    constexpr std::string_view kPort = "_PORT_";
    for (size_t at = name.find(kPort); at != std::string_view::npos;
         at = name.find(kPort, at + 1)) {
        const Halves halves = split_once(name.substr(at + kPort.size()), '_');
        const std::string_view protocol = split_once(halves.after, '_').before;
        if (parse_uint(halves.before, 1, UINT16_MAX) &&
            (protocol == "TCP" || protocol == "UDP" || protocol == "SCTP")) {
            return true;
        }
    }
    return false;
}

std::vector<std::string> environment_warnings(const Environment& environment) {
    std::vector<std::string_view> known(std::begin(kOtherNames), std::end(kOtherNames));
    for (const EnvironmentSlot& slot : environment_slots()) {
        known.push_back(slot.name);
    }
    std::vector<std::string> warnings;
    size_t kubernetes = 0;
    size_t unknown = 0;
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kPrefix) || std::ranges::find(known, name) != known.end()) {
            continue;
        }
        if (is_kubernetes_name(name, value)) {
            kubernetes++;
            continue;
        }
        if (++unknown > kMaxWarnings) {
            continue;
        }
        const std::string_view nearest = nearest_name(name, known);
        warnings.push_back(
            fmt::format("{} in the environment: there is no such setting, it is ignored{}",
                        log::escaped(name, kMaxShownName),
                        nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
    }
    if (unknown > kMaxWarnings) {
        warnings.push_back(fmt::format("{} more WEIR_ names in the environment are ignored",
                                       unknown - kMaxWarnings));
    }
    if (kubernetes > 0) {
        warnings.push_back(
            fmt::format("{} WEIR_ names in the environment are Kubernetes' own for "
                        "a service called weir, and ignored",
                        kubernetes));
    }
    return warnings;
}

}  // namespace weir::config
