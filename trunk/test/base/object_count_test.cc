#include "base/object_count.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

class Thing : private Counted<Thing> {
  public:
    static constexpr ObjectName kObjectName{"test_thing", "test"};

    uint64_t content = 0;
};

class Holder : private Counted<Holder> {
  public:
    static constexpr ObjectName kObjectName{"test_holder", "test"};
    static constexpr uint64_t kHeldBytes = 1000;

    char content = 0;
};

const ObjectClass& things() {
    return Counted<Thing>::object_class();
}

TEST(ObjectCountTest, CountingCostsAnObjectNoMemory) {
    EXPECT_EQ(sizeof(Thing), sizeof(uint64_t));
}

TEST(ObjectCountTest, WhatLivesIsCountedAndWhatIsGoneIsNot) {
    const uint64_t made = things().made();
    {
        Thing one;
        Thing copy = one;
        const Thing moved = std::move(one);
        EXPECT_EQ(things().live(), 3U);
        EXPECT_EQ(things().bytes(), 3 * sizeof(Thing));
        copy = moved;
        EXPECT_EQ(things().live(), 3U) << "assigning makes no object";
    }
    EXPECT_EQ(things().live(), 0U);
    EXPECT_EQ(things().bytes(), 0U);
    EXPECT_EQ(things().made(), made + 3);
}

TEST(ObjectCountTest, TheMostThatEverLivedIsKept) {
    { const std::vector<Thing> many(50); }
    const std::vector<Thing> few(5);
    EXPECT_EQ(things().live(), 5U);
    EXPECT_EQ(things().high_water(), 50U);
    EXPECT_EQ(things().high_water_bytes(), 50 * sizeof(Thing));
}

TEST(ObjectCountTest, AnObjectCountsForWhatItHolds) {
    const Holder holder;
    EXPECT_EQ(Counted<Holder>::object_class().bytes(), sizeof(Holder) + 1000);
}

TEST(ObjectCountTest, BytesOfContainersComeAndGo) {
    static ObjectClass lists({"test_list", "test"});
    lists.made(16);
    lists.add_bytes(500);
    lists.remove_bytes(200);
    EXPECT_EQ(lists.bytes(), 316U);
    EXPECT_EQ(lists.high_water_bytes(), 516U);
    lists.ended(316);
    EXPECT_EQ(lists.live(), 0U);
    EXPECT_EQ(lists.bytes(), 0U);
}

TEST(ObjectCountTest, EveryClassIsListedOnceInOrder) {
    std::vector<std::string> names;
    for_each_object_class([&](const ObjectClass& each) {
        names.push_back(std::string(each.subsystem()) + "/" + each.name());
    });
    EXPECT_GE(names.size(), 2U);
    for (size_t i = 1; i < names.size(); i++) {
        EXPECT_LT(names[i - 1], names[i]);
    }
    EXPECT_EQ(find_object_class("test_thing"), &things());
    EXPECT_EQ(find_object_class("no_such_class"), nullptr);
}

class Outer : private Counted<Outer> {
  public:
    static constexpr ObjectName kObjectName{"test_outer", "test"};
    static constexpr uint64_t kCountedInside = sizeof(Thing);

    Thing inside;
    uint64_t own = 0;
};

TEST(ObjectCountTest, AMemberWithCountersOfItsOwnCountsOnce) {
    const uint64_t before = things().bytes();
    {
        const Outer outer;
        EXPECT_EQ(Counted<Outer>::object_class().bytes(), sizeof(Outer) - sizeof(Thing));
        EXPECT_EQ(things().bytes(), before + sizeof(Thing));
    }
    EXPECT_EQ(Counted<Outer>::object_class().bytes(), 0U);
    EXPECT_EQ(things().bytes(), before);
}

}  // namespace
}  // namespace weir
