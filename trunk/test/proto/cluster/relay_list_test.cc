#include "proto/cluster/relay_list.h"

#include <gtest/gtest.h>

#include "proto/cluster/names.h"
#include "proto/cluster/records.h"

namespace weir::cluster {
namespace {

const std::string kBoot = "0123456789abcdef";
const MonoTime kStart{Seconds(1'000)};

// After a record of one or two streams.
bool is_after_a_pause(const RelayList& list, MonoTime said) {
    return list.next_due() && *list.next_due() >= said + RelayList::kPause &&
           *list.next_due() < said + RelayList::kPause + Millis(10);
}

TEST(RelayListTest, ANodeThatPullsNothingSaysNothing) {
    RelayList list;
    EXPECT_FALSE(list.next_due());
    list.say_again();
    EXPECT_FALSE(list.next_due());
    list.add("v/live/a");
    list.remove("v/live/a");
    EXPECT_FALSE(list.next_due()) << "nobody was told of it";
}

TEST(RelayListTest, AChangeIsSaidAtOnceAndTheNextOneAfterAPause) {
    RelayList list;
    list.add("v/live/b");
    list.add("v/live/a");
    ASSERT_TRUE(list.next_due());
    EXPECT_LE(*list.next_due(), kStart);
    EXPECT_EQ(list.take(kBoot, kStart), kBoot + " v/live/a v/live/b");
    EXPECT_EQ(list.next_due(), kStart + RelayList::kAgain) << "before it runs out";
    list.add("v/live/a");
    EXPECT_EQ(list.next_due(), kStart + RelayList::kAgain) << "that is no change";
    list.remove("v/live/b");
    EXPECT_TRUE(is_after_a_pause(list, kStart));
    EXPECT_EQ(list.take(kBoot, kStart + RelayList::kPause), kBoot + " v/live/a");
}

TEST(RelayListTest, WithTheLastStreamTheRecordGoes) {
    RelayList list;
    list.add("v/live/a");
    (void)list.take(kBoot, kStart);
    list.remove("v/live/a");
    EXPECT_TRUE(is_after_a_pause(list, kStart));
    EXPECT_EQ(list.take(kBoot, kStart + RelayList::kPause), "");
    EXPECT_FALSE(list.next_due());
}

TEST(RelayListTest, WhatCouldNotBeSaidComesAgain) {
    RelayList list;
    list.add("v/live/a");
    (void)list.take(kBoot, kStart);
    list.put_back();
    EXPECT_TRUE(is_after_a_pause(list, kStart));
    list.remove("v/live/a");
    (void)list.take(kBoot, kStart);
    list.put_back();
    EXPECT_TRUE(is_after_a_pause(list, kStart)) << "the record may still be there";
    EXPECT_EQ(list.take(kBoot, kStart), "");
}

TEST(RelayListTest, AChangeWhileItIsSaidIsNotLost) {
    RelayList list;
    list.add("v/live/a");
    (void)list.take(kBoot, kStart);
    list.add("v/live/b");  // before the answer of the registry
    EXPECT_TRUE(is_after_a_pause(list, kStart));
}

TEST(RelayListTest, ARegistryThatHasForgottenIsToldAgain) {
    RelayList list;
    list.add("v/live/a");
    (void)list.take(kBoot, kStart);
    list.say_again();
    EXPECT_TRUE(is_after_a_pause(list, kStart));
}

TEST(RelayListTest, TheRecordHasABoundAndHoldsAsManyAsFit) {
    RelayList list;
    list.add(std::string(kMaxStreamText + 1, 'x'));
    EXPECT_EQ(list.size(), 0U) << "no record of the registry has such a name";
    for (int i = 0; i < 2'000; i++) {
        list.add("v/live/" + std::to_string(100'000 + i) + std::string(20, 'x'));
    }
    const std::string text = list.take(kBoot, kStart);
    EXPECT_LE(text.size(), kMaxRelaysRecord);
    EXPECT_GT(text.size(), kMaxRelaysRecord - 40);
    const auto record = RelaysRecordView::parse(text);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->boot, kBoot);
    list.remove("v/live/" + std::to_string(100'000) + std::string(20, 'x'));
    EXPECT_EQ(*list.next_due(),
              kStart + RelayList::kPause + Millis((text.size() - kBoot.size()) * 1'000 / 4'096))
        << "a large one is said less often";
    EXPECT_EQ(record->streams.size(), (kMaxRelaysRecord - kBoot.size()) / 34);
}

}  // namespace
}  // namespace weir::cluster
