// Words of a configuration: names and values, quoted or not, and the three marks { } ;
//
// '#' starts a comment at the beginning of a word only, so a value may hold one. Quotes are "..."
// or '...'; inside them
// \" \' \\ \n \t \r are escapes, and they end on the line where they began: a forgotten quote then
// costs one value, not the rest of the file. Mistakes become diagnostics and the lexer goes on
// behind them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/config_diagnostic.h"

namespace weir {

// Bytes of one word.
inline constexpr size_t kMaxConfigToken = 4096;

struct Position {
    uint32_t line = 1;
    uint32_t column = 1;  // in characters
    uint16_t file = 0;    // of DiagnosticSink: 0 is the first, others are included by it

    bool operator==(const Position&) const = default;
};

enum class TokenKind : uint8_t { kWord, kOpen, kClose, kSemicolon, kEnd };

struct Token {
    TokenKind kind = TokenKind::kEnd;
    bool quoted = false;
    bool broken = false;  // its closing quote is missing; that is reported
    bool hidden = false;  // may be a secret, or a part of one: messages do not show it
    Position at;          // of its first character
    Position end;         // behind its last character
    std::string text;

    // For messages: 'chunk_size', "a b", '}' or the end of the file; of a hidden one "(secret)".
    std::string shown() const;
};

// In place of a secret, in messages and reports.
inline constexpr std::string_view kSecretText = "(secret)";

// A word as one would have to write it: in quotes where it needs them.
std::string quoted_word(const std::string& word);

// Collects diagnostics of a file and of those that it includes, up to kMaxDiagnostics.
class DiagnosticSink {
  public:
    explicit DiagnosticSink(std::string_view file) : files_{std::string(file)} {}

    // One more file; gives its number for Position::file. A source without lines (an environment
    // variable) has positions with line 0. At most UINT16_MAX of them: the caller's duty.
    uint16_t add_file(std::string_view name);

    const std::string& file(uint16_t number) const { return files_[number]; }

    size_t files() const { return files_.size(); }

    void report(Position at, std::string message);

    // File by file in the order of the first use, each in its order, with a last line that counts
    // what was left out.
    std::vector<Diagnostic> take();

    bool empty() const { return diagnostics_.empty(); }

  private:
    struct Entry {
        Position at;
        std::string message;
    };

    std::vector<std::string> files_;
    std::vector<Entry> diagnostics_;
    size_t left_out_ = 0;
};

// How words are written.
enum class Dialect : uint8_t {
    kOurs,
    // Of nginx and SRS: names of directives may have quotes, texts in quotes several lines and any
    // escape and a ')' behind them, words "${name}" and quotes inside.
    kForeign,
};

class LexerView {
  public:
    // The text and the sink must outlive the lexer. `begin`: where the text begins.
    LexerView(std::string_view text,
              DiagnosticSink& sink,
              Position begin = {},
              Dialect dialect = Dialect::kOurs);

    // kEnd at the end, again and again.
    Token next();

  private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool at_end() const { return at_ >= text_.size(); }

    char take();
    void skip_blanks();
    void read_quoted(Token& token);
    void read_word(Token& token);
    void read_variable(Token& token);
    bool goes_on() const;
    void append(Token& token, char c);

    std::string_view text_;
    DiagnosticSink& sink_;
    size_t at_ = 0;
    Position position_;
    Dialect dialect_;
};

}  // namespace weir
