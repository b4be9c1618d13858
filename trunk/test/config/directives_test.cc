#include "config/directives.h"

#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "config/value.h"

namespace weir::config {
namespace {

bool is_block(const Directive& directive) {
    return directive.type == ValueType::kBlock || directive.type == ValueType::kVhost ||
           directive.type == ValueType::kApplication;
}

TEST(DirectivesTest, EachNameStandsOnceInAContext) {
    std::set<std::pair<std::string_view, unsigned>> seen;
    for (const Directive& directive : directives()) {
        for (unsigned bit = kGlobalContext; bit <= kLastContext; bit <<= 1) {
            if ((directive.contexts & bit) != 0) {
                EXPECT_TRUE(seen.insert({directive.name, bit}).second) << directive.name;
            }
        }
    }
}

TEST(DirectivesTest, EachOneIsComplete) {
    for (const Directive& directive : directives()) {
        EXPECT_FALSE(directive.doc.empty()) << directive.name;
        EXPECT_TRUE(directive.doc.ends_with('.')) << directive.name;
        EXPECT_EQ(directive.doc.find_first_of("|\n"), std::string_view::npos)
            << directive.name << " breaks the tables";
        EXPECT_TRUE(is_block(directive) || directive.apply != nullptr) << directive.name;
        EXPECT_TRUE(is_block(directive) || !directive.default_text.empty() ||
                    !directive.example.empty())
            << directive.name << " has neither a default nor an example";
        EXPECT_EQ(is_block(directive), directive.opens != kGlobalContext) << directive.name;
        EXPECT_LE(directive.min, directive.max) << directive.name;
        EXPECT_EQ(directive.type == ValueType::kChoice, !directive.choices.empty())
            << directive.name;
    }
}

TEST(DirectivesTest, DefaultsAndExamplesPassTheirOwnChecks) {
    for (const Directive& directive : directives()) {
        std::string_view given =
            directive.default_text.empty() ? directive.example : directive.default_text;
        if (is_block(directive)) {
            continue;
        }
        DiagnosticSink sink("");
        std::string text = std::string(directive.name) + " " + std::string(given) + ";";
        std::vector<Statement> statements = parse_statements(text, is_directive_name, sink);
        EXPECT_TRUE(parse_value(directive, statements.at(0), {}, sink))
            << text << to_string(sink.take());
    }
}

TEST(DirectivesTest, FindsByNameAndContext) {
    EXPECT_EQ(find_directive("dir", kHttpServerContext)->default_text, "../objs/www");
    EXPECT_EQ(find_directive("dir", kVhostContext), nullptr);
    EXPECT_NE(find_directive("listen", kGlobalContext), find_directive("listen", kHttpApiContext));
    EXPECT_EQ(find_directive("play", kGlobalContext), find_directive("play", kVhostContext));
    EXPECT_TRUE(is_directive_name("dir"));
    EXPECT_FALSE(is_directive_name("directory"));
}

TEST(DirectivesTest, SaysWhatIsExpected) {
    EXPECT_EQ(expectation(*find_directive("log_level", kGlobalContext)),
              "debug, info, warn or error");
    EXPECT_EQ(expectation(*find_directive("max_connections", kGlobalContext)),
              "a number from 1 to 1000000");
    EXPECT_EQ(expectation(*find_directive("queue_size", kPlayContext)),
              "a size from 256k to 1g (bytes, or with k, m or g)");
}

}  // namespace
}  // namespace weir::config
