#include "base/config_lexer.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/netem.h"

namespace weir {
namespace {

struct Lexed {
    std::vector<Token> tokens;  // without kEnd
    std::vector<Diagnostic> errors;

    std::vector<std::string> texts() const {
        std::vector<std::string> out;
        for (const Token& token : tokens) {
            out.push_back(token.kind == TokenKind::kWord ? token.text : token.shown());
        }
        return out;
    }
};

Lexed lex(std::string_view text) {
    Lexed result;
    DiagnosticSink sink("f");
    LexerView lexer(text, sink);
    for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
        result.tokens.push_back(std::move(token));
    }
    EXPECT_EQ(lexer.next().kind, TokenKind::kEnd) << "the end stays the end";
    result.errors = sink.take();
    return result;
}

using Texts = std::vector<std::string>;

TEST(LexerTest, SplitsWordsAndMarks) {
    EXPECT_EQ(lex("listen 1935;a{b}").texts(),
              (Texts{"listen", "1935", "';'", "a", "'{'", "b", "'}'"}));
    EXPECT_TRUE(lex(" \t\r\n").tokens.empty());
    EXPECT_TRUE(lex("").tokens.empty());
}

TEST(LexerTest, SkipsCommentsButKeepsAHashInsideAWord) {
    EXPECT_EQ(lex("# whole line ; { \"\na #rest\nb#c").texts(), (Texts{"a", "b#c"}));
}

TEST(LexerTest, GivesLineAndColumnInCharacters) {
    Lexed result = lex("a\n  b\r\n\tc \xc3\xa9\xe2\x82\xac d");
    ASSERT_EQ(result.tokens.size(), 5u);
    EXPECT_EQ(result.tokens[0].at, (Position{1, 1}));
    EXPECT_EQ(result.tokens[1].at, (Position{2, 3}));
    EXPECT_EQ(result.tokens[1].end, (Position{2, 4}));
    EXPECT_EQ(result.tokens[2].at, (Position{3, 2}));
    EXPECT_EQ(result.tokens[3].at, (Position{3, 4}));
    EXPECT_EQ(result.tokens[4].at, (Position{3, 7}))
        << "two letters of two and three bytes are two columns";
}

TEST(LexerTest, SkipsAByteOrderMark) {
    Lexed result = lex("\xef\xbb\xbfuser");
    ASSERT_EQ(result.tokens.size(), 1u);
    EXPECT_EQ(result.tokens[0].text, "user");
    EXPECT_EQ(result.tokens[0].at, (Position{1, 1}));
}

TEST(LexerTest, ReadsQuotedTextsWithEscapes) {
    Lexed result = lex(R"("a b;{}#" 'it"s' "tab\t\"q\" \\ \' \n\r" "")");
    EXPECT_EQ(result.texts(), (Texts{"a b;{}#", "it\"s", "tab\t\"q\" \\ ' \n\r", ""}));
    EXPECT_TRUE(result.errors.empty());
    EXPECT_TRUE(result.tokens[0].quoted);
}

TEST(LexerTest, ReportsAnUnknownEscape) {
    Lexed result = lex(R"(a "b\x")");
    ASSERT_EQ(result.errors.size(), 1u);
    EXPECT_EQ(result.errors[0].to_string(),
              "f:1:5: found the escape '\\x', expected one of \\n \\t \\r \\\\ \\\" \\'");
}

TEST(LexerTest, AForgottenQuoteCostsOneValueOnly) {
    Lexed result = lex("a \"b c;\nd e;");
    EXPECT_EQ(result.texts(), (Texts{"a", "b c", "';'", "d", "e", "';'"}));
    EXPECT_TRUE(result.tokens[1].broken);
    ASSERT_EQ(result.errors.size(), 1u);
    EXPECT_EQ(result.errors[0].to_string(),
              "f:1:3: found no closing \" before the end of the line");
}

TEST(LexerTest, ReportsAForgottenQuoteAtTheEndOfTheFile) {
    EXPECT_EQ(lex("a 'b").errors.size(), 1u);
    EXPECT_EQ(lex("'").errors.size(), 1u);
    EXPECT_EQ(lex("\"\\").errors.size(), 1u);
}

TEST(LexerTest, ReportsQuotesInTheMiddleOfAWord) {
    EXPECT_EQ(lex("ab\"c").errors.at(0).to_string(),
              "f:1:3: found \" inside a word; quote the whole value");
    EXPECT_EQ(lex("\"a\"b").errors.at(0).column, 4u);
}

TEST(LexerTest, ReportsControlCharacters) {
    EXPECT_EQ(lex(std::string_view("a\0b", 3)).errors.at(0).to_string(),
              "f:1:2: found control character 0x00, expected text");
    EXPECT_EQ(lex("\"a\x1b\"").errors.at(0).column, 3u);
}

TEST(LexerTest, BoundsTheLengthOfAWord) {
    EXPECT_TRUE(lex(std::string(kMaxConfigToken, 'a')).errors.empty());
    Lexed word = lex(std::string(kMaxConfigToken + 1, 'a') + " b");
    EXPECT_EQ(word.errors.size(), 1u);
    ASSERT_EQ(word.tokens.size(), 2u);
    EXPECT_EQ(word.tokens[0].text.size(), kMaxConfigToken);
    EXPECT_EQ(lex("'" + std::string(kMaxConfigToken + 1, 'a') + "'").errors.size(), 1u);
}

TEST(DiagnosticSinkTest, SortsByPlaceAndBoundsTheList) {
    DiagnosticSink sink("f");
    for (uint32_t i = 0; i < kMaxDiagnostics + 20; i++) {
        sink.report({1000 - i, 1}, "x");
    }
    std::vector<Diagnostic> all = sink.take();
    ASSERT_EQ(all.size(), kMaxDiagnostics);
    EXPECT_LT(all[0].line, all[1].line);
    EXPECT_EQ(all.back().to_string(), "f: 21 more errors are not listed");
}

TEST(DiagnosticSinkTest, KeepsFilesApart) {
    DiagnosticSink sink("f");
    const uint16_t more = sink.add_file("g");
    const uint16_t variable = sink.add_file("NAME in the environment");
    sink.report({0, 1, variable}, "z");
    sink.report({1, 1, more}, "y");
    sink.report({2, 1}, "x");
    EXPECT_EQ(to_string(sink.take()), "f:2:1: x\ng:1:1: y\nNAME in the environment: z\n");
    EXPECT_EQ(sink.file(more), "g");
}

TEST(LexerTest, BeginsWhereItIsTold) {
    DiagnosticSink sink("f");
    const uint16_t file = sink.add_file("g");
    LexerView lexer("a\nb", sink, {5, 3, file});
    EXPECT_EQ(lexer.next().at, (Position{5, 3, file}));
    EXPECT_EQ(lexer.next().at, (Position{6, 1, file}));
}

TEST(LexerTest, AWordInQuotesIsReadBack) {
    for (const char* word :
         {"a", "", "a b", "#a", "a;b", "{", "it's", "a\"b\\c", "a\tb\nc", "a#b"}) {
        Lexed lexed = lex(quoted_word(word));
        EXPECT_TRUE(lexed.errors.empty()) << word;
        ASSERT_EQ(lexed.tokens.size(), 1u) << word;
        EXPECT_EQ(lexed.tokens[0].text, word);
    }
    EXPECT_EQ(quoted_word("a#b"), "a#b");
}

TEST(LexerTest, AQuotedTextHasTheLengthOfItsMeaning) {
    std::string text = "\"";
    for (size_t i = 0; i < kMaxConfigToken; i++) {
        text += "\\n";
    }
    Lexed result = lex(text + "\"");
    EXPECT_TRUE(result.errors.empty());
    ASSERT_EQ(result.tokens.size(), 1u);
    EXPECT_EQ(result.tokens[0].text, std::string(kMaxConfigToken, '\n'));
}

TEST(LexerTest, MessagesShowTextsOfOthersSafely) {
    Token token;
    token.kind = TokenKind::kWord;
    token.text = "a\x1b[31m'" + std::string(100, 'b');
    const std::string shown = token.shown();
    EXPECT_TRUE(shown.starts_with("'a\\x1b[31m'bbb")) << shown;
    EXPECT_TRUE(shown.ends_with("b...'")) << shown;
    EXPECT_LT(shown.size(), 50u);
    EXPECT_EQ(Token().shown(), "the end of the file");
}

TEST(LexerTest, AnyBytesComeToAnEnd) {
    constexpr std::string_view kParts[] = {"a",  "\"", "'",  "\\", ";", "{",        "}",
                                           "\n", "#",  "\r", " ",  "",  "\xc3\xa9", "\xff"};
    test::SeededRandom random(17);
    for (int round = 0; round < 2'000; round++) {
        std::string text;
        for (size_t i = random.below(40); i > 0; i--) {
            text += kParts[random.below(std::size(kParts))];
        }
        Position last{1, 0};
        for (const Token& token : lex(text).tokens) {
            const bool later = token.at.line > last.line ||
                               (token.at.line == last.line && token.at.column > last.column);
            EXPECT_TRUE(later) << testing::PrintToString(text);
            last = token.at;
        }
    }
}

TEST(DiagnosticSinkTest, AFullListCountsNothing) {
    DiagnosticSink sink("f");
    EXPECT_TRUE(sink.empty());
    for (uint32_t i = 1; i < kMaxDiagnostics; i++) {
        sink.report({i, 1}, "x");
    }
    EXPECT_FALSE(sink.empty());
    const std::vector<Diagnostic> all = sink.take();
    ASSERT_EQ(all.size(), kMaxDiagnostics - 1);
    EXPECT_EQ(all.back().to_string(), "f:99:1: x");
}

}  // namespace
}  // namespace weir
