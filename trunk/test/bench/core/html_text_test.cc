#include "bench/load/core/html_text.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

const std::string kReplaced = "\xEF\xBF\xBD";

TEST(HtmlTextTest, EscapesWhatHasAMeaningInMarkup) {
    EXPECT_EQ(html_escape("<a href=\"x\">'&amp;'</a>"),
              "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;&lt;/a&gt;");
    EXPECT_EQ(html_escape(""), "");
    EXPECT_EQ(html_escape("plain text, 100 %"), "plain text, 100 %");
}

TEST(HtmlTextTest, KeepsLettersOfEveryLengthInUtf8) {
    std::string text = "\xC2\xA9 \xE2\x9C\x93 \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF";
    EXPECT_EQ(html_escape(text), text);
}

TEST(HtmlTextTest, ReplacesControlCharacters) {
    EXPECT_EQ(html_escape(std::string_view("a\0b\x1B\x7F", 5)),
              "a" + kReplaced + "b" + kReplaced + kReplaced);
    EXPECT_EQ(html_escape("a\tb\r\n"), "a\tb\r\n");
}

TEST(HtmlTextTest, ReplacesBrokenUtf8) {
    for (std::string_view broken :
         {"\x80", "\xC0", "\xC1", "\xC2", "\xE2", "\xF0", "\xF5", "\xFF"}) {
        EXPECT_EQ(html_escape(broken), kReplaced);
        EXPECT_EQ(html_escape(std::string(broken) + "<"), kReplaced + "&lt;")
            << "the byte behind it stays";
    }
    std::string thrice = kReplaced + kReplaced + kReplaced;
    EXPECT_EQ(html_escape("\xE0\x80\x80"), thrice) << "overlong";
    EXPECT_EQ(html_escape("\xED\xA0\x80"), thrice) << "surrogate";
    EXPECT_EQ(html_escape("\xEF\xBF\xBF"), thrice) << "no character";
    EXPECT_EQ(html_escape("\xF4\x90\x80\x80"), thrice + kReplaced) << "beyond the last";
    EXPECT_EQ(html_escape("\xE2\x9C"), kReplaced + kReplaced) << "cut off";
}

}  // namespace
}  // namespace weir::load
