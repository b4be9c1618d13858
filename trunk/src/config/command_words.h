// The words of exec_push: a program and its arguments, with variables for the stream. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/stream_key.h"

namespace weir::config {

// What is wrong with the variables of a word: a `$` that begins neither $app, $name nor $vhost,
// with or without braces. Empty: nothing. It shows nothing of the word, which may be a secret, but
// a name that is nearly one of these.
std::string variables_problem(std::string_view word);

// The words with what their variables stand for. Nothing when the stream's names have characters
// that could be more than a part of an argument or address: others than letters, digits, bytes
// beyond ASCII and . _ ~ + @ - , and / in the application; or begin with -, or have a part that is
// . or ..
std::optional<std::vector<std::string>> command_of(const std::vector<std::string>& words,
                                                   const stream::StreamKey& key);

}  // namespace weir::config
