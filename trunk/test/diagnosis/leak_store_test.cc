#include "diagnosis/leak_store.h"

#include <gtest/gtest.h>

namespace weir::diagnosis {
namespace {

TEST(LeakStoreTest, KeepsTheLastAnswersAndForgetsTheOldest) {
    auto store = LeakStore::create();
    ASSERT_TRUE(store.ok());
    for (uint64_t id = 1; id <= kKeptLeakAnswers + 2; id++) {
        (*store)->put(id, 200, "answer " + std::to_string(id));
    }
    EXPECT_FALSE((*store)->find(2));
    ASSERT_TRUE((*store)->find(3));
    EXPECT_EQ((*store)->find(3)->text, "answer 3");
    EXPECT_EQ((*store)->find(kKeptLeakAnswers + 2)->text,
              "answer " + std::to_string(kKeptLeakAnswers + 2));
    EXPECT_FALSE((*store)->find(0));
    EXPECT_FALSE((*store)->find(1000));
}

TEST(LeakStoreTest, AnswersThatWereReadMakeRoomFirst) {
    auto store = LeakStore::create();
    ASSERT_TRUE(store.ok());
    for (uint64_t id = 1; id <= kKeptLeakAnswers; id++) {
        (*store)->put(id, 200, "answer " + std::to_string(id));
    }
    (*store)->mark_read(5);
    (*store)->mark_read(3);
    (*store)->mark_read(1000);
    uint64_t id = kKeptLeakAnswers;
    (*store)->put(++id, 200, "x");
    EXPECT_FALSE((*store)->find(3)) << "the older of those that were read";
    EXPECT_TRUE((*store)->find(5));
    (*store)->put(++id, 200, "x");
    EXPECT_FALSE((*store)->find(5));
    EXPECT_TRUE((*store)->find(1)) << "nobody has read it";
    (*store)->put(++id, 200, "x");
    EXPECT_FALSE((*store)->find(1));
    EXPECT_EQ((*store)->find(2)->text, "answer 2");
}

TEST(LeakStoreTest, TakesAnAnswerOfTheLargestSize) {
    auto store = LeakStore::create();
    ASSERT_TRUE(store.ok());
    const std::string large(kMaxLeakAnswer, 'x');
    for (uint64_t id = 1; id <= kKeptLeakAnswers; id++) {
        (*store)->put(id, 501, large);
    }
    EXPECT_EQ((*store)->find(kKeptLeakAnswers)->text, large);
    EXPECT_EQ((*store)->find(kKeptLeakAnswers)->status, 501);
}

}  // namespace
}  // namespace weir::diagnosis
