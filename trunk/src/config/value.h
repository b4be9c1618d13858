// From the words of one statement to a checked value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_parser.h"
#include "config/directives.h"

namespace weir::config {

// What the values of one file have in common.
struct ValueScope {
    std::string file;    // for ListenAddress::origin
    std::string folder;  // for relative paths
};

// None after a mistake, which is then reported.
std::optional<Value> parse_value(const Directive& directive,
                                 const Statement& statement,
                                 const ValueScope& scope,
                                 DiagnosticSink& sink);

// The words of the statement in one form of several, for reports and comparisons: "10s" for
// 10000ms,
// "[::]:1935" for 1935. With `hide_secrets` those are "(secret)", and "***" in URLs.
std::string canonical_text(const Directive& directive,
                           const Statement& statement,
                           const Value& value,
                           bool hide_secrets);

// The secrets in it as the configuration has them, without those that are too short to be looked
// for in other texts; what stands in a file is not read.
std::vector<std::string> secrets_of(const Directive& directive,
                                    const Statement& statement,
                                    const Value& value);

// The same of a statement that is perhaps wrong, and of its block: by its name alone. Of an unknown
// directive, and of what stands behind a secret without quotes, all words.
std::vector<std::string> possible_secrets(const Statement& statement);

// The same of its default; empty when it has none.
std::string default_text_of(const Directive& directive);

// The default of a directive that has one; `origin` says so. Defaults are right by test, not by
// luck.
Value default_value(const Directive& directive, const ValueScope& scope);

// "1935", ":1935", "*:1935", "127.0.0.1:1935", "localhost:1935", "[::1]:1935" in the form of
// ListenAddress::address.
std::optional<std::string> parse_listen(std::string_view text);

// True when both cannot be listened on at once: the same port, and the same address or one that
// includes the other. Both in the form of ListenAddress::address. Port 0 overlaps with nothing.
bool listen_overlaps(std::string_view a, std::string_view b);

}  // namespace weir::config
