#include "base/rfc3339.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(TimePointTest, ReadsDatesOfEveryForm) {
    // The examples of RFC 3339 §5.8.
    EXPECT_EQ(parse_time_point("1985-04-12T23:20:50.52Z"), 482'196'050'520);
    EXPECT_EQ(parse_time_point("1996-12-19T16:39:57-08:00"), 851'042'397'000);
    EXPECT_EQ(parse_time_point("1990-12-31T23:59:60Z"), 662'688'000'000);
    EXPECT_EQ(parse_time_point("1937-01-01T12:00:27.87+00:20"), -1'041'337'172'130);
    EXPECT_EQ(parse_time_point("1996-12-19T16:39:57 01:00"), 851'009'997'000);  // of a URL
    EXPECT_EQ(parse_time_point("1970-01-01t00:00:00z"), 0);
    EXPECT_EQ(parse_time_point("2024-02-29T00:00:00.1239Z"), 1'709'164'800'123);
}

TEST(TimePointTest, ReadsSeconds) {
    EXPECT_EQ(parse_time_point("1764092000"), 1'764'092'000'000);
    EXPECT_EQ(parse_time_point("1764092000.25"), 1'764'092'000'250);
}

TEST(TimePointTest, RefusesAllElse) {
    for (const std::string_view text :
         {"", "now", "12", "1764092000.", "1764092000x", "176409200000", "-1",
          "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
          "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z", "2024-01-01T00:00:00",
          "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+1:00", "2024-01-01T00:00:00+01",
          "2024-01-01T00:00:00Zx", "2024-01-01", "20240101T000000Z"}) {
        EXPECT_EQ(parse_time_point(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace weir
