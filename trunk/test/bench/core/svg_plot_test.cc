#include "bench/load/core/svg_plot.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/markup.h"

namespace weir::load {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<PlotMoment> seconds(size_t count) {
    std::vector<PlotMoment> out;
    for (size_t i = 1; i <= count; i++) {
        out.push_back({static_cast<double>(i), 1});
    }
    return out;
}

Plot one_line(std::vector<std::optional<double>> values) {
    return {"Bit rate", PlotUnit::kBitRate, false, {{"received", "blue", true, std::move(values)}}};
}

TEST(SvgPlotTest, DrawsALineFromTheLeftToTheRightAndFromTheBottomToTheTop) {
    std::string svg = svg_plot(one_line({0.0, 2e6, 4e6}), seconds(3), {});
    EXPECT_EQ(test::Markup(svg).error(), "");
    // 0 to 3 s from x = 58 to 986; 0 to 4 Mbit/s from y = 192 to 22.
    EXPECT_THAT(svg, HasSubstr("class=\"line blue\" d=\"M367.3 192.0L676.7 107.0L986.0 22.0\""));
    EXPECT_THAT(
        svg, HasSubstr("class=\"area blue\" d=\"M367.3 192.0L676.7 107.0L986.0 22.0V192H367.3Z\""));
    EXPECT_THAT(svg, HasSubstr(">Mbit/s</text>"));
    EXPECT_THAT(svg, HasSubstr(">2</text>"));
    EXPECT_THAT(svg, HasSubstr(">3 s</text>"));
    EXPECT_THAT(svg, HasSubstr("</svg>received</span>")) << "legend";
}

TEST(SvgPlotTest, EachMomentHasAHoverTitleWithItsValues) {
    std::string svg = svg_plot(one_line({1e6, std::nullopt}), seconds(2), {});
    EXPECT_THAT(svg, HasSubstr("<title>1 s\nreceived: 1.00 Mbit/s</title>"));
    EXPECT_THAT(svg, HasSubstr("<title>2 s\nreceived: none</title>"));
}

TEST(SvgPlotTest, AMissingValueIsAGapAndALoneOneIsAsWideAsItsMoment) {
    std::string svg =
        svg_plot(one_line({4e6, 4e6, std::nullopt, 4e6, std::nullopt}), seconds(5), {});
    EXPECT_EQ(test::Markup(svg).error(), "");
    EXPECT_THAT(svg, HasSubstr("d=\"M243.6 22.0L429.2 22.0M614.8 22.0H800.4\""));
}

TEST(SvgPlotTest, ManyMomentsShareHoverAreasThatShowTheHighestValue) {
    std::vector<std::optional<double>> values(10'000, 1e6);
    values[5'001] = 9e6;
    std::string svg = svg_plot(one_line(values), seconds(10'000), {});
    test::Markup markup(svg);
    EXPECT_EQ(markup.error(), "");
    EXPECT_LE(markup.count("rect"), 300U);
    EXPECT_GE(markup.count("rect"), 200U);
    EXPECT_THAT(svg, HasSubstr("received: 9.00 Mbit/s</title>"));
}

TEST(SvgPlotTest, MarksHaveALineAndAName) {
    std::vector<PhaseMark> marks = {{0, "ramp"}, {2, "hold <all>"}};
    std::string svg = svg_plot(one_line({1.0, 2.0, 3.0, 4.0}), seconds(4), marks);
    EXPECT_EQ(test::Markup(svg).error(), "");
    EXPECT_THAT(svg, HasSubstr("<title>0 s: ramp</title>"));
    EXPECT_THAT(svg, HasSubstr(">hold &lt;all&gt;</text>"));
}

TEST(SvgPlotTest, NamesOfMarksDoNotOverlap) {
    std::vector<PhaseMark> marks;
    for (int i = 0; i < 50; i++) {
        marks.push_back({i * 0.01, "phase"});
    }
    marks.push_back({900, "beyond the end"});
    marks.push_back({-5, "before the beginning"});
    std::string svg = svg_plot(one_line({1.0, 2.0, 3.0, 4.0}), seconds(4), marks);
    size_t names = 0;
    for (size_t at = svg.find(">phase</text>"); at != std::string::npos;
         at = svg.find(">phase</text>", at + 1)) {
        names++;
    }
    EXPECT_GE(names, 2U);
    EXPECT_LE(names, 6U) << "two rows of about 110 units";
    EXPECT_THAT(svg, HasSubstr("<title>0.5 s: phase</title>")) << "every line has its title";
    EXPECT_THAT(svg, Not(HasSubstr("beyond")));
    EXPECT_THAT(svg, Not(HasSubstr("before")));
}

TEST(SvgPlotTest, ALongNameIsCutBetweenLetters) {
    std::string name;
    for (int i = 0; i < 30; i++) {
        name += "\xC3\xA4";
    }
    for (size_t shift = 0; shift < 2; shift++) {
        std::vector<PhaseMark> marks = {{1, std::string(shift, 'a') + name}};
        std::string svg = svg_plot(one_line({1.0, 2.0}), seconds(2), marks);
        EXPECT_THAT(svg, HasSubstr("\xC3\xA4...</text>"));
        EXPECT_THAT(svg, Not(HasSubstr("\xEF\xBF\xBD")));
    }
}

TEST(SvgPlotTest, ValuesFarApartGetALogarithmicAxisWherePlotsMayHaveOne) {
    Plot plot{"Latency",
              PlotUnit::kMilliseconds,
              true,
              {{"max", "grey", false, {{1.0}, {500.0}}}, {"none", "red", false, {{}, {}}}}};
    std::string svg = svg_plot(plot, seconds(2), {});
    EXPECT_THAT(svg, HasSubstr("(logarithmic)"));
    EXPECT_THAT(svg, HasSubstr(">1,000</text>"));
    EXPECT_THAT(svg, Not(HasSubstr("none"))) << "a line without values is left out";
    plot.lines[0].values[1] = 50.0;
    EXPECT_THAT(svg_plot(plot, seconds(2), {}), Not(HasSubstr("(logarithmic)")));
    plot.lines[0].values[1] = 500.0;
    plot.may_be_logarithmic = false;
    EXPECT_THAT(svg_plot(plot, seconds(2), {}), Not(HasSubstr("(logarithmic)")));
}

TEST(SvgPlotTest, IsEmptyWithoutAValue) {
    EXPECT_EQ(svg_plot(one_line({std::nullopt, std::nullopt}), seconds(2), {}), "");
    EXPECT_EQ(svg_plot(one_line({}), {}, {}), "");
    EXPECT_EQ(svg_plot(one_line({1.0}), seconds(2), {}), "") << "not a value per moment";
}

TEST(SvgPlotTest, NamesAreEscaped) {
    Plot plot{"<b>&\"", PlotUnit::kCount, false, {{"<i>&\"'", "x\" onload=\"y", false, {{1.0}}}}};
    std::string svg = svg_plot(plot, seconds(1), {});
    test::Markup markup(svg);
    EXPECT_EQ(markup.error(), "");
    EXPECT_EQ(markup.count("i"), 0U);
    EXPECT_EQ(markup.count("b"), 1U) << "that of the title";
    EXPECT_TRUE(markup.values("onload").empty());
    EXPECT_THAT(markup.values("aria-label"), Contains("&lt;b&gt;&amp;&quot; over time"));
}

}  // namespace
}  // namespace weir::load
