#include "diagnosis/valgrind_log.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::diagnosis {
namespace {

// Written by valgrind 3.19.0 for VALGRIND_DO_ADDED_LEAK_CHECK, with --show-leak-kinds=all; a line
// of another program between its lines, as on a shared standard error.
constexpr std::string_view kAdded =
    "==16577== 16 (+16) bytes in 1 (+1) blocks are indirectly lost in loss record 1 of 6\n"
    "==16577==    at 0x48417B4: malloc (in "
    "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n"
    "==16577==    by 0x10917D: tree() (vg2.cc:9)\n"
    "2026-11-21 15:00:00.000 info a line of the server ==16577== 9 bytes in 9 blocks\n"
    "==16577==    by 0x10920A: main (vg2.cc:14)\n"
    "==16577== \n"
    "==16577== 72 (+72) (16 (+16) direct, 56 (+56) indirect) bytes in 1 (+1) blocks are definitely "
    "lost in loss record 4 of 6\n"
    "==16577==    at 0x4841F2F: operator new(unsigned long) (in "
    "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n"
    "==16577==    by 0x109163: tree() (vg2.cc:9)\n"
    "==16577==    by 0x10920A: main (vg2.cc:14)\n"
    "==16577== \n"
    "==16577== 2,200 (+1,155) bytes in 21 (+11) blocks are definitely lost in loss record 5 of 6\n"
    "==16577==    at 0x48417B4: malloc (in "
    "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n"
    "==16577==    by 0x49057B9: ??? (in /usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30)\n"
    "==16577==    by 0x1093AD: Table<int>::operator()(std::string const&) const (vg.cc:13)\n"
    "==16577== \n"
    "==16577== 72,704 (+72,704) bytes in 1 (+1) blocks are still reachable in new loss record 6 of "
    "6\n"
    "==16577==    at 0x48417B4: malloc (in "
    "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n"
    "==16577==    by 0x401AB9F: ???\n"
    "==16577== \n"
    "==16577== LEAK SUMMARY:\n"
    "==16577==    definitely lost: 2,216 (+1,171) bytes in 22 (+12) blocks\n"
    "==16577==    indirectly lost: 56 (+56) bytes in 2 (+2) blocks\n"
    "==16577==      possibly lost: 77 (-12) bytes in 1 (-1) blocks\n"
    "==16577==    still reachable: 72,704 (+0) bytes in 1 (+0) blocks\n"
    "==16577==                       of which reachable via heuristic:\n"
    "==16577==                         multipleinheritance: 536 (+0) bytes in 4 (+0) blocks\n"
    "==16577==         suppressed: 8 (+0) bytes in 1 (+0) blocks\n"
    "==16577== \n";

// The same for VALGRIND_DO_LEAK_CHECK: no changes are shown.
constexpr std::string_view kFull =
    "==16577== 72 (16 direct, 56 indirect) bytes in 1 blocks are definitely lost in loss record 7 "
    "of "
    "9\n"
    "==16577==    at 0x4841F2F: operator new(unsigned long) (in "
    "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)\n"
    "==16577==    by 0x109163: tree() (vg2.cc:9)\n"
    "==16577== \n"
    "==16577== LEAK SUMMARY:\n"
    "==16577==    definitely lost: 88 bytes in 3 blocks\n"
    "==16577==    indirectly lost: 168 bytes in 5 blocks\n"
    "==16577==      possibly lost: 0 bytes in 0 blocks\n"
    "==16577==    still reachable: 72,704 bytes in 1 blocks\n"
    "==16577==         suppressed: 0 bytes in 0 blocks\n";

constexpr int kPid = 16577;

TEST(ValgrindLogTest, ReadsTheTotalsOfEveryKind) {
    const ValgrindLog log = parse_valgrind_log(kAdded, kPid);
    ASSERT_TRUE(log.has_summary);
    EXPECT_EQ(total_of(log.totals, LeakKind::kDefinitely).now, (LeakAmount{2216, 22}));
    EXPECT_EQ(total_of(log.totals, LeakKind::kIndirectly).now, (LeakAmount{56, 2}));
    EXPECT_EQ(total_of(log.totals, LeakKind::kPossibly).now, (LeakAmount{77, 1}));
    EXPECT_EQ(total_of(log.totals, LeakKind::kReachable).now, (LeakAmount{72704, 1}));
    EXPECT_EQ(total_of(log.totals, LeakKind::kSuppressed).now, (LeakAmount{8, 1}));
    for (const LeakTotal& total : log.totals) {
        EXPECT_TRUE(total.known);
        EXPECT_TRUE(total.blocks_known);
    }
}

TEST(ValgrindLogTest, ReadsRecordsWithTheirChangesAndStacks) {
    const ValgrindLog log = parse_valgrind_log(kAdded, kPid);
    ASSERT_EQ(log.records.size(), 4U);
    const LeakRecord& grown = log.records[2];
    EXPECT_EQ(grown.kind, LeakKind::kDefinitely);
    EXPECT_EQ(grown.now, (LeakAmount{2200, 21}));
    EXPECT_TRUE(grown.has_delta);
    EXPECT_EQ(grown.delta, (LeakAmount{1155, 11}));
    ASSERT_EQ(grown.stack.size(), 3U);
    EXPECT_EQ(grown.stack[0],
              (StackFrame{"malloc", "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so", 0}));
    EXPECT_EQ(grown.stack[1],
              (StackFrame{"???", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", 0}));
    EXPECT_EQ(grown.stack[2],
              (StackFrame{"Table<int>::operator()(std::string const&) const", "vg.cc", 13}));
    EXPECT_EQ(log.records[3].kind, LeakKind::kReachable);
    EXPECT_EQ(log.records[3].stack[1], (StackFrame{"???", "", 0}));
}

TEST(ValgrindLogTest, SplitsWhatIsLostDirectlyFromWhatHangsOnIt) {
    const ValgrindLog log = parse_valgrind_log(kAdded, kPid);
    const LeakRecord& tree = log.records[1];
    EXPECT_EQ(tree.now, (LeakAmount{16, 1}));
    EXPECT_EQ(tree.delta, (LeakAmount{16, 1}));
    EXPECT_EQ(tree.indirect_bytes, 56);
}

TEST(ValgrindLogTest, LinesOfOthersBetweenTheFramesAreSkipped) {
    const ValgrindLog log = parse_valgrind_log(kAdded, kPid);
    EXPECT_EQ(log.records[0].stack.size(), 3U);
    EXPECT_EQ(log.records[0].stack[2], (StackFrame{"main", "vg2.cc", 14}));
}

TEST(ValgrindLogTest, AFullCheckHasNoChanges) {
    const ValgrindLog log = parse_valgrind_log(kFull, kPid);
    ASSERT_TRUE(log.has_summary);
    ASSERT_EQ(log.records.size(), 1U);
    EXPECT_FALSE(log.records[0].has_delta);
    EXPECT_EQ(log.records[0].now, (LeakAmount{16, 1}));
    EXPECT_EQ(log.records[0].indirect_bytes, 56);
}

TEST(ValgrindLogTest, TheSameStackHasTheSameKeyInEveryCheck) {
    const ValgrindLog added = parse_valgrind_log(kAdded, kPid);
    const ValgrindLog again = parse_valgrind_log(kAdded, kPid);
    EXPECT_EQ(added.records[1].key, again.records[1].key);
    EXPECT_NE(added.records[1].key, added.records[2].key);
}

TEST(ValgrindLogTest, ReadsTheSentenceThatStandsForASummaryOfZeros) {
    const ValgrindLog log =
        parse_valgrind_log("==16577== All heap blocks were freed -- no leaks are possible\n", kPid);
    EXPECT_TRUE(log.has_summary);
    EXPECT_TRUE(total_of(log.totals, LeakKind::kReachable).known);
    EXPECT_EQ(total_of(log.totals, LeakKind::kReachable).now, LeakAmount{});
}

TEST(ValgrindLogTest, LinesOfAnotherProcessAreNotTaken) {
    const ValgrindLog log = parse_valgrind_log(kAdded, kPid + 1);
    EXPECT_FALSE(log.has_summary);
    EXPECT_TRUE(log.records.empty());
}

TEST(ValgrindLogTest, LinesMayCarryATime) {
    std::string timed;
    for (size_t at = 0; at < kAdded.size();) {
        const size_t end = kAdded.find('\n', at) + 1;
        std::string line(kAdded.substr(at, end - at));
        if (line.starts_with("==")) {
            line.insert(2, "00:00:00:01.234 ");
        }
        timed += line;
        at = end;
    }
    const ValgrindLog log = parse_valgrind_log(timed, kPid);
    EXPECT_TRUE(log.has_summary);
    EXPECT_EQ(log.records.size(), 4U);
    EXPECT_FALSE(parse_valgrind_log(timed, 577).has_summary);  // the end of another number
}

TEST(ValgrindLogTest, CutAnywhereItGivesNothingThatIsNotThere) {
    const ValgrindLog whole = parse_valgrind_log(kAdded, kPid);
    for (size_t size = 0; size < kAdded.size(); size++) {
        const ValgrindLog log = parse_valgrind_log(kAdded.substr(0, size), kPid);
        ASSERT_LE(log.records.size(), whole.records.size());
        for (size_t i = 0; i < log.records.size(); i++) {
            EXPECT_EQ(log.records[i].now, whole.records[i].now) << size;
            EXPECT_FALSE(log.records[i].stack.empty());
        }
        if (log.has_summary) {
            EXPECT_EQ(total_of(log.totals, LeakKind::kPossibly).now, (LeakAmount{77, 1})) << size;
        }
    }
    for (size_t from = 0; from < kAdded.size(); from++) {
        const ValgrindLog log = parse_valgrind_log(kAdded.substr(from), kPid);
        ASSERT_LE(log.records.size(), whole.records.size());
    }
}

TEST(ValgrindLogTest, GarbageIsSkipped) {
    for (const char* line : {
             "12 bytes in blocks are definitely lost in loss record 1 of 2",
             "12 (+) bytes in 1 blocks are definitely lost in loss record 1 of 2",
             "99999999999999999999 bytes in 1 blocks are definitely lost in loss record 1 of 2",
             "12 (3 direct, indirect) bytes in 1 blocks are definitely lost in loss record 1 of 2",
             "12 bytes in 1 blocks are somewhere in loss record 1 of 2",
             "12 bytes in 1 blocks are definitely lost",
             "LEAK SUMMARY",
             "   definitely lost: 5 bytes in 5 blocks",
             "",
         }) {
        const std::string text =
            "==16577== " + std::string(line) + "\n==16577==    at 0x1: f (a.cc:1)\n==16577== \n";
        const ValgrindLog log = parse_valgrind_log(text, kPid);
        EXPECT_FALSE(log.has_summary) << line;
        EXPECT_TRUE(log.records.empty()) << line;
    }
}

TEST(ValgrindLogTest, OfTooManyRecordsTheLastAndLargestAreKept) {
    std::string text;
    const size_t count = kMaxValgrindRecords + 3;
    for (size_t i = 1; i <= count; i++) {
        text += "==16577== " + std::to_string(i) +
                " bytes in 1 blocks are definitely lost in loss record 1 of 2\n"
                "==16577==    at 0x1: f (a.cc:1)\n==16577== \n";
    }
    const ValgrindLog log = parse_valgrind_log(text, kPid);
    EXPECT_EQ(log.dropped_records, 3U);
    ASSERT_EQ(log.records.size(), kMaxValgrindRecords);
    EXPECT_EQ(log.records.back().now.bytes, static_cast<int64_t>(count));
}

TEST(ValgrindLogTest, LongStacksAndNamesAreCut) {
    std::string text = "==16577== 5 bytes in 1 blocks are definitely lost in loss record 1 of 2\n";
    for (size_t i = 0; i < kMaxReportFrames + 20; i++) {
        text += "==16577==    by 0x1: " + std::string(kMaxFrameText + 50, 'n') + " (a.cc:1)\n";
    }
    const ValgrindLog log = parse_valgrind_log(text, kPid);
    ASSERT_EQ(log.records.size(), 1U);
    EXPECT_EQ(log.records[0].stack.size(), kMaxReportFrames);
    EXPECT_EQ(log.records[0].stack[0].function.size(), kMaxFrameText);
}

}  // namespace
}  // namespace weir::diagnosis
