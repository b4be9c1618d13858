#include "base/config_number.h"

#include <array>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ConfigNumberTest, NumbersHaveUnits) {
    EXPECT_EQ(parse_config_number("64k", config_size_units(), 1), 65536u);
    EXPECT_EQ(parse_config_number("1G", config_size_units(), 1), 1u << 30);
    EXPECT_EQ(parse_config_number("350ms", config_duration_units(), 1000), 350u);
    EXPECT_EQ(parse_config_number("10", config_duration_units(), 1000), 10'000u);
    EXPECT_EQ(parse_config_number("2m", config_duration_units(), 1), 120'000u);
    EXPECT_EQ(parse_config_number("7", {}, 1), 7u);
}

TEST(ConfigNumberTest, WhatIsNoNumberIsNone) {
    for (std::string_view text : {"", "k", "-1", "1.5s", "10x", "1 s", "0x10"}) {
        EXPECT_FALSE(parse_config_number(text, config_duration_units(), 1)) << text;
    }
    EXPECT_FALSE(parse_config_number("7k", {}, 1));
}

TEST(ConfigNumberTest, WhatDoesNotFitIsTheLargest) {
    EXPECT_GT(*parse_config_number("99999999999999999999", {}, 1), uint64_t{1} << 62);
    EXPECT_GT(*parse_config_number("18446744073709551615h", config_duration_units(), 1),
              uint64_t{1} << 62);
}

TEST(ConfigNumberTest, ChoicesAreNamed) {
    EXPECT_EQ(either_of("on"), "on");
    EXPECT_EQ(either_of("on|off"), "on or off");
    EXPECT_EQ(either_of("a|b|c"), "a, b or c");
    const std::array<std::string_view, 2> names = {"publish", "play"};
    EXPECT_EQ(did_you_mean("pubish", names), "; did you mean 'publish'?");
    EXPECT_EQ(did_you_mean("zzz", names), "");
}

TEST(ConfigNumberTest, WritesSizesAndDurationsWithTheirLargestUnit) {
    EXPECT_EQ(size_text(0), "0");
    EXPECT_EQ(size_text(500), "500");
    EXPECT_EQ(size_text(512 * 1024), "512k");
    EXPECT_EQ(size_text(16u << 20), "16m");
    EXPECT_EQ(size_text(1u << 30), "1g");
    EXPECT_EQ(duration_text(0), "0");
    EXPECT_EQ(duration_text(350), "350ms");
    EXPECT_EQ(duration_text(10'000), "10s");
    EXPECT_EQ(duration_text(90'000), "90s");
    EXPECT_EQ(duration_text(120'000), "2m");
    EXPECT_EQ(duration_text(3'600'000), "1h");
}

}  // namespace
}  // namespace weir
