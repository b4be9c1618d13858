// Statements against the table of directives, and from there into a Config.
#include "app/config/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "app/config/directives.h"
#include "app/config/value.h"
#include "base/config_parser.h"
#include "base/strings.h"

namespace weir::app {

namespace {

bool is_block(const Directive& directive) {
    return directive.type == ValueType::kBlock || directive.type == ValueType::kVhost;
}

void apply_defaults(const Target& target, const ValueScope& scope) {
    for (const Directive& directive : directives()) {
        if (!directive.default_text.empty()) {
            directive.apply(target, default_value(directive, scope));
        }
    }
}

std::vector<std::string_view> names_in(Context context) {
    std::vector<std::string_view> names;
    for (const Directive& directive : directives()) {
        if ((directive.contexts & context) != 0) {
            names.push_back(directive.name);
        }
    }
    return names;
}

// "http_server or vhost": where a directive of that name may stand; empty when it is not known at
// all.
std::string homes_of(std::string_view name) {
    std::string homes;
    for (unsigned bit = kGlobalContext; bit <= kRtcServerContext; bit <<= 1) {
        auto context = static_cast<Context>(bit);
        if (find_directive(name, context) != nullptr) {
            homes += homes.empty() ? "" : " or ";
            homes += to_string(context);
        }
    }
    return homes;
}

class Checker {
  public:
    Checker(const ValueScope& scope, DiagnosticSink& sink) : scope_(scope), sink_(sink) {
        inherited_.name = kDefaultVhost;
        apply_defaults({config_, inherited_}, scope_);
    }

    Config check(const std::vector<Statement>& statements) {
        // What vhosts inherit must be complete before the first of them, wherever it stands in the
        // file.
        check_block(statements, kGlobalContext, inherited_);
        for (const Statement* statement : vhost_statements_) {
            check_vhost(*statement);
        }
        if (vhost_lines_.find(std::string(kDefaultVhost)) == vhost_lines_.end()) {
            config_.vhosts.push_back(inherited_);
        }
        check_listeners();
        config_.file = scope_.file;
        config_.folder = scope_.folder;
        return std::move(config_);
    }

  private:
    struct Listener {
        std::string address;
        std::string origin;
        Position at;
        Context context;
    };

    void check_block(const std::vector<Statement>& statements,
                     Context context,
                     VhostConfig& vhost) {
        std::map<std::string_view, uint32_t> lines;  // of the first use
        for (const Statement& statement : statements) {
            const Directive* directive = known(statement, context);
            if (directive == nullptr || !block_fits(*directive, statement)) {
                continue;
            }
            auto [first, is_first] = lines.emplace(directive->name, statement.name.at.line);
            if (!is_first && !directive->repeatable) {
                sink_.report(statement.name.at,
                             fmt::format("found a second {}, the first one is on line {}",
                                         directive->name, first->second));
                continue;
            }
            if (directive->type == ValueType::kVhost) {
                vhost_statements_.push_back(&statement);
                continue;
            }
            check_statement(*directive, statement, Target{config_, vhost, is_first}, context);
        }
    }

    void check_statement(const Directive& directive,
                         const Statement& statement,
                         const Target& target,
                         Context context) {
        std::optional<Value> value = parse_value(directive, statement, scope_, sink_);
        if (value && directive.apply != nullptr) {
            directive.apply(target, *value);
        }
        if (value && directive.type == ValueType::kListen) {
            for (size_t i = 0; i < value->addresses.size(); i++) {
                const ListenAddress& listen = value->addresses[i];
                listeners_.push_back(
                    {listen.address, listen.origin, statement.arguments[i].at, context});
            }
        }
        if (is_block(directive)) {
            check_block(statement.block, directive.opens, target.vhost);
        }
    }

    void check_vhost(const Statement& statement) {
        const Directive& directive = *find_directive("vhost", kGlobalContext);
        std::optional<Value> value = parse_value(directive, statement, scope_, sink_);
        VhostConfig vhost = inherited_;
        if (value) {
            vhost.name = value->text;
            auto [first, is_first] = vhost_lines_.emplace(vhost.name, statement.name.at.line);
            if (!is_first) {
                sink_.report(statement.arguments[0].at,
                             fmt::format("found a second vhost {}, the first one is on line {}",
                                         vhost.name, first->second));
            }
        }
        check_block(statement.block, directive.opens, vhost);
        config_.vhosts.push_back(std::move(vhost));
    }

    const Directive* known(const Statement& statement, Context context) {
        const std::string& name = statement.name.text;
        if (statement.name.quoted) {
            return nullptr;  // reported by the parser
        }
        const Directive* directive = find_directive(name, context);
        if (directive != nullptr) {
            return directive;
        }
        std::vector<std::string_view> names = names_in(context);
        std::string homes = homes_of(name);
        if (!homes.empty()) {
            sink_.report(statement.name.at,
                         fmt::format("found {} in {}, but it belongs in {}", statement.name.shown(),
                                     to_string(context), homes));
            return nullptr;
        }
        std::string_view nearest = nearest_name(name, names);
        std::string hint = fmt::format("; did you mean '{}'?", nearest);
        if (nearest.empty()) {
            hint = fmt::format(" ({}){}", fmt::join(names, ", "), nearest_elsewhere(name));
        }
        sink_.report(statement.name.at,
                     fmt::format("found the unknown directive {}, expected a directive of {}{}",
                                 statement.name.shown(), to_string(context), hint));
        return nullptr;
    }

    static std::string nearest_elsewhere(std::string_view name) {
        std::vector<std::string_view> names;
        for (const Directive& directive : directives()) {
            names.push_back(directive.name);
        }
        std::string_view nearest = nearest_name(name, names);
        return nearest.empty()
                   ? ""
                   : fmt::format("; did you mean '{}' of {}?", nearest, homes_of(nearest));
    }

    // Reports and gives false when a block is missing or too much; what a wrong block holds is not
    // looked at.
    bool block_fits(const Directive& directive, const Statement& statement) {
        if (is_block(directive) == statement.has_block) {
            return true;
        }
        if (statement.has_block) {
            sink_.report(statement.end,
                         fmt::format("found '{{', but {} takes no block; expected {}",
                                     directive.name, expectation(directive)));
        } else if (!statement.broken) {
            sink_.report(statement.end, fmt::format("found ';', but {} is a block; expected '{{'",
                                                    directive.name));
        }
        return false;
    }

    void check_listeners() {
        add_defaults(config_.listen, kGlobalContext);
        add_defaults(config_.http_server.listen, kHttpServerContext);
        add_defaults(config_.http_api.listen, kHttpApiContext);
        add_defaults(config_.rtc_server.listen, kRtcServerContext);
        std::erase_if(listeners_, [this](const Listener& l) {
            return (l.context == kHttpServerContext && !config_.http_server.enabled) ||
                   (l.context == kHttpApiContext && !config_.http_api.enabled) ||
                   (l.context == kRtcServerContext && !config_.rtc_server.enabled);
        });
        for (size_t i = 0; i < listeners_.size(); i++) {
            for (size_t j = 0; j < i; j++) {
                const bool same_protocol =
                    config_.rtc_server.tcp || (listeners_[i].context == kRtcServerContext) ==
                                                  (listeners_[j].context == kRtcServerContext);
                if (same_protocol &&
                    listen_overlaps(listeners_[i].address, listeners_[j].address)) {
                    report_overlap(listeners_[i], listeners_[j]);
                    break;
                }
            }
        }
    }

    // Default listeners that no file replaced; before the written ones, so that a clash is reported
    // at a line.
    void add_defaults(const std::vector<ListenAddress>& list, Context context) {
        bool written = std::any_of(listeners_.begin(), listeners_.end(),
                                   [&](const Listener& l) { return l.context == context; });
        if (!written) {
            for (const ListenAddress& listen : list) {
                listeners_.insert(listeners_.begin(),
                                  {listen.address, listen.origin, Position{}, context});
            }
        }
    }

    void report_overlap(const Listener& later, const Listener& earlier) {
        sink_.report(later.at, fmt::format("found {}, which {} already takes with {}{}",
                                           later.address, earlier.origin, earlier.address,
                                           earlier.address.starts_with("[::]:") ||
                                                   later.address.starts_with("[::]:")
                                               ? " ([::] takes IPv4 as well)"
                                               : ""));
    }

    const ValueScope& scope_;
    DiagnosticSink& sink_;
    Config config_;
    VhostConfig inherited_;
    std::vector<const Statement*> vhost_statements_;
    std::map<std::string, uint32_t> vhost_lines_;
    std::vector<Listener> listeners_;
};

ParseOutcome failed(const std::string& file, std::string message) {
    ParseOutcome outcome;
    outcome.errors.push_back({file, 0, 0, std::move(message)});
    return outcome;
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::vector<uint16_t> CoreSet::numbers() const {
    std::set<uint16_t> unique;
    for (const CoreRange& range : ranges) {
        for (uint32_t core = range.first; core <= range.last; core++) {
            unique.insert(static_cast<uint16_t>(core));
        }
    }
    return {unique.begin(), unique.end()};
}

const VhostConfig* Config::find_vhost(std::string_view name) const {
    const VhostConfig* found = nullptr;
    for (const VhostConfig& vhost : vhosts) {
        if (vhost.name != kDefaultVhost && equals_ignore_case(vhost.name, name)) {
            found = &vhost;
            break;
        }
        if (vhost.name == kDefaultVhost) {
            found = &vhost;
        }
    }
    return found != nullptr && found->enabled ? found : nullptr;
}

ParseOutcome parse_config(std::string_view text, std::string_view file_name) {
    std::string file(file_name);
    if (text.size() > kMaxConfigBytes) {
        return failed(
            file,
            fmt::format("found more than {} bytes, which is more than a configuration may have",
                        kMaxConfigBytes));
    }
    std::filesystem::path folder = std::filesystem::path(file).parent_path();
    ValueScope scope{file, folder.empty() ? "." : folder.string()};
    DiagnosticSink sink(file_name);
    std::vector<Statement> statements = parse_statements(text, is_directive_name, sink);
    Config config = Checker(scope, sink).check(statements);
    ParseOutcome outcome;
    if (sink.empty()) {
        outcome.config = std::move(config);
    }
    outcome.errors = sink.take();
    return outcome;
}

ParseOutcome load_config(const std::string& path) {
    std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "re"));
    if (!file) {
        return failed(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    }
    std::string text(kMaxConfigBytes + 1, '\0');  // one byte more tells that it is too large
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) {
        return failed(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    return parse_config(text, path);
}

}  // namespace weir::app
