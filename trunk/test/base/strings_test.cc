#include "base/strings.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Views = std::vector<std::string_view>;

TEST(TrimTest, RemovesBlanksAtBothEndsOnly) {
    EXPECT_EQ(trim(" \t a b\r\n"), "a b");
    EXPECT_EQ(trim("a"), "a");
}

TEST(TrimTest, GivesNothingForBlanks) {
    EXPECT_EQ(trim(" \t\r\n"), "");
    EXPECT_EQ(trim(""), "");
}

TEST(SplitTest, KeepsEmptyParts) {
    EXPECT_EQ(split("a,,b,", ','), (Views{"a", "", "b", ""}));
    EXPECT_EQ(split("", ','), (Views{""}));
    EXPECT_EQ(split("a", ','), (Views{"a"}));
}

TEST(SplitTest, PutsTheRestIntoTheLastPart) {
    EXPECT_EQ(split("a/b/c", '/', 2), (Views{"a", "b/c"}));
    EXPECT_EQ(split("a/b/c", '/', 1), (Views{"a/b/c"}));
}

TEST(SplitOnceTest, SaysWhetherTheSeparatorWasThere) {
    Halves with = split_once("a=b=c", '=');
    EXPECT_EQ(with.before, "a");
    EXPECT_EQ(with.after, "b=c");
    EXPECT_TRUE(with.found);
    Halves without = split_once("a", '=');
    EXPECT_EQ(without.before, "a");
    EXPECT_EQ(without.after, "");
    EXPECT_FALSE(without.found);
}

TEST(CaseTest, ComparesAsciiOnly) {
    EXPECT_EQ(to_lower("Content-LENGTH"), "content-length");
    EXPECT_TRUE(equals_ignore_case("Host", "hOST"));
    EXPECT_FALSE(equals_ignore_case("Host", "Hos"));
    EXPECT_FALSE(equals_ignore_case("Host", "Hosts"));
    EXPECT_EQ(to_lower("\xc3\x84"), "\xc3\x84");
}

TEST(ParseUintTest, TakesDigitsOnly) {
    EXPECT_EQ(parse_uint("0"), 0u);
    EXPECT_EQ(parse_uint("18446744073709551615"), UINT64_MAX);
    for (std::string_view bad :
         {"", "-1", "+1", " 1", "1 ", "0x10", "1.5", "ten", "18446744073709551616"}) {
        EXPECT_FALSE(parse_uint(bad)) << bad;
    }
}

TEST(ParseUintTest, ChecksTheRangeInclusively) {
    EXPECT_EQ(parse_uint("128", 128, 256), 128u);
    EXPECT_EQ(parse_uint("256", 128, 256), 256u);
    EXPECT_FALSE(parse_uint("127", 128, 256));
    EXPECT_FALSE(parse_uint("257", 128, 256));
}

TEST(EditDistanceTest, CountsEachKindOfChangeAsOne) {
    EXPECT_EQ(edit_distance("listen", "listen"), 0u);
    EXPECT_EQ(edit_distance("listen", "lisen"), 1u);
    EXPECT_EQ(edit_distance("listen", "listenn"), 1u);
    EXPECT_EQ(edit_distance("listen", "lasten"), 1u);
    EXPECT_EQ(edit_distance("listen", "litsen"), 1u) << "a swap of neighbours is one slip";
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(EditDistanceTest, IsSymmetric) {
    EXPECT_EQ(edit_distance("chunk_size", "max_connections"),
              edit_distance("max_connections", "chunk_size"));
}

TEST(EditDistanceTest, DoesNotCompareLongTexts) {
    std::string at_limit(kMaxEditDistanceText, 'a');
    std::string over(kMaxEditDistanceText + 1, 'a');
    EXPECT_EQ(edit_distance(at_limit, "a"), kMaxEditDistanceText - 1);
    EXPECT_EQ(edit_distance(over, "a"), over.size());
    EXPECT_EQ(edit_distance(over, over), 0u);
}

TEST(NearestNameTest, FindsTheNameThatWasMeant) {
    const std::string_view names[] = {"listen", "chunk_size", "max_connections", "play"};
    EXPECT_EQ(nearest_name("lisen", names), "listen");
    EXPECT_EQ(nearest_name("chunksize", names), "chunk_size");
    EXPECT_EQ(nearest_name("max_conections", names), "max_connections");
    EXPECT_EQ(nearest_name("LISTEN", names), "listen");
    EXPECT_EQ(nearest_name("pley", names), "play");
}

TEST(NearestNameTest, GivesNothingWhenNothingIsNear) {
    const std::string_view names[] = {"listen", "play", "on"};
    EXPECT_EQ(nearest_name("transcode", names), "");
    EXPECT_EQ(nearest_name("x", names), "");
    EXPECT_EQ(nearest_name("", names), "");
}

TEST(NearestNameTest, PrefersTheNearerOneAndThenTheFirst) {
    const std::string_view names[] = {"queue_sizes", "queue_size", "queue_side"};
    EXPECT_EQ(nearest_name("queue_siz", names), "queue_size");
    const std::string_view tie[] = {"abcx", "abcy"};
    EXPECT_EQ(nearest_name("abcz", tie), "abcx");
}

TEST(UrlDecodeTest, DecodesPairsOfHexDigits) {
    EXPECT_EQ(url_decode("a%20b%2Fc%2f"), "a b/c/");
    EXPECT_EQ(url_decode("%00"), std::string_view("\0", 1));
}

TEST(UrlDecodeTest, LeavesBrokenEscapesAsTheyAre) {
    EXPECT_EQ(url_decode("100%"), "100%");
    EXPECT_EQ(url_decode("%2"), "%2");
    EXPECT_EQ(url_decode("%zz%4"), "%zz%4");
    EXPECT_EQ(url_decode("%%41"), "%A");
}

TEST(UrlDecodeTest, LeavesAPlusAlone) {
    EXPECT_EQ(url_decode("a+b"), "a+b");
    EXPECT_EQ(url_decode("a%2Bb"), "a+b");
}

TEST(ParseQueryTest, GivesDecodedPairsInOrder) {
    std::vector<QueryItem> expected{{"vhost", "a.b"}, {"key", "x y"}, {"key", "2"}};
    EXPECT_EQ(parse_query("?vhost=a.b&key=x%20y&key=2"), expected);
    EXPECT_EQ(parse_query("vhost=a.b&key=x%20y&key=2"), expected);
}

// Keys are often base64 and are typed into encoders as they are; HTTP reads them in the same way.
TEST(ParseQueryTest, APlusInAValueIsAPlus) {
    const std::vector<QueryItem> expected{{"key", "a+b=="}};
    EXPECT_EQ(parse_query("key=a+b=="), expected);
    EXPECT_EQ(parse_query("key=a%2Bb%3D%3D"), expected);
}

TEST(ParseQueryTest, TakesKeysWithoutValueAndSkipsEmptyItems) {
    std::vector<QueryItem> expected{{"a", ""}, {"b", ""}, {"", "c"}, {"d", "e=f"}};
    EXPECT_EQ(parse_query("a&&b=&=c&d=e=f&"), expected);
    EXPECT_TRUE(parse_query("").empty());
    EXPECT_TRUE(parse_query("?").empty());
    EXPECT_TRUE(parse_query("&&&").empty());
}

TEST(ParseQueryTest, DropsItemsOverTheLimit) {
    std::string query;
    for (size_t i = 0; i < kMaxQueryItems + 5; i++) {
        query += "k=v&";
    }
    EXPECT_EQ(parse_query(query).size(), kMaxQueryItems);
}

TEST(QueryValueTest, GivesTheFirstValueOfTheKey) {
    std::vector<QueryItem> items = parse_query("key=1&key=2&empty");
    EXPECT_EQ(query_value(items, "key"), "1");
    EXPECT_EQ(query_value(items, "empty"), "");
    EXPECT_EQ(query_value(items, "none"), std::nullopt);
}

TEST(NearestNameTest, AThirdOfTheNameMayBeWrong) {
    const std::string_view names[] = {"abcdefghi"};
    EXPECT_EQ(nearest_name("abcdefxyz", names), "abcdefghi");
    EXPECT_EQ(nearest_name("abcdewxyz", names), "");
    // One slip is always allowed, but something has to be left.
    const std::string_view two[] = {"on"};
    EXPECT_EQ(nearest_name("om", two), "on");
    EXPECT_EQ(nearest_name("n", two), "");
    EXPECT_EQ(nearest_name("on", {}), "");
}

TEST(NearestNameTest, LongNamesAreFoundOnlyAsTheyAre) {
    const std::string name(kMaxEditDistanceText + 1, 'a');
    const std::string_view names[] = {name};
    EXPECT_EQ(nearest_name(name, names), name);
    EXPECT_EQ(nearest_name(name.substr(1), names), "");
}

TEST(ParseQueryTest, TheLimitCountsItemsThatAreTaken) {
    std::string query = "&&&";
    for (size_t i = 0; i < kMaxQueryItems; i++) {
        query += "k" + std::to_string(i) + "&&";
    }
    std::vector<QueryItem> items = parse_query(query + "over=1");
    ASSERT_EQ(items.size(), kMaxQueryItems);
    EXPECT_EQ(items.back().key, "k" + std::to_string(kMaxQueryItems - 1));
    EXPECT_EQ(query_value(items, "over"), std::nullopt);
}

TEST(ParseQueryTest, DecodesAfterSplitting) {
    std::vector<QueryItem> expected{{"a&b", "c=d"}, {"e", "%zz"}};
    EXPECT_EQ(parse_query("a%26b=c%3Dd&e=%zz"), expected);
    EXPECT_EQ(parse_query("??a=1"), (std::vector<QueryItem>{{"?a", "1"}}));
}

TEST(SplitTest, SplitsAtNoOtherCharacter) {
    EXPECT_EQ(split(",", ','), (Views{"", ""}));
    EXPECT_EQ(split(std::string_view("a\0b", 3), '\0'), (Views{"a", "b"}));
    EXPECT_EQ(split("a,b", ',', 3), (Views{"a", "b"}));
    EXPECT_EQ(split("a,b,", ',', 2), (Views{"a", "b,"}));
}

}  // namespace
}  // namespace weir
