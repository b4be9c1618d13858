// Command line options of one subcommand: a table from which the parser and the help text come.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace weir::load {

class OptionTable {
  public:
    // `usage`: one line behind "usage: weir-bench "; `about`: what the subcommand does.
    OptionTable(std::string usage, std::string about)
        : usage_(std::move(usage)), about_(std::move(about)) {}

    // The targets must outlive parse(). Names are written with their dashes; texts must be
    // literals. The value a target has when it is added is shown as its default.
    void text(std::string_view name,
              std::string_view value,
              std::string_view help,
              std::string& target);
    void count(std::string_view name,
               std::string_view help,
               uint32_t& target,
               uint32_t low,
               uint32_t high);
    void duration(std::string_view name, std::string_view help, Millis& target);
    void bit_rate(std::string_view name, std::string_view help, uint64_t& target);

    // May be given several times; `target` gets each in turn.
    void list(std::string_view name,
              std::string_view value,
              std::string_view help,
              std::vector<std::string>& target);

    // A switch without a value; `value` is what it sets.
    void flag(std::string_view name, std::string_view help, bool& target, bool value = true);

    // Takes "--name value" and "--name=value". kMalformed names the option, what was found and what
    // was expected.
    Error parse(std::span<const char* const> arguments);

    // parse() met --help or -h: print help() and leave.
    bool help_wanted() const { return help_wanted_; }

    std::string help() const;

  private:
    struct Option {
        std::string_view name;
        std::string_view value;  // placeholder; empty for a switch
        std::string_view help;
        std::string shown_default;
        std::function<Error(std::string_view)> set;
    };

    const Option* find(std::string_view name) const;
    Error unknown(std::string_view name) const;

    std::string usage_;
    std::string about_;
    std::vector<Option> options_;
    bool help_wanted_ = false;
};

}  // namespace weir::load
