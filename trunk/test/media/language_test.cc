#include "media/language.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::media {
namespace {

std::string code(std::string_view tag) {
    const auto letters = language_code(tag);
    return {letters.data(), letters.size()};
}

TEST(LanguageTest, ATagIsTheShortestCode) {
    EXPECT_EQ(language_tag("eng"), "en");
    EXPECT_EQ(language_tag("ENG"), "en");
    EXPECT_EQ(language_tag("ger"), "de") << "ISO 639-2/B";
    EXPECT_EQ(language_tag("deu"), "de");
    EXPECT_EQ(language_tag("en"), "en");
    EXPECT_EQ(language_tag("eng-US"), "en-US");
    EXPECT_EQ(language_tag("pt-BR"), "pt-BR");
    EXPECT_EQ(language_tag("qaa"), "qaa") << "the original, to broadcasters";
    EXPECT_EQ(language_tag("nds"), "nds") << "there are no two letters for it";
}

TEST(LanguageTest, WhatNamesNoLanguageIsNone) {
    for (const std::string_view said :
         {"", "und", "mul", "zxx", "mis", "e", "english", "e\"g", "en-", "12", "en us", "-en"}) {
        EXPECT_EQ(language_tag(said), "") << said;
    }
    EXPECT_EQ(language_tag(std::string_view("\0\0\0", 3)), "");
    EXPECT_EQ(language_tag("en-" + std::string(40, 'x')), "");
}

TEST(LanguageTest, FilesHaveThreeLetters) {
    EXPECT_EQ(code("en"), "eng");
    EXPECT_EQ(code("en-GB"), "eng");
    EXPECT_EQ(code("de"), "deu");
    EXPECT_EQ(code("nds"), "nds");
    EXPECT_EQ(code(""), "und");
    EXPECT_EQ(code("xx"), "und");
}

TEST(LanguageTest, PeopleHaveNames) {
    EXPECT_EQ(language_name("en"), "English");
    EXPECT_EQ(language_name("en-GB"), "") << "the tag says more";
    EXPECT_EQ(language_name(""), "");
    EXPECT_EQ(language_name("qaa"), "");
}

}  // namespace
}  // namespace weir::media
