#include "base/random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "test/support/counting_random.h"

namespace weir {
namespace {

TEST(RandomTest, IdsAreOfTheAskedLengthAndAlphabet) {
    for (size_t length : {0U, 1U, 7U, 16U, 17U, 40U}) {
        const std::string id = random_id(system_random(), length);
        EXPECT_EQ(id.size(), length);
        EXPECT_TRUE(std::ranges::all_of(id, [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
        })) << id;
    }
}

TEST(RandomTest, IdsDoNotRepeat) {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; i++) {
        EXPECT_TRUE(seen.insert(random_id(system_random(), 12)).second);
    }
}

TEST(RandomTest, FillsEveryByte) {
    std::array<uint8_t, 300> sum{};
    for (int round = 0; round < 20; round++) {
        std::array<uint8_t, 300> bytes{};
        system_random().fill(bytes);
        for (size_t i = 0; i < sum.size(); i++) {
            sum[i] |= bytes[i];
        }
    }
    EXPECT_TRUE(std::ranges::none_of(sum, [](uint8_t byte) { return byte == 0; }));
}

TEST(RandomTest, NoByteOfTheSourceIsUsedTwice) {
    test::CountingRandom source;
    EXPECT_EQ(random_id(source, 40), "0123456789abcdefghijklmnopqrstuvwxyz0123");
}

TEST(RandomTest, EveryLetterComes) {
    std::set<char> letters;
    for (const char c : random_id(system_random(), 5'000)) {
        letters.insert(c);
    }
    EXPECT_EQ(letters.size(), 36U);
}

}  // namespace
}  // namespace weir
