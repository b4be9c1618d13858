#include "session/hls/hls_numbers.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

TEST(HlsNumbersTest, NumbersThatWereAheadOfTheClockAreNotUsedAgain) {
    HlsNumbers numbers;
    const stream::StreamKey fast{"", "live", "fast"};
    const stream::StreamKey slow{"", "live", "slow"};
    EXPECT_EQ(numbers.first(fast, 1'000), 1'000U);
    numbers.note(fast, 1'050, 1'020);
    numbers.note(slow, 1'010, 1'020);
    EXPECT_EQ(numbers.first(fast, 1'030), 1'050U);
    EXPECT_EQ(numbers.first(slow, 1'030), 1'030U);
    EXPECT_EQ(numbers.size(), 1U) << "the clock is ahead of the other one";
    EXPECT_EQ(numbers.first(fast, 1'060), 1'060U);
    numbers.note(slow, 1'070, 1'060);
    EXPECT_EQ(numbers.size(), 1U) << "what is past is forgotten";
}

TEST(HlsNumbersTest, HasALimit) {
    HlsNumbers numbers;
    for (size_t i = 0; i <= HlsNumbers::kMaxStreams; i++) {
        numbers.note({"", "live", std::to_string(i)}, 2, 1);
    }
    EXPECT_EQ(numbers.size(), HlsNumbers::kMaxStreams);
}

}  // namespace
}  // namespace weir::session
