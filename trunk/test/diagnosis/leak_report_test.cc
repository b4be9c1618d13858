#include "diagnosis/leak_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/diagnosis/leak_samples.h"

namespace weir::diagnosis {
namespace {

using Json = nlohmann::ordered_json;
using test::leak_record;
using testing::HasSubstr;

LeakReport sample() {
    LeakReport report;
    report.check = LeakCheck::kAdded;
    report.tool = "valgrind";
    report.seconds = 0.25;
    for (LeakTotal& total : report.totals) {
        total = {{100, 4}, {-10, 1}, true, true};
    }
    report.records = {leak_record(LeakKind::kDefinitely, "leak_here", 1045, 10)};
    report.records[0].delta = {5, 1};
    report.records[0].indirect_bytes = 56;
    report.verdict = LeakVerdict::kLeaking;
    report.reason = "because";
    return report;
}

Json json_of(const LeakReport& report, size_t limit = 100'000) {
    const Json json = Json::parse(leak_report_json(report, limit), nullptr, false);
    EXPECT_TRUE(json.is_object());
    return json;
}

TEST(LeakReportTest, TheJsonHasWhatTheApiPromises) {
    const Json json = json_of(sample());
    EXPECT_EQ(json["check"], "added");
    EXPECT_EQ(json["tool"], "valgrind");
    EXPECT_EQ(json["seconds"], 0.25);
    for (const char* kind : {"definitely", "indirectly", "possibly", "reachable", "suppressed"}) {
        EXPECT_EQ(json[kind].dump(),
                  R"({"bytes":100,"blocks":4,"bytes_delta":-10,"blocks_delta":1})")
            << kind;
    }
    EXPECT_EQ(json["records"].dump(),
              R"([{"kind":"definitely","bytes":1045,"blocks":10,"bytes_delta":5,"blocks_delta":1,)"
              R"("new":false,"indirect_bytes":56,"stack":[)"
              R"({"function":"malloc","file":"vgpreload.so","line":0},)"
              R"({"function":"leak_here","file":"src/leak_here.cc","line":7}]}])");
    EXPECT_EQ(json["records_note"], "");
    EXPECT_EQ(json["verdict"], "leaking");
    EXPECT_EQ(json["reason"], "because");
    EXPECT_EQ(json["thresholds"].dump(),
              R"({"lost_bytes":1,"possibly_bytes":1,"growing_bytes":1024,"growing_checks":2})");
}

TEST(LeakReportTest, WhatAToolCannotTellIsNull) {
    LeakReport report = sample();
    total_of(report.totals, LeakKind::kPossibly).known = false;
    total_of(report.totals, LeakKind::kReachable).blocks_known = false;
    const Json json = json_of(report);
    EXPECT_TRUE(json["possibly"]["bytes"].is_null());
    EXPECT_TRUE(json["possibly"]["blocks_delta"].is_null());
    EXPECT_EQ(json["reachable"]["bytes"], 100);
    EXPECT_TRUE(json["reachable"]["blocks"].is_null());
}

TEST(LeakReportTest, RecordsThatDoNotFitAreCounted) {
    LeakReport report = sample();
    for (int i = 0; i < 50; i++) {
        report.records.push_back(leak_record(LeakKind::kPossibly, "more", 8));
    }
    const size_t limit = 4000;
    const std::string text = leak_report_json(report, limit);
    EXPECT_LE(text.size(), limit);
    const Json json = Json::parse(text, nullptr, false);
    ASSERT_TRUE(json.is_object());
    const size_t kept = json["records"].size();
    EXPECT_GT(kept, 5U);
    EXPECT_EQ(json["records_note"],
              std::to_string(51 - kept) + " more records do not fit into this answer");
}

TEST(LeakReportTest, BytesThatAreNoUtf8AndLongNamesDoNoHarm) {
    LeakReport report = sample();
    report.records[0].stack[0].function = "\xff\xfe";
    report.records[0].stack[0].file = std::string(kMaxFrameText + 100, 'x');
    const Json json = json_of(report);
    EXPECT_EQ(json["records"][0]["stack"][0]["file"].get<std::string>().size(), kMaxFrameText);
}

TEST(LeakReportTest, ThePlaceIsTheFirstFrameThatIsNoAllocator) {
    LeakRecord record;
    record.stack = {{"operator new(unsigned long)", "new.cpp", 95},
                    {"std::__new_allocator<int>::allocate(unsigned long)", "alloc.h", 1},
                    {"???", "libx.so", 0},
                    {"weir::f()", "/src/app/f.cc", 12},
                    {"main", "main.cc", 1}};
    EXPECT_EQ(place_of(record), "weir::f() (f.cc:12)");
    record.stack[3] = {"g", "/lib/libg.so", 0};
    EXPECT_EQ(place_of(record), "g (libg.so)");
    record.stack[3] = {"h", "", 0};
    EXPECT_EQ(place_of(record), "h");
    record.stack.resize(1);
    EXPECT_EQ(place_of(record), "");
}

TEST(LeakReportTest, ThePlaceIsNoTemplateOfTheStandardLibrary) {
    LeakRecord record;
    record.stack = {{"operator new(unsigned long)", "/x/vgpreload_memcheck.so", 0},
                    {"make_unique<std::array<char, 1000> >", "unique_ptr.h", 1065},
                    {"allocate", "new_allocator.h", 137},
                    {"_M_realloc_insert<int>", "/usr/include/c++/12/bits/vector.tcc", 440},
                    {"weir::f()", "std_lib_user.cc", 12}};
    EXPECT_EQ(place_of(record), "weir::f() (std_lib_user.cc:12)");
}

TEST(LeakReportTest, ChecksHaveNames) {
    for (const LeakCheck check : kLeakChecks) {
        EXPECT_EQ(parse_leak_check(to_string(check)), check);
    }
    for (const char* text : {"", "Full", "all", "full "}) {
        EXPECT_EQ(parse_leak_check(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace weir::diagnosis
