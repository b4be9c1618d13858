#include "app/processes/answer_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

net::Json list_of(std::vector<std::string> ids, uint64_t total) {
    net::Json list = net::Json::array();
    for (std::string& id : ids) {
        list.push_back({{"id", std::move(id)}});
    }
    return {{"code", 0}, {"total", total}, {"clients", std::move(list)}};
}

std::vector<std::string> ids_of(const net::Json& merged) {
    std::vector<std::string> ids;
    for (const net::Json& each : merged["clients"]) {
        ids.push_back(each["id"]);
    }
    return ids;
}

TEST(AnswerMerge, AListIsThatOfAllProcessesAndSaysWhose) {
    const net::Json merged =
        merge_lists({{0, list_of({"a", "b"}, 2)}, {1, list_of({}, 0)}, {2, list_of({"c"}, 1)}},
                    "clients", 0, 10);
    EXPECT_THAT(ids_of(merged), testing::ElementsAre("a", "b", "c"));
    EXPECT_EQ(merged["clients"][2]["process"], 2);
    EXPECT_EQ(merged["total"], 3);
    EXPECT_EQ(merged["code"], 0);
}

TEST(AnswerMerge, APageIsCutOverAllOfThem) {
    const std::vector<ProcessAnswer> answers = {{0, list_of({"a", "b", "c"}, 5)},
                                                {1, list_of({"x", "y", "z"}, 3)}};
    EXPECT_THAT(ids_of(merge_lists(answers, "clients", 1, 2)), testing::ElementsAre("b", "c"));
    EXPECT_THAT(ids_of(merge_lists(answers, "clients", 5, 2)), testing::ElementsAre("x", "y"))
        << "the first has two more, which were not asked for";
    EXPECT_EQ(merge_lists(answers, "clients", 0, 1)["total"], 8);
}

TEST(AnswerMerge, RecordingsThatRunComeFirstThenTheNewestOfAll) {
    const auto file = [](const char* id, int64_t ended_ms, const char* folder = "/a") {
        return net::Json(
            {{"id", id}, {"state", "finished"}, {"folder", folder}, {"ended_ms", ended_ms}});
    };
    const auto runs = [](const char* id) {
        return net::Json({{"id", id}, {"state", "recording"}, {"folder", "/b"}});
    };
    const std::vector<ProcessAnswer> answers = {
        {0,
         {{"total", 4},
          {"recordings", {runs("r0"), file("f5", 5), file("f2", 2), file("g9", 9, "/b")}}}},
        {1, {{"total", 0}, {"recordings", net::Json::array()}}},
        {2, {{"total", 3}, {"recordings", {runs("r2"), file("f4", 4), file("f1", 1)}}}}};
    const auto ids = [&](uint64_t start, uint64_t count) {
        std::vector<std::string> out;
        const net::Json page = merge_recordings(answers, start, count);
        for (const net::Json& each : page["recordings"]) {
            out.push_back(each["id"]);
        }
        return out;
    };
    EXPECT_THAT(ids(0, 10), testing::ElementsAre("r0", "r2", "f5", "f4", "f2", "f1", "g9"));
    EXPECT_THAT(ids(2, 2), testing::ElementsAre("f5", "f4"));
    EXPECT_TRUE(ids(7, 2).empty());
    const net::Json merged = merge_recordings(answers, 3, 1);
    EXPECT_EQ(merged["total"], 7);
    EXPECT_EQ(merged["recordings"][0]["process"], 2);
}

TEST(AnswerMerge, CountsAreSummedUpAndWhatIsOfOneIsNot) {
    const net::Json first = {
        {"code", 0}, {"pid", 10}, {"data", {{"self", {{"mem", 1.5}, {"conn", 3}}}, {"name", "x"}}}};
    const net::Json second = {{"code", 0},
                              {"pid", 11},
                              {"data", {{"self", {{"mem", 2.0}, {"conn", 4}}}, {"name", "y"}}},
                              {"more", true}};
    const net::Json merged = merge_sums({{0, first}, {1, second}});
    EXPECT_EQ(merged["pid"], 10);
    EXPECT_EQ(merged["data"]["self"]["conn"], 7);
    EXPECT_EQ(merged["data"]["self"]["mem"], 3.5);
    EXPECT_EQ(merged["data"]["name"], "x");
    EXPECT_EQ(merged["more"], true);
}

TEST(AnswerMerge, ObjectsWithTheSameIdAreOne) {
    const net::Json first = {{"vhosts", {{{"id", "v1"}, {"clients", 2}}}}};
    const net::Json second = {
        {"vhosts", {{{"id", "v1"}, {"clients", 3}}, {{"id", "v2"}, {"clients", 1}}}}};
    const net::Json merged = merge_sums({{0, first}, {1, second}});
    ASSERT_EQ(merged["vhosts"].size(), 2U);
    EXPECT_EQ(merged["vhosts"][0]["clients"], 5);
}

TEST(AnswerMerge, AReloadSaysWhatEachProcessDid) {
    const net::Json done = {{"code", 0}, {"pid", "1"}, {"data", {{"needs_restart", false}}}};
    const net::Json refused = {{"code", 409},
                               {"pid", "2"},
                               {"error", "nothing was changed"},
                               {"errors", {{{"message", "a port is taken"}}}}};
    const ReloadAnswer all = merge_reloads({{0, 200, done}, {1, 200, done}});
    EXPECT_EQ(all.status, 200);
    EXPECT_EQ(all.json["code"], 0);
    EXPECT_EQ(all.json["processes"],
              net::Json({{{"process", 0}, {"code", 0}}, {{"process", 1}, {"code", 0}}}));

    const ReloadAnswer some = merge_reloads({{0, 200, done}, {1, 409, refused}, {2, 503, {}}});
    EXPECT_EQ(some.status, 409);
    EXPECT_EQ(some.json["code"], 409);
    EXPECT_EQ(some.json["error"],
              "processes with the new configuration: 0; processes with the old one: 1; processes "
              "that did not answer: 2");
    EXPECT_EQ(some.json["errors"], refused["errors"]);
    EXPECT_EQ(some.json["processes"][2]["code"], 503);

    const ReloadAnswer none = merge_reloads({{0, 409, refused}, {1, 409, refused}});
    EXPECT_EQ(none.status, 409);
    EXPECT_EQ(none.json["error"], "nothing was changed");
    EXPECT_EQ(none.json["errors"].size(), 1U) << "each reason once";
}

TEST(AnswerMerge, MetricsKeepTheirHelpAndSayTheProcess) {
    const std::string text =
        "# HELP weir_a A.\n# TYPE weir_a gauge\nweir_a 1\n# HELP weir_b B.\n# TYPE weir_b "
        "counter\nweir_b{x=\"1\"} 2\nweir_b{x=\"2\"} 3\n";
    EXPECT_EQ(merge_metrics({{0, text}, {1, text}}),
              "# HELP weir_a A.\n# TYPE weir_a gauge\nweir_a{process=\"0\"} 1\n"
              "weir_a{process=\"1\"} 1\n# HELP weir_b B.\n# TYPE weir_b counter\n"
              "weir_b{process=\"0\",x=\"1\"} 2\nweir_b{process=\"0\",x=\"2\"} 3\n"
              "weir_b{process=\"1\",x=\"1\"} 2\nweir_b{process=\"1\",x=\"2\"} 3\n");
}

}  // namespace
}  // namespace weir::app
