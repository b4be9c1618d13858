// Statements against the table of directives, and from there into a Scenario.
#include "bench/load/core/scenario.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/config_number.h"
#include "base/config_parser.h"
#include "base/strings.h"
#include "proto/rtsp/url.h"

#include "bench/load/core/scenario_directives.h"
#include "bench/load/core/units.h"

namespace weir::load {
namespace {

using Type = ScenarioType;

constexpr size_t kMaxName = 40;

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxName &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
           });
}

std::vector<std::string_view> names_in(ScenarioContext context) {
    std::vector<std::string_view> names;
    for (const ScenarioDirective& each : scenario_directives()) {
        if ((each.contexts & context) != 0) {
            names.push_back(each.name);
        }
    }
    return names;
}

// "publishers or join": where a directive of that name may stand; empty when it is not known.
std::string homes_of(std::string_view name) {
    std::string homes;
    for (unsigned bit = kScenarioTop; bit <= kScenarioLeave; bit <<= 1) {
        auto context = static_cast<ScenarioContext>(bit);
        if (find_scenario_directive(name, context) != nullptr) {
            homes += homes.empty() ? "" : " or ";
            homes += to_string(context);
        }
    }
    return homes;
}

template <typename Block>
std::vector<std::string_view> names_of(const std::vector<Block>& blocks) {
    std::vector<std::string_view> names;
    for (const Block& each : blocks) {
        names.push_back(each.name);
    }
    return names;
}

// Checks the words of one statement; reports at the word that is wrong.
class ValueReader {
  public:
    ValueReader(const ScenarioDirective& directive,
                const Statement& statement,
                const std::string& folder,
                DiagnosticSink& sink)
        : directive_(directive), statement_(statement), folder_(folder), sink_(sink) {}

    std::optional<ScenarioValue> read() {
        if (!count_fits()) {
            return std::nullopt;
        }
        for (const Token& token : statement_.arguments) {
            if (token.broken) {
                return std::nullopt;  // the forgotten quote is reported
            }
        }
        ScenarioValue value;
        return read_into(value) ? std::optional(std::move(value)) : std::nullopt;
    }

  private:
    const Token& word() const { return statement_.arguments[0]; }

    bool fail(const Token& token, std::string_view expected, std::string_view hint = "") {
        sink_.report(token.at,
                     fmt::format("found {}, expected {}{}", token.shown(), expected, hint));
        return false;
    }

    bool count_fits() {
        size_t wanted = directive_.type == Type::kBlock ? 0 : 1;
        size_t most = directive_.type == Type::kCondition ? kMaxConfigArguments : wanted;
        size_t count = statement_.arguments.size();
        if (count > most) {
            return fail(statement_.arguments[most], is_block(directive_) ? "'{'" : "';'",
                        fmt::format(" ({} takes {})", directive_.name,
                                    wanted == 0 ? "no value" : "one value"));
        }
        if (count < wanted && !statement_.broken) {
            sink_.report(statement_.end, fmt::format("found no value for {}, expected {}",
                                                     directive_.name, expectation(directive_)));
        }
        return count >= wanted;
    }

    bool read_into(ScenarioValue& value) {
        switch (directive_.type) {
            case Type::kBlock: return true;
            case Type::kNamed: return read_name(value);
            case Type::kStep:
            case Type::kReference:
            case Type::kText: value.text = word().text; return true;
            case Type::kFlag: return read_choice(value, "off|on");
            case Type::kChoice: return read_choice(value, directive_.choices);
            case Type::kCount: return read_number(value, {}, 1);
            case Type::kDuration: return read_number(value, config_duration_units(), 1000);
            case Type::kBitRate: return read_rate(value);
            case Type::kPath: return read_path(value);
            case Type::kUrl: return read_url(value);
            case Type::kCondition: return read_condition(value);
        }
        return false;
    }

    bool read_name(ScenarioValue& value) {
        value.text = word().text;
        return is_name(value.text) || fail(word(), expectation(directive_));
    }

    bool read_choice(ScenarioValue& value, std::string_view choices) {
        std::vector<std::string_view> names = split(choices, '|');
        auto found = std::find(names.begin(), names.end(), word().text);
        if (found == names.end()) {
            return fail(word(), expectation(directive_), did_you_mean(word().text, names));
        }
        value.number = static_cast<uint64_t>(found - names.begin());
        return true;
    }

    bool in_range(uint64_t number) const {
        return number >= directive_.min && number <= directive_.max;
    }

    bool read_number(ScenarioValue& value, std::span<const ConfigUnit> units, uint64_t bare) {
        std::optional<uint64_t> number = parse_config_number(word().text, units, bare);
        value.number = number.value_or(0);
        return (number && in_range(*number)) || fail(word(), expectation(directive_));
    }

    bool read_rate(ScenarioValue& value) {
        Result<uint64_t> rate = parse_bit_rate(word().text);
        value.number = rate.ok() ? *rate : 0;
        return (rate.ok() && in_range(*rate)) || fail(word(), expectation(directive_));
    }

    bool read_path(ScenarioValue& value) {
        if (word().text.empty()) {
            return fail(word(), expectation(directive_));
        }
        std::filesystem::path path(word().text);
        value.text = (path.is_relative() ? folder_ / path : path).lexically_normal().string();
        return true;
    }

    bool read_url(ScenarioValue& value) {
        value.text = word().text;
        bool has_scheme = word().text.find("://") != std::string::npos;
        return has_scheme || fail(word(), "a URL with its scheme (rtmp://, http://, ws://)");
    }

    // Quoted, or words up to the ';'.
    bool read_condition(ScenarioValue& value) {
        std::string text;
        for (const Token& token : statement_.arguments) {
            text += text.empty() ? "" : " ";
            text += token.text;
        }
        Result<Expression> condition = Expression::parse(text);
        if (!condition.ok()) {
            sink_.report(word().at, std::string(condition.error().message()));
            return false;
        }
        value.condition = std::move(*condition);
        return true;
    }

    const ScenarioDirective& directive_;
    const Statement& statement_;
    std::filesystem::path folder_;
    DiagnosticSink& sink_;
};

class Checker {
  public:
    Checker(std::string folder, DiagnosticSink& sink) : folder_(std::move(folder)), sink_(sink) {}

    Scenario check(const std::vector<Statement>& statements) {
        ScenarioTarget target{scenario_};
        apply_defaults(target, kScenarioTop);
        check_block(statements, kScenarioTop, target, Position{});
        check_publishers();
        check_players();
        check_phases();
        return std::move(scenario_);
    }

  private:
    void apply_defaults(const ScenarioTarget& target, ScenarioContext context) {
        DiagnosticSink none("");
        for (const ScenarioDirective& each : scenario_directives()) {
            if ((each.contexts & context) == 0 || each.default_text.empty()) {
                continue;
            }
            Statement statement;
            Token token;
            token.kind = TokenKind::kWord;
            token.text = each.default_text;
            statement.arguments.push_back(std::move(token));
            // Defaults are right by test.
            if (auto value = ValueReader(each, statement, folder_, none).read()) {
                each.apply(target, *value);
            }
        }
    }

    // `begin`: of the block, where something that is missing is reported.
    void check_block(const std::vector<Statement>& statements,
                     ScenarioContext context,
                     const ScenarioTarget& target,
                     Position begin) {
        std::map<std::string_view, uint32_t> lines;  // of the first use
        for (const Statement& statement : statements) {
            const ScenarioDirective* directive = known(statement, context);
            if (directive == nullptr) {
                continue;
            }
            auto [first, is_first] = lines.emplace(directive->name, statement.name.at.line);
            if (!block_fits(*directive, statement)) {
                continue;
            }
            if (!is_first && !directive->repeatable) {
                sink_.report(statement.name.at,
                             fmt::format("found a second {}, the first one is on line {}",
                                         directive->name, first->second));
                continue;
            }
            check_statement(*directive, statement, target);
        }
        for (const ScenarioDirective& each : scenario_directives()) {
            if (each.required && (each.contexts & context) != 0 && !lines.contains(each.name)) {
                sink_.report(begin, fmt::format("found no '{}' in {}, expected one", each.name,
                                                to_string(context)));
            }
        }
    }

    void check_statement(const ScenarioDirective& directive,
                         const Statement& statement,
                         const ScenarioTarget& target) {
        std::optional<ScenarioValue> value =
            ValueReader(directive, statement, folder_, sink_).read();
        if (is_block(directive)) {
            open_block(directive, statement, value ? value->text : "", target);
        } else if (value) {
            note_place(directive, statement, target);
            directive.apply(target, *value);
        }
    }

    void note_place(const ScenarioDirective& directive,
                    const Statement& statement,
                    const ScenarioTarget& target) {
        Position at = statement.arguments[0].at;
        if (directive.type == Type::kUrl && target.publishers != nullptr) {
            publisher_urls_.back() = at;
        } else if (directive.type == Type::kUrl && target.players != nullptr) {
            player_urls_.back() = at;
        } else if (directive.type == Type::kReference) {
            references_.back() = at;
        }
    }

    void open_block(const ScenarioDirective& directive,
                    const Statement& statement,
                    const std::string& name,
                    ScenarioTarget target) {
        Position at = statement.arguments.empty() ? statement.name.at : statement.arguments[0].at;
        if (directive.type == Type::kNamed) {
            report_second(directive, name, at);
        }
        switch (directive.opens) {
            case kScenarioPublishers:
                target.publishers = &scenario_.publishers.emplace_back();
                target.publishers->name = name;
                publisher_urls_.push_back(at);
                break;
            case kScenarioPlayers:
                target.players = &scenario_.players.emplace_back();
                target.players->name = name;
                player_urls_.push_back(at);
                references_.push_back(at);
                break;
            case kScenarioPhase:
                target.phase = &scenario_.phases.emplace_back();
                target.phase->name = name;
                step_places_.emplace_back();
                break;
            case kScenarioJoin:
            case kScenarioLeave:
                target.step = &target.phase->steps.emplace_back();
                target.step->join = directive.opens == kScenarioJoin;
                target.step->players = name;
                step_places_.back().push_back(at);
                break;
            default: break;
        }
        apply_defaults(target, directive.opens);
        check_block(statement.block, directive.opens, target, statement.name.at);
    }

    void report_second(const ScenarioDirective& directive, const std::string& name, Position at) {
        auto [first, is_first] =
            name_lines_.emplace(fmt::format("{} {}", directive.name, name), at.line);
        if (!is_first && !name.empty()) {
            sink_.report(at, fmt::format("found a second {} '{}', the first one is on line {}",
                                         directive.name, name, first->second));
        }
    }

    const ScenarioDirective* known(const Statement& statement, ScenarioContext context) {
        const std::string& name = statement.name.text;
        if (statement.name.quoted) {
            return nullptr;  // reported by the parser
        }
        if (const ScenarioDirective* directive = find_scenario_directive(name, context)) {
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
        std::string hint = did_you_mean(name, names);
        if (hint.empty()) {
            hint = fmt::format(" ({})", fmt::join(names, ", "));
        }
        sink_.report(statement.name.at,
                     fmt::format("found the unknown directive {}, expected a directive of {}{}",
                                 statement.name.shown(), to_string(context), hint));
        return nullptr;
    }

    bool block_fits(const ScenarioDirective& directive, const Statement& statement) {
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

    // ---- what only the whole file shows ----

    void check_url(const std::string& url, Position at, std::string_view scheme, uint32_t streams) {
        if (url.empty()) {
            return;  // missing or wrong, which is reported
        }
        const Result<std::string> found = scheme_in(url);
        if (!found.ok()) {
            sink_.report(at, fmt::format("{}; expected {}://HOST[:PORT]/APP/STREAM",
                                         found.error().message(), scheme));
        } else if (*found != scheme) {
            sink_.report(at, fmt::format("found a URL with {}://, expected {}://", *found, scheme));
        } else if (streams > 1 && !has_number(url)) {
            sink_.report(at, fmt::format("found one name for {} streams, expected a URL with %d "
                                         "for the number of the stream",
                                         streams));
        }
    }

    static Result<std::string> scheme_in(const std::string& url) {
        if (url.starts_with("rtsp://")) {
            WEIR_TRY(rtsp::Url::parse(numbered(url, 0)).take_error());
            return std::string("rtsp");
        }
        WEIR_TRY_ASSIGN(Url parsed, parse_url(numbered(url, 0)));
        return std::move(parsed.scheme);
    }

    static std::string_view scheme_of(ScenarioProtocol protocol) {
        switch (protocol) {
            case ScenarioProtocol::kRtmp: return "rtmp";
            case ScenarioProtocol::kFlv:
            case ScenarioProtocol::kTs:
            case ScenarioProtocol::kRtc: return "http";
            case ScenarioProtocol::kWsFlv:
            case ScenarioProtocol::kWsTs: return "ws";
            case ScenarioProtocol::kRtsp:
            case ScenarioProtocol::kRtspUdp:
            case ScenarioProtocol::kRtspMulticast: return "rtsp";
        }
        return {};
    }

    void check_publishers() {
        for (size_t i = 0; i < scenario_.publishers.size(); i++) {
            const ScenarioPublishers& each = scenario_.publishers[i];
            const bool rtsp = each.serve || each.url.starts_with("rtsp://");
            check_url(each.url, publisher_urls_[i], rtsp ? "rtsp" : "rtmp", each.streams);
            if (each.file.empty()) {
                if (auto plan = BitratePlan::create(each.shape); !plan.ok()) {
                    sink_.report(publisher_urls_[i], fmt::format("publishers '{}': {}", each.name,
                                                                 plan.error().message()));
                }
            }
        }
    }

    void check_players() {
        std::vector<std::string_view> names = names_of(scenario_.publishers);
        for (size_t i = 0; i < scenario_.players.size(); i++) {
            ScenarioPlayers& each = scenario_.players[i];
            if (each.publishers.empty() && names.size() == 1) {
                each.publishers = names[0];
            } else if (!each.publishers.empty() &&
                       scenario_.find_publishers(each.publishers) == nullptr) {
                sink_.report(references_[i],
                             fmt::format("found '{}', expected the name of a block "
                                         "of publishers{}",
                                         each.publishers, choice_of(each.publishers, names)));
            }
            check_url(each.url, player_urls_[i], scheme_of(each.protocol),
                      scenario_.streams_of(each));
        }
    }

    static std::string choice_of(std::string_view name,
                                 const std::vector<std::string_view>& names) {
        std::string hint = did_you_mean(name, names);
        return !hint.empty()   ? hint
               : names.empty() ? " (there is none)"
                               : fmt::format(" ({})", fmt::join(names, ", "));
    }

    void check_phases() {
        std::vector<std::string_view> names = names_of(scenario_.players);
        std::vector<uint64_t> joined(names.size());
        for (size_t p = 0; p < scenario_.phases.size(); p++) {
            ScenarioPhase& phase = scenario_.phases[p];
            for (size_t s = 0; s < phase.steps.size(); s++) {
                ScenarioStep& step = phase.steps[s];
                Position at = step_places_[p][s];
                auto found = std::find(names.begin(), names.end(), step.players);
                if (found == names.end()) {
                    if (!step.players.empty()) {
                        sink_.report(at, fmt::format("found '{}', expected the name of a group of "
                                                     "players{}",
                                                     step.players, choice_of(step.players, names)));
                    }
                    continue;
                }
                step.group = static_cast<size_t>(found - names.begin());
                joined[step.group] += step.join ? step.clients : 0U;
                check_times(phase, step, at);
            }
            std::stable_sort(phase.steps.begin(), phase.steps.end(),
                             [](const ScenarioStep& one, const ScenarioStep& other) {
                                 return one.after < other.after;
                             });
        }
        for (size_t i = 0; i < joined.size(); i++) {
            if (joined[i] == 0 && sink_.empty()) {
                sink_.report(player_urls_[i],
                             fmt::format("found players '{}', but no phase has 'join {}'",
                                         scenario_.players[i].name, scenario_.players[i].name));
            }
        }
    }

    void check_times(const ScenarioPhase& phase, const ScenarioStep& step, Position at) {
        if (phase.duration.count() > 0 &&
            (step.after >= phase.duration || step.after + step.ramp > phase.duration)) {
            sink_.report(
                at, fmt::format(
                        "found {} until {} after the beginning, expected it to be over "
                        "within the {} of phase '{}'",
                        step.join ? "a join" : "a leave",
                        duration_text(static_cast<uint64_t>((step.after + step.ramp).count())),
                        duration_text(static_cast<uint64_t>(phase.duration.count())), phase.name));
        }
    }

    std::string folder_;
    DiagnosticSink& sink_;
    Scenario scenario_;
    std::map<std::string, uint32_t> name_lines_;
    // Places of what only the whole file shows to be wrong, in the order of the blocks.
    std::vector<Position> publisher_urls_;
    std::vector<Position> player_urls_;
    std::vector<Position> references_;
    std::vector<std::vector<Position>> step_places_;  // per phase
};

ScenarioOutcome failed(const std::string& file, std::string message) {
    ScenarioOutcome outcome;
    outcome.errors.push_back({file, 0, 0, std::move(message)});
    return outcome;
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

const ScenarioPublishers* Scenario::find_publishers(std::string_view name) const {
    for (const ScenarioPublishers& each : publishers) {
        if (each.name == name) {
            return &each;
        }
    }
    return nullptr;
}

uint32_t Scenario::streams_of(const ScenarioPlayers& group) const {
    const ScenarioPublishers* its = find_publishers(group.publishers);
    return group.streams > 0 ? group.streams : its != nullptr ? its->streams : 1;
}

Millis Scenario::duration() const {
    Millis sum{0};
    for (const ScenarioPhase& phase : phases) {
        sum += phase.duration;
    }
    return sum;
}

ScenarioOutcome parse_scenario(std::string_view text, std::string_view file_name) {
    std::string file(file_name);
    if (text.size() > kMaxConfigBytes) {
        return failed(file, fmt::format("found more than {} bytes, which is more than a scenario "
                                        "may have",
                                        kMaxConfigBytes));
    }
    std::filesystem::path folder = std::filesystem::path(file).parent_path();
    DiagnosticSink sink(file_name);
    std::vector<Statement> statements = parse_statements(text, is_scenario_directive, sink);
    Scenario scenario = Checker(folder.empty() ? "." : folder.string(), sink).check(statements);
    scenario.file = file;
    ScenarioOutcome outcome;
    if (sink.empty()) {
        outcome.scenario = std::move(scenario);
    }
    outcome.errors = sink.take();
    return outcome;
}

ScenarioOutcome load_scenario(const std::string& path) {
    std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "re"));
    if (!file) {
        return failed(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    }
    std::string text(kMaxConfigBytes + 1, '\0');  // one byte more tells that it is too large
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) {
        return failed(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    return parse_scenario(text, path);
}

}  // namespace weir::load
