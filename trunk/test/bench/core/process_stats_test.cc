#include "bench/load/core/process_stats.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

// Form of proc(5), Linux 6.
constexpr std::string_view kStat =
    "1234 (name) with) R 1 1234 1234 0 -1 4194304 170 11 12 13 777 333 4 5 20 0 1 0 100 200 300";

TEST(ProcessStatsTest, CpuTimeIsUserAndSystemTicks) {
    EXPECT_EQ(*cpu_ticks(kStat), 1110U);
}

TEST(ProcessStatsTest, ATruncatedStatIsMalformed) {
    size_t end = kStat.find(" 333");
    for (size_t size = 0; size <= end; size++) {
        EXPECT_FALSE(cpu_ticks(kStat.substr(0, size)).ok()) << size;
    }
}

TEST(ProcessStatsTest, FieldsAreFoundByTheirWholeName) {
    constexpr std::string_view kText =
        "Private_Dirty_x:  1 kB\nRss:   2048 kB\nPrivate_Dirty:      1416 "
        "kB\nnonvoluntary_ctxt_switches:\t7\n"
        "voluntary_ctxt_switches:\t9";
    EXPECT_EQ(*field_of(kText, "Private_Dirty"), 1416U);
    EXPECT_EQ(*field_of(kText, "Rss"), 2048U);
    EXPECT_EQ(*field_of(kText, "voluntary_ctxt_switches"), 9U);
    EXPECT_EQ(*field_of(kText, "nonvoluntary_ctxt_switches"), 7U);
    EXPECT_FALSE(field_of(kText, "Anonymous").ok());
    EXPECT_FALSE(field_of("Rss:", "Rss").ok());
}

TEST(ProcessStatsTest, AMissingProcessIsNotFound) {
    auto sample = sample_process(0x7FFFFFF0);
    ASSERT_FALSE(sample.ok());
    EXPECT_EQ(sample.error().code(), ErrorCode::kNotFound);
}

TEST(ProcessStatsTest, AQuickSampleSeesThisProcess) {
    auto sample = sample_quickly(getpid());
    ASSERT_TRUE(sample.ok()) << sample.error().message();
    EXPECT_GT(sample->resident_kib, 100U);
    EXPECT_EQ(sample_quickly(1 << 29).error().code(), ErrorCode::kNotFound);
}

// Of a process of its own: this one has had threads that ended, whose time is known in ticks only.
TEST(ProcessStatsTest, ProcessorTimeIsFinerThanAClockTick) {
    constexpr uint64_t kTickUs = 10'000;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);  // it must not outlive a test that was killed
        for (;;) {
            asm volatile("");
        }
    }
    uint64_t first_us = 0;
    uint64_t last_us = 0;
    bool between_ticks = false;
    for (int i = 0; i < 100'000 && last_us - first_us < 5 * kTickUs; i++) {
        auto now = sample_process(child);
        if (!now.ok()) {
            ADD_FAILURE() << now.error().to_string();
            break;
        }
        EXPECT_GE(now->cpu_us, last_us);
        last_us = now->cpu_us;
        first_us = i == 0 ? last_us : first_us;
        between_ticks = between_ticks || last_us % kTickUs != 0;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_GE(last_us - first_us, 5 * kTickUs);
    EXPECT_TRUE(between_ticks);
}

}  // namespace
}  // namespace weir::load
