#include "bench/load/core/scenario.h"

#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/load/core/scenario_directives.h"
#include "test/support/source_file.h"

namespace weir::load {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kWhole = R"(
title "An evening";
connect_timeout 5s;
server { pid 4711; api http://127.0.0.1:1985; }
publishers main {
    url rtmp://127.0.0.1:1935/live/s_%d;
    streams 4;
    ramp 2s;
    bitrate 1M;
    audio 0;
    fps 25;
    gop 50;
}
publishers clips { url rtmp://127.0.0.1/live/clip; file clip.mp4; }
players viewers { plays main; url rtmp://127.0.0.1:1935/live/s_%d; stay 20s; stall 2s; behind 300ms; }
players web { plays clips; protocol ws-flv; url ws://127.0.0.1/live/clip.flv; verify off; streams 1; }
phase up {
    duration 20s;
    leave viewers { clients 100; after 12s; }
    join viewers { clients 500; ramp 10s; after 2s; }
    join web { clients 10; }
    expect latency.p99 < 500ms and rate.ratio > 0.9;
}
phase peak { duration 1m; expect "stalls == 0"; }
expect loss == 0;
expect corrupted == 0;
)";

std::vector<std::string> errors_of(std::string_view text) {
    std::vector<std::string> errors;
    for (const Diagnostic& each : parse_scenario(text, "s.conf").errors) {
        errors.push_back(each.to_string());
    }
    return errors;
}

// A scenario around one block that a test gets wrong.
std::string with(std::string_view players, std::string_view phase) {
    return fmt::format(
        "publishers main {{ url rtmp://127.0.0.1/live/a; }}\nplayers viewers {{ {} }}\n"
        "phase one {{ {} }}\n",
        players, phase);
}

constexpr std::string_view kGoodPlayers = "url rtmp://127.0.0.1/live/a;";
constexpr std::string_view kGoodPhase = "duration 5s; join viewers { clients 3; }";

TEST(ScenarioTest, EveryDirectiveHasItsPlace) {
    ScenarioOutcome outcome = parse_scenario(kWhole, "tests/evening.conf");
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    const Scenario& scenario = *outcome.scenario;
    EXPECT_EQ(scenario.title, "An evening");
    EXPECT_EQ(scenario.connect_timeout, Millis(5'000));
    EXPECT_EQ(scenario.server_pid, 4711u);
    EXPECT_EQ(scenario.server_api, "http://127.0.0.1:1985");
    ASSERT_EQ(scenario.publishers.size(), 2u);
    const ScenarioPublishers& main = scenario.publishers[0];
    EXPECT_EQ(main.url, "rtmp://127.0.0.1:1935/live/s_%d");
    EXPECT_EQ(main.streams, 4u);
    EXPECT_EQ(main.ramp, Millis(2'000));
    EXPECT_EQ(main.shape.bits_per_second, 1'000'000u);
    EXPECT_EQ(main.shape.audio_bits_per_second, 0u);
    EXPECT_EQ(main.shape.fps, 25u);
    EXPECT_EQ(main.shape.gop, 50u);
    EXPECT_EQ(scenario.publishers[1].file, "tests/clip.mp4");
    ASSERT_EQ(scenario.players.size(), 2u);
    const ScenarioPlayers& viewers = scenario.players[0];
    EXPECT_EQ(viewers.protocol, ScenarioProtocol::kRtmp);
    EXPECT_EQ(viewers.stay, Millis(20'000));
    EXPECT_EQ(viewers.stall, Millis(2'000));
    EXPECT_EQ(viewers.behind, Millis(300));
    EXPECT_TRUE(viewers.verify);
    EXPECT_EQ(scenario.streams_of(viewers), 4u);
    const ScenarioPlayers& web = scenario.players[1];
    EXPECT_EQ(web.protocol, ScenarioProtocol::kWsFlv);
    EXPECT_FALSE(web.verify);
    EXPECT_EQ(scenario.streams_of(web), 1u);
    ASSERT_EQ(scenario.phases.size(), 2u);
    EXPECT_EQ(scenario.phases[1].name, "peak");
    EXPECT_EQ(scenario.duration(), Millis(80'000));
    EXPECT_EQ(scenario.phases[0].expects.size(), 1u);
    EXPECT_EQ(scenario.phases[1].expects[0].text(), "stalls == 0");
    EXPECT_EQ(scenario.expects.size(), 2u);
}

TEST(ScenarioTest, StepsAreInOrderOfTheirTime) {
    ScenarioOutcome outcome = parse_scenario(kWhole, "s.conf");
    ASSERT_TRUE(outcome.ok());
    const std::vector<ScenarioStep>& steps = outcome.scenario->phases[0].steps;
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].players, "web");
    EXPECT_EQ(steps[0].group, 1u);
    EXPECT_EQ(steps[1].clients, 500u);
    EXPECT_EQ(steps[1].ramp, Millis(10'000));
    EXPECT_TRUE(steps[1].join);
    EXPECT_FALSE(steps[2].join);
    EXPECT_EQ(steps[2].after, Millis(12'000));
}

TEST(ScenarioTest, AShortOneGetsTheDefaults) {
    ScenarioOutcome outcome = parse_scenario(with(kGoodPlayers, kGoodPhase), "s.conf");
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    const Scenario& scenario = *outcome.scenario;
    EXPECT_EQ(scenario.publishers[0].shape.bits_per_second, 500'000u);
    EXPECT_EQ(scenario.publishers[0].streams, 1u);
    EXPECT_EQ(scenario.players[0].publishers, "main");  // the only ones
    EXPECT_EQ(scenario.players[0].stall, Millis(1'000));
    EXPECT_EQ(scenario.players[0].behind, Millis(500));
    EXPECT_EQ(scenario.connect_timeout, Millis(10'000));
    EXPECT_EQ(scenario.phases[0].steps[0].ramp, Millis(0));
}

TEST(ScenarioTest, ATypoIsReportedWithItsPlaceAndTheNearestName) {
    EXPECT_THAT(errors_of(with(kGoodPlayers, "duration 5s; joim viewers { clients 3; }")),
                ElementsAre(AllOf(HasSubstr("s.conf:3:26: found the unknown directive 'joim'"),
                                  HasSubstr("did you mean 'join'?"))));
    EXPECT_THAT(errors_of(with(kGoodPlayers, "duration 5s; join vewers { clients 3; }")),
                ElementsAre(AllOf(HasSubstr("s.conf:3:31: found 'vewers'"),
                                  HasSubstr("did you mean 'viewers'?"))));
    EXPECT_THAT(
        errors_of(with("url rtmp://127.0.0.1/live/a; protocol rtnp;", kGoodPhase)),
        ElementsAre(AllOf(
            HasSubstr(
                "expected rtmp, flv, ws-flv, ts, ws-ts, rtc, rtsp, rtsp-udp or rtsp-multicast"),
            HasSubstr("did you mean 'rtmp'?"))));
    EXPECT_THAT(errors_of(with(kGoodPlayers,
                               "duration 5s; join viewers { clients 3; } "
                               "expect latecy.p99 < 1s;")),
                ElementsAre(AllOf(HasSubstr("s.conf:3:61"), HasSubstr("latency.p99"))));
    EXPECT_THAT(errors_of(with("plays man; url rtmp://127.0.0.1/live/a;", kGoodPhase)),
                ElementsAre(HasSubstr("found 'man', expected the name of a block of publishers; "
                                      "did you mean 'main'?")));
}

TEST(ScenarioTest, AllMistakesAreReportedAtOnce) {
    EXPECT_THAT(errors_of("publishers main { url http://127.0.0.1/live/a; streams 0; }\n"
                          "players viewers { clients 5; }\n"
                          "phase one { join viewers { ramp 5 s; } }\n"
                          "phase one { duration 5s; }\n"),
                ElementsAre(HasSubstr("s.conf:1:23: found a URL with http://, expected rtmp://"),
                            HasSubstr("s.conf:1:56: found '0', expected a number from 1"),
                            HasSubstr("s.conf:2:1: found no 'url' in players"),
                            HasSubstr("s.conf:2:19: found 'clients' in players, but it belongs in "
                                      "join or leave"),
                            HasSubstr("s.conf:3:1: found no 'duration' in phase"),
                            HasSubstr("s.conf:3:13: found no 'clients' in join"),
                            HasSubstr("s.conf:3:35: found 's', expected ';'"),
                            HasSubstr("s.conf:4:7: found a second phase 'one'")));
}

TEST(ScenarioTest, WhatOnlyTheWholeFileShowsIsChecked) {
    EXPECT_THAT(errors_of(with("streams 2; url rtmp://127.0.0.1/live/a;", kGoodPhase)),
                ElementsAre(HasSubstr("one name for 2 streams, expected a URL with %d")));
    EXPECT_THAT(errors_of(with("protocol flv; url rtmp://127.0.0.1/live/a;", kGoodPhase)),
                ElementsAre(HasSubstr("found a URL with rtmp://, expected http://")));
    EXPECT_THAT(errors_of(with(kGoodPlayers,
                               "duration 5s; join viewers { clients 3; after 4s; ramp 2s; }")),
                ElementsAre(HasSubstr("a join until 6s after the beginning, expected it to be over "
                                      "within the 5s of phase 'one'")));
    EXPECT_THAT(errors_of(with(kGoodPlayers, "duration 5s;")),
                ElementsAre(HasSubstr("no phase has 'join viewers'")));
    EXPECT_THAT(errors_of(""), ElementsAre(HasSubstr("found no 'phase' in the top level")));
    EXPECT_THAT(
        errors_of("publishers a { url rtmp://h/a/b; bitrate 2k; }\nphase p { duration 1s; }"),
        ElementsAre(HasSubstr("publishers 'a': ")));
}

TEST(ScenarioTest, EachProtocolHasItsScheme) {
    const std::vector<std::pair<std::string_view, std::string_view>> all = {
        {"rtmp", "rtmp://h/live/a"},      {"flv", "http://h/live/a.flv"},
        {"ws-flv", "ws://h/live/a.flv"},  {"ts", "http://h/live/a.ts"},
        {"ws-ts", "ws://h/live/a.ts"},    {"rtc", "http://h/rtc/v1/whep/?app=live&stream=a"},
        {"rtsp", "rtsp://h/live/a"},      {"rtsp-udp", "rtsp://h/live/a"},
        {"rtsp-multicast", "rtsp://h/a"},
    };
    for (const auto& [protocol, url] : all) {
        for (const auto& [other, other_url] : all) {
            const auto errors = errors_of(
                with(fmt::format("protocol {}; url {};", protocol, other_url), kGoodPhase));
            EXPECT_EQ(errors.empty(),
                      url.substr(0, url.find(':')) == other_url.substr(0, other_url.find(':')))
                << protocol << " " << other_url;
        }
    }
    EXPECT_THAT(errors_of("publishers a { url rtmp://h/a/b; serve on; }\n"
                          "phase p { duration 1s; }"),
                ElementsAre(HasSubstr("found a URL with rtmp://, expected rtsp://")));
}

TEST(ScenarioTest, BlocksAndValuesAreToldApart) {
    EXPECT_THAT(errors_of(with(kGoodPlayers, "duration { } join viewers { clients 3; }")),
                ElementsAre(HasSubstr("duration takes no block")));
    EXPECT_THAT(errors_of(with(kGoodPlayers, "duration 5s; join viewers;")),
                ElementsAre(HasSubstr("join is a block; expected '{'")));
    EXPECT_THAT(errors_of(with(kGoodPlayers, "duration; join viewers { clients 1; }")),
                ElementsAre(HasSubstr("no value for duration, expected a duration from 100ms")));
}

TEST(ScenarioTest, CutAnywhereItIsNoCrash) {
    for (size_t size = 0; size < kWhole.size(); size++) {
        ScenarioOutcome outcome = parse_scenario(kWhole.substr(0, size), "s.conf");
        EXPECT_EQ(outcome.ok(), outcome.errors.empty());
    }
}

TEST(ScenarioTest, AMissingFileIsSaid) {
    ScenarioOutcome outcome = load_scenario("/nonexistent/x.conf");
    ASSERT_EQ(outcome.errors.size(), 1u);
    EXPECT_THAT(outcome.errors[0].to_string(), HasSubstr("/nonexistent/x.conf: cannot be opened"));
}

std::string read_file(const std::string& path) {
    std::ifstream in(test::source_file(path));
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

TEST(ScenarioTest, ReadyFilesAreRight) {
    for (const char* name :
         {"smoke", "evening", "reconnect", "many-publishers", "rtsp-paper", "cameras"}) {
        std::string path = test::source_file(fmt::format("bench/scenarios/{}.conf", name));
        ScenarioOutcome outcome = load_scenario(path);
        EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
        EXPECT_FALSE(outcome.ok() && outcome.scenario->title.empty()) << name;
    }
}

TEST(ScenarioDirectivesTest, ThePageEndsWithTheTables) {
    EXPECT_FALSE(scenario_markdown().empty());
    EXPECT_TRUE(read_file("../doc/load-client.md").ends_with(scenario_markdown()))
        << "end doc/load-client.md with what objs/weir-bench scenario --directives prints";
}

TEST(ScenarioDirectivesTest, EveryDirectiveIsExplained) {
    for (const ScenarioDirective& each : scenario_directives()) {
        EXPECT_FALSE(each.doc.empty()) << each.name;
        EXPECT_TRUE(each.doc.ends_with('.')) << each.name;
        EXPECT_FALSE(expectation(each).empty()) << each.name;
        if (!is_block(each)) {
            EXPECT_NE(each.apply, nullptr) << each.name;
            EXPECT_TRUE(!each.default_text.empty() || !each.example.empty()) << each.name;
        }
    }
}

TEST(ScenarioDirectivesTest, NamesAreUniqueWithinAContext) {
    auto table = scenario_directives();
    for (const ScenarioDirective& one : table) {
        for (const ScenarioDirective& other : table) {
            EXPECT_TRUE(&one == &other || one.name != other.name ||
                        (one.contexts & other.contexts) == 0)
                << one.name;
        }
    }
}

}  // namespace
}  // namespace weir::load
