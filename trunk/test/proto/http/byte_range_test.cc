#include "proto/http/byte_range.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

struct RangeCase {
    const char* text;
    RangeStatus status;
    uint64_t offset;
    uint64_t length;
};

TEST(ByteRangeTest, ReadsOneRangeOfAThousandBytes) {
    const RangeCase cases[] = {
        {"bytes=0-0", RangeStatus::kPart, 0, 1},
        {"bytes=0-499", RangeStatus::kPart, 0, 500},
        {"bytes=500-", RangeStatus::kPart, 500, 500},
        {"bytes=999-", RangeStatus::kPart, 999, 1},
        {"bytes=-1", RangeStatus::kPart, 999, 1},
        {"bytes=-5000", RangeStatus::kPart, 0, 1000},
        {"bytes=900-5000", RangeStatus::kPart, 900, 100},
        {"BYTES = 1-2", RangeStatus::kPart, 1, 2},
        {"bytes=0-99999999999999999999999", RangeStatus::kPart, 0, 1000},
        {"bytes=1000-", RangeStatus::kUnsatisfiable, 0, 0},
        {"bytes=99999999999999999999999-", RangeStatus::kUnsatisfiable, 0, 0},
        {"bytes=-0", RangeStatus::kUnsatisfiable, 0, 0},
        {"bytes=5-4", RangeStatus::kWhole, 0, 0},
        {"bytes=0-1,5-6", RangeStatus::kWhole, 0, 0},
        {"bytes=-", RangeStatus::kWhole, 0, 0},
        {"bytes=", RangeStatus::kWhole, 0, 0},
        {"bytes=a-b", RangeStatus::kWhole, 0, 0},
        {"bytes=1-2x", RangeStatus::kWhole, 0, 0},
        {"bytes=--1", RangeStatus::kWhole, 0, 0},
        {"seconds=1-2", RangeStatus::kWhole, 0, 0},
        {"", RangeStatus::kWhole, 0, 0},
    };
    for (const RangeCase& c : cases) {
        ByteRange range;
        EXPECT_EQ(parse_byte_range(c.text, 1000, range), c.status) << c.text;
        if (c.status == RangeStatus::kPart) {
            EXPECT_EQ(range.offset, c.offset) << c.text;
            EXPECT_EQ(range.length, c.length) << c.text;
        }
    }
}

TEST(ByteRangeTest, FindsNoRangeInAnEmptyFile) {
    ByteRange range;
    EXPECT_EQ(parse_byte_range("bytes=0-", 0, range), RangeStatus::kUnsatisfiable);
    EXPECT_EQ(parse_byte_range("bytes=-5", 0, range), RangeStatus::kUnsatisfiable);
}

}  // namespace
}  // namespace weir::http
