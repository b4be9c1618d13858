// The grammar, without any knowledge of what the directives mean:
//
//   file      = { statement }
//   statement = name { value } ( ";" | "{" { statement } "}" )
//
// A mistake is reported and parsing goes on at the next statement, so that one reading shows them
// all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_lexer.h"

namespace weir {

inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
inline constexpr size_t kMaxConfigDepth = 16;          // blocks inside blocks
inline constexpr size_t kMaxConfigStatements = 10000;  // in the whole file
inline constexpr size_t kMaxConfigArguments = 256;     // of one statement

struct Statement {
    Token name;
    std::vector<Token> arguments;
    bool has_block = false;
    bool broken =
        false;  // something about it was reported already: what it holds may be incomplete
    std::vector<Statement> block;
    Position end;  // of its ';' or '{', or where one was missing
};

// Tells names of directives from values; it is how a forgotten ';' at the end of a line is
// recognised.
using IsDirectiveName = bool (*)(std::string_view name);

// `holds_secret`: names of directives whose values may be secrets. A secret with ';', '{' or '}' in
// it and no quotes around it goes on as statements of its own: names on its line that are no
// directive's are hidden, and so are their values.
//
// At most kMaxConfigBytes of text (the caller reports more). Never nests deeper than
// kMaxConfigDepth.
std::vector<Statement> parse_statements(std::string_view text,
                                        IsDirectiveName is_name,
                                        DiagnosticSink& sink,
                                        Position begin = {},
                                        Dialect dialect = Dialect::kOurs,
                                        IsDirectiveName holds_secret = nullptr);

}  // namespace weir
