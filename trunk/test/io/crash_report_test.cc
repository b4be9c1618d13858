#include "io/crash_report.h"

#include <array>
#include <string>

#include <signal.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/version.h"

namespace weir::io {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class CrashReportTest : public testing::Test {
  protected:
    CrashReportTest() : text_(memory_) { note_program(); }

    std::array<char, 4096> memory_{};
    SafeText text_;
};

TEST_F(CrashReportTest, TextIsCutAtTheBuffersEnd) {
    std::array<char, 4> small;
    SafeText text(small);
    text.add("abc").add("def").add_hex(1);
    EXPECT_EQ(text.text(), "abcd");
    text.clear();
    EXPECT_EQ(text.add_hex(0x1f).text(), "0x1f");
}

TEST_F(CrashReportTest, NumbersAreAsEverywhere) {
    EXPECT_EQ(text_.add_hex(UINT64_MAX).add(" ").add_decimal(UINT64_MAX).text(),
              "0xffffffffffffffff 18446744073709551615");
    text_.clear();
    EXPECT_EQ(text_.add_hex(0).add_decimal(0).add_decimal(7, 3).text(), "0x00007");
}

TEST_F(CrashReportTest, TimesAreThoseOfTheLog) {
    for (const int64_t second :
         {int64_t{0}, int64_t{951'782'399}, int64_t{951'782'400}, int64_t{1'709'164'800},
          int64_t{1'795'309'200}, int64_t{4'107'542'399}, int64_t{4'107'542'400}}) {
        const time_t time = second;
        tm utc{};
        gmtime_r(&time, &utc);
        text_.clear();
        EXPECT_EQ(text_.add_time(second, 5).text(),
                  fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.005Z", utc.tm_year + 1900,
                              utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec));
    }
}

CrashFacts facts_of_a_player() {
    CrashFacts facts;
    facts.signal = SIGSEGV;
    facts.has_address = true;
    facts.address = 0x10;
    facts.thread = "weir";
    facts.coroutine = "small pumps";
    facts.client = "r1234567";
    facts.unix_seconds = 0;
    facts.milliseconds = 1;
    return facts;
}

TEST_F(CrashReportTest, TheLineSaysWhatWhereAndWhichBuild) {
    write_crash_line(text_, facts_of_a_player());
    EXPECT_THAT(std::string(text_.text()),
                StartsWith("1970-01-01T00:00:00.001Z error [r1234567] crashed signal=SIGSEGV "
                           "address=0x10 coroutine=\"small pumps\" thread=weir version=" +
                           std::string(kVersion) + " build="));
    EXPECT_THAT(std::string(text_.text()), EndsWith("\n"));
    EXPECT_THAT(std::string(build_id()), MatchesRegex("[0-9a-f]{40}"));
    text_.clear();
    CrashFacts facts;
    facts.signal = SIGABRT;
    facts.thread = "weir-worker";
    write_crash_line(text_, facts);
    EXPECT_THAT(std::string(text_.text()), HasSubstr("error crashed signal=SIGABRT thread="));
}

[[gnu::noinline]] int somewhere_in_the_program() {
    asm volatile("");
    return 1;
}

TEST_F(CrashReportTest, AFrameHasFileOffsetAndName) {
    const auto* address = reinterpret_cast<const char*>(&somewhere_in_the_program) + 1;
    write_crash_frame(text_, 3, address);
    EXPECT_THAT(std::string(text_.text()),
                MatchesRegex("  #3 /.*weir-component-tests\\(\\+0x[0-9a-f]+\\) "
                             "_ZN.*somewhere_in_the_program.*\n"));
    text_.clear();
    write_crash_frame(text_, 0, reinterpret_cast<const void*>(&::gmtime_r));
    EXPECT_THAT(std::string(text_.text()), StartsWith("  #0 "));
    text_.clear();
    write_crash_frame(text_, 0, reinterpret_cast<const void*>(16));
    EXPECT_EQ(text_.text(), "  #0 0x10\n");
}

TEST_F(CrashReportTest, JsonIsOneLine) {
    void* const frames[] = {reinterpret_cast<void*>(16), reinterpret_cast<void*>(32)};
    write_crash_json(text_, facts_of_a_player(), frames);
    EXPECT_THAT(std::string(text_.text()),
                StartsWith(R"({"time":"1970-01-01T00:00:00.001Z","level":"error","id":"r1234567",)"
                           R"("message":"crashed","signal":"SIGSEGV","address":"0x10",)"
                           R"("coroutine":"small pumps","thread":"weir","version":")"));
    EXPECT_THAT(std::string(text_.text()), EndsWith(R"("stack":["0x10","0x20"]})"
                                                    "\n"));
}

TEST_F(CrashReportTest, AnOffsetOfNoFunctionHasNoName) {
    std::array<char, 100> name;
    EXPECT_EQ(program_symbol(1, name), "");
    EXPECT_EQ(program_symbol(UINT64_MAX, name), "");
    EXPECT_NE(somewhere_in_the_program(), 0);
}

}  // namespace
}  // namespace weir::io
