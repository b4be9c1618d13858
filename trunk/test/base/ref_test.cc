#include "base/ref.h"

#include <utility>

#include <gtest/gtest.h>

namespace weir {
namespace {

struct Plain final : RefCounted<Plain> {
    explicit Plain(int& deaths) : deaths_(deaths) {}

    ~Plain() { deaths_++; }

    int& deaths_;
};

struct Custom final : RefCounted<Custom> {
    static void destroy(Custom* self) {
        destroyed++;
        delete self;
    }

    static inline int destroyed = 0;
};

TEST(RefTest, TheLastHandleDestroys) {
    int deaths = 0;
    {
        Ref<Plain> first = make_ref<Plain>(deaths);
        Ref<Plain> second = first;
        EXPECT_EQ(first->ref_count(), 2U);
        first = nullptr;
        EXPECT_EQ(deaths, 0);
        EXPECT_EQ(second->ref_count(), 1U);
    }
    EXPECT_EQ(deaths, 1);
}

TEST(RefTest, MovingCountsNothing) {
    int deaths = 0;
    Ref<Plain> first = make_ref<Plain>(deaths);
    Ref<Plain> second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is tested
    EXPECT_EQ(second->ref_count(), 1U);
}

TEST(RefTest, AssigningToItselfKeepsTheObject) {
    int deaths = 0;
    Ref<Plain> ref = make_ref<Plain>(deaths);
    Ref<Plain>& same = ref;
    ref = same;
    EXPECT_EQ(deaths, 0);
    EXPECT_EQ(ref->ref_count(), 1U);
}

TEST(RefTest, AConstHandleSharesTheCount) {
    int deaths = 0;
    Ref<Plain> made = make_ref<Plain>(deaths);
    Ref<const Plain> frozen = made;
    EXPECT_EQ(made->ref_count(), 2U);
    made = nullptr;
    EXPECT_EQ(deaths, 0);
    frozen = nullptr;
    EXPECT_EQ(deaths, 1);
}

TEST(RefTest, UsesTheClassesOwnWayToDie) {
    Custom::destroyed = 0;
    make_ref<Custom>();
    EXPECT_EQ(Custom::destroyed, 1);
}

TEST(RefTest, IsOnePointer) {
    EXPECT_EQ(sizeof(Ref<Plain>), sizeof(void*));
}

}  // namespace
}  // namespace weir
