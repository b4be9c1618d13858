#include "diagnosis/leak_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/diagnosis/leak_samples.h"

namespace weir::diagnosis {
namespace {

using test::findings;
using test::leak_record;
using testing::HasSubstr;

constexpr LeakKind kDefinitely = LeakKind::kDefinitely;
constexpr LeakKind kIndirectly = LeakKind::kIndirectly;
constexpr LeakKind kPossibly = LeakKind::kPossibly;
constexpr LeakKind kReachable = LeakKind::kReachable;

class LeakJudgeTest : public testing::Test {
  protected:
    LeakReport judge(RawLeaks raw, LeakCheck check = LeakCheck::kAdded, size_t clients = 0) {
        return judge_.judge(std::move(raw), check, clients);
    }

    // Reachable bytes only.
    LeakVerdict with_reachable(int64_t bytes, size_t clients = 0) {
        return judge(findings({}, bytes), LeakCheck::kAdded, clients).verdict;
    }

    LeakJudge judge_;
};

TEST_F(LeakJudgeTest, NothingLostIsClean) {
    const LeakReport report = judge(findings({}, 70000));
    EXPECT_TRUE(report.first);
    EXPECT_EQ(report.verdict, LeakVerdict::kClean);
    EXPECT_EQ(report.reason, "nothing is lost");
    EXPECT_EQ(total_of(report.totals, kReachable).delta.bytes, 70000);
}

TEST_F(LeakJudgeTest, WhatTheFirstCheckFindsLostWasLostSinceTheStart) {
    const LeakReport report = judge(findings({leak_record(kDefinitely, "leak_here", 1045, 10)}));
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_EQ(report.reason,
              "1,045 bytes in 10 blocks lost since the start of the process, most of it allocated "
              "in leak_here (leak_here.cc:7)");
    EXPECT_TRUE(report.records.at(0).fresh);
}

TEST_F(LeakJudgeTest, OldLossesAreCleanAndMentioned) {
    judge(findings({leak_record(kDefinitely, "old", 100)}));
    const LeakReport report = judge(findings({leak_record(kDefinitely, "old", 100)}));
    EXPECT_EQ(report.verdict, LeakVerdict::kClean);
    EXPECT_EQ(report.reason,
              "nothing was lost since the last check; 100 bytes in 1 block from before stay lost");
    EXPECT_TRUE(report.records.empty());
    EXPECT_EQ(total_of(report.totals, kDefinitely).delta, LeakAmount{});
}

TEST_F(LeakJudgeTest, MoreDefinitelyOrIndirectlyLostIsLeaking) {
    judge(findings({leak_record(kDefinitely, "old", 100)}));
    LeakReport report = judge(findings({leak_record(kDefinitely, "old", 150, 2)}));
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_EQ(report.records.at(0).delta, (LeakAmount{50, 1}));
    EXPECT_FALSE(report.records.at(0).fresh);
    report = judge(
        findings({leak_record(kDefinitely, "old", 150, 2), leak_record(kIndirectly, "cycle", 8)}));
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_THAT(report.reason, HasSubstr("8 bytes in 1 block lost since the last check, most of it "
                                         "allocated in cycle (cycle.cc:7)"));
}

TEST_F(LeakJudgeTest, PossiblyLostAtTheFirstCheckIsTheBaseline) {
    EXPECT_EQ(judge(findings({leak_record(kPossibly, "thread", 304)})).verdict,
              LeakVerdict::kClean);
}

TEST_F(LeakJudgeTest, PossiblyLostWithANewRecordIsLeaking) {
    judge(findings({leak_record(kPossibly, "thread", 304)}));
    const LeakReport report = judge(
        findings({leak_record(kPossibly, "thread", 304), leak_record(kPossibly, "middle", 77)}));
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_EQ(report.reason,
              "77 bytes in 1 block possibly lost since the last check, with a new record, most of "
              "it allocated in middle (middle.cc:7)");
}

TEST_F(LeakJudgeTest, PossiblyLostInAnOldRecordIsNoProof) {
    judge(findings({leak_record(kPossibly, "thread", 304)}));
    EXPECT_EQ(judge(findings({leak_record(kPossibly, "thread", 608, 2)})).verdict,
              LeakVerdict::kClean);
}

TEST_F(LeakJudgeTest, PossiblyLostBlocksCountWhereNoRecordsAreToBeHad) {
    RawLeaks none = findings({leak_record(kPossibly, "thread", 304)});
    none.records.clear();
    none.has_records = false;
    judge(none);
    total_of(none.totals, kPossibly).now += {77, 1};
    const LeakReport report = judge(none);
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_THAT(report.reason, HasSubstr("whether with a new record is unknown"));
}

TEST_F(LeakJudgeTest, GrowthInTwoChecksInARowWithoutAClientIsGrowing) {
    EXPECT_EQ(with_reachable(70'000), LeakVerdict::kClean);
    EXPECT_EQ(with_reachable(75'000), LeakVerdict::kClean);
    const LeakReport report =
        judge(findings({leak_record(kReachable, "container", 5000, 3)}, 75'000));
    EXPECT_EQ(report.verdict, LeakVerdict::kGrowing);
    EXPECT_EQ(report.reason,
              "10,000 bytes more in use after 2 checks in a row without a client, most of it "
              "allocated in container (container.cc:7)");
}

TEST_F(LeakJudgeTest, GrowthWithAClientOrBelowTheThresholdOrWithAPauseIsNotGrowing) {
    with_reachable(70'000);
    with_reachable(75'000);
    EXPECT_EQ(with_reachable(80'000, 1), LeakVerdict::kClean);
    EXPECT_EQ(with_reachable(85'000), LeakVerdict::kClean);
    EXPECT_EQ(with_reachable(86'000), LeakVerdict::kClean);  // 1,000 is below 1,024
    EXPECT_EQ(with_reachable(88'000), LeakVerdict::kClean);
    EXPECT_EQ(with_reachable(88'000), LeakVerdict::kClean);
    EXPECT_EQ(with_reachable(90'000), LeakVerdict::kClean);
    EXPECT_EQ(with_reachable(92'000), LeakVerdict::kGrowing);
}

TEST_F(LeakJudgeTest, AToolThatSeesOnlyGrowthDoesNotSayThatNothingIsLost) {
    const auto raw = [](int64_t bytes) {
        RawLeaks found;
        total_of(found.totals, kReachable).known = true;
        total_of(found.totals, kReachable).now.bytes = bytes;
        found.has_records = true;
        found.all_records = true;
        return found;
    };
    EXPECT_EQ(judge(raw(70'000)).reason, "nothing to compare with yet");
    EXPECT_EQ(judge(raw(70'000)).reason,
              "this tool sees only growth, not what is lost; nothing grew");
    EXPECT_EQ(judge(raw(75'000)).reason,
              "this tool sees only growth, not what is lost; 5,000 bytes more in use: if it "
              "grows again at the next check without clients, the verdict is growing");
    EXPECT_EQ(judge(raw(80'000)).verdict, LeakVerdict::kGrowing);
}

TEST_F(LeakJudgeTest, TheThresholdsStandInTheReport) {
    LeakThresholds thresholds;
    thresholds.growing_bytes = 10;
    thresholds.growing_checks = 1;
    LeakJudge judge(thresholds);
    (void)judge.judge(findings({}, 100), LeakCheck::kAdded, 0);
    const LeakReport report = judge.judge(findings({}, 110), LeakCheck::kAdded, 0);
    EXPECT_EQ(report.verdict, LeakVerdict::kGrowing);
    EXPECT_EQ(report.thresholds.growing_bytes, 10);
}

TEST_F(LeakJudgeTest, ListsWhatTheCheckAsksForTheWorstFirst) {
    const auto raw = [](int64_t grown) {
        return findings({leak_record(kReachable, "table", 9000), leak_record(kPossibly, "p", 10),
                         leak_record(kDefinitely, "same", 5),
                         leak_record(kDefinitely, "grows", grown)});
    };
    judge(raw(10));
    LeakReport report = judge(raw(20), LeakCheck::kFull);
    ASSERT_EQ(report.records.size(), 4U);
    EXPECT_EQ(place_of(report.records[0]), "grows (grows.cc:7)");
    EXPECT_EQ(place_of(report.records[1]), "same (same.cc:7)");
    EXPECT_EQ(report.records[2].kind, kPossibly);
    EXPECT_EQ(report.records[3].kind, kReachable);
    EXPECT_EQ(judge(raw(30), LeakCheck::kAdded).records.size(), 1U);
    EXPECT_TRUE(judge(raw(20), LeakCheck::kAdded).records.empty());
    report = judge(raw(10), LeakCheck::kChanged);
    ASSERT_EQ(report.records.size(), 1U);
    EXPECT_EQ(report.records[0].delta.bytes, -10);
    EXPECT_TRUE(judge(raw(11), LeakCheck::kNew).records.empty());
    report = judge(raw(12), LeakCheck::kQuick);
    EXPECT_TRUE(report.records.empty());
    EXPECT_EQ(report.records_note, "a quick check gives totals only");
}

TEST_F(LeakJudgeTest, ATwiceListedStackIsOneRecord) {
    const LeakReport report = judge(findings(
        {leak_record(kDefinitely, "inlined", 10), leak_record(kDefinitely, "inlined", 20, 2)}));
    ASSERT_EQ(report.records.size(), 1U);
    EXPECT_EQ(report.records[0].now, (LeakAmount{30, 3}));
}

TEST_F(LeakJudgeTest, TheToolsOwnDeltasAreTaken) {
    LeakRecord record = leak_record(kDefinitely, "f", 100, 10);
    record.has_delta = true;
    record.delta = {30, 3};
    const LeakReport report = judge(findings({record}));
    EXPECT_EQ(report.records.at(0).delta, (LeakAmount{30, 3}));
    EXPECT_FALSE(report.records.at(0).fresh);
}

TEST_F(LeakJudgeTest, AListOfChangesLeavesTheOtherRecordsRemembered) {
    judge(findings({leak_record(kDefinitely, "a", 10), leak_record(kDefinitely, "b", 10)}));
    RawLeaks changes =
        findings({leak_record(kDefinitely, "a", 10), leak_record(kDefinitely, "b", 15)});
    changes.records.erase(changes.records.begin());
    changes.all_records = false;
    judge(std::move(changes));
    const LeakReport report =
        judge(findings({leak_record(kDefinitely, "a", 10), leak_record(kDefinitely, "b", 15)}),
              LeakCheck::kFull);
    for (const LeakRecord& record : report.records) {
        EXPECT_EQ(record.delta, LeakAmount{}) << place_of(record);
    }
}

RawLeaks possibly_lost(std::vector<LeakRecord> records) {
    RawLeaks raw = findings(std::move(records));
    total_of(raw.totals, kPossibly).known = true;
    return raw;
}

TEST_F(LeakJudgeTest, ARecordThatWentAndCameBackIsNew) {
    judge(possibly_lost({leak_record(kPossibly, "a", 10)}), LeakCheck::kFull);
    RawLeaks between = possibly_lost({leak_record(kPossibly, "a", 0, 0)});
    between.records.at(0).has_delta = true;
    between.records.at(0).delta = {-10, -1};
    between.all_records = false;
    between.all_changes = true;
    judge(between, LeakCheck::kAdded);
    const LeakReport report =
        judge(possibly_lost({leak_record(kPossibly, "a", 10)}), LeakCheck::kFull);
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_THAT(report.reason, HasSubstr("with a new record"));
}

TEST_F(LeakJudgeTest, AfterACheckThatDoesNotListWhatShrankARecordIsNotTakenForOld) {
    judge(possibly_lost({leak_record(kPossibly, "a", 10)}), LeakCheck::kFull);
    RawLeaks between = possibly_lost({});
    between.all_records = false;
    judge(between, LeakCheck::kNew);
    EXPECT_EQ(judge(possibly_lost({leak_record(kPossibly, "a", 10)}), LeakCheck::kFull).verdict,
              LeakVerdict::kLeaking);
    EXPECT_EQ(judge(possibly_lost({leak_record(kPossibly, "a", 20)}), LeakCheck::kFull).verdict,
              LeakVerdict::kClean)
        << "a whole list is good again";
}

TEST_F(LeakJudgeTest, KindsThatAToolCannotTellApartDoNotLookLikeALeak) {
    judge(findings({leak_record(kDefinitely, "a", 10), leak_record(kIndirectly, "b", 20)}));
    RawLeaks counts = findings({leak_record(kDefinitely, "both", 30, 2)});
    total_of(counts.totals, kIndirectly) = {};
    counts.records.clear();
    counts.has_records = false;
    LeakReport report = judge(counts);
    EXPECT_EQ(report.verdict, LeakVerdict::kClean);
    EXPECT_EQ(total_of(report.totals, kDefinitely).delta, LeakAmount{});
    report =
        judge(findings({leak_record(kDefinitely, "a", 10), leak_record(kIndirectly, "b", 25)}));
    EXPECT_EQ(report.verdict, LeakVerdict::kLeaking);
    EXPECT_EQ(total_of(report.totals, kDefinitely).delta.bytes, 5);
}

TEST_F(LeakJudgeTest, MoreRecordsThanItRemembersAreStillAnswered) {
    std::vector<LeakRecord> many;
    for (size_t i = 0; i < kMaxRememberedRecords + 100; i++) {
        many.push_back(leak_record(kDefinitely, "f" + std::to_string(i), 8));
    }
    judge(findings(many));
    const LeakReport report = judge(findings(many), LeakCheck::kFull);
    EXPECT_EQ(report.verdict, LeakVerdict::kClean);
    EXPECT_EQ(report.records.size(), kMaxReportRecords);
    EXPECT_THAT(report.records_note, HasSubstr("the worst 100 of 8292 records"));
}

TEST_F(LeakJudgeTest, OnlyChosenStacksAreGivenNames) {
    size_t named = 0;
    const auto name = [&](std::vector<LeakRecord>& records) { named += records.size(); };
    (void)judge_.judge(
        findings({leak_record(kReachable, "a", 10), leak_record(kReachable, "b", 10)}),
        LeakCheck::kAdded, 0, name);
    (void)judge_.judge(
        findings({leak_record(kReachable, "a", 10), leak_record(kReachable, "b", 11)}),
        LeakCheck::kAdded, 0, name);
    EXPECT_EQ(named, 3U);
}

}  // namespace
}  // namespace weir::diagnosis
