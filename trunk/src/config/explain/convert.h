// How values of other servers become values here: for the tables of explain.h.
#pragma once

#include <string>
#include <vector>

#include "base/config_parser.h"

namespace weir::config {

using Values = std::vector<std::string>;

// The first word, or nothing.
std::string first_word(const Statement& statement);

// All words as they are, one statement.
Values keep(const Statement& statement);

// A number of seconds ("10", "10s", "2.5") or of milliseconds ("500", "500ms"); nothing where it is
// no number.
Values seconds(const Statement& statement);
Values milliseconds(const Statement& statement);

// "on" and "off", also written as true, 1, yes and their opposites.
Values flag(const Statement& statement);

// The same, where nothing but the word "on" is on.
Values only_on(const Statement& statement);

// Addresses to listen on, a statement of all. A bare port is that of every IPv4 address;
// "[::]:1935" beside "1935" or "0.0.0.0:1935" is one, as it takes IPv4 too.
Values addresses(const Statement& statement);

// The same with TLS.
Values tls_addresses(const Statement& statement);

// Where `word` was given this value, else nothing.
Values when(const Statement& statement, std::string_view word, std::string value);

}  // namespace weir::config
