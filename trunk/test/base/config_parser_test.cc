#include "base/config_parser.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

bool is_name(std::string_view name) {
    return name == "listen" || name == "play";
}

struct Parsed {
    std::vector<Statement> statements;
    std::vector<Diagnostic> errors;

    std::string first_error() const { return errors.empty() ? "" : errors[0].to_string(); }
};

Parsed parse(std::string_view text) {
    DiagnosticSink sink("f");
    Parsed parsed;
    parsed.statements = parse_statements(text, is_name, sink);
    parsed.errors = sink.take();
    return parsed;
}

// "name(arg,arg){...}" for every statement.
std::string shape(const std::vector<Statement>& statements) {
    std::string out;
    for (const Statement& statement : statements) {
        out += statement.name.text + "(";
        for (const Token& argument : statement.arguments) {
            out += argument.text + ",";
        }
        out += ")";
        if (statement.has_block) {
            out += "{" + shape(statement.block) + "}";
        }
    }
    return out;
}

TEST(ParserTest, ReadsDirectivesAndNestedBlocks) {
    Parsed parsed = parse("a; b 1 2; c x { d 3; e { } } f;");
    EXPECT_EQ(shape(parsed.statements), "a()b(1,2,)c(x,){d(3,)e(){}}f()");
    EXPECT_TRUE(parsed.errors.empty());
}

TEST(ParserTest, ReadsAnEmptyFile) {
    EXPECT_TRUE(parse("").statements.empty());
    EXPECT_TRUE(parse("# nothing").errors.empty());
}

TEST(ParserTest, RecognisesAForgottenSemicolonByTheNameOnTheNextLine) {
    Parsed parsed = parse("a 1\nlisten 2;");
    EXPECT_EQ(shape(parsed.statements), "a(1,)listen(2,)");
    EXPECT_EQ(parsed.first_error(),
              "f:1:4: found 'listen' on line 2, expected ';' at the end of 'a'");
    EXPECT_EQ(parsed.errors.size(), 1u);
}

TEST(ParserTest, TakesANameOnTheSameLineOrInQuotesAsAValue) {
    EXPECT_EQ(shape(parse("allow play all;").statements), "allow(play,all,)");
    EXPECT_EQ(shape(parse("allow\n \"play\" all;").statements), "allow(play,all,)");
}

TEST(ParserTest, ReportsAForgottenSemicolonBeforeAClosingBrace) {
    Parsed parsed = parse("a { b 1 }\nc;");
    EXPECT_EQ(shape(parsed.statements), "a(){b(1,)}c()");
    EXPECT_EQ(parsed.first_error(), "f:1:8: found '}' on line 1, expected ';' at the end of 'b'");
}

TEST(ParserTest, ReportsBracesThatDoNotMatch) {
    EXPECT_EQ(parse("a;\n}\nb;").first_error(), "f:2:1: found '}', but no block is open here");
    EXPECT_EQ(shape(parse("a;\n}\nb;").statements), "a()b()");
    EXPECT_EQ(parse("\na { b { c; }").first_error(),
              "f:2:1: found no '}' for the block 'a' before the end of the file");
    EXPECT_EQ(parse("{ a; } b;").first_error(),
              "f:1:1: found '{', expected the name of a block before it");
    EXPECT_EQ(shape(parse("{ a; { } } b;").statements), "b()");
}

TEST(ParserTest, ReportsAStraySemicolonAndAQuotedName) {
    EXPECT_EQ(parse("a;;").first_error(), "f:1:3: found ';', expected the name of a directive");
    EXPECT_EQ(parse("\"a\" 1;").first_error(),
              "f:1:1: found a quoted text, expected the name of a directive");
}

TEST(ParserTest, ReportsAForgottenQuoteOnceOnly) {
    EXPECT_EQ(parse("a \"b\nlisten 1;").errors.size(), 1u);
    EXPECT_EQ(parse("a \"b;\nlisten 1;").errors.size(), 1u);
    EXPECT_EQ(shape(parse("a \"b;\nlisten 1;").statements), "a(b,)listen(1,)");
}

std::string nested(size_t depth) {
    std::string text;
    for (size_t i = 0; i < depth; i++) {
        text += "a {";
    }
    return text + std::string(depth, '}');
}

TEST(ParserTest, BoundsTheDepthOfBlocks) {
    EXPECT_TRUE(parse(nested(kMaxConfigDepth)).errors.empty());
    Parsed parsed = parse(nested(kMaxConfigDepth + 1) + " b;");
    ASSERT_EQ(parsed.errors.size(), 1u);
    EXPECT_NE(parsed.first_error().find("nested deeper than 16"), std::string::npos)
        << parsed.first_error();
    EXPECT_EQ(parsed.statements.size(), 2u) << "what follows the bomb is read";
}

TEST(ParserTest, SurvivesADepthBombWithoutUsingTheStack) {
    Parsed parsed = parse(nested(100000) + " b;");
    EXPECT_EQ(parsed.errors.size(), 1u);
    EXPECT_EQ(parsed.statements.back().name.text, "b");
    EXPECT_FALSE(parse(std::string(500000, '{')).errors.empty());
    EXPECT_EQ(parse(std::string(500000, '}')).errors.size(), kMaxDiagnostics);
}

TEST(ParserTest, BoundsTheNumberOfDirectives) {
    std::string text;
    for (size_t i = 0; i < kMaxConfigStatements; i++) {
        text += "a;";
    }
    EXPECT_TRUE(parse(text).errors.empty());
    Parsed parsed = parse(text + "b { c; }");
    EXPECT_EQ(parsed.errors.size(), 1u);
    EXPECT_EQ(parsed.statements.size(), kMaxConfigStatements);
    EXPECT_EQ(parse("o { " + text + "}").errors.size(), 1u)
        << "the open block is not reported as well";
}

TEST(ParserTest, BoundsTheNumberOfValues) {
    std::string values;
    for (size_t i = 0; i < kMaxConfigArguments; i++) {
        values += " v";
    }
    EXPECT_TRUE(parse("a" + values + ";").errors.empty());
    Parsed parsed = parse("a" + values + " v v v; b;");
    EXPECT_EQ(parsed.errors.size(), 1u);
    EXPECT_EQ(parsed.statements.at(0).arguments.size(), kMaxConfigArguments);
    EXPECT_EQ(parsed.statements.size(), 2u);
}

TEST(ParserTest, TakesAnyPrefixOfAFileWithoutHarm) {
    std::string text = "listen 1;\nplay x { a \"q\\\" r\"; b { c 'd'; } } # end\n}";
    for (size_t size = 0; size <= text.size(); size++) {
        Parsed parsed = parse(std::string_view(text).substr(0, size));
        for (const Diagnostic& error : parsed.errors) {
            EXPECT_GE(error.line, 1u);
            EXPECT_LE(error.line, 3u);
        }
    }
}

TEST(ParserTest, TakesQuotedNamesWhereTheyAreAllowed) {
    DiagnosticSink sink("f");
    const std::vector<Statement> statements = parse_statements(
        "\"a b\" 1;\n'listen' 2; x\nlisten 3;", is_name, sink, {}, Dialect::kForeign);
    EXPECT_EQ(shape(statements), "a b(1,)listen(2,)x()listen(3,)");
    EXPECT_EQ(to_string(sink.take()),
              "f:2:14: found 'listen' on line 3, expected ';' at the end of 'x'\n");
}

TEST(ParserTest, PositionsBeginWhereTheTextDoes) {
    DiagnosticSink sink("f");
    const uint16_t file = sink.add_file("g");
    const std::vector<Statement> statements =
        parse_statements("a 1;\nb }", is_name, sink, {7, 5, file});
    ASSERT_EQ(statements.size(), 2U);
    EXPECT_EQ(statements[0].name.at, (Position{7, 5, file}));
    EXPECT_EQ(statements[0].end, (Position{7, 8, file}));
    const std::vector<Diagnostic> errors = sink.take();
    ASSERT_EQ(errors.size(), 2U);
    EXPECT_EQ(errors[0].to_string(), "g:8:2: found '}' on line 8, expected ';' at the end of 'b'");
    EXPECT_EQ(errors[1].to_string(), "g:8:3: found '}', but no block is open here");
}

TEST(ParserTest, WhatIsBrokenIsMarkedForThoseWhoReadTheValues) {
    Parsed parsed = parse("a 1; b \"x; c 2; d { e 3 }");
    ASSERT_EQ(parsed.statements.size(), 4U);
    EXPECT_FALSE(parsed.statements[0].broken);
    EXPECT_TRUE(parsed.statements[1].broken);
    EXPECT_FALSE(parsed.statements[2].broken);
    ASSERT_EQ(parsed.statements[3].block.size(), 1U);
    EXPECT_TRUE(parsed.statements[3].block[0].broken);
    EXPECT_FALSE(parsed.statements[3].broken);
}

TEST(ParserTest, StatementsInsideBlocksCountForTheLimit) {
    std::string text = "o {";
    for (size_t i = 0; i + 1 < kMaxConfigStatements; i++) {
        text += "a;";
    }
    EXPECT_TRUE(parse(text + "}").errors.empty());
    EXPECT_EQ(parse(text + "} b;").errors.size(), 1u);
}

}  // namespace
}  // namespace weir
