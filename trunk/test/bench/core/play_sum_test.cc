#include "bench/load/core/play_sum.h"

#include <gtest/gtest.h>

#include "proto/rtmp/message.h"

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

constexpr uint64_t kMs = 1'000'000;

// Feeds video frames of the given numbers, 40 ms apart.
void play(PlayerCheck& check, std::initializer_list<uint32_t> sequences) {
    uint64_t now = 1'000'000 * kMs;
    check.joined(now);
    for (uint32_t sequence : sequences) {
        now += 40 * kMs;
        Bytes body;
        Stamp stamp{0, 9, sequence, now - kMs, 0, 0};
        build_video(body, 800, stamp);
        ScannedMessage message{6, sequence * 40, static_cast<uint32_t>(body.size()), 1,
                               rtmp::kVideo};
        check.received(body.size(), now);
        check.begin(message);
        check.part(message, body);
        check.end(message);
    }
}

TEST(PlaySumTest, AddsUpWhatPlayersCounted) {
    RunTotals totals;
    PlayerCheck one(totals, 0);
    PlayerCheck other(totals, 0);
    play(one, {0, 1, 3, 4});
    play(other, {0, 2, 2, 5});
    PlaySum sum;
    sum.add(one, 0);
    sum.add(other, 0);
    EXPECT_EQ(sum.lost, 1U + 3U);
    EXPECT_EQ(sum.duplicated, 1U);
    EXPECT_EQ(sum.counts.video_frames, 8U);
    EXPECT_EQ(sum.counts.bytes, one.counts().bytes + other.counts().bytes);
    EXPECT_EQ(sum.counts.longest_gap_ns, 40 * kMs) << "the greatest, not the sum";
    EXPECT_EQ(sum.wrong(), 1U) << "what is lost is not among them";
    PlaySum twice = sum;
    twice.add(sum);
    EXPECT_EQ(twice.lost, 8U);
    EXPECT_EQ(twice.counts.longest_gap_ns, 40 * kMs);
}

TEST(PlaySumTest, PublishersThatChangeAreCountedOnceEach) {
    RunTotals totals;
    PlayerCheck check(totals, 0);
    PlaySum sum;
    sum.add(check, 0);
    EXPECT_EQ(sum.republished, 0U) << "no media at all";
    play(check, {0, 1});
    sum.add(check, 0);
    EXPECT_EQ(sum.republished, 0U);
    EXPECT_EQ(sum.without_key, 0U);
}

}  // namespace
}  // namespace weir::load
