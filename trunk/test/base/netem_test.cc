// The network of tests is part of what they prove.
#include "test/support/netem.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir::test {
namespace {

constexpr MonoTime kStart{Seconds(100)};

std::vector<std::pair<int64_t, int>> run(const NetemOptions& options, int count, Micros interval) {
    Netem net(options, 5);
    std::vector<std::pair<int64_t, int>> out;
    MonoTime now = kStart;
    for (int i = 0; i < count || net.next_time(); i++) {
        if (i < count) {
            Bytes packet(1'000);
            store_u32(packet.data(), static_cast<uint32_t>(i));
            net.send(now, packet);
        }
        while (std::optional<Bytes> packet = net.receive(now)) {
            out.emplace_back((now - kStart).count(), static_cast<int>(ByteReader(*packet).u32()));
        }
        now += interval;
    }
    EXPECT_EQ(net.sent(), static_cast<uint64_t>(count));
    EXPECT_EQ(net.delivered(), out.size());
    return out;
}

TEST(NetemTest, APlainPathDelivers) {
    const auto out = run({.delay = Millis(10)}, 100, Millis(1));
    ASSERT_EQ(out.size(), 100u);
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(out[static_cast<size_t>(i)], std::pair(int64_t{1'000} * (i + 10), i));
    }
}

TEST(NetemTest, IsTheSameForTheSameSeed) {
    const NetemOptions options{.loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .jitter = Millis(9)};
    EXPECT_EQ(run(options, 500, Millis(1)), run(options, 500, Millis(1)));
}

TEST(NetemTest, LosesTheShareThatWasAskedForInBurstsOrNot) {
    for (const double burst : {1.0, 5.0}) {
        const auto out = run({.loss = 0.1, .loss_burst = burst}, 50'000, Millis(1));
        EXPECT_NEAR(static_cast<double>(out.size()), 45'000, 600) << burst;
    }
    EXPECT_TRUE(run({.loss = 1}, 100, Millis(1)).empty());
}

TEST(NetemTest, DuplicatesAndReorders) {
    EXPECT_NEAR(static_cast<double>(run({.duplicate = 0.2}, 10'000, Millis(1)).size()), 12'000,
                200);
    const auto out = run({.reorder = 0.1, .reorder_delay = Millis(5)}, 10'000, Millis(1));
    ASSERT_EQ(out.size(), 10'000u);
    int back = 0;
    for (size_t i = 1; i < out.size(); i++) {
        back += out[i].second < out[i - 1].second ? 1 : 0;
    }
    EXPECT_NEAR(back, 1'000, 150);
}

TEST(NetemTest, JitterDelaysWithoutReordering) {
    const auto out = run({.delay = Millis(5), .jitter = Millis(20)}, 1'000, Millis(1));
    for (size_t i = 0; i < out.size(); i++) {
        EXPECT_EQ(out[i].second, static_cast<int>(i));
        EXPECT_LE(out[i].first, 1'000 * static_cast<int64_t>(i) + 26'000);
    }
}

TEST(NetemTest, ABottleneckQueuesAndDropsAtItsTail) {
    // 1,000 bytes a millisecond are sent, half of that passes, ten packets wait.
    const auto out = run({.rate_bps = 4'000'000, .queue_bytes = 10'000}, 1'000, Millis(1));
    EXPECT_NEAR(static_cast<double>(out.size()), 500, 15);
    EXPECT_LE(out.back().first, 1'025'000);
}

}  // namespace
}  // namespace weir::test
