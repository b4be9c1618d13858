#include "bench/load/core/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/markup.h"

namespace weir::load {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kNasty = "</style><script>alert('x')</script>\x01\xFF\"&amp;";

Report small_report() {
    Report report("rtmp-play", "rtmp://h/a/b");
    Histogram delay;
    delay.add(10'000);
    report.section("clients", "clients").count("playing", "received media", 2'000);
    report.section("media", "received")
        .rate("bits_per_second", "rate", 1e9)
        .count("lost", "frames lost", 7);
    report.section("latency", "delay")
        .distribution("all_ms", "whole window", delay)
        .distribution("last_quarter_ms", "last quarter", Histogram());
    report.section("server", "server").number("cpu_percent", "CPU", 12.34, "% of a core", 2);
    return report;
}

TimeSeries series_of(int samples, size_t limit = TimeSeries::kMaxSamples) {
    TimeSeries series(limit);
    for (int i = 1; i <= samples; i++) {
        TimeSample sample;
        sample.time_s = i;
        sample.connected = 10;
        sample.playing = 9;
        sample.received_bps = 1e6 + i;
        sample.expected_bps = 1e6;
        sample.latency = {100, 1, 2, 3, 4};
        sample.server_cpu_percent = 20;
        sample.server_memory_bytes = 10 << 20;
        sample.client_cpu_percent = 10;
        sample.client_memory_bytes = 20 << 20;
        series.add(sample);
    }
    return series;
}

RunFacts facts() {
    return {
        "weir-bench rtmp-play --clients 2000", "2026-01-02 03:04:05 UTC", {{"kernel", "Linux 6"}}};
}

size_t occurrences(const std::string& text, std::string_view part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        count++;
    }
    return count;
}

TEST(HtmlReportTest, ShowsThatTheRunPassed) {
    Report report = small_report();
    report.expect("connected", true, "all clients connect", "2000 of 2000");
    std::string page = html_report(report, series_of(5), facts());
    EXPECT_EQ(test::Markup(page).error(), "");
    EXPECT_THAT(page, StartsWith("<!DOCTYPE html>\n"));
    EXPECT_THAT(page, HasSubstr("<title>PASS: weir-bench rtmp-play rtmp://h/a/b</title>"));
    EXPECT_THAT(page, HasSubstr("id=\"verdict\">PASS</div>"));
    EXPECT_THAT(page, HasSubstr("<td>all clients connect</td><td>2000 of 2000</td>"));
    EXPECT_THAT(page, Not(HasSubstr("id=\"failed\"")));
    EXPECT_THAT(page, Not(HasSubstr("not met")));
}

TEST(HtmlReportTest, ShowsWhichConditionDidNotHold) {
    Report report = small_report();
    report.expect("connected", true, "all clients connect", "2000 of 2000");
    report.expect("lost", false, "no frame is lost", "7 were");
    std::string page = html_report(report, series_of(5), facts());
    EXPECT_EQ(test::Markup(page).error(), "");
    EXPECT_THAT(page, HasSubstr("id=\"verdict\">FAIL</div>"));
    EXPECT_THAT(page, HasSubstr("<li>no frame is lost: <b>7 were</b></li>"));
    EXPECT_THAT(page, Not(HasSubstr("<li>all clients connect")));
    EXPECT_EQ(occurrences(page, "not met</td>"), 1U);
}

TEST(HtmlReportTest, ShowsTheFiguresThatPeopleLookForFirst) {
    std::string page = html_report(small_report(), TimeSeries(), facts());
    for (const char* tile :
         {"<b>2,000</b><span>clients that played", "<b>1.00 Gbit/s</b><span>received",
          "<b>10.00 ms</b><span>latency, 99th percentile", "<b>7</b><span>frames lost",
          "<b>12.3 %</b><span>server CPU"}) {
        EXPECT_THAT(page, HasSubstr(tile));
    }
    EXPECT_THAT(page, Not(HasSubstr("server memory per player"))) << "nobody measured it";
}

TEST(HtmlReportTest, HasAllTablesOfTheReport) {
    std::string page = html_report(small_report(), TimeSeries(), facts());
    EXPECT_THAT(page, HasSubstr("<tr><th>rate</th><td class=\"number\">1.00 Gbit/s</td></tr>"));
    EXPECT_THAT(page, HasSubstr("<tr><th>whole window</th><td class=\"number\">10.0</td>"));
    EXPECT_THAT(page,
                HasSubstr("<tr><th>last quarter</th><td class=\"number\" colspan=\"5\">no sample"));
    EXPECT_THAT(page,
                HasSubstr("<tr><th>CPU</th><td class=\"number\">12.34 % of a core</td></tr>"));
}

TEST(HtmlReportTest, SaysHowTheRunWasMade) {
    Report report = small_report();
    report.ended_early("Ctrl+C");
    std::string page = html_report(report, TimeSeries(), facts());
    EXPECT_THAT(page, HasSubstr("<pre id=\"command\">weir-bench rtmp-play --clients 2000</pre>"));
    EXPECT_THAT(page, HasSubstr("2026-01-02 03:04:05 UTC"));
    EXPECT_THAT(page, HasSubstr("<tr><th>kernel</th><td>Linux 6</td></tr>"));
    EXPECT_THAT(page, HasSubstr("The run ended early: Ctrl+C"));
}

TEST(HtmlReportTest, WhatSomebodyEndedIsIncomplete) {
    Report report = small_report();
    report.incomplete("interrupted (Ctrl+C)");
    const std::string page = html_report(report, TimeSeries(), facts());
    EXPECT_THAT(page, HasSubstr("id=\"verdict\">INCOMPLETE<"));
    EXPECT_THAT(page, HasSubstr("The run ended early: interrupted (Ctrl+C)"));
    EXPECT_THAT(page, testing::Not(HasSubstr("What did not hold")));
}

TEST(HtmlReportTest, EveryTextIsEscaped) {
    Report report(kNasty, kNasty);
    report.ended_early(kNasty);
    report.section(kNasty, kNasty)
        .text(kNasty, kNasty, kNasty)
        .number(kNasty, kNasty, 1, kNasty, 1);
    report.expect(kNasty, false, kNasty, kNasty);
    TimeSeries series = series_of(3);
    series.mark(1, kNasty);
    std::string page = html_report(report, series, {kNasty, kNasty, {{kNasty, kNasty}}});
    test::Markup markup(page);
    EXPECT_EQ(markup.error(), "");
    EXPECT_EQ(markup.count("script"), 0U);
    EXPECT_EQ(markup.count("style"), 1U);
    EXPECT_EQ(page.find('\x01'), std::string::npos);
    EXPECT_EQ(page.find('\xFF'), std::string::npos);
    EXPECT_GE(occurrences(page, "&lt;script&gt;"), 12U);
}

TEST(HtmlReportTest, NothingIsLoadedFromElsewhereAndNoScriptRuns) {
    Report report = small_report();
    std::string page = html_report(report, series_of(100), facts());
    test::Markup markup(page);
    EXPECT_EQ(markup.count("script"), 0U);
    EXPECT_TRUE(markup.values("src").empty());
    EXPECT_THAT(markup.values("href"), Each(std::string("data:,")));
    EXPECT_THAT(page, Not(HasSubstr("url(")));
    EXPECT_THAT(page, Not(HasSubstr("@import")));
    EXPECT_THAT(markup.values("content"), Contains(StartsWith("default-src 'none'")));
}

TEST(HtmlReportTest, AnEmptySeriesGivesAPageWithoutPlots) {
    std::string page = html_report(small_report(), TimeSeries(), facts());
    test::Markup markup(page);
    EXPECT_EQ(markup.error(), "");
    EXPECT_EQ(markup.count("figure"), 0U);
    EXPECT_THAT(page, Not(HasSubstr("Over time")));
}

TEST(HtmlReportTest, AnEmptyReportIsAPageToo) {
    std::string page = html_report(Report("x", "y"), TimeSeries(), RunFacts());
    test::Markup markup(page);
    EXPECT_EQ(markup.error(), "");
    EXPECT_EQ(markup.count("table"), 0U);
}

TEST(HtmlReportTest, OneSampleIsDrawn) {
    std::string page = html_report(small_report(), series_of(1), facts());
    test::Markup markup(page);
    EXPECT_EQ(markup.error(), "");
    EXPECT_EQ(markup.count("figure"), 5U);
    EXPECT_THAT(page, HasSubstr("<b>Bit rate</b>"));
    EXPECT_THAT(page, HasSubstr("<title>1 s\nserver: 20.0 %\nload client: 10.0 %</title>"));
    EXPECT_THAT(page, HasSubstr("<title>1 s\nserver: 10.0 MiB\nload client: 20.0 MiB</title>"));
    EXPECT_THAT(page, HasSubstr("No frame was lost and no player stalled"));
}

TEST(HtmlReportTest, WhatWasNotMeasuredIsNotDrawn) {
    TimeSeries series;
    TimeSample sample;
    sample.time_s = 1;
    series.add(sample);
    std::string page = html_report(small_report(), series, facts());
    EXPECT_THAT(page, Not(HasSubstr("<b>End-to-end latency</b>")));
    EXPECT_THAT(page, Not(HasSubstr("<b>Memory</b>")));
    EXPECT_THAT(page, Not(HasSubstr("</svg>expected</span>")));
    EXPECT_THAT(page, Not(HasSubstr("</svg>server</span>")));
}

TEST(HtmlReportTest, LossesAndStallsHaveAPlotOfTheirOwn) {
    TimeSeries series = series_of(10);
    TimeSample sample;
    sample.time_s = 11;
    sample.lost = 12;
    series.add(sample);
    std::string page = html_report(small_report(), series, facts());
    EXPECT_THAT(page, HasSubstr("<title>11 s\nframes lost: 12\nstalls: 0</title>"));
    EXPECT_THAT(page, Not(HasSubstr("No frame was lost")));
}

TEST(HtmlReportTest, ARunThatGrowsIsAlsoShownByItsClients) {
    TimeSeries series;
    for (const uint64_t clients : {10, 20, 40}) {
        series.mark(series.end_s(), "phase");
        TimeSample sample;
        sample.time_s = series.end_s() + 1;
        sample.playing = clients;
        sample.server_cpu_percent = static_cast<double>(clients);
        series.add(sample);
    }
    const std::string page = html_report(small_report(), series, facts());
    EXPECT_EQ(test::Markup(page).error(), "");
    EXPECT_THAT(page, HasSubstr("<h2>By number of clients</h2>"));
    EXPECT_THAT(page, HasSubstr("<title>20 clients\nserver: 20"));
    EXPECT_THAT(html_report(small_report(), series_of(5), facts()),
                Not(HasSubstr("By number of clients")));
}

TEST(HtmlReportTest, TenThousandSamplesStayASmallPage) {
    TimeSeries series = series_of(10'000, 20'000);
    ASSERT_EQ(series.samples().size(), 10'000U);
    std::string page = html_report(small_report(), series, facts());
    test::Markup markup(page);
    EXPECT_EQ(markup.error(), "");
    EXPECT_EQ(markup.count("figure"), 5U);
    EXPECT_LT(page.size(), 1'000'000U);
}

TEST(HtmlReportTest, FactsHoldTheCommandLineAsOneWouldTypeIt) {
    std::vector<const char*> arguments = {"weir-bench", "--expect", "lost == 0", "it's", ""};
    RunFacts found = gather_facts(arguments);
    EXPECT_EQ(found.command_line, "weir-bench --expect 'lost == 0' 'it'\\''s' ''");
    EXPECT_THAT(found.started, testing::MatchesRegex("20..-..-.. ..:..:.. UTC"));
    std::vector<std::string> names;
    for (const auto& [name, value] : found.environment) {
        EXPECT_FALSE(value.empty()) << name;
        names.push_back(name);
    }
    EXPECT_THAT(names, Contains("cores"));
    EXPECT_THAT(names, Contains("kernel"));
    EXPECT_THAT(names, Contains("load client"));
}

}  // namespace
}  // namespace weir::load
