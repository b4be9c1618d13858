// The table of the types of values: one row says how many words a type takes, how they are read,
// and how it is described in messages and in the documentation. A new type is a line of ValueType
// (directives.h), a function of ValueParser and a row.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/directives.h"

namespace weir::config {

class ValueParser;

struct WordCount {
    size_t least = 1;
    size_t most = 1;
};

// What of a URL in a value is secret; words from Directive::secret_from on are so anyway.
enum class UrlSecrets : uint8_t {
    kNone,    // no URL stands there, or one that has no place for a secret
    kParts,   // user and password, and the query: hidden_url()
    kPath,    // these, and the whole path: hidden_path()
    kSource,  // these, and a path that names a password: SourceUrl::shown()
    kTarget,  // these, and the name of the stream, which may be a stream key: shown_target()
};

struct ValueTypeRow {
    ValueType type = ValueType::kBlock;
    WordCount words = {};
    // False after a mistake, which is then reported.
    bool (ValueParser::*parse)(Value& value) = nullptr;
    // What an error says was expected, and the shape in the documentation. Each is a text, or a
    // function where it depends on the directive.
    std::string_view expects = {};
    std::string_view shape = {};
    std::string (*expects_of)(const Directive& directive) = nullptr;
    std::string (*shape_of)(const Directive& directive) = nullptr;
    std::string (*range_of)(const Directive& directive) = nullptr;  // for the documentation
    // The value in one form of several ("10s" for 10000ms); null: its words as they stand.
    std::string (*text)(const Value& value) = nullptr;
    bool one_word = false;  // and never more: an environment variable holds it as it is
    bool block = false;     // opens a block
    UrlSecrets urls = UrlSecrets::kNone;
};

// Every type has a row.
const ValueTypeRow& value_type(ValueType type);

// For the documentation: what a directive takes, and from where to where; empty: any.
std::string value_shape(const Directive& directive);
std::string range_text(const Directive& directive);

// Whether a directive opens a block.
bool is_block(const Directive& directive);

// A value, and a block if one likes: source, register.
bool may_have_block(const Directive& directive);

}  // namespace weir::config
