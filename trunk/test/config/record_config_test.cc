// record { }: what it takes, what it refuses, and what applications inherit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/config_warnings.h"
#include "config/value_words.h"

namespace weir::config {
namespace {

using testing::HasSubstr;

RecordConfig of(std::string_view text, std::string_view app = "live") {
    ParseOutcome outcome = parse_config(text, "c/t.conf");
    EXPECT_TRUE(outcome.ok()) << text << to_string(outcome.errors);
    return outcome.ok() ? outcome.config->find_settings("", app)->record : RecordConfig();
}

std::string error_of(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_EQ(outcome.errors.size(), 1U) << text;
    return outcome.errors.empty() ? "" : outcome.errors.front().to_string();
}

TEST(RecordConfigTest, NothingIsRecordedByDefault) {
    const RecordConfig record = of("");
    EXPECT_FALSE(record.enabled);
    EXPECT_TRUE(record.path.empty());
    EXPECT_EQ(record.name, "{vhost}/{app}/{stream}/{time}");
    EXPECT_EQ(record.fragment, Seconds(2));
    EXPECT_EQ(record.split, Millis(0));
    EXPECT_EQ(record.keep, Millis(0));
}

TEST(RecordConfigTest, WhatDoesNothingWithoutAFolderIsSaidOnce) {
    const auto warnings = [](std::string_view text) {
        ParseOutcome outcome = parse_config(text, "t.conf");
        EXPECT_TRUE(outcome.ok()) << text << to_string(outcome.errors);
        return config_warnings(*outcome.config);
    };
    EXPECT_THAT(warnings("record { enabled on; } vhost __defaultVhost__ { application a { } }"),
                testing::ElementsAre(HasSubstr("record { enabled on; } does nothing without")));
    EXPECT_THAT(warnings("vhost __defaultVhost__ { application a { record { enabled on; } } "
                         "application b { record { enabled on; path /dir; } } }"),
                testing::ElementsAre(HasSubstr("application a of vhost __defaultVhost__: record")));
    EXPECT_THAT(warnings("record { enabled on; path /dir; }"), testing::IsEmpty());
    EXPECT_THAT(warnings("record { name x; }"), testing::IsEmpty());
}

TEST(RecordConfigTest, TakesAllThatItHas) {
    const RecordConfig record =
        of("record { enabled on; path rec; format flv; name \"x/{stream}\"; split 1h; "
           "split_size 2g; split_midnight on; keep 7d 500g; min_free 5g; fragment 1s; }");
    EXPECT_TRUE(record.enabled);
    EXPECT_EQ(record.path, "c/rec");
    EXPECT_EQ(record.format, RecordContainer::kFlv);
    EXPECT_EQ(record.name, "x/{stream}");
    EXPECT_EQ(record.split, Seconds(3600));
    EXPECT_EQ(record.split_size, 2ULL << 30);
    EXPECT_TRUE(record.split_midnight);
    EXPECT_EQ(record.keep, Seconds(7 * 24 * 3600));
    EXPECT_EQ(record.keep_bytes, 500ULL << 30);
    EXPECT_EQ(record.min_free, 5ULL << 30);
}

TEST(RecordConfigTest, ApplicationsInherit) {
    constexpr std::string_view kText =
        "record { path /r; keep 1d; }\n"
        "vhost __defaultVhost__ { application vip { record { enabled on; format ts; } } }";
    const RecordConfig vip = of(kText, "vip");
    EXPECT_TRUE(vip.enabled);
    EXPECT_EQ(vip.path, "/r");
    EXPECT_EQ(vip.format, RecordContainer::kTs);
    EXPECT_EQ(vip.keep, Seconds(24 * 3600));
    EXPECT_FALSE(of(kText, "live").enabled);
}

TEST(RecordConfigTest, RefusesWhatCannotBe) {
    EXPECT_THAT(error_of("record { name \"../{stream}\"; }"), HasSubstr("begins with a dot"));
    EXPECT_THAT(error_of("record { name \"{streem}\"; }"), HasSubstr("may stand in braces"));
    for (const char* keep :
         {"7", "7x", "0d", "1d 2d", "1g 1mb", "1h 1min", "x", "-1d", "1d 2g 3g"}) {
        EXPECT_NE(error_of("record { keep " + std::string(keep) + "; }"), "") << keep;
    }
    EXPECT_NE(error_of("record { format avi; }"), "");
    EXPECT_NE(error_of("record { split 1s; }"), "");
}

TEST(RecordConfigTest, RefusesMinutesThatCouldBeMegabytes) {
    for (const std::string keep : {"30m", "30M"}) {
        EXPECT_THAT(
            error_of("record { keep 7d " + keep + "; }"),
            HasSubstr("1:18: found '" + keep + "', which could be minutes or megabytes: write " +
                      keep + "in or " + keep + "b"));
    }
    EXPECT_EQ(of("record { keep 30min; }", "live").keep, Seconds(1800));
    EXPECT_EQ(of("record { keep 30mb; }", "live").keep_bytes, 30U << 20);
}

TEST(RecordConfigTest, KnowsWordsOfKeep) {
    EXPECT_EQ(parse_keep_word("2h")->ms, 7'200'000U);
    EXPECT_EQ(parse_keep_word("30min")->ms, 1'800'000U);
    EXPECT_EQ(parse_keep_word("30Min")->bytes, 0U);
    EXPECT_EQ(parse_keep_word("3mb")->bytes, 3U << 20);
    EXPECT_EQ(parse_keep_word("3MB")->ms, 0U);
    EXPECT_EQ(parse_keep_word("2gb")->bytes, parse_keep_word("2G")->bytes);
    EXPECT_FALSE(parse_keep_word("9999999999999999d"));
    EXPECT_FALSE(parse_keep_word(""));
    EXPECT_FALSE(parse_keep_word("d"));
}

}  // namespace
}  // namespace weir::config
