#include "base/config_parser.h"

#include <utility>

#include <fmt/format.h>

namespace weir {

namespace {

class Parser {
  public:
    Parser(std::string_view text,
           IsDirectiveName is_name,
           DiagnosticSink& sink,
           Position begin,
           Dialect dialect,
           IsDirectiveName holds_secret)
        : is_name_(is_name),
          holds_secret_(holds_secret),
          dialect_(dialect),
          sink_(sink),
          lexer_(text, sink, begin, dialect),
          token_(lexer_.next()) {}

    std::vector<Statement> parse_file() {
        std::vector<Statement> statements;
        while (token_.kind != TokenKind::kEnd) {
            parse_block(statements, 0);
            if (token_.kind == TokenKind::kClose) {
                sink_.report(token_.at, "found '}', but no block is open here");
                advance();
            }
        }
        return statements;
    }

  private:
    void advance() { token_ = lexer_.next(); }

    // Up to the '}' that ends the block, or to the end of the file.
    void parse_block(std::vector<Statement>& out, size_t depth) {
        while (token_.kind != TokenKind::kEnd && token_.kind != TokenKind::kClose) {
            switch (token_.kind) {
                case TokenKind::kSemicolon:
                    sink_.report(token_.at, "found ';', expected the name of a directive");
                    advance();
                    break;
                case TokenKind::kOpen:
                    sink_.report(token_.at, "found '{', expected the name of a block before it");
                    advance();
                    skip_block();
                    break;
                default: parse_statement(out, depth); break;
            }
        }
    }

    void parse_statement(std::vector<Statement>& out, size_t depth) {
        if (++count_ > kMaxConfigStatements) {
            sink_.report(token_.at,
                         fmt::format("found more than {} directives; the rest is not read",
                                     kMaxConfigStatements));
            skip_rest();
            return;
        }
        Statement statement;
        statement.name = std::move(token_);
        statement.name.hidden =
            statement.name.at.line == secret_line_ && !is_name_(statement.name.text);
        statement.broken = statement.name.broken;
        statement.end = statement.name.end;
        if (statement.name.quoted && dialect_ == Dialect::kOurs) {
            sink_.report(statement.name.at,
                         "found a quoted text, expected the name of a directive");
            statement.broken = true;
        }
        advance();
        parse_arguments(statement);
        if (holds_secret_ != nullptr && holds_secret_(statement.name.text)) {
            secret_line_ = statement.end.line;
        }
        if (token_.kind == TokenKind::kSemicolon) {
            statement.end = token_.at;
            advance();
        } else if (token_.kind == TokenKind::kOpen) {
            statement.end = token_.at;
            advance();
            parse_body(statement, depth);
        } else {
            report_unfinished(statement);
        }
        out.push_back(std::move(statement));
    }

    void parse_arguments(Statement& statement) {
        while (token_.kind == TokenKind::kWord && !starts_statement(statement)) {
            statement.end = token_.end;
            token_.hidden = statement.name.hidden;
            statement.broken = statement.broken || token_.broken;
            if (statement.arguments.size() < kMaxConfigArguments) {
                statement.arguments.push_back(std::move(token_));
            } else if (!statement.broken) {
                sink_.report(token_.at, fmt::format("found more than {} values for {}",
                                                    kMaxConfigArguments, statement.name.shown()));
                statement.broken = true;
            }
            advance();
        }
    }

    // A known name at the start of a later line: the ';' before it was forgotten.
    bool starts_statement(const Statement& statement) const {
        return !token_.quoted && token_.at.line > statement.end.line && is_name_(token_.text);
    }

    void parse_body(Statement& statement, size_t depth) {
        statement.has_block = true;
        if (depth + 1 > kMaxConfigDepth) {
            sink_.report(statement.end,
                         fmt::format("found blocks nested deeper than {}", kMaxConfigDepth));
            statement.broken = true;
            skip_block();
            return;
        }
        parse_block(statement.block, depth + 1);
        if (token_.kind == TokenKind::kClose) {
            advance();
        } else if (!stopped_) {
            // Reported where the block begins: the end of the file says nothing about which one it
            // is.
            sink_.report(statement.name.at,
                         fmt::format("found no '}}' for the block {} before the end of the file",
                                     statement.name.shown()));
        }
    }

    void report_unfinished(Statement& statement) {
        bool explained = statement.broken;  // a forgotten quote has eaten the ';'
        statement.broken = true;
        if (explained) {
            return;
        }
        sink_.report(statement.end,
                     fmt::format("found {} on line {}, expected ';' at the end of {}",
                                 token_.shown(), token_.at.line, statement.name.shown()));
    }

    // Behind a '{': up to and with its '}'.
    void skip_block() {
        size_t open = 1;
        while (open > 0 && token_.kind != TokenKind::kEnd) {
            open += token_.kind == TokenKind::kOpen ? 1 : 0;
            open -= token_.kind == TokenKind::kClose ? 1 : 0;
            advance();
        }
    }

    void skip_rest() {
        token_ = Token{};
        stopped_ = true;
    }

    IsDirectiveName is_name_;
    IsDirectiveName holds_secret_;  // null: none is known
    Dialect dialect_;
    DiagnosticSink& sink_;
    LexerView lexer_;
    Token token_;
    size_t count_ = 0;
    uint32_t secret_line_ = 0;  // where the last statement with a secret ended
    bool stopped_ = false;
};

}  // namespace

std::vector<Statement> parse_statements(std::string_view text,
                                        IsDirectiveName is_name,
                                        DiagnosticSink& sink,
                                        Position begin,
                                        Dialect dialect,
                                        IsDirectiveName holds_secret) {
    return Parser(text, is_name, sink, begin, dialect, holds_secret).parse_file();
}

}  // namespace weir
