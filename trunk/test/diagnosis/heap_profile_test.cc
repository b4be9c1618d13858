#include "diagnosis/heap_profile.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::diagnosis {
namespace {

// GetHeapProfile() of gperftools 2.10, shortened.
constexpr std::string_view kProfile =
    "heap profile:     13:  1051122 [    17:  1051602] @ heapprofile\n"
    "     1:  1048576 [     1:  1048576] @ 0x7f46bac311d0 0x5636a501a35c 0x7f46baa4524a\n"
    "    10:     2010 [    10:     2010] @ 0x7f46ba93f95c 0x5636a501a283\n"
    "     1:      512 [     5:      992] @ 0x5636a501a599 0x5636a501a2c9\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "5636a5019000-5636a501a000 r--p 00000000 00:00 9986782     /tmp/b/gp\n"
    "     1:       24 [     1:       24] @ 0x5636a501a32f\n";

TEST(HeapProfileTest, ReadsWhatIsInUseByStack) {
    const HeapProfile profile = parse_heap_profile(kProfile);
    ASSERT_TRUE(profile.valid);
    ASSERT_EQ(profile.records.size(), 3U);
    EXPECT_EQ(profile.records[1].kind, LeakKind::kReachable);
    EXPECT_EQ(profile.records[1].now, (LeakAmount{2010, 10}));
    EXPECT_EQ(profile.records[1].addresses,
              (std::vector<uintptr_t>{0x7f46ba93f95c, 0x5636a501a283}));
    EXPECT_EQ(profile.records[2].now, (LeakAmount{512, 1}));
}

TEST(HeapProfileTest, StacksAreToldApartByAllOfTheirAddresses) {
    const std::string one = "heap profile: 1: 2 [ 1: 2] @ heapprofile\n 1: 2 [ 1: 2] @ ";
    const auto key = [&](std::string_view stack) {
        return parse_heap_profile(one + std::string(stack) + "\n").records.at(0).key;
    };
    EXPECT_EQ(key("0x1 0x2 0x3"), key("0x1 0x2 0x3"));
    EXPECT_NE(key("0x1 0x2 0x3"), key("0x1 0x2 0x4"));
    EXPECT_NE(key("0x1 0x2"), key("0x2 0x1"));
}

TEST(HeapProfileTest, CutAnywhereItGivesNothingThatIsNotThere) {
    for (size_t size = 0; size < kProfile.size(); size++) {
        const HeapProfile profile = parse_heap_profile(kProfile.substr(0, size));
        ASSERT_LE(profile.records.size(), 3U);
        EXPECT_EQ(profile.valid, size > kProfile.find('\n')) << size;
    }
}

TEST(HeapProfileTest, GarbageIsNoProfileAndBadRowsAreSkipped) {
    for (const char* text : {"", "\n", "hello\n", "heap profile:\n",
                             "heap profile: x: 1 [ 1: 1] @\n", "heap profile: -1: 1 [ 1: 1] @\n"}) {
        EXPECT_FALSE(parse_heap_profile(text).valid) << text;
    }
    for (const char* row : {"", "1: 2", "1: 2 [ 1: 2] @", "1: 2 [ 1: 2] @ 0xzz",
                            "1 2 [ 1: 2] @ 0x1", "99999999999999999999: 2 [ 1: 2] @ 0x1"}) {
        const HeapProfile profile = parse_heap_profile(
            "heap profile: 1: 2 [ 1: 2] @ heapprofile\n" + std::string(row) + "\n");
        EXPECT_TRUE(profile.valid);
        EXPECT_TRUE(profile.records.empty()) << row;
    }
}

}  // namespace
}  // namespace weir::diagnosis
