// Statements against the table of directives, and from there into a Config.
#include "config/config.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/config_parser.h"
#include "base/log.h"
#include "base/strings.h"
#include "config/cluster_check.h"
#include "config/config_warnings.h"
#include "config/directives.h"
#include "config/environment.h"
#include "config/explain/explain.h"
#include "config/include.h"
#include "config/process_config.h"
#include "config/source_specs.h"
#include "config/value.h"
#include "config/value_types.h"

namespace weir::config {

namespace {

constexpr size_t kMostListed = 12;  // names of directives in one message

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
        if ((directive.contexts & context) != 0 && directive.name != kUnresolvedName) {
            names.push_back(directive.name);
        }
    }
    return names;
}

// "http_server or vhost": where a directive of that name may stand; empty when it is not known at
// all.
std::string homes_of(std::string_view name) {
    std::string homes;
    for (Contexts bit = kGlobalContext; bit <= kLastContext; bit <<= 1) {
        auto context = static_cast<Context>(bit);
        if (find_directive(name, context) != nullptr) {
            homes += homes.empty() ? "" : " or ";
            homes += to_string(context);
        }
    }
    return homes;
}

// Names that other servers have and this one does not.
struct ForeignName {
    std::string_view name;
    std::string_view written;  // what says it here; empty: nothing does
    std::string_view what;     // then: what is not in this version
    bool or_longer = false;    // also for all names that begin with this one and "_"
};

constexpr std::string_view kRunsProgram =
    "exec_push PROGRAM ...; (a program beside each stream, as long as somebody publishes it)";

// The first one that fits.
constexpr ForeignName kForeignNames[] = {
    {"hls_path", "hls { path FOLDER; }", ""},
    {"hls_fragment", "hls { fragment 2s; }", ""},
    {"hls_window", "hls { window 3; } (in target durations)", ""},
    {"hls_playlist_length", "hls { window 3; } (in target durations)", ""},
    {"hls_variant", "hls { variants APP/STREAM ...; }", ""},
    {"hls_keys", "hls { encrypt on; }", ""},
    {"hls_fragments_per_key", "hls { rotate 10; }", ""},
    {"hls", "", "that setting of HLS (see the block hls)", true},
    {"dash", "hls { }: every stream has DASH, too, at /APP/STREAM.mpd", "", true},
    {"dvr", "record { enabled on; path FOLDER; }", "", true},
    {"record_path", "record { path FOLDER; }", ""},
    {"record_suffix", "record { name NAME; }", ""},
    {"record_max_size", "record { split_size 1g; }", ""},
    {"record_interval", "record { split 1h; }", ""},
    {"record", "", "that setting of recording (see the block record)", true},
    {"push", "forward URL;", "", true},
    {"pull", "source URL;", "", true},
    {"ingest",
     "source URL; (RTMP, HTTP-FLV, RTSP, WebRTC, groups by udp and rtp); of anything else, a "
     "program can publish here",
     "", true},
    {"stream_caster", "",
     "what stream_caster has besides MPEG-TS over UDP (here source udp://ADDRESS:PORT;)", true},
    {"gb28181", "", "GB28181", true},
    {"transcode", "exec_push PROGRAM ...; (ffmpeg, for instance, beside each stream)", "", true},
    {"exec", kRunsProgram, ""},
    {"crossdomain",
     "http_api { allow_origin SCHEME://HOST; } for the pages that may use the API; for media it is "
     "always on, so leave the line out",
     ""},
    {"exec_publish", kRunsProgram, ""},
    {"exec", "",
     "starting programs for that event (a hook can; exec_push runs one beside each stream)", true},
};

// Empty: nothing of the kind.
std::string where_others_have(std::string_view name) {
    for (const ForeignName& each : kForeignNames) {
        const bool longer = each.or_longer && name.starts_with(each.name) &&
                            name.substr(each.name.size()).starts_with('_');
        const bool misplaced = each.written.empty() && is_directive_name(name);
        if ((name == each.name || longer) && !misplaced) {
            return each.written.empty() ? fmt::format("{} is not in this version", each.what)
                                        : fmt::format("here one writes {}", each.written);
        }
    }
    return {};
}

std::string folder_of(const std::string& file) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    return folder.empty() ? "." : folder;
}

class Checker {
  public:
    Checker(const ValueScope& scope, const Environment& environment, DiagnosticSink& sink)
        : scope_(scope), sink_(sink) {
        inherited_.name = kDefaultVhost;
        apply_defaults({config_, inherited_}, scope_);
        for (const auto& [name, value] : environment) {
            const EnvironmentSlot* slot = find_slot(name);
            if (slot != nullptr && !trim(value).empty()) {
                const uint16_t file = sink_.add_file(fmt::format("{} in the environment", name));
                overrides_.push_back({slot, statements_of(*slot, value, file, sink_)});
            }
        }
    }

    Config check(const std::vector<Statement>& statements) {
        // What vhosts inherit must be complete before the first of them, wherever it stands in the
        // file.
        check_block(statements, {kGlobalContext, inherited_, "", ""});
        for (const Override& each : overrides_) {
            if (!is_vhost_only(*each.slot)) {
                apply_override(each, inherited_, "");
            }
        }
        const Statements applications = std::exchange(applications_, {});
        if (!vhost_statements_.empty() && !applications.empty()) {
            sink_.report(applications.front()->name.at,
                         "found an application at the top level of a file that has vhost sections; "
                         "expected it in the vhost that it is meant for (vhost __defaultVhost__ "
                         "serves all names without a section)");
        }
        for (const Statement* statement : vhost_statements_) {
            check_vhost(*statement);
        }
        if (!vhost_places_.contains(kDefaultVhost)) {
            config_.vhosts.push_back(inherited_);
            override_default(config_.vhosts.back());
            check_applications(applications, config_.vhosts.back());
        }
        check_listeners();
        check_certificates();
        for (const ClusterProblem& problem : check_cluster(config_.cluster)) {
            sink_.report(cluster_places_[problem.directive], problem.message);
        }
        if (std::string problem = check_processes(config_); !problem.empty()) {
            sink_.report(processes_place_, std::move(problem));
        }
        config_.file = scope_.file;
        config_.folder = scope_.folder;
        return std::move(config_);
    }

  private:
    using Statements = std::vector<const Statement*>;

    struct Listener {
        std::string address;
        std::string origin;
        Position at;
        Context context;
        bool ssl = false;
    };

    // Where a statement stands.
    struct Place {
        Context context;
        VhostConfig& vhost;
        std::string section;  // VhostConfig::section(); empty: the top level
        std::string path;     // of the keys inside: "http_api."
    };

    // A directive that the environment sets.
    struct Override {
        const EnvironmentSlot* slot;
        std::vector<Statement> statements;
    };

    static std::string key_of(const Directive& directive, const Place& place) {
        const bool of_vhost = place.path.empty() && (directive.contexts & kVhostContext) != 0;
        return fmt::format("{}{}{}", place.path, of_vhost ? "vhost." : "", directive.name);
    }

    // What a vhost other than the default one says for itself goes before the environment.
    bool is_overridden(const std::string& key, const Place& place) const {
        return (place.section.empty() || place.section == kDefaultVhost) &&
               std::ranges::any_of(overrides_,
                                   [&](const Override& each) { return each.slot->key == key; });
    }

    void check_block(const std::vector<Statement>& statements, const Place& place) {
        std::map<std::string_view, Position> places;  // of the first use
        for (const Statement& statement : statements) {
            const Directive* directive = known(statement, place.context);
            if (directive == nullptr || !block_fits(*directive, statement)) {
                continue;
            }
            auto [first, is_first] = places.emplace(directive->name, statement.name.at);
            if (!is_first && !directive->repeatable) {
                sink_.report(statement.name.at,
                             fmt::format("found a second {}, the first one is on {}; keep one",
                                         directive->name, shown(first->second, statement)));
                continue;
            }
            if (directive->type == ValueType::kVhost) {
                vhost_statements_.push_back(&statement);
                continue;
            }
            if (directive->type == ValueType::kApplication) {
                applications_.push_back(&statement);
                continue;
            }
            if (may_have_block(*directive)) {
                check_source(*directive, statement, is_first, place);
                continue;
            }
            check_statement(*directive, statement, is_first, place);
        }
    }

    // A source or registration is one value for the report of changes: its URL and what stands in
    // its block.
    void check_source(const Directive& directive,
                      const Statement& statement,
                      bool is_first,
                      const Place& place) {
        const std::optional<Value> value =
            parse_value(directive, statement, scope_of(statement), sink_);
        if (!value) {
            return;
        }
        directive.apply(Target{config_, place.vhost, is_first}, *value);
        std::map<std::string_view, Position> places;
        const bool source = directive.type == ValueType::kSource;
        std::string inside;
        std::string inside_shown;
        std::vector<std::string> secrets;
        for (const Statement& inner : statement.block) {
            const Directive* known_inner =
                known(inner, source ? kSourceContext : kSipRegisterContext);
            if (known_inner == nullptr || !block_fits(*known_inner, inner)) {
                continue;
            }
            if (!places.emplace(known_inner->name, inner.name.at).second &&
                !known_inner->repeatable) {
                sink_.report(inner.name.at,
                             fmt::format("found a second {}; keep one", known_inner->name));
                continue;
            }
            if (const std::optional<Value> given =
                    parse_value(*known_inner, inner, scope_of(inner), sink_)) {
                known_inner->apply(Target{config_, place.vhost}, *given);
                for (const bool hide : {false, true}) {
                    (hide ? inside_shown : inside) +=
                        fmt::format(" {} {};", known_inner->name,
                                    canonical_text(*known_inner, inner, *given, hide));
                }
                std::ranges::move(secrets_of(*known_inner, inner, *given),
                                  std::back_inserter(secrets));
            }
        }
        if (const std::string wrong =
                source ? complete_source(place.vhost, place.vhost.sources.back()) : std::string();
            !wrong.empty()) {
            sink_.report(statement.name.at, wrong);
        }
        record(directive, statement, *value, place);
        if (statement.has_block) {
            Setting& setting = config_.settings.list.back();
            setting.text += fmt::format(" {{{} }}", inside);
            setting.shown += fmt::format(" {{{} }}", inside_shown);
            std::ranges::move(secrets, std::back_inserter(setting.secrets));
        }
    }

    // "line 3", with the file where that is another one.
    std::string shown(const Position& first, const Statement& now) const {
        return first.file == now.name.at.file
                   ? fmt::format("line {}", first.line)
                   : fmt::format("line {} of {}", first.line, sink_.file(first.file));
    }

    // Relative paths start at the folder of the file that they are written in; the environment
    // counts as the main file.
    ValueScope scope_of(const Statement& statement) const {
        const Position& at = statement.name.at;
        if (at.file == 0 || at.line == 0) {
            return {at.file == 0 ? scope_.file : sink_.file(at.file), scope_.folder};
        }
        return {sink_.file(at.file), folder_of(sink_.file(at.file))};
    }

    void check_statement(const Directive& directive,
                         const Statement& statement,
                         bool is_first,
                         const Place& place) {
        const std::string key = key_of(directive, place);
        // A variable of a whole block (security) replaces all that stands in it.
        const std::string block =
            place.path.substr(0, place.path.empty() ? 0 : place.path.size() - 1);
        const bool overridden = is_overridden(key, place) || is_overridden(block, place);
        std::optional<Value> value = parse_value(directive, statement, scope_of(statement), sink_);
        if (value && directive.name == kUnresolvedName) {
            sink_.report(statement.name.at,
                         fmt::format("found something to decide: {} Write what you want in place "
                                     "of this line, or remove it",
                                     value->text));
            return;
        }
        if (value && !overridden) {
            take(directive, statement, *value, Target{config_, place.vhost, is_first}, place);
        }
        if (is_block(directive)) {
            const Place inside{directive.opens, place.vhost, place.section, key + "."};
            check_block(statement.block, inside);
            if (!place.section.empty() && directive.apply != nullptr) {
                // The block began anew, without what the environment had put into it.
                for (const Override& each : overrides_) {
                    if (place.section == kDefaultVhost && each.slot->key.starts_with(inside.path)) {
                        apply_override(each, place.vhost, place.section);
                    }
                }
            }
        }
    }

    // A checked value, of a file or of the environment.
    void take(const Directive& directive,
              const Statement& statement,
              const Value& value,
              const Target& target,
              const Place& place) {
        if (directive.apply != nullptr) {
            directive.apply(target, value);
        }
        if (directive.type == ValueType::kListen) {
            for (size_t i = 0; i < value.addresses.size(); i++) {
                const ListenAddress& listen = value.addresses[i];
                listeners_.push_back({listen.address, listen.origin, statement.arguments[i].at,
                                      place.context, listen.ssl});
            }
        }
        if (directive.name == "processes") {
            processes_place_ = statement.name.at;
        }
        if (place.context == kClusterContext) {
            cluster_places_[directive.name] = statement.name.at;
        }
        record(directive, statement, value, place);
    }

    void record(const Directive& directive,
                const Statement& statement,
                const Value& value,
                const Place& place) {
        if (directive.type == ValueType::kBlock && directive.apply == nullptr) {
            return;
        }
        const bool is_rule = directive.type == ValueType::kAccess;
        Setting setting;
        setting.key =
            is_rule ? place.path.substr(0, place.path.size() - 1) : key_of(directive, place);
        setting.vhost = place.section;
        setting.text = canonical_text(directive, statement, value, false);
        if (is_rule) {
            setting.text = fmt::format("{} {}", directive.name, setting.text);
        }
        const Position& at = statement.name.at;
        setting.origin = at.line == 0 ? sink_.file(at.file)
                                      : fmt::format("{}:{}", scope_of(statement).file, at.line);
        setting.directive = &directive;
        setting.shown = is_rule ? setting.text : canonical_text(directive, statement, value, true);
        setting.secrets = secrets_of(directive, statement, value);
        config_.settings.list.push_back(std::move(setting));
    }

    // Stands in vhosts only, so that there is no top level for it.
    static bool is_vhost_only(const EnvironmentSlot& slot) {
        const Directive& outer = slot.blocks.empty() ? *slot.directive : *slot.blocks.front();
        return (outer.contexts & kGlobalContext) == 0;
    }

    void override_default(VhostConfig& vhost) {
        for (const Override& each : overrides_) {
            if (is_vhost_only(*each.slot)) {
                apply_override(each, vhost, std::string(kDefaultVhost));
            }
        }
    }

    void apply_override(const Override& each, VhostConfig& vhost, const std::string& section) {
        const EnvironmentSlot& slot = *each.slot;
        const bool top = slot.blocks.empty();
        const Place place{top ? kGlobalContext : slot.blocks.back()->opens, vhost, section,
                          top ? "" : slot.key.substr(0, slot.key.rfind('.') + 1)};
        if (is_block(*slot.directive)) {
            const Place inside{slot.directive->opens, vhost, section, slot.key + "."};
            slot.directive->apply(Target{config_, vhost, true}, {});
            std::set<std::string_view> seen;
            for (const Statement& statement : each.statements) {
                const Directive* rule = known(statement, slot.directive->opens);
                if (rule != nullptr) {
                    take_override(*rule, statement, seen.insert(rule->name).second, inside);
                }
            }
            return;
        }
        bool first = true;
        for (const Statement& statement : each.statements) {
            take_override(*slot.directive, statement, first, place);
            first = false;
        }
    }

    void take_override(const Directive& directive,
                       const Statement& statement,
                       bool first,
                       const Place& place) {
        if (std::optional<Value> value =
                parse_value(directive, statement, scope_of(statement), sink_)) {
            take(directive, statement, *value, Target{config_, place.vhost, first}, place);
        }
    }

    void check_vhost(const Statement& statement) {
        const Directive& directive = *find_directive("vhost", kGlobalContext);
        std::optional<Value> value = parse_value(directive, statement, scope_of(statement), sink_);
        VhostConfig vhost = inherited_;
        if (value) {
            vhost.name = value->text;
            auto [first, is_first] = vhost_places_.emplace(vhost.name, statement.name.at);
            if (!is_first) {
                sink_.report(statement.arguments[0].at,
                             fmt::format("found a second vhost {}, the first one is on {}; "
                                         "put all of it into one",
                                         vhost.name, shown(first->second, statement)));
            }
            record(directive, statement, *value, {kGlobalContext, vhost, vhost.name, ""});
        }
        check_block(statement.block, {directive.opens, vhost, vhost.name, ""});
        if (vhost.name == kDefaultVhost) {
            override_default(vhost);
        }
        check_applications(std::exchange(applications_, {}), vhost);
        config_.vhosts.push_back(std::move(vhost));
    }

    // What applications begin with is complete by now: files and environment.
    void check_applications(const Statements& statements, VhostConfig& vhost) {
        std::map<std::string, Position> places;
        std::vector<VhostConfig> done;
        for (const Statement* statement : statements) {
            const Directive& directive = *find_directive("application", kVhostContext);
            const std::optional<Value> value =
                parse_value(directive, *statement, scope_of(*statement), sink_);
            VhostConfig application = vhost;
            if (value) {
                application.application = value->text;
                const auto [first, is_first] = places.emplace(value->text, statement->name.at);
                if (!is_first) {
                    sink_.report(statement->arguments[0].at,
                                 fmt::format("found a second application {}, the first one is on "
                                             "{}; put all of it into one",
                                             value->text, shown(first->second, *statement)));
                }
                record(directive, *statement, *value,
                       {kVhostContext, application, application.section(), ""});
            }
            check_block(statement->block,
                        {directive.opens, application, application.section(), ""});
            done.push_back(std::move(application));
        }
        vhost.applications = std::move(done);
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
        if (const std::string what = where_others_have(name); !what.empty()) {
            sink_.report(statement.name.at,
                         fmt::format("found {}: {}", statement.name.shown(), what));
            return nullptr;
        }
        std::vector<std::string_view> names = names_in(context);
        std::string homes = homes_of(name);
        if (!homes.empty()) {
            sink_.report(statement.name.at,
                         fmt::format("found {} in {}, but it belongs in {}", statement.name.shown(),
                                     to_string(context), homes));
            return nullptr;
        }
        if (statement.name.hidden) {
            sink_.report(statement.name.at,
                         "found an unknown directive behind a secret, expected one of ours; if it "
                         "is a part of the secret: a value with blanks, quotes, ';', '{' or '}' "
                         "belongs in quotes");
            return nullptr;
        }
        std::string_view nearest = nearest_name(name, names);
        std::string hint = fmt::format("; did you mean '{}'?", nearest);
        if (nearest.empty()) {
            hint = (names.size() <= kMostListed ? fmt::format(" ({})", join(names, ", "))
                                                : " (weir.conf(5) lists them)") +
                   nearest_elsewhere(name);
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
        if (is_block(directive) == statement.has_block || may_have_block(directive)) {
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

    static bool by_udp(Context context) {
        return context == kRtcServerContext || context == kSrtServerContext ||
               context == kSipServerContext;
    }

    bool by_tcp(Context context) const {
        return context != kSrtServerContext &&
               (context != kRtcServerContext || config_.rtc_server.tcp);
    }

    void check_listeners() {
        add_defaults(config_.listen, kGlobalContext);
        add_defaults(config_.http_server.listen, kHttpServerContext);
        add_defaults(config_.http_api.listen, kHttpApiContext);
        add_defaults(config_.rtc_server.listen, kRtcServerContext);
        add_defaults(config_.rtsp_server.listen, kRtspServerContext);
        add_defaults(config_.srt_server.listen, kSrtServerContext);
        add_defaults(config_.sip_server.listen, kSipServerContext);
        for (const ListenAddress& each : config_.sip_server.listen) {
            if (!each.ssl) {
                config_.sip_server.listen_udp.push_back(each);
            }
        }
        std::erase_if(listeners_, [this](const Listener& l) {
            return (l.context == kHttpServerContext && !config_.http_server.enabled) ||
                   (l.context == kHttpApiContext && !config_.http_api.enabled) ||
                   (l.context == kRtcServerContext && !config_.rtc_server.enabled) ||
                   (l.context == kRtspServerContext && !config_.rtsp_server.enabled) ||
                   (l.context == kSrtServerContext && !config_.srt_server.enabled) ||
                   (l.context == kSipServerContext && !config_.sip_server.enabled);
        });
        for (size_t i = 0; i < listeners_.size(); i++) {
            for (size_t j = 0; j < i; j++) {
                const bool same_protocol =
                    (by_tcp(listeners_[i].context) && by_tcp(listeners_[j].context)) ||
                    (by_udp(listeners_[i].context) && by_udp(listeners_[j].context));
                if (same_protocol &&
                    listen_overlaps(listeners_[i].address, listeners_[j].address)) {
                    report_overlap(listeners_[i], listeners_[j]);
                    break;
                }
            }
        }
    }

    // Each certificate has its key, and each listener with TLS a certificate.
    void check_certificates() {
        const auto complete = [this](std::vector<CertificateConfig>& list, std::string_view where) {
            for (const CertificateConfig& each : list) {
                if (each.certificate.empty() || each.key.empty()) {
                    sink_.report(
                        {each.line, 1},
                        fmt::format("found {} without its {} in {}; expected as many of "
                                    "the one as of the other, in the same order",
                                    each.key.empty() ? "ssl_certificate" : "ssl_certificate_key",
                                    each.key.empty() ? "ssl_certificate_key" : "ssl_certificate",
                                    where));
                }
            }
        };
        complete(config_.tls.certificates, to_string(kGlobalContext));
        complete(config_.http_server.certificates, to_string(kHttpServerContext));
        complete(config_.http_api.certificates, to_string(kHttpApiContext));
        for (const Listener& listener : listeners_) {
            const bool own =
                (listener.context == kHttpServerContext &&
                 !config_.http_server.certificates.empty()) ||
                (listener.context == kHttpApiContext && !config_.http_api.certificates.empty());
            if (listener.ssl && !own && config_.tls.certificates.empty()) {
                sink_.report(
                    listener.at,
                    fmt::format("found ssl for {}, but no certificate; expected "
                                "ssl_certificate FILE; ssl_certificate_key FILE; at the "
                                "top level{}",
                                listener.address,
                                listener.context == kGlobalContext ? "" : " or in the block"));
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
        sink_.report(
            later.at,
            fmt::format("found {}, which {} already takes with {}{}; choose another port",
                        later.address, earlier.origin, earlier.address,
                        earlier.address.starts_with("[::]:") || later.address.starts_with("[::]:")
                            ? " ([::] takes IPv4 as well)"
                            : ""));
    }

    const ValueScope& scope_;
    DiagnosticSink& sink_;
    Config config_;
    VhostConfig inherited_;
    Statements vhost_statements_;
    Statements applications_;  // of the block that was looked at last
    std::map<std::string, Position, std::less<>> vhost_places_;
    std::vector<Override> overrides_;
    std::vector<Listener> listeners_;
    std::map<std::string_view, Position> cluster_places_;  // of its directives
    Position processes_place_;
};

}  // namespace

ParseOutcome parse_config(std::string_view text,
                          std::string_view file_name,
                          const Environment& environment,
                          const ConfigDisk* disk) {
    const std::string file(file_name);
    DiagnosticSink sink(file_name);
    ParseOutcome outcome;
    outcome.watched = {file};
    if (text.size() > kMaxConfigBytes) {
        sink.report({0, 0, 0},
                    fmt::format("found more than {} bytes, which is more than a configuration may "
                                "have",
                                kMaxConfigBytes));
        outcome.errors = sink.take();
        return outcome;
    }
    std::vector<Statement> statements =
        parse_statements(text, is_directive_name, sink, {}, Dialect::kOurs, is_secret_name);
    static const ConfigDisk kNoDisk;
    Includer includer(disk != nullptr ? *disk : kNoDisk, sink, file);
    includer.expand(statements);
    const ValueScope scope{file, folder_of(file)};
    // Not on the stack: it holds a configuration.
    Config config = std::make_unique<Checker>(scope, environment, sink)->check(statements);
    outcome.warnings = environment_warnings(environment);
    if (sink.empty()) {
        for (std::string& warning : config_warnings(config)) {
            outcome.warnings.push_back(std::move(warning));
        }
        outcome.config = std::move(config);
    } else {
        outcome.secrets = secrets_of(config.settings);
        for (const Statement& statement : statements) {
            std::ranges::move(possible_secrets(statement), std::back_inserter(outcome.secrets));
        }
    }
    outcome.errors = sink.take();
    if (const auto server = looks_foreign(statements); !outcome.config && server) {
        outcome.hint = fmt::format(
            "{} looks like a configuration of {}: \"weir --explain {}\" says what becomes of it "
            "here, and writes one",
            log::escaped(file), to_string(*server), log::escaped(file));
    }
    outcome.watched = includer.watched();
    return outcome;
}

ParseOutcome load_config(const std::string& path, const Environment& environment) {
    const ConfigDisk& disk = real_disk();
    Result<std::string> text = disk.read(path);
    if (text.ok()) {
        return parse_config(*text, path, environment, &disk);
    }
    ParseOutcome outcome;
    outcome.errors.push_back({path, 0, 0, std::string(text.error().message())});
    outcome.warnings = environment_warnings(environment);
    outcome.watched = {path};
    return outcome;
}

}  // namespace weir::config
