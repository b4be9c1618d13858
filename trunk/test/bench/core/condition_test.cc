#include "bench/load/core/condition.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

MetricValues some_values() {
    MetricValues values;
    values.set("loss", 0);
    values.set("duplicated", 3);
    values.set("latency.p99", 1500);  // ms
    values.set("rate", 4e6);
    values.set("rate.expected", 5e6);
    values.set("rate.ratio", 0.8);
    values.set("client.cpu", 40);
    values.set("client.memory", 64.0 * 1024 * 1024);
    return values;
}

std::string verdict(std::string_view text) {
    auto expression = Expression::parse(text);
    if (!expression.ok()) {
        return std::string(expression.error().message());
    }
    auto holds = expression->holds(some_values());
    return !holds ? "unknown" : *holds ? "true" : "false";
}

struct Case {
    std::string_view text;
    std::string_view verdict;
};

TEST(ExpressionTest, ComparesFiguresWithNumbersInTheirUnits) {
    for (const Case& each : {
             Case{"loss == 0", "true"},
             Case{"loss!=0", "false"},
             Case{"loss < 1 ", "true"},
             Case{"duplicated<=3", "true"},
             Case{"duplicated>3", "false"},
             Case{"duplicated >= 3", "true"},
             Case{"3 == duplicated", "true"},
             Case{"2 > duplicated", "false"},
             Case{"duplicated < 0.003k", "false"},
             Case{"latency.p99<2s", "true"},
             Case{"latency.p99<2 s", "true"},
             Case{"latency.p99<1499ms", "false"},
             Case{"latency.p99>1499999us", "true"},
             Case{"latency.p99<1m", "true"},
             Case{"latency.p99>0", "true"},
             Case{"rate>=4M", "true"},
             Case{"rate>=4Mbit", "true"},
             Case{"rate>4000k", "false"},
             Case{"rate>3999kbit", "true"},
             Case{"rate<1G", "true"},
             Case{"rate==4000000", "true"},
             Case{"rate<rate.expected", "true"},
             Case{"rate.ratio>0.98", "false"},
             Case{"client.cpu<40.5%", "true"},
             Case{"client.cpu<40", "false"},
             Case{"client.cpu > 39 %", "true"},
             Case{"client.memory<=64MiB", "true"},
             Case{"client.memory<64MiB", "false"},
             Case{"client.memory>65535 KiB", "true"},
             Case{"client.memory<1GiB", "true"},
         }) {
        EXPECT_EQ(verdict(each.text), each.verdict) << each.text;
    }
}

TEST(ExpressionTest, NotBindsCloserThanAndThanOr) {
    for (const Case& each : {
             Case{"loss==0 and duplicated==0", "false"},
             Case{"loss==0 or duplicated==0", "true"},
             Case{"loss==1 and loss==1 or loss==0", "true"},
             Case{"loss==0 or loss==1 and loss==1", "true"},
             Case{"(loss==0 or loss==1) and loss==1", "false"},
             Case{"not loss==0 or loss==0", "true"},
             Case{"not (loss==0 or loss==1)", "false"},
             Case{"not not loss==0", "true"},
             Case{"!(loss==1) && !(duplicated==0) || loss==1", "true"},
         }) {
        EXPECT_EQ(verdict(each.text), each.verdict) << each.text;
    }
}

TEST(ExpressionTest, WhatIsNotKnownDecidesNothing) {
    for (const Case& each : {
             Case{"server.cpu<95%", "unknown"},
             Case{"server.cpu!=95%", "unknown"},
             Case{"not server.cpu<95%", "unknown"},
             Case{"server.cpu<95% or loss==0", "true"},
             Case{"server.cpu<95% or loss==1", "unknown"},
             Case{"loss==1 and server.cpu<95%", "false"},
             Case{"loss==0 and server.cpu<95%", "unknown"},
         }) {
        EXPECT_EQ(verdict(each.text), each.verdict) << each.text;
    }
}

TEST(ExpressionTest, ErrorsSayWhereAndWhatWasExpected) {
    for (const Case& each : {
             Case{"",
                  "'', character 1: expected a figure such as loss, a number, 'not' or '(', "
                  "found the end"},
             Case{"loss", "'loss', character 5: expected one of < <= > >= == !=, found the end"},
             Case{"loss = 0",
                  "'loss = 0', character 6: expected one of < <= > >= == !=, found '='"},
             Case{"loss ==",
                  "'loss ==', character 8: expected a number or a figure, found the end"},
             Case{"loss == 0 latency.p99<2s",
                  "'loss == 0 latency.p99<2s', character 11: expected "
                  "'and', 'or' or the end, found 'latency.p99'"},
             Case{"(loss == 0", "'(loss == 0', character 11: expected ')', found the end"},
             Case{"loss == 0 and",
                  "'loss == 0 and', character 14: expected a figure such as loss, "
                  "a number, 'not' or '(', found the end"},
             Case{"latncy.p99 < 2s",
                  "'latncy.p99 < 2s', character 1: unknown figure 'latncy.p99'; "
                  "did you mean latency.p99? ('weir-bench metrics' lists all)"},
             Case{"latency.p99 < 2",
                  "'latency.p99 < 2', character 15: expected a time with its "
                  "unit (us, ms, s, m)"},
             Case{"latency.p99 < 2%",
                  "'latency.p99 < 2%', character 15: expected a time (us, ms, "
                  "s, m), found '%'"},
             Case{"rate.ratio<98%",
                  "'rate.ratio<98%', character 12: expected a ratio (without a "
                  "unit), found '%'"},
             Case{"loss<rate", "'loss<rate', character 6: expected a count, found a bit rate"},
             Case{"1<2", "'1<2', character 1: expected a figure on one side of the comparison"},
             Case{"loss<-1", "'loss<-1', character 6: expected a number or a figure, found '-'"},
         }) {
        EXPECT_EQ(verdict(each.text), each.verdict);
    }
}

TEST(ExpressionTest, LengthAndDepthAreLimited) {
    std::string deep(Expression::kMaxDepth + 1, '(');
    EXPECT_NE(verdict(deep + "loss==0").find("levels of"), std::string::npos);
    std::string fits(Expression::kMaxDepth, '(');
    EXPECT_EQ(verdict(fits + "loss==0" + std::string(Expression::kMaxDepth, ')')), "true");
    EXPECT_NE(verdict("loss==0" + std::string(Expression::kMaxLength, ' ')).find("at most"),
              std::string::npos);
}

TEST(ExpressionTest, EveryPrefixIsRefusedOrEvaluated) {
    std::string text = "not (loss==0 and latency.p99<2s) or server.cpu > 95 % && rate>=4Mbit";
    for (size_t size = 0; size <= text.size(); size++) {
        auto expression = Expression::parse(text.substr(0, size));
        if (expression.ok()) {
            (void)expression->holds(some_values());
        } else {
            EXPECT_NE(expression.error().message().find("character"), std::string_view::npos);
        }
    }
}

TEST(ExpressionTest, TellsTheValuesItLookedAt) {
    auto expression = Expression::parse(
        "loss==0 and latency.p99<2s and not server.cpu>95% or "
        "loss>5 and rate<rate.expected");
    ASSERT_TRUE(expression.ok());
    EXPECT_EQ(expression->found(some_values()),
              "loss 0, latency.p99 1500.0 ms, server.cpu not known, rate 4.0 Mbit/s, "
              "rate.expected 5.0 Mbit/s");
}

TEST(ExpressionTest, KnowsWhetherItNeedsTheServersFigures) {
    EXPECT_TRUE(Expression::parse("loss==0 or server.memory<64MiB")->needs_server());
    EXPECT_EQ(Expression::parse("loss==0 or 64MiB>server.memory")->first_of_server(),
              "server.memory");
    EXPECT_FALSE(Expression::parse("client.cpu<100%")->needs_server());
}

}  // namespace
}  // namespace weir::load
