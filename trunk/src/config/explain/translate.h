// What the explainers share of values that are more than a word: commands with variables, addresses
// of other servers, lengths. Pure. Private to `weir --explain`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_parser.h"
#include "config/explain/convert.h"
#include "config/explain/explainer.h"

namespace weir::config {

// A name that stands for something in the values of another server, and the text for it here. An
// empty text: nothing here says the same.
struct Variable {
    std::string_view there;
    std::string_view here;
};

enum class VariableForm : uint8_t {
    kDollar,   // $name, ${name}
    kBracket,  // [name]
};

// The word with the variables of this server. An error: the name of the first variable that has no
// counterpart. In kBracket only names of the list are variables, as ffmpeg has brackets too.
struct Substituted {
    std::string text;
    std::string unknown;  // not empty: that variable
};

Substituted substitute(std::string_view word,
                       std::span<const Variable> variables,
                       VariableForm form);

// "exec_push WORD ...;". The words may hold secrets, so only the program is shown.
Written exec_line(const std::vector<std::string>& words);

// "forward URL;". Behind the host the URL may hold secrets.
Written forward_line(const std::string& url, std::string note);

// A source: "source URL;" or "source URL { stream NAME; OPTIONS }".
Written source_line(const std::string& url,
                    std::string_view stream,
                    std::string_view options,
                    std::string note);

// The host and port of "HOST[:PORT]", which is also "[IPV6]:PORT"; nothing: it is none.
bool is_host(std::string_view text);

// Of hls { window; }: how many segments of `fragment_s` cover `length_s`, in the range of the
// directive.
std::string window_text(double fragment_s, double length_s);

// Seconds of "10", "10s", "500ms", "2m", "1h", "1d"; `bare`: what a bare number counts, in seconds.
std::optional<double> seconds_of(std::string_view text, double bare = 1);

// "90s", "1500ms".
std::string seconds_text(double seconds);

// Bytes of "128", "128K", "1M", "2G".
std::optional<uint64_t> bytes_of(std::string_view text);

// Whether a word is the address of a stream of this machine.
bool is_own_address(std::string_view word);

// Words of a statement.
std::vector<std::string> words_of(const Statement& statement);

// The first statement of that name, or null.
const Statement* child_of(const std::vector<Statement>& statements, std::string_view name);

// Its first word, or `other`.
std::string word_of(const std::vector<Statement>& statements,
                    std::string_view name,
                    std::string_view other = {});

}  // namespace weir::config
