#include "base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Utf8Test, CharactersOfEverySize) {
    EXPECT_EQ(utf8_size("a"), 1U);
    EXPECT_EQ(utf8_size("\xc3\xa9t\xc3\xa9"), 2U);
    EXPECT_EQ(utf8_size("\xe6\x97\xa5"), 3U);
    EXPECT_EQ(utf8_size("\xf0\x9f\x8e\xa5 film"), 4U);
    EXPECT_EQ(utf8_size("\xf4\x8f\xbf\xbf"), 4U);
}

TEST(Utf8Test, WhatIsNoCharacterHasNoSize) {
    for (const std::string_view text :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xf0\x80\x80\x80",
          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xc3(",
          "\xe6\x97", "\xe6(\xa5", "\xf0\x9f\x8e"}) {
        EXPECT_EQ(utf8_size(text), 0U) << testing::PrintToString(text);
    }
}

TEST(Utf8Test, LettersAndPicturesArePlain) {
    for (const std::string_view text : {" ", "~", "\xc3\xa9", "\xd0\xb6", "\xd7\xa9", "\xd8\xb4",
                                        "\xe6\x97\xa5", "\xe2\x82\xac", "\xf0\x9f\x8e\xa5"}) {
        EXPECT_TRUE(is_plain_character(text)) << text;
    }
}

TEST(Utf8Test, WhatChangesALineOrHidesIsNot) {
    for (const std::string_view text :
         {"\n",           "\x1b",         "\x7f",         "\xc2\x85",     "\xc2\x9b",
          "\xc2\xa0",     "\xc2\xad",     "\xd8\x9c",     "\xe2\x80\x8b", "\xe2\x80\x8e",
          "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6",
          "\xe2\x81\xa9", "\xe3\x80\x80", "\xef\xbb\xbf", "\xef\xbf\xbf", "\xf3\xa0\x81\x81"}) {
        EXPECT_FALSE(is_plain_character(text)) << testing::PrintToString(text);
    }
}

std::string encoded(uint32_t code) {
    const auto tail = [code](unsigned shift) {
        return static_cast<char>(0x80 | (code >> shift & 0x3F));
    };
    if (code < 0x80) {
        return {static_cast<char>(code)};
    }
    if (code < 0x800) {
        return {static_cast<char>(0xC0 | code >> 6), tail(0)};
    }
    if (code < 0x10000) {
        return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
    }
    return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8Test, EveryCodePointHasItsSizeAndSurrogatesHaveNone) {
    size_t wrong = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        const std::string text = encoded(code);
        const bool surrogate = code >= 0xD800 && code < 0xE000;
        wrong += utf8_size(text) == (surrogate ? 0 : text.size()) ? 0U : 1U;
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(utf8_size(encoded(0x110000)), 0U);
}

TEST(Utf8Test, NeighboursOfWhatHidesArePlain) {
    for (const uint32_t code : {0x20U,   0x7EU,   0xA1U,   0xACU,   0xAEU,   0x61BU,   0x61DU,
                                0x167FU, 0x1681U, 0x1FFFU, 0x2010U, 0x2027U, 0x2030U,  0x205EU,
                                0x2070U, 0x2FFFU, 0x3001U, 0xFEFEU, 0xFFFDU, 0x10000U, 0xDFFFDU}) {
        EXPECT_TRUE(is_plain_character(encoded(code))) << code;
    }
    for (const uint32_t code : {0x00U, 0x1FU, 0x9FU, 0x2000U, 0x200DU, 0x200FU, 0x2028U, 0x202FU,
                                0x205FU, 0x2060U, 0x206FU, 0xFFF9U, 0xFFFFU, 0xE0001U, 0xE007FU}) {
        EXPECT_FALSE(is_plain_character(encoded(code))) << code;
    }
}

// Unicode 15 §23.7: two at the end of each plane, and 32 more.
TEST(Utf8Test, NoncharactersAreNotPlain) {
    for (uint32_t plane = 0; plane <= 0x10; plane++) {
        for (const uint32_t last : {0xFFFEU, 0xFFFFU}) {
            EXPECT_FALSE(is_plain_character(encoded(plane << 16 | last))) << plane << ' ' << last;
        }
    }
    for (uint32_t code = 0xFDD0; code <= 0xFDEF; code++) {
        EXPECT_FALSE(is_plain_character(encoded(code))) << code;
    }
    for (const uint32_t code : {0xFDCFU, 0xFDF0U, 0x1FFFDU, 0x20000U, 0x10FFFDU}) {
        EXPECT_TRUE(is_plain_character(encoded(code))) << code;
    }
}

}  // namespace
}  // namespace weir
