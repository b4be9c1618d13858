#include "bench/load/core/units.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

TEST(UnitsTest, DurationsHaveUnitsAndSecondsAreTheDefault) {
    EXPECT_EQ(*parse_duration("30s"), Millis(30'000));
    EXPECT_EQ(*parse_duration("30"), Millis(30'000));
    EXPECT_EQ(*parse_duration("500ms"), Millis(500));
    EXPECT_EQ(*parse_duration("1.5s"), Millis(1'500));
    EXPECT_EQ(*parse_duration("2m"), Millis(120'000));
    EXPECT_EQ(*parse_duration("1h"), Millis(3'600'000));
    EXPECT_EQ(*parse_duration("0"), Millis(0));
}

TEST(UnitsTest, WrongDurationsSayWhatWasExpected) {
    for (const char* text : {"", "s", "-1s", "30x", "30 s", "1e99s", "inf", "nan", "721h"}) {
        auto result = parse_duration(text);
        ASSERT_FALSE(result.ok()) << text;
        EXPECT_NE(result.error().message().find("expected a duration"), std::string_view::npos)
            << text;
    }
}

TEST(UnitsTest, BitRatesHaveDecimalMultiples) {
    EXPECT_EQ(*parse_bit_rate("500k"), 500'000U);
    EXPECT_EQ(*parse_bit_rate("4M"), 4'000'000U);
    EXPECT_EQ(*parse_bit_rate("2.5M"), 2'500'000U);
    EXPECT_EQ(*parse_bit_rate("64000"), 64'000U);
    for (const char* text : {"", "k", "-5k", "5kb", "1001M", "5 k"}) {
        EXPECT_FALSE(parse_bit_rate(text).ok()) << text;
    }
}

TEST(UnitsTest, CountsAreBounded) {
    EXPECT_EQ(*parse_count("7", 1, 10), 7U);
    for (const char* text : {"", "0", "11", "-1", "x", "7x", "99999999999999999999999"}) {
        EXPECT_FALSE(parse_count(text, 1, 10).ok()) << text;
    }
}

TEST(UnitsTest, RtmpUrlsSplitIntoAppAndStream) {
    auto url = parse_url("rtmp://127.0.0.1/live/livestream");
    ASSERT_TRUE(url.ok());
    EXPECT_EQ(url->host, "127.0.0.1");
    EXPECT_EQ(url->port, 1935);
    EXPECT_EQ(url->app, "live");
    EXPECT_EQ(url->stream, "livestream");
    EXPECT_EQ(url->authority(), "127.0.0.1:1935");
}

TEST(UnitsTest, AppsMayHaveSlashesAndQueriesStayWithTheStream) {
    auto url = parse_url("rtmp://[::1]:24000/a/b/c?key=x/y");
    ASSERT_TRUE(url.ok());
    EXPECT_EQ(url->host, "::1");
    EXPECT_EQ(url->port, 24'000);
    EXPECT_EQ(url->app, "a/b");
    EXPECT_EQ(url->stream, "c?key=x/y");
    EXPECT_EQ(url->authority(), "[::1]:24000");
}

TEST(UnitsTest, HttpUrlsKeepTheirPath) {
    auto url = parse_url("http://localhost:8080/live/livestream.flv?k=1");
    ASSERT_TRUE(url.ok());
    EXPECT_EQ(url->path, "/live/livestream.flv?k=1");
    EXPECT_EQ(parse_url("ws://h/x.flv")->port, 8080);
    EXPECT_FALSE(parse_url("ws://h/x.flv")->tls());
    for (const char* text : {"wss://h/x.flv", "https://h/x.flv", "rtmps://h/app/stream"}) {
        EXPECT_TRUE(parse_url(text)->tls()) << text;
        EXPECT_EQ(parse_url(text)->port, 443);
    }
    EXPECT_EQ(parse_url("rtmps://h/app/stream")->stream, "stream");
}

TEST(UnitsTest, WrongUrlsAreRefused) {
    for (const char* text :
         {"", "live/x", "://h/a/b", "ftp://h/a", "rtmp://h/live", "rtmp://h/live/",
          "rtmp:///live/x", "rtmp://h:0/a/b", "rtmp://h:70000/a/b", "rtmp://h:x/a/b",
          "rtmp://[::1/a/b", "rtmp://[::1]x/a/b"}) {
        EXPECT_FALSE(parse_url(text).ok()) << text;
    }
}

TEST(UnitsTest, PatternsTakeANumber) {
    EXPECT_EQ(numbered("live/s_%d", 7), "live/s_7");
    EXPECT_EQ(numbered("live/s", 7), "live/s");
    EXPECT_TRUE(has_number("a%db"));
    EXPECT_FALSE(has_number("ab"));
}

TEST(UnitsTest, LargeCountsAreGroupedByThousands) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(12'345'678), "12,345,678");
}

TEST(UnitsTest, RatesReadWell) {
    EXPECT_EQ(bit_rate_text(500'000), "500.0 kbit/s");
    EXPECT_EQ(bit_rate_text(4'000'000), "4.0 Mbit/s");
    EXPECT_EQ(bit_rate_text(1'250'000'000), "1.25 Gbit/s");
}

}  // namespace
}  // namespace weir::load
