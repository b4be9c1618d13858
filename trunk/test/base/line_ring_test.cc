#include "base/line_ring.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr size_t kSmall = 64;

TEST(LineRingTest, GivesLinesInOrderWithTheirTags) {
    LineRing ring(kSmall);
    EXPECT_TRUE(ring.empty());
    EXPECT_TRUE(ring.push(1, "first"));
    EXPECT_TRUE(ring.push(2, ""));
    EXPECT_TRUE(ring.push(3, "third"));
    uint8_t tag = 0;
    std::string line;
    ASSERT_TRUE(ring.pop(tag, line));
    EXPECT_EQ(tag, 1);
    EXPECT_EQ(line, "first");
    ASSERT_TRUE(ring.pop(tag, line));
    EXPECT_EQ(tag, 2);
    EXPECT_EQ(line, "");
    ASSERT_TRUE(ring.pop(tag, line));
    EXPECT_EQ(tag, 3);
    EXPECT_EQ(line, "third");
    EXPECT_FALSE(ring.pop(tag, line));
    EXPECT_EQ(ring.used(), 0U);
}

TEST(LineRingTest, RefusesWhatDoesNotFitAndKeepsWhatIsThere) {
    LineRing ring(kSmall);
    EXPECT_TRUE(ring.push(0, std::string(40, 'a')));
    EXPECT_FALSE(ring.push(0, std::string(40, 'b')));
    EXPECT_TRUE(ring.push(0, std::string(kSmall - 44 - 4, 'c'))) << "to the last byte";
    EXPECT_FALSE(ring.push(0, ""));
    uint8_t tag = 0;
    std::string line;
    ASSERT_TRUE(ring.pop(tag, line));
    EXPECT_EQ(line, std::string(40, 'a'));
}

TEST(LineRingTest, KeepsAReserveFree) {
    LineRing ring(kSmall);
    EXPECT_FALSE(ring.push(0, std::string(40, 'a'), 21));
    EXPECT_TRUE(ring.push(0, std::string(40, 'a'), 20));
}

TEST(LineRingTest, WrapsAtEveryPlace) {
    LineRing ring(kSmall);
    uint8_t tag = 0;
    std::string line;
    for (size_t i = 0; i < 1000; i++) {
        const std::string sent(i % 30, static_cast<char>('a' + i % 26));
        ASSERT_TRUE(ring.push(static_cast<uint8_t>(i), sent));
        ASSERT_TRUE(ring.pop(tag, line));
        ASSERT_EQ(tag, static_cast<uint8_t>(i));
        ASSERT_EQ(line, sent);
    }
}

TEST(LineRingTest, WrapsWhileItIsNeverEmpty) {
    LineRing ring(kSmall);
    uint8_t tag = 0;
    std::string line;
    ASSERT_TRUE(ring.push(0, "0"));
    for (size_t i = 1; i < 1000; i++) {
        const std::string sent = std::to_string(i) + std::string(i % 17, '.');
        const std::string before = std::to_string(i - 1) + std::string((i - 1) % 17, '.');
        ASSERT_TRUE(ring.push(static_cast<uint8_t>(i), sent));
        ASSERT_TRUE(ring.pop(tag, line));
        ASSERT_EQ(line, before);
    }
    EXPECT_FALSE(ring.empty());
}

TEST(LineRingTest, CutsALineThatIsTooLong) {
    LineRing ring(2 * LineRing::kMaxLine);
    ASSERT_TRUE(ring.push(0, std::string(LineRing::kMaxLine + 1, 'x')));
    uint8_t tag = 0;
    std::string line;
    ASSERT_TRUE(ring.pop(tag, line));
    EXPECT_EQ(line.size(), LineRing::kMaxLine);
}

TEST(LineRingTest, TwoThreadsLoseAndTearNothing) {
    constexpr size_t kLines = 20'000;
    LineRing ring(1024);
    std::thread producer([&ring] {
        for (size_t i = 0; i < kLines; i++) {
            const std::string line = std::to_string(i) + std::string(i % 50, '.');
            while (!ring.push(static_cast<uint8_t>(i), line)) {
                std::this_thread::yield();
            }
        }
    });
    uint8_t tag = 0;
    std::string line;
    size_t wrong = 0;
    for (size_t i = 0; i < kLines; i++) {
        while (!ring.pop(tag, line)) {
            std::this_thread::yield();
        }
        wrong += line == std::to_string(i) + std::string(i % 50, '.') ? 0U : 1U;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace weir
