#include "app/api/live_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

net::Json stream(std::string name, int64_t live_ms, int players, std::string video = "H264") {
    return {{"app", "live"},      {"name", std::move(name)},
            {"vhost", "v"},       {"video", std::move(video)},
            {"players", players}, {"live_ms", live_ms}};
}

std::vector<net::Json> listed(const LiveMerge& merge) {
    std::vector<net::Json> list;
    stream::StreamKey key;
    while (const auto next = merge.after(key)) {
        key = next->first;
        list.push_back(net::parsed(next->second, 8));
    }
    return list;
}

TEST(LiveMergeTest, StreamsOfAllComeInOrder) {
    LiveMerge merge;
    merge.add(stream("b", 10, 1));
    merge.add_text(net::dumped(stream("c", 10, 2)));
    merge.add_text(net::dumped(stream("a", 10, 3)));
    EXPECT_THAT(listed(merge),
                testing::ElementsAre(stream("a", 10, 3), stream("b", 10, 1), stream("c", 10, 2)));
}

TEST(LiveMergeTest, ARelayedStreamIsOneAndHasThePlayersOfAll) {
    // Three watch at the publisher's process, and the relays of two others, where 4 and 5 watch.
    for (const std::vector<int>& order : {std::vector{0, 1, 2}, {1, 0, 2}, {2, 1, 0}}) {
        const std::vector<net::Json> copies = {stream("a", 900, 3 + 2, "HEVC"),
                                               stream("a", 500, 4, ""), stream("a", 100, 5, "")};
        LiveMerge merge;
        for (const int at : order) {
            merge.add(copies[static_cast<size_t>(at)]);
        }
        EXPECT_THAT(listed(merge), testing::ElementsAre(stream("a", 900, 12, "HEVC")));
    }
}

TEST(LiveMergeTest, WhatIsPublishedElsewhereIsAddedOnlyWhereItIsMissing) {
    LiveMerge merge;
    merge.add(stream("a", 10, 3));
    merge.add_missing(stream("a", 900, 0, ""));
    merge.add_missing(stream("b", 900, 0, ""));
    EXPECT_THAT(listed(merge), testing::ElementsAre(stream("a", 10, 3), stream("b", 900, 0, "")));
}

TEST(LiveMergeTest, ARelayThatIsNotCountedYetMakesNoNegativeNumber) {
    LiveMerge merge;
    merge.add(stream("a", 900, 0));
    merge.add(stream("a", 0, 0));
    EXPECT_EQ(listed(merge)[0]["players"], 0);
}

TEST(LiveMergeTest, WhatIsNoStreamIsLeftOut) {
    LiveMerge merge;
    for (const char* text :
         {"", "{", "[]", "null", "{}", R"({"app":"live","name":7,"vhost":"v"})"}) {
        merge.add_text(text);
    }
    EXPECT_EQ(merge.size(), 0U);
    merge.add_text(R"({"app":7,"name":"a","players":-5,"live_ms":"x"})");
    EXPECT_EQ(merge.size(), 1U);
}

TEST(LiveLinesTest, AnAnswerIsItsHeadAndAStreamALine) {
    const std::string text =
        "{\"list\":\"all\",\"health\":{\"cpu\":1},\"streams\":[\n{\"name\":\"a\"},\n{\"name\":"
        "\"b\"}\n]}\n";
    LiveLinesView lines(text);
    EXPECT_EQ(lines.next(), "{\"name\":\"a\"}");
    EXPECT_EQ(lines.next(), "{\"name\":\"b\"}");
    EXPECT_EQ(lines.next(), std::nullopt);
    EXPECT_EQ(lines.next(), std::nullopt);
    EXPECT_EQ(LiveLinesView::health_in(text)["cpu"], 1);
}

TEST(LiveLinesTest, AnEmptyListAndWhatIsNoneHaveNoStreams) {
    for (const char* text : {"", "{", "{}\n", "x\ny\nz\n", "{\"streams\":[\n]}\n", "\n{\"a\":1}",
                             "{\"health\":null,\"streams\":[\n]}\n"}) {
        EXPECT_EQ(LiveLinesView(text).next(), std::nullopt) << text;
        EXPECT_TRUE(LiveLinesView::health_in(text).is_null()) << text;
    }
}

TEST(HealthMergeTest, FiguresAreSummedUpButForTimesAndTheBusiest) {
    const net::Json one = {
        {"time_ms", 100}, {"uptime_s", 7}, {"cpu", 0.5}, {"busy", 0.25}, {"players", 3}};
    const net::Json other = {
        {"time_ms", 105}, {"uptime_s", 9}, {"cpu", 0.25}, {"busy", 0.75}, {"players", 4}};
    const net::Json merged = merge_health({one, other, nullptr});
    EXPECT_EQ(
        merged,
        (net::Json{
            {"time_ms", 100}, {"uptime_s", 7}, {"cpu", 0.75}, {"busy", 0.75}, {"players", 7}}));
    EXPECT_TRUE(merge_health({nullptr, one}).is_null());
}

TEST(HealthMergeTest, HistoriesMeetAtTheirNewestPoints) {
    const net::Json longer = {{"history", {{"time_ms", {1, 2, 3}}, {"players", {10, 20, 30}}}}};
    const net::Json young = {{"history", {{"time_ms", {4}}, {"players", {7}}}}};
    const net::Json merged = merge_health({longer, young});
    EXPECT_THAT(merged["history"]["players"], testing::ElementsAre(10, 20, 37));
    EXPECT_THAT(merged["history"]["time_ms"], testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(merge_health({young, longer})["history"]["players"], testing::ElementsAre(37));
}

}  // namespace
}  // namespace weir::app
