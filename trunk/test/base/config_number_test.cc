#include "base/config_number.h"

#include <array>
#include <cstdint>
#include <string>

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

TEST(ConfigNumberTest, WhatIsWrittenIsReadBack) {
    for (uint64_t value :
         {uint64_t{0}, uint64_t{1}, uint64_t{1000}, uint64_t{1024}, uint64_t{60'000},
          uint64_t{90'000}, uint64_t{3'600'000}, uint64_t{2'500'000}, uint64_t{1'000'000'000},
          uint64_t{1} << 40, UINT64_MAX}) {
        EXPECT_EQ(parse_config_number(size_text(value), config_size_units(), 1), value);
        EXPECT_EQ(parse_config_number(bitrate_text(value), config_rate_units(), 1), value);
        EXPECT_EQ(parse_config_number(duration_text(value), config_duration_units(), 1), value);
    }
}

TEST(ConfigNumberTest, RatesCountInThousands) {
    EXPECT_EQ(parse_config_number("2500K", config_rate_units(), 1), 2'500'000u);
    EXPECT_EQ(parse_config_number("3g", config_rate_units(), 1), 3'000'000'000u);
    EXPECT_EQ(bitrate_text(2'500'000), "2500k");
    EXPECT_EQ(bitrate_text(8'000'000), "8m");
    EXPECT_EQ(bitrate_text(1024), "1024");
}

TEST(ConfigNumberTest, TheLargestNumberFitsAndNoneWrapsAround) {
    EXPECT_EQ(parse_config_number("18446744073709551615", {}, 1), UINT64_MAX);
    EXPECT_EQ(parse_config_number("18446744073709551616", {}, 1), UINT64_MAX);
    const uint64_t most = UINT64_MAX >> 10U;
    EXPECT_EQ(parse_config_number(std::to_string(most) + "k", config_size_units(), 1), most << 10U);
    EXPECT_EQ(parse_config_number(std::to_string(most + 1) + "k", config_size_units(), 1),
              most << 10U);
    EXPECT_EQ(parse_config_number("0000000000000000000000000007", {}, 1), 7u);
    EXPECT_EQ(parse_config_number("10MS", config_duration_units(), 1), 10u);
}

}  // namespace
}  // namespace weir
