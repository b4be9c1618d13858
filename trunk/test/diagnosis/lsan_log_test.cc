#include "diagnosis/lsan_log.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace weir::diagnosis {
namespace {

// Written by the LeakSanitizer of gcc 12.
constexpr std::string_view kReport =
    "\n=================================================================\n"
    "==16553==ERROR: LeakSanitizer: detected memory leaks\n"
    "\n"
    "Direct leak of 303 byte(s) in 3 object(s) allocated from:\n"
    "    #0 0x7f40fd8b89cf in __interceptor_malloc "
    "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69\n"
    "    #1 0x560be626c3a7 in leak_here(int) /tmp/b/ls.cc:11\n"
    "    #2 0x7f40fd046249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)\n"
    "\n"
    "Indirect leak of 56 byte(s) in 1 object(s) allocated from:\n"
    "    #0 0x7f40fd8b94c8 in operator new(unsigned long) "
    "../../../../src/libsanitizer/asan/asan_new_delete.cpp:95\n"
    "    #1 0x560be626cdcd in Session<int>::cycle(std::string const&) /tmp/b/ls.cc:12\n"
    "    #2 0x7f40fd046304 in __libc_start_main_impl (/lib/x86_64-linux-gnu/libc.so.6+0x27304)\n"
    "\n"
    "-----------------------------------------------------\n"
    "Suppressions used:\n"
    "  count      bytes template\n"
    "      3        311 leak_here\n"
    "      1         40 other\n"
    "-----------------------------------------------------\n"
    "\n"
    "SUMMARY: AddressSanitizer: 359 byte(s) leaked in 4 allocation(s).\n";

TEST(LsanLogTest, ReadsDirectAndIndirectLeaks) {
    const LsanLog log = parse_lsan_log(kReport);
    EXPECT_TRUE(log.complete);
    ASSERT_EQ(log.records.size(), 2U);
    EXPECT_EQ(log.records[0].kind, LeakKind::kDefinitely);
    EXPECT_EQ(log.records[0].now, (LeakAmount{303, 3}));
    EXPECT_FALSE(log.records[0].has_delta);
    EXPECT_EQ(log.records[1].kind, LeakKind::kIndirectly);
    EXPECT_EQ(log.records[1].now, (LeakAmount{56, 1}));
}

TEST(LsanLogTest, ReadsFramesWithSourcesWithLibrariesAndWithoutNames) {
    const LsanLog log = parse_lsan_log(kReport);
    ASSERT_EQ(log.records[0].stack.size(), 3U);
    EXPECT_EQ(log.records[0].stack[0].function, "__interceptor_malloc");
    EXPECT_EQ(log.records[0].stack[1], (StackFrame{"leak_here(int)", "/tmp/b/ls.cc", 11}));
    EXPECT_EQ(log.records[0].stack[2], (StackFrame{"???", "/lib/x86_64-linux-gnu/libc.so.6", 0}));
    EXPECT_EQ(log.records[1].stack[0],
              (StackFrame{"operator new(unsigned long)",
                          "../../../../src/libsanitizer/asan/asan_new_delete.cpp", 95}));
    EXPECT_EQ(log.records[1].stack[1],
              (StackFrame{"Session<int>::cycle(std::string const&)", "/tmp/b/ls.cc", 12}));
    EXPECT_EQ(log.records[1].stack[2],
              (StackFrame{"__libc_start_main_impl", "/lib/x86_64-linux-gnu/libc.so.6", 0}));
}

TEST(LsanLogTest, APlaceMayHaveAColumnAndSpaces) {
    const LsanLog log = parse_lsan_log(
        "Direct leak of 1 byte(s) in 1 object(s) allocated from:\n"
        "    #0 0x1 in f(int) /home/a user/x.cc:7:19\n"
        "    #1 0x2 in g(unsigned long)\n");
    ASSERT_EQ(log.records.size(), 1U);
    EXPECT_EQ(log.records[0].stack[0], (StackFrame{"f(int)", "/home/a user/x.cc", 7}));
    EXPECT_EQ(log.records[0].stack[1], (StackFrame{"g(unsigned long)", "", 0}));
}

TEST(LsanLogTest, AddsUpWhatSuppressionsHide) {
    EXPECT_EQ(parse_lsan_log(kReport).suppressed, (LeakAmount{351, 4}));
}

TEST(LsanLogTest, ReadsTheSum) {
    EXPECT_EQ(parse_lsan_log(kReport).sum, (LeakAmount{359, 4}));
    for (const char* line : {"SUMMARY: AddressSanitizer: heap-use-after-free /a.cc:3 in f\n",
                             "SUMMARY: 3\n", "SUMMARY: x: 3 byte(s) leaked in allocation(s)\n"}) {
        EXPECT_FALSE(parse_lsan_log(line).complete) << line;
    }
}

TEST(LsanLogTest, AWholeReportTellsDirectAndIndirectApart) {
    const Result<RawLeaks> found = lsan_findings(parse_lsan_log(kReport), true, 10'000);
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(found->all_records);
    EXPECT_EQ(found->note, "");
    EXPECT_EQ(total_of(found->totals, LeakKind::kDefinitely).now, (LeakAmount{303, 3}));
    EXPECT_EQ(total_of(found->totals, LeakKind::kIndirectly).now, (LeakAmount{56, 1}));
    EXPECT_EQ(total_of(found->totals, LeakKind::kSuppressed).now, (LeakAmount{351, 4}));
    EXPECT_EQ(total_of(found->totals, LeakKind::kReachable).now.bytes, 10'000 - 359 - 351);
}

TEST(LsanLogTest, TheTotalsOfAReportWithMissingRecordsAreThoseOfItsSum) {
    std::string text(kReport);
    const size_t begin = text.find("Indirect leak");
    text.erase(begin, text.find("---", begin) - begin);
    const Result<RawLeaks> found = lsan_findings(parse_lsan_log(text), true, 10'000);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->records.size(), 1U);
    EXPECT_FALSE(found->all_records);
    EXPECT_EQ(total_of(found->totals, LeakKind::kDefinitely).now, (LeakAmount{359, 4}));
    EXPECT_FALSE(total_of(found->totals, LeakKind::kIndirectly).known);
    EXPECT_EQ(total_of(found->totals, LeakKind::kReachable).now.bytes, 10'000 - 359 - 351);
    EXPECT_NE(found->note.find("303 of 359 bytes"), std::string::npos) << found->note;
}

TEST(LsanLogTest, AReportWithoutItsSumIsNoVerdict) {
    const size_t sum = kReport.find("SUMMARY");
    const Result<RawLeaks> found =
        lsan_findings(parse_lsan_log(kReport.substr(0, sum)), true, 10'000);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code(), ErrorCode::kInternal);
}

TEST(LsanLogTest, OnlySuppressedLeaksAreCountedAsSuch) {
    std::string text(kReport.substr(kReport.find("---")));
    text.erase(text.find("SUMMARY"));
    const Result<RawLeaks> found = lsan_findings(parse_lsan_log(text), false, 10'000);
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(found->all_records);
    EXPECT_EQ(total_of(found->totals, LeakKind::kSuppressed).now, (LeakAmount{351, 4}));
    EXPECT_EQ(total_of(found->totals, LeakKind::kDefinitely).now, LeakAmount{});
}

TEST(LsanLogTest, AnEmptyReportIsNothingLost) {
    const LsanLog log = parse_lsan_log("");
    EXPECT_TRUE(log.records.empty());
    EXPECT_FALSE(log.complete);
}

TEST(LsanLogTest, CutAnywhereItGivesNothingThatIsNotThere) {
    for (size_t size = 0; size < kReport.size(); size++) {
        const LsanLog log = parse_lsan_log(kReport.substr(0, size));
        ASSERT_LE(log.records.size(), 2U);
        EXPECT_FALSE(log.complete) << size;
        for (const LeakRecord& record : log.records) {
            EXPECT_TRUE(record.now.bytes == 303 || record.now.bytes == 56) << size;
            EXPECT_FALSE(record.stack.empty());
        }
    }
    for (size_t from = 0; from < kReport.size(); from++) {
        ASSERT_LE(parse_lsan_log(kReport.substr(from)).records.size(), 2U);
    }
}

TEST(LsanLogTest, GarbageIsSkipped) {
    for (const char* line : {
             "Direct leak of byte(s) in 3 object(s) allocated from:",
             "Direct leak of 99999999999999999999 byte(s) in 3 object(s) allocated from:",
             "Direct leak of -3 byte(s) in 3 object(s) allocated from:",
             "Direct leak of 3 byte(s) in object(s)",
             "Curious leak of 3 byte(s) in 3 object(s) allocated from:",
         }) {
        const LsanLog log = parse_lsan_log(std::string(line) + "\n    #0 0x1 in f() /a.cc:1\n\n");
        EXPECT_TRUE(log.records.empty()) << line;
    }
    for (const char* frame : {"    # 0x1 in f", "    #0 in f", "    at 0x1: f (a.cc:1)"}) {
        const LsanLog log =
            parse_lsan_log("Direct leak of 3 byte(s) in 3 object(s) allocated from:\n" +
                           std::string(frame) + "\n\n");
        EXPECT_TRUE(log.records.empty()) << frame;
    }
}

TEST(LsanLogTest, OfTooManyRecordsTheFirstAreKept) {
    std::string text;
    for (size_t i = 0; i < kMaxLsanRecords + 2; i++) {
        text +=
            "Direct leak of 3 byte(s) in 3 object(s) allocated from:\n    #0 0x1 in f /a.cc:1\n\n";
    }
    const LsanLog log = parse_lsan_log(text);
    EXPECT_EQ(log.records.size(), kMaxLsanRecords);
    EXPECT_EQ(log.dropped_records, 2U);
}

// Written by __sanitizer_print_memory_profile() of gcc 12.
constexpr std::string_view kHeapList =
    "Live Heap Allocations: 83311 bytes in 6 chunks; quarantined: 0 bytes in 0 chunks; 1 other "
    "chunks; total chunks: 7; showing top 100% (at most 1024 unique contexts)\n"
    "72704 byte(s) (87%) in 1 allocation(s)\n"
    "    #0 0x7fe16e6b89cf in __interceptor_malloc "
    "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69\n"
    "    #1 0x7fe16de99939  (/lib/x86_64-linux-gnu/libstdc++.so.6+0x99939)\n"
    "\n"
    "10100 byte(s) (12%) in 4 allocation(s)\n"
    "    #0 0x7f40fd8b89cf in __interceptor_malloc "
    "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69\n"
    "    #1 0x560be626c3a7 in leak_here(int) /tmp/b/ls.cc:11\n"
    "    #2 0x7f40fd046249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)\n"
    "\n"
    "507 byte(s) (0%) in 1 allocation(s)\n"
    "    #0 0x7fe16e6b89cf in operator new(unsigned long) "
    "../../../../src/libsanitizer/asan/asan_new_delete.cpp:95\n"
    "    #1 0x55a11bb2a2d2 in keeps() /tmp/b/ls.cc:20\n"
    "\n";

TEST(LsanLogTest, ReadsWhatIsOnTheHeapByStack) {
    const std::vector<LeakRecord> heap = parse_heap_list(kHeapList, {});
    ASSERT_EQ(heap.size(), 3U);
    const auto keeps = std::ranges::find_if(
        heap, [](const LeakRecord& record) { return record.stack[1].function == "keeps()"; });
    ASSERT_NE(keeps, heap.end());
    EXPECT_EQ(keeps->kind, LeakKind::kReachable);
    EXPECT_EQ(keeps->now, (LeakAmount{507, 1}));
    EXPECT_EQ(keeps->stack[1], (StackFrame{"keeps()", "/tmp/b/ls.cc", 20}));
}

TEST(LsanLogTest, LostBlocksAreNotInUse) {
    // 303 bytes in 3 of the 4 blocks of leak_here() are lost.
    const LsanLog log = parse_lsan_log(kReport);
    const std::vector<LeakRecord> heap = parse_heap_list(kHeapList, log.records);
    const auto rest = std::ranges::find_if(heap, [](const LeakRecord& record) {
        return record.stack[1].function == "leak_here(int)";
    });
    ASSERT_NE(rest, heap.end());
    EXPECT_EQ(rest->now, (LeakAmount{9797, 1}));
    LeakRecord all = log.records[0];
    all.now = {10100, 4};
    EXPECT_EQ(parse_heap_list(kHeapList, {all}).size(), 2U);
}

TEST(LsanLogTest, AListOfTheHeapCutAnywhereGivesNothingThatIsNotThere) {
    for (size_t size = 0; size < kHeapList.size(); size++) {
        for (const LeakRecord& record : parse_heap_list(kHeapList.substr(0, size), {})) {
            EXPECT_TRUE(record.now.bytes == 72704 || record.now.bytes == 10100 ||
                        record.now.bytes == 507);
        }
    }
    EXPECT_TRUE(parse_heap_list("", {}).empty());
    EXPECT_TRUE(
        parse_heap_list("5 byte(s) (x%) in 1 allocation(s)\n    #0 0x1 in f a.cc:1\n", {}).empty());
}

}  // namespace
}  // namespace weir::diagnosis
