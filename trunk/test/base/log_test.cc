#include "base/log.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::log {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

std::vector<std::string>& lines() {
    static std::vector<std::string> instance;
    return instance;
}

class LogTest : public testing::Test {
  protected:
    LogTest() {
        lines().clear();
        set_sink([](Level, std::string_view line) { lines().emplace_back(line); });
    }

    ~LogTest() override {
        set_sink(nullptr);
        set_id_hook(nullptr);
        set_level(Level::kInfo);
    }
};

TEST_F(LogTest, ALineHasTimeLevelIdAndMessage) {
    set_id_hook([]() -> std::string_view { return "r1234567"; });
    warn("port={} in use", 1935);
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.["
                                         "0-9]{3}Z warn  \\[r1234567\\] port=1935 in use"));
}

TEST_F(LogTest, WithoutAClientThereIsNoId) {
    error("x");
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], EndsWith("Z error x"));
}

TEST_F(LogTest, AnExplicitIdReplacesTheCoroutines) {
    set_id_hook([]() -> std::string_view { return "coroutine"; });
    info_as("player", "x");
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], EndsWith("[player] x"));
}

TEST_F(LogTest, LinesBelowTheLevelAreNotWritten) {
    debug("a");
    EXPECT_TRUE(lines().empty());
    set_level(Level::kError);
    warn("b");
    EXPECT_TRUE(lines().empty());
    error("c");
    EXPECT_EQ(lines().size(), 1U);
    set_level(Level::kDebug);
    debug("d");
    EXPECT_EQ(lines().size(), 2U);
}

TEST_F(LogTest, BracesInAPeersTextAreNoFormat) {
    info("name={}", "{0}{}");
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], EndsWith("name={0}{}"));
}

TEST(LogEscapedTest, KeepsPlainText) {
    EXPECT_EQ(escaped("/live/stream-1?x=y z~"), "/live/stream-1?x=y z~");
}

TEST(LogEscapedTest, HidesControlCharactersAndQuotes) {
    EXPECT_EQ(escaped("a\nb\r\x1b[31m\"\\"), "a\\x0ab\\x0d\\x1b[31m\\\"\\\\");
    EXPECT_EQ(escaped(std::string_view("\0\x7f\xff", 3)), "\\x00\\x7f\\xff");
}

TEST(LogEscapedTest, NamesOfTheWorldAreShownAsTheyAre) {
    EXPECT_EQ(
        escaped("live/\xd0\xba\xd0\xb8\xd0\xbd\xd0\xbe \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\xa5"),
        "live/\xd0\xba\xd0\xb8\xd0\xbd\xd0\xbe \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\xa5");
    EXPECT_EQ(token("\xd0\xba \xd0\xb8"), "\xd0\xba\\x20\xd0\xb8");
    // Right-to-left override, a line separator, a space that is none, half a character.
    EXPECT_EQ(escaped("a\xe2\x80\xae"
                      "b"),
              "a\\xe2\\x80\\xaeb");
    EXPECT_EQ(escaped("a\xe2\x80\xa8"
                      "b"),
              "a\\xe2\\x80\\xa8"
              "b");
    EXPECT_EQ(token("a\xc2\xa0role=admin"), "a\\xc2\\xa0role=admin");
    EXPECT_EQ(escaped("\xe6\x97"), "\\xe6\\x97");
    EXPECT_EQ(escaped("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5", 5), "\xe6\x97\xa5\xe6\x9c\xac...");
}

TEST(LogEscapedTest, CutsLongText) {
    EXPECT_EQ(escaped("abcdef", 6), "abcdef");
    EXPECT_EQ(escaped("abcdefg", 6), "abcdef...");
    EXPECT_LE(escaped(std::string(10'000, '\n')).size(), 200U + 3 + 3)
        << "an escape may stick out, no more";
}

TEST(ThrottleTest, LetsOneThroughPerPeriodAndCountsTheRest) {
    Throttle throttle(Millis(1000));
    MonoTime now{Seconds(100)};
    EXPECT_TRUE(throttle.allow(now));
    EXPECT_EQ(throttle.suppressed(), 0U);
    for (int i = 0; i < 5; i++) {
        EXPECT_FALSE(throttle.allow(now + Millis(i * 199)));
    }
    EXPECT_TRUE(throttle.allow(now + Millis(1000)));
    EXPECT_EQ(throttle.suppressed(), 5U);
    EXPECT_TRUE(throttle.allow(now + Millis(5000)));
    EXPECT_EQ(throttle.suppressed(), 0U) << "each line reports its own period";
}

TEST(LogTokenTest, StaysOneWord) {
    EXPECT_EQ(token("live/a b=c"), "live/a\\x20b=c");
    EXPECT_EQ(token(""), "-");
    EXPECT_EQ(token("a\"b"), "a\\\"b");
    EXPECT_EQ(token("abcdef", 3), "abc...");
}

TEST_F(LogTest, AThrottledLineSaysWhatItSwallowed) {
    Throttle throttle(Millis(60'000));
    for (int i = 0; i < 3; i++) {
        throttled(throttle, Level::kWarn, "refused ip={}", i);
    }
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], EndsWith("refused ip=0"));
    Throttle open(Millis(0));
    throttled(open, Level::kWarn, "a");
    throttled(open, Level::kDebug, "below the level");
    throttled(open, Level::kWarn, "b");
    ASSERT_EQ(lines().size(), 3U);
    EXPECT_THAT(lines()[2], EndsWith("warn  b"));
}

TEST_F(LogTest, FlushAsksTheHook) {
    EXPECT_TRUE(flush(Millis(1))) << "a sink that writes by itself has nothing to flush";
    set_flush_hook([](Millis most) { return most > Millis(5); });
    EXPECT_FALSE(flush(Millis(1)));
    EXPECT_TRUE(flush(Millis(10)));
    set_flush_hook(nullptr);
}

TEST_F(LogTest, TheNextLineSaysHowManyWereSwallowed) {
    Throttle throttle(Seconds(60));
    const MonoTime earlier = MonoClock::now() - Seconds(120);
    EXPECT_TRUE(throttle.allow(earlier));
    EXPECT_FALSE(throttle.allow(earlier + Seconds(1)));
    EXPECT_FALSE(throttle.allow(earlier + Seconds(2)));
    throttled(throttle, Level::kError, "refused ip={}", "192.0.2.1");
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], EndsWith("refused ip=192.0.2.1 (2 more were not logged)"));
}

TEST_F(LogTest, ALineBelowTheLevelTakesNoPlaceOfTheThrottle) {
    Throttle throttle(Seconds(60));
    throttled(throttle, Level::kDebug, "a");
    throttled(throttle, Level::kInfo, "b");
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_THAT(lines()[0], EndsWith("info  b"));
}

TEST(ThrottleTest, ThePeriodEndsToTheMicrosecond) {
    Throttle throttle(Millis(1000));
    const MonoTime now{Seconds(100)};
    EXPECT_TRUE(throttle.allow(now));
    EXPECT_FALSE(throttle.allow(now + Micros(999'999)));
    EXPECT_TRUE(throttle.allow(now + Micros(1'000'000)));
    EXPECT_EQ(throttle.suppressed(), 1U);
}

TEST(LogEscapedTest, NothingOfATextGoesPastTheLimit) {
    EXPECT_EQ(escaped("abc", 0), "...");
    EXPECT_EQ(escaped("", 0), "");
    EXPECT_EQ(token("a b", 1), "a...");
    std::string all;
    for (int c = 0; c < 256; c++) {
        all += static_cast<char>(c);
    }
    for (const char c : escaped(all, 10'000)) {
        EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
    }
    for (const char c : token(all, 10'000)) {
        EXPECT_TRUE(c > ' ' && c <= '~') << int{c};
    }
}

}  // namespace
}  // namespace weir::log
