#include "app/http_api.h"

#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/metrics.h"
#include "base/version.h"

#include "test/net/http/test_client.h"
#include "test/session/world.h"

namespace weir::app {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

class HttpApiTest : public session::World {
  protected:
    HttpApiTest() {
        start_rtmp();
        api_.add_to(api_router_);
        api_.add_live_to(api_router_);
        api_http_ = net::HttpServer::create(api_router_, {});
        api_address_ = net::serve_on_loopback(*api_http_);
    }

    ~HttpApiTest() override {
        Error error = api_http_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    net::TestAnswer ask(std::string_view target, std::string_view method = "GET") {
        return net::TestClient(api_address_)
            .ask(fmt::format("{} {} HTTP/1.1\r\nHost: h\r\n\r\n", method, target));
    }

    Json get(std::string_view target) {
        const net::TestAnswer answer = ask(target);
        EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
        Json json = Json::parse(answer.body, nullptr, false);
        EXPECT_TRUE(json.is_object()) << answer.body;
        EXPECT_EQ(json.value("code", -1), 0);
        EXPECT_EQ(json.value("server", ""), "vid-1234567");
        EXPECT_EQ(json.value("service", ""), "89abcdef");
        EXPECT_EQ(json.value("pid", ""), std::to_string(getpid()));
        return json;
    }

    // A player that has its first frame.
    std::unique_ptr<session::RtmpPeer> player(std::string_view name = "a") {
        auto made = peer();
        made->open();
        EXPECT_TRUE(made->play(name));
        EXPECT_TRUE(made->gets(test::avc_frame(true, 1)));
        return made;
    }

    HttpApi api_{services_, {"vid-1234567", "89abcdef", MonoClock::now()}, nullptr, 2935};
    net::HttpRouter api_router_{net::HttpRouteOptions{net::method_bit(net::HttpMethod::kGet), false,
                                                      net::HttpErrorFormat::kJson}};
    std::unique_ptr<net::HttpServer> api_http_;
    io::SocketAddress api_address_;
};

TEST_F(HttpApiTest, TellsItsVersion) {
    const Json json = get("/api/v1/versions");
    EXPECT_EQ(json["data"]["version"], kVersion);
    EXPECT_EQ(json["data"]["major"], kVersionMajor);
}

TEST_F(HttpApiTest, SummarisesTheProcess) {
    auto source = publisher();
    auto viewer = player();
    const Json data = get("/api/v1/summaries")["data"];
    EXPECT_EQ(data["ok"], true);
    EXPECT_EQ(data["streams"], 1);
    EXPECT_EQ(data["clients"], 2);
    EXPECT_EQ(data["connections"]["used"], 2);
    EXPECT_EQ(data["connections"]["limit"], 1000);
    EXPECT_EQ(data["self"]["pid"], getpid());
    EXPECT_GT(data["self"]["mem_kbyte"].get<uint64_t>(), 1000U);
    EXPECT_GT(data["self"]["open_descriptors"].get<uint64_t>(), 3U);
}

TEST_F(HttpApiTest, ListsStreamsWithTheirTracks) {
    EXPECT_TRUE(get("/api/v1/streams")["streams"].empty());
    auto source = publisher();
    auto viewer = player();
    source->media(1, rtmp::kAudio, 10, test::aac_frame(5));
    ASSERT_TRUE(viewer->gets(test::aac_frame(5)));
    const Json list = get("/api/v1/streams");
    EXPECT_EQ(list["total"], 1);
    ASSERT_EQ(list["streams"].size(), 1U);
    const Json stream = list["streams"][0];
    EXPECT_EQ(stream["name"], "a");
    EXPECT_EQ(stream["app"], "live");
    EXPECT_EQ(stream["url"], "/live/a");
    EXPECT_EQ(stream["players"], 1);
    EXPECT_EQ(stream["clients"], 2);
    EXPECT_EQ(stream["publish"]["active"], true);
    EXPECT_EQ(stream["video"]["codec"], "H264");
    EXPECT_EQ(stream["video"]["frames"], 1);
    EXPECT_EQ(stream["audio"]["codec"], "AAC");
    EXPECT_GT(stream["recv_bytes"].get<uint64_t>(), 50U);
    EXPECT_GT(stream["send_bytes"].get<uint64_t>(), 50U);
    const Json client =
        get("/api/v1/clients/" + stream["publish"]["cid"].get<std::string>())["client"];
    EXPECT_EQ(client["publish"], true);
}

TEST_F(HttpApiTest, AStreamIsFoundByItsIdWhichSurvivesARepublish) {
    auto source = publisher();
    auto viewer = player();
    const std::string id = get("/api/v1/streams")["streams"][0]["id"];
    EXPECT_EQ(get("/api/v1/streams/" + id)["stream"]["name"], "a");
    source->close();
    ASSERT_TRUE(session::eventually([&] { return clients_.size() == 1; }));
    const Json waiting = get("/api/v1/streams/" + id)["stream"];
    EXPECT_EQ(waiting["publish"]["active"], false);
    EXPECT_EQ(waiting["publish"]["cid"], "");
    EXPECT_EQ(waiting["live_ms"], 0);
}

TEST_F(HttpApiTest, ListsClientsInOrderOfArrival) {
    auto source = publisher();
    auto viewer = player();
    const Json list = get("/api/v1/clients");
    EXPECT_EQ(list["total"], 2);
    EXPECT_EQ(list["clients"][0]["type"], "rtmp-publish");
    EXPECT_EQ(list["clients"][0]["publish"], true);
    EXPECT_EQ(list["clients"][1]["type"], "rtmp-play");
    EXPECT_EQ(list["clients"][1]["ip"], "127.0.0.1");
    EXPECT_EQ(list["clients"][1]["url"], "/live/a");
    EXPECT_EQ(list["clients"][1]["tcUrl"], "rtmp://127.0.0.1/live");
    EXPECT_GT(list["clients"][1]["send_bytes"].get<uint64_t>(), 3000U);
}

TEST_F(HttpApiTest, PagesThroughALongList) {
    std::vector<std::unique_ptr<session::RtmpPeer>> sources;
    for (int i = 0; i < 13; i++) {
        sources.push_back(publisher(fmt::format("s{:02}", i)));
    }
    for (const char* kind : {"streams", "clients"}) {
        const std::string base = std::string("/api/v1/") + kind;
        EXPECT_EQ(get(base)[kind].size(), 10U) << "ten unless asked";
        EXPECT_EQ(get(base)["total"], 13);
        std::set<std::string> ids;
        for (int start : {0, 5, 10}) {
            const Json page = get(fmt::format("{}?start={}&count=5", base, start));
            for (const Json& item : page[kind]) {
                ids.insert(item["id"]);
            }
        }
        EXPECT_EQ(ids.size(), 13U);
        EXPECT_TRUE(get(base + "?start=13")[kind].empty());
        EXPECT_TRUE(get(base + "?start=18446744073709551615&count=1000")[kind].empty());
        for (const char* wrong : {"?start=-1", "?start=x", "?count=0", "?count=1001",
                                  "?count=", "?start=18446744073709551616"}) {
            const net::TestAnswer answer = ask(base + wrong);
            EXPECT_EQ(answer.status, 400) << wrong;
            EXPECT_NE(Json::parse(answer.body).value("code", 0), 0) << answer.body;
        }
    }
}

TEST_F(HttpApiTest, WhatIsNotThereIsNotFoundAsJson) {
    for (const char* target : {"/api/v1/streams/st-000000000000", "/api/v1/clients/r1234567",
                               "/api/v1/clientsr1234567", "/api/v1/nothing", "/"}) {
        const net::TestAnswer answer = ask(target);
        EXPECT_EQ(answer.status, 404) << target;
        EXPECT_TRUE(Json::parse(answer.body, nullptr, false).is_object()) << answer.body;
    }
    EXPECT_EQ(ask("/api/v1/clients/r1234567", "DELETE").status, 404);
}

TEST_F(HttpApiTest, DeletingAClientKicksIt) {
    auto source = publisher();
    auto viewer = player();
    const Json list = get("/api/v1/clients");
    const std::string id = list["clients"][1]["id"];
    const net::TestAnswer answer = ask("/api/v1/clients/" + id, "DELETE");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(viewer->reads_to_end());
    EXPECT_TRUE(logged("kicked by the API"));
    EXPECT_EQ(ask("/api/v1/clients/" + id).status, 404);
    EXPECT_FALSE(source->ended);
    EXPECT_EQ(ask("/api/v1/clients", "DELETE").status, 400) << "everybody is nobody";
    EXPECT_EQ(ask("/api/v1/streams", "DELETE").status, 405);
}

TEST_F(HttpApiTest, NamesOfPeersCannotBreakTheJson) {
    auto source = publisher("q\"\\\xff\xc3\xa4<");
    const Json stream = get("/api/v1/streams")["streams"][0];
    EXPECT_THAT(stream["name"].get<std::string>(), HasSubstr("q\"\\"));
    const Json live = Json::parse(ask("/live.json").body);
    ASSERT_EQ(live["streams"].size(), 1U);
    EXPECT_THAT(live["streams"][0]["url_flv"].get<std::string>(),
                HasSubstr("/live/q%22%5C%FF%C3%A4%3C.flv"));
}

TEST_F(HttpApiTest, TheLiveListTellsNothingAboutPeople) {
    auto source = publisher();
    auto viewer = player();
    auto waiting = peer();
    waiting->open();
    waiting->send(session::RtmpPeer::stream_command("play", 1, "later"));
    ASSERT_TRUE(session::eventually([&] { return registry_.size() == 2; }));
    const net::TestAnswer answer = ask("/live.json");
    const Json live = Json::parse(answer.body);
    ASSERT_EQ(live["streams"].size(), 1U) << "what somebody waits for is not live";
    EXPECT_EQ(live["rtmp_port"], 2935);
    EXPECT_EQ(live["streams"][0]["players"], 1);
    EXPECT_EQ(live["streams"][0]["url_flv"], "/live/a.flv");
    EXPECT_THAT(answer.body, testing::Not(HasSubstr("127.0.0.1")));
}

// Prometheus text format 0.0.4.
TEST_F(HttpApiTest, MetricsAreWellFormedAndNothingIsTwice) {
    auto source = publisher("a");
    auto odd = publisher("b\"\\\xc3\xa4{}");
    auto viewer = player();
    const net::TestAnswer answer = ask("/metrics");
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(std::string(answer.headers.get("Content-Type").value_or("")),
                testing::StartsWith("text/plain"));
    const std::regex help("# HELP ([a-z_]+) \\S.*");
    const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
    const std::regex label(R"re([a-z]+="([^"\\\n]|\\\\|\\"|\\n)*")re");
    const std::regex sample(R"re(([a-z_]+)(\{.*\})? (-?[0-9.]+(e[+-]?[0-9]+)?))re");
    std::set<std::string> helped;
    std::map<std::string, std::string> types;
    std::set<std::string> series;
    std::string current;
    std::istringstream lines(answer.body);
    ASSERT_TRUE(answer.body.ends_with("\n"));
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_match(line, match, help)) {
            EXPECT_TRUE(helped.insert(match[1]).second) << line;
            current = match[1];
        } else if (std::regex_match(line, match, type)) {
            EXPECT_EQ(match[1], current);
            EXPECT_TRUE(types.emplace(match[1], match[2]).second) << line;
        } else {
            ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
            EXPECT_EQ(match[1], current) << "samples follow their head: " << line;
            EXPECT_TRUE(types.contains(match[1])) << line;
            EXPECT_EQ(match[1].str().ends_with("_total"), types[match[1]] == "counter") << line;
            EXPECT_TRUE(series.insert(match[1].str() + match[2].str()).second) << "twice: " << line;
            std::string labels = match[2];
            if (!labels.empty()) {
                labels = labels.substr(1, labels.size() - 2);
                EXPECT_EQ(std::regex_replace(labels, label, "").find_first_not_of(','),
                          std::string::npos)
                    << line;
            }
        }
    }
    EXPECT_EQ(helped.size(), types.size());
    EXPECT_THAT(
        answer.body,
        HasSubstr("weir_stream_players{vhost=\"__defaultVhost__\",app=\"live\",stream=\"a\"} 1\n"));
    EXPECT_THAT(
        answer.body,
        HasSubstr("weir_stream_live{vhost=\"__defaultVhost__\",app=\"live\",stream=\"a\"} 1\n"));
    EXPECT_THAT(answer.body, HasSubstr("weir_clients 3\n"));
}

TEST_F(HttpApiTest, MetricsOfManyStreamsAreBounded) {
    std::vector<stream::Stream*> made;
    for (size_t i = 0; i < kMaxStreamSeries + 50; i++) {
        made.push_back(
            &registry_.get_or_create({"v", "live", std::to_string(i)}, {}, MonoClock::now()));
    }
    const std::string text = metrics_text(services_, nullptr, MonoClock::now());
    size_t lines = 0;
    for (size_t at = 0; (at = text.find("weir_stream_live{", at)) != std::string::npos; at++) {
        lines++;
    }
    EXPECT_EQ(lines, kMaxStreamSeries);
    EXPECT_THAT(text, HasSubstr(fmt::format("weir_streams {}\n", made.size())));
    for (stream::Stream* stream : made) {
        registry_.release(*stream);
    }
}

}  // namespace
}  // namespace weir::app
