#include "bench/load/core/sequence_window.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

SequenceWindow after(std::initializer_list<uint32_t> numbers) {
    SequenceWindow window;
    for (uint32_t each : numbers) {
        window.see(each);
    }
    return window;
}

void expect_counts(const SequenceWindow& window,
                   uint64_t lost,
                   uint64_t duplicated,
                   uint64_t reordered) {
    EXPECT_EQ(window.lost(), lost);
    EXPECT_EQ(window.duplicated(), duplicated);
    EXPECT_EQ(window.reordered(), reordered);
}

TEST(SequenceWindowTest, NumbersInOrderFromAnywhereAreFine) {
    expect_counts(after({500, 501, 502, 503}), 0, 0, 0);
}

TEST(SequenceWindowTest, AGapIsLost) {
    expect_counts(after({0, 1, 5, 6}), 3, 0, 0);
}

TEST(SequenceWindowTest, ALateNumberIsReorderedAndNoLongerLost) {
    expect_counts(after({0, 1, 3}), 1, 0, 0);
    expect_counts(after({0, 1, 3, 2, 4}), 0, 0, 1);
}

TEST(SequenceWindowTest, ARepeatedNumberIsDuplicated) {
    expect_counts(after({0, 1, 1, 2}), 0, 1, 0);
    expect_counts(after({0, 1, 2, 3, 1}), 0, 1, 0);
}

TEST(SequenceWindowTest, ALateNumberThatComesTwiceIsReorderedAndDuplicated) {
    expect_counts(after({0, 1, 3, 2, 2, 4}), 0, 1, 1);
}

TEST(SequenceWindowTest, AGapBeyondTheWindowIsAllLost) {
    SequenceWindow window = after({0, 1000});
    expect_counts(window, 999, 0, 0);
    window.see(999);
    expect_counts(window, 998, 0, 1);
    window.see(1);
    expect_counts(window, 998, 0, 2);
}

TEST(SequenceWindowTest, TheNumbersAtTheEdgeOfTheWindowAreKnown) {
    SequenceWindow window;
    for (uint32_t i = 0; i < 200; i++) {
        window.see(i);
    }
    window.see(200 - SequenceWindow::kDepth);
    expect_counts(window, 0, 1, 0);
    window.see(199 - SequenceWindow::kDepth);
    expect_counts(window, 0, 1, 1);
}

TEST(SequenceWindowTest, NumbersWrap) {
    expect_counts(after({0xFFFFFFFE, 0xFFFFFFFF, 0, 2}), 1, 0, 0);
}

TEST(SequenceWindowTest, AnIllegibleFrameTakesTheNextPlace) {
    SequenceWindow window = after({0, 1});
    window.see_illegible();
    window.see(3);
    expect_counts(window, 0, 0, 0);
    EXPECT_EQ(window.received(), 4U);
}

TEST(SequenceWindowTest, ANewSessionStartsAnew) {
    SequenceWindow window = after({5000, 5002});
    window.reset();
    window.see(0);
    window.see(1);
    expect_counts(window, 1, 0, 0);
}

}  // namespace
}  // namespace weir::load
