// weir-bench scenario.
#include "bench/load/core/scenario.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/load/core/scenario_directives.h"
#include "bench/load/scenario_run.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

struct Arguments {
    RunOptions run;
    bool check = false;
    bool directives = false;
    std::string file;
};

// The file is the one word without dashes; options that take a value have it behind '='  or as the
// next word, so it must come first or last.
std::vector<const char*> take_file(std::span<const char* const> words, std::string& file) {
    std::vector<const char*> rest(words.begin(), words.end());
    for (size_t at : {size_t{0}, rest.empty() ? 0 : rest.size() - 1}) {
        if (at < rest.size() && rest[at][0] != '-') {
            file = rest[at];
            rest.erase(rest.begin() + static_cast<ptrdiff_t>(at));
            break;
        }
    }
    return rest;
}

int check_file(const Scenario& scenario) {
    fmt::print("{}: ok: {} publishers, {} groups of players, {} phases, {} s\n", scenario.file,
               scenario.publishers.size(), scenario.players.size(), scenario.phases.size(),
               static_cast<double>(scenario.duration().count()) / 1000);
    return kExitPassed;
}

}  // namespace

int scenario(std::span<const char* const> arguments) {
    Arguments given;
    OptionTable table("scenario FILE [OPTIONS]",
                      "Runs a whole test that a file describes (doc/load-client.md).");
    table.flag("--check", "only read the file and say what is wrong in it", given.check);
    table.flag("--directives", "print the tables of all directives", given.directives);
    given.run.add_common_to(table);
    given.run.add_checks_to(table);
    given.run.command_line = {"weir-bench", "scenario"};
    given.run.command_line.insert(given.run.command_line.end(), arguments.begin(), arguments.end());
    std::vector<const char*> options = take_file(arguments, given.file);
    if (Error error = table.parse(options)) {
        complain(error.message());
        return kExitUsage;
    }
    if (table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    if (given.directives) {
        fmt::print("{}", scenario_markdown());
        return kExitPassed;
    }
    if (given.file.empty()) {
        complain("scenario: expected the name of a file; 'weir-bench scenario --help' says more");
        return kExitUsage;
    }
    ScenarioOutcome outcome = load_scenario(given.file);
    if (!outcome.ok()) {
        fmt::print(stderr, "{}", to_string(outcome.errors));
        return kExitUsage;
    }
    if (given.check) {
        return check_file(*outcome.scenario);
    }
    // Too large for a stack.
    return std::make_unique<ScenarioRun>(*outcome.scenario, given.run)->run();
}

}  // namespace weir::load
