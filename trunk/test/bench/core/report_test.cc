#include "bench/load/core/report.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

Report small_report() {
    Report report("rtmp-play", "rtmp://h/a/b");
    Histogram delay;
    delay.add(10'000);
    report.section("clients", "clients")
        .count("asked", "asked for", 2'000)
        .number("cpu_percent", "CPU", 12.345, "%", 1)
        .rate("bits_per_second", "rate", 500'000)
        .text("note", "note", "a \"quoted\"\n\x01 text")
        .distribution("delay_ms", "delay", delay)
        .distribution("none_ms", "nothing", Histogram());
    return report;
}

TEST(ReportTest, TheTableShowsLabelsAndUnits) {
    std::string table = small_report().to_table();
    for (const char* part :
         {"rtmp-play rtmp://h/a/b", "asked for", "2,000", "12.3 %", "500.0 kbit/s",
          "p50 10.0  p95 10.0  p99 10.0  max 10.0 ms", "no sample", "PASSED"}) {
        EXPECT_NE(table.find(part), std::string::npos) << part;
    }
}

TEST(ReportTest, JsonHoldsTheSameValues) {
    EXPECT_EQ(small_report().to_json(), R"({
  "command": "rtmp-play",
  "target": "rtmp://h/a/b",
  "passed": true,
  "verdict": "passed",
  "ended_early": "",
  "clients": {
    "asked": 2000,
    "cpu_percent": 12.3,
    "bits_per_second": 500000,
    "note": "a \"quoted\"\u000a\u0001 text",
    "delay_ms": {"count": 1, "min": 10.000, "mean": 10.000, "p50": 10.000, "p95": 10.000, "p99": 10.000, "max": 10.000},
    "none_ms": {"count": 0, "min": 0.000, "mean": 0.000, "p50": 0.000, "p95": 0.000, "p99": 0.000, "max": 0.000}
  },
  "conditions": [
  ]
}
)");
}

TEST(ReportTest, OneConditionThatIsNotMetFailsTheRun) {
    Report report = small_report();
    report.expect("connected", true, "all clients connect", "2 of 2");
    EXPECT_TRUE(report.passed());
    report.expect("lost", false, "no frame is lost", "7 were");
    EXPECT_FALSE(report.passed());
    std::string table = report.to_table();
    EXPECT_NE(table.find("FAILED lost: no frame is lost: 7 were"), std::string::npos);
    EXPECT_EQ(table.find("PASSED"), std::string::npos);
    EXPECT_EQ(table.find("FAILED connected"), std::string::npos);
    EXPECT_NE(
        report.to_json().find(
            R"({"name": "lost", "met": false, "expected": "no frame is lost", "found": "7 were"})"),
        std::string::npos);
}

TEST(ReportTest, AnEarlyEndIsShownAndIsNoFailure) {
    Report report = small_report();
    report.ended_early("every player has ended");
    EXPECT_TRUE(report.passed());
    EXPECT_NE(report.to_table().find("ended early: every player has ended"), std::string::npos);
}

TEST(ReportTest, WhatSomebodyEndedIsIncompleteAndDidNotPass) {
    for (const bool held : {true, false}) {
        Report report = small_report();
        report.expect("connected", held, "all clients connect", "1 of 2");
        report.incomplete("interrupted (Ctrl+C)");
        EXPECT_EQ(report.verdict(), Report::Verdict::kIncomplete);
        EXPECT_FALSE(report.passed());
        const std::string table = report.to_table();
        EXPECT_NE(table.find("ended early: interrupted (Ctrl+C)"), std::string::npos);
        EXPECT_NE(table.find("INCOMPLETE"), std::string::npos);
        EXPECT_EQ(table.find("PASSED"), std::string::npos);
        EXPECT_EQ(table.find("FAILED"), std::string::npos);
        EXPECT_EQ(table.find("NOT SEEN connected: ") != std::string::npos, !held);
        EXPECT_NE(report.to_json().find("\"passed\": false,\n  \"verdict\": \"incomplete\""),
                  std::string::npos);
    }
}

TEST(ReportTest, ARunThatMeasuredNothingSaysWhyAndNoZeros) {
    Report report("rtmp-play", "rtmp://h/a/b");
    report.section("clients", "clients")
        .count("connected", "connected", 0)
        .text("failure_1", "  2 x", "Connection refused")
        .distribution("connect_ms", "connected after", Histogram());
    report.section("media", "received").count("bytes", "bytes", 0);
    report.expect("connected", false, "all clients connect", "0 of 2");
    report.nothing_measured();
    EXPECT_EQ(report.to_table(),
              "rtmp-play rtmp://h/a/b\n\nclients\n  connected                    0\n    2 x      "
              "                  Connection refused\n\n"
              "FAILED connected: all clients connect: 0 of 2\n");
    EXPECT_NE(report.to_json().find("\"media\""), std::string::npos)
        << "the same form for programs";
}

TEST(ReportTest, AttachedJsonStandsBehindTheConditions) {
    Report report("rtmp-play", "rtmp://h/a/b");
    report.attach("metrics", "{\"loss\": 0}");
    std::string json = report.to_json();
    EXPECT_TRUE(json.ends_with("\"conditions\": [\n  ],\n  \"metrics\": {\"loss\": 0}\n}\n"))
        << json;
}

}  // namespace
}  // namespace weir::load
