#include "base/config_lexer.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/log.h"

namespace weir {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr size_t kShownTextLimit = 40;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_control(char c) {
    auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && !is_blank(c)) || byte == 0x7f;
}

bool ends_word(char c) {
    return is_blank(c) || c == ';' || c == '{' || c == '}';
}

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;  // RFC 3629 §3: 10xxxxxx
}

}  // namespace

std::string Diagnostic::to_string() const {
    if (line == 0) {
        return file.empty() ? message : fmt::format("{}: {}", file, message);
    }
    return fmt::format("{}:{}:{}: {}", file.empty() ? "(text)" : file, line, column, message);
}

std::string to_string(const std::vector<Diagnostic>& diagnostics) {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics) {
        text += diagnostic.to_string();
        text += '\n';
    }
    return text;
}

void DiagnosticSink::report(Position at, std::string message) {
    if (diagnostics_.size() >= kMaxDiagnostics - 1) {
        left_out_++;
        return;
    }
    diagnostics_.push_back({at, std::move(message)});
}

uint16_t DiagnosticSink::add_file(std::string_view name) {
    files_.emplace_back(name);
    return static_cast<uint16_t>(files_.size() - 1);
}

std::vector<Diagnostic> DiagnosticSink::take() {
    std::ranges::stable_sort(diagnostics_, [](const Entry& a, const Entry& b) {
        return std::tie(a.at.file, a.at.line, a.at.column) <
               std::tie(b.at.file, b.at.line, b.at.column);
    });
    std::vector<Diagnostic> all;
    for (Entry& entry : diagnostics_) {
        all.push_back(
            {files_[entry.at.file], entry.at.line, entry.at.column, std::move(entry.message)});
    }
    diagnostics_.clear();
    if (left_out_ > 0) {
        all.push_back({files_[0], 0, 0, fmt::format("{} more errors are not listed", left_out_)});
    }
    return all;
}

std::string Token::shown() const {
    switch (kind) {
        case TokenKind::kWord:
            return hidden ? std::string(kSecretText)
                          : fmt::format("'{}'", log::escaped(text, kShownTextLimit));
        case TokenKind::kOpen: return "'{'";
        case TokenKind::kClose: return "'}'";
        case TokenKind::kSemicolon: return "';'";
        case TokenKind::kEnd: return "the end of the file";
    }
    return {};
}

std::string quoted_word(const std::string& word) {
    if (!word.empty() && word.find_first_of(" \t;{}\"'\\\n\r") == std::string::npos &&
        word.front() != '#') {
        return word;
    }
    std::string out = "\"";
    for (char c : word) {
        switch (c) {
            case '"':
            case '\\': out += {'\\', c}; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default: out += c; break;
        }
    }
    return out + '"';
}

LexerView::LexerView(std::string_view text, DiagnosticSink& sink, Position begin, Dialect dialect)
    : text_(text), sink_(sink), position_(begin), dialect_(dialect) {
    if (text_.starts_with(kByteOrderMark)) {
        text_.remove_prefix(kByteOrderMark.size());
    }
}

char LexerView::take() {
    char c = text_[at_++];
    if (c == '\n') {
        position_.line++;
        position_.column = 1;
    } else if (at_ >= text_.size() || !continues_character(text_[at_])) {
        position_.column++;
    }
    return c;
}

void LexerView::skip_blanks() {
    while (!at_end()) {
        if (is_blank(peek())) {
            take();
        } else if (peek() == '#') {
            while (!at_end() && peek() != '\n') {
                take();
            }
        } else {
            return;
        }
    }
}

void LexerView::append(Token& token, char c) {
    if (token.text.size() <= kMaxConfigToken) {
        token.text.push_back(c);  // one byte more than allowed tells that it was too long
    }
}

// True if a quoted text may continue here. Only those of other servers span lines.
bool LexerView::goes_on() const {
    return !at_end() && (dialect_ == Dialect::kForeign || peek() != '\n');
}

// "${name}", behind its '$': braces are part of the word.
void LexerView::read_variable(Token& token) {
    const size_t end = text_.find_first_of("} \t\r\n;", at_);
    if (peek() != '{' || end == std::string_view::npos || text_[end] != '}') {
        return;
    }
    while (at_ <= end) {
        append(token, take());
    }
}

void LexerView::read_quoted(Token& token) {
    token.quoted = true;
    char quote = take();
    size_t mark = 0;  // the first ';' inside
    Position mark_position;
    size_t mark_size = 0;
    while (goes_on()) {
        Position at = position_;
        if (peek() == ';' && mark == 0) {
            mark = at_;
            mark_position = position_;
            mark_size = token.text.size();
        }
        char c = take();
        if (c == quote) {
            const bool in_parentheses = dialect_ == Dialect::kForeign && !at_end() && peek() == ')';
            if (!at_end() && !ends_word(peek()) && !in_parentheses) {
                sink_.report(position_, fmt::format("found text right behind a closing quote, "
                                                    "expected a space or ';' (inside {}...{}, a "
                                                    "quote is written \\{})",
                                                    quote, quote, quote));
            }
            return;
        }
        if (c == '\\' && goes_on()) {
            char escape = take();
            switch (escape) {
                case 'n': c = '\n'; break;
                case 't': c = '\t'; break;
                case 'r': c = '\r'; break;
                case '\\':
                case '"':
                case '\'': c = escape; break;
                default:
                    if (dialect_ == Dialect::kForeign) {
                        append(token, c);
                        c = escape;
                        break;
                    }
                    sink_.report(
                        at,
                        fmt::format(
                            "found the escape '\\{}', expected one of \\n \\t \\r \\\\ \\\" \\'",
                            is_control(escape) || is_blank(escape) ? ' ' : escape));
                    break;
            }
        } else if (is_control(c)) {
            sink_.report(at, fmt::format("found control character 0x{:02x} in a quoted text",
                                         static_cast<unsigned>(c)));
        }
        append(token, c);
    }
    sink_.report(token.at, fmt::format("found no closing {} before the end of the line", quote));
    token.broken = true;
    if (mark != 0 &&
        dialect_ == Dialect::kOurs) {  // most likely the end of the statement: read on from there
        at_ = mark;
        position_ = mark_position;
        token.text.resize(mark_size);
    }
}

void LexerView::read_word(Token& token) {
    while (!at_end() && !ends_word(peek())) {
        Position at = position_;
        char c = take();
        if (is_control(c)) {
            sink_.report(at, fmt::format("found control character 0x{:02x}, expected text",
                                         static_cast<unsigned>(c)));
        } else if ((c == '"' || c == '\'') && dialect_ == Dialect::kOurs) {
            sink_.report(at, fmt::format("found {} inside a word; quote the whole value", c));
        }
        append(token, c);
        if (c == '$' && dialect_ == Dialect::kForeign) {
            read_variable(token);
        }
    }
}

Token LexerView::next() {
    skip_blanks();
    Token token;
    token.at = position_;
    token.end = position_;
    if (at_end()) {
        return token;
    }
    switch (peek()) {
        case '{': token.kind = TokenKind::kOpen; break;
        case '}': token.kind = TokenKind::kClose; break;
        case ';': token.kind = TokenKind::kSemicolon; break;
        default: token.kind = TokenKind::kWord; break;
    }
    if (token.kind != TokenKind::kWord) {
        take();
    } else if (peek() == '"' || peek() == '\'') {
        read_quoted(token);
    } else {
        read_word(token);
    }
    token.end = position_;
    if (token.text.size() > kMaxConfigToken) {
        sink_.report(token.at, fmt::format("found a text of more than {} bytes", kMaxConfigToken));
        token.text.resize(kMaxConfigToken);
    }
    return token;
}

}  // namespace weir
