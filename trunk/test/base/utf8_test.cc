#include "base/utf8.h"

#include <string>

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

}  // namespace
}  // namespace weir
