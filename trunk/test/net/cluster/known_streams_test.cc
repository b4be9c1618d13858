#include "net/cluster/known_streams.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

constexpr MonoTime kNow{Seconds(100)};

Origin origin(std::string node, uint64_t epoch) {
    Origin made;
    made.node = std::move(node);
    made.epoch = epoch;
    return made;
}

TEST(KnownStreamsTest, AnEpochNeverGoesBack) {
    KnownStreams known;
    EXPECT_EQ(known.epoch("a"), 0U);
    EXPECT_TRUE(known.note_epoch("a", 5));
    EXPECT_FALSE(known.note_epoch("a", 4));
    EXPECT_TRUE(known.note_epoch("a", 5));
    EXPECT_EQ(known.epoch("a"), 5U);
}

TEST(KnownStreamsTest, TheLastOriginStaysUntilItIsForgotten) {
    KnownStreams known;
    known.found("a", origin("n", 5));
    EXPECT_EQ(known.last("a"), origin("n", 5));
    known.forget_origin("a");
    EXPECT_FALSE(known.last("a"));
    EXPECT_FALSE(known.last("b"));
}

TEST(KnownStreamsTest, NobodyIsRememberedForAMoment) {
    KnownStreams known;
    known.found("a", origin("n", 5));
    known.found_nobody("a", kNow);
    EXPECT_FALSE(known.last("a"));
    EXPECT_TRUE(known.had_nobody("a", kNow + KnownStreams::kNegative - Millis(1)));
    EXPECT_FALSE(known.had_nobody("a", kNow + KnownStreams::kNegative));
    known.found_nobody("a", kNow);
    known.drop_negative("a");
    EXPECT_FALSE(known.had_nobody("a", kNow)) << "an event said that something has changed";
    known.found_nobody("a", kNow);
    known.found("a", origin("n", 6));
    EXPECT_FALSE(known.had_nobody("a", kNow));
}

TEST(KnownStreamsTest, KnowsForHowLongTheRegistryHasAnOlderClaim) {
    KnownStreams known;
    EXPECT_EQ(known.note_older("a", kNow), Micros(0));
    EXPECT_EQ(known.note_older("a", kNow + Millis(2'000)), Millis(2'000));
    EXPECT_EQ(known.note_older("b", kNow + Millis(2'000)), Micros(0));
    const MonoTime later = kNow + Millis(2'001) + KnownStreams::kLookGap;
    EXPECT_EQ(known.note_older("a", later), Micros(0)) << "nobody has looked for a while";
    known.found("a", origin("n", 6));
    EXPECT_EQ(known.note_older("a", later + Millis(100)), Micros(0)) << "it was newer meanwhile";
    known.found_nobody("a", later + Millis(200));
    EXPECT_EQ(known.note_older("a", later + Millis(300)), Micros(0));
}

TEST(KnownStreamsTest, IsBoundedAndKeepsWhatIsUsed) {
    KnownStreams known;
    EXPECT_TRUE(known.note_epoch("used", 7));
    for (size_t i = 0; i < 3 * KnownStreams::kMaxStreams; i++) {
        EXPECT_TRUE(known.note_epoch(std::to_string(i), 1));
        if (i % 1000 == 0) {
            EXPECT_EQ(known.epoch("used"), 7U);
        }
    }
    EXPECT_LE(known.size(), KnownStreams::kMaxStreams);
    EXPECT_EQ(known.epoch("0"), 0U) << "forgotten";
    EXPECT_EQ(known.epoch("used"), 7U);
}

}  // namespace
}  // namespace weir::net
