#include "app/api/http_api.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/access/api_guard.h"
#include "app/api/health_api.h"
#include "app/api/health_monitor.h"
#include "app/api/metrics.h"
#include "app/api/openapi_document.h"
#include "app/api/reload_api.h"
#include "app/api/sources_api.h"
#include "app/cluster/cluster_api.h"
#include "app/processes/process_api.h"
#include "app/protocols/wiring.h"
#include "app/run/tls_service.h"
#include "base/random.h"
#include "base/version.h"
#include "diagnosis/leak_api.h"
#include "diagnosis/memory_api.h"
#include "diagnosis/objects_api.h"
#include "diagnosis/profile_api.h"
#include "net/hooks.h"

#include "test/net/http/test_client.h"
#include "test/session/world.h"

namespace weir::app {

namespace {

using net::Json;
using testing::HasSubstr;

class HttpApiTest : public session::World {
  protected:
    HttpApiTest() {
        wire_protocols({*config::parse_config("listen 2935;", "test").config, services_, who_},
                       protocols_);
        start_rtmp();
        api_.use(health_);
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

    net::Json get(std::string_view target) {
        const net::TestAnswer answer = ask(target);
        EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
        net::Json json = net::Json::parse(answer.body, nullptr, false);
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

    HealthMonitor health_{services_};
    const net::ServerIdentity who_{"vid-1234567", "89abcdef", MonoClock::now()};
    ProtocolSet protocols_;
    HttpApi api_{services_, who_, protocols_};
    net::HttpRouter api_router_{net::HttpRouteOptions{http::method_bit(http::Method::kGet), false,
                                                      http::ErrorFormat::kJson}};
    std::unique_ptr<net::HttpServer> api_http_;
    io::SocketAddress api_address_;
};

TEST_F(HttpApiTest, TellsItsVersion) {
    const net::Json json = get("/api/v1/versions");
    EXPECT_EQ(json["data"]["version"], kVersion);
    EXPECT_EQ(json["data"]["major"], kVersionMajor);
}

TEST_F(HttpApiTest, SummarisesTheProcess) {
    auto source = publisher();
    auto viewer = player();
    const net::Json data = get("/api/v1/summaries")["data"];
    EXPECT_EQ(data["ok"], true);
    EXPECT_EQ(data["streams"], 1);
    EXPECT_EQ(data["clients"], 2);
    EXPECT_EQ(data["connections"]["used"], 2);
    EXPECT_EQ(data["connections"]["limit"], 1000);
    EXPECT_EQ(data["self"]["pid"], getpid());
    EXPECT_GT(data["system"]["mem_ram_kbyte"].get<uint64_t>(), 1000U);
    EXPECT_GE(data["system"]["cpus_online"].get<int>(), 1);
    EXPECT_GT(data["system"]["srs_recv_bytes"].get<uint64_t>(), 50U);
    EXPECT_LE(data["self"]["mem_percent"].get<double>(), 1.0);
    EXPECT_GT(data["self"]["mem_kbyte"].get<uint64_t>(), 1000U);
    EXPECT_GT(data["self"]["open_descriptors"].get<uint64_t>(), 3U);
}

TEST_F(HttpApiTest, ListsStreamsWithTheirTracks) {
    EXPECT_TRUE(get("/api/v1/streams")["streams"].empty());
    auto source = publisher();
    auto viewer = player();
    source->media(1, rtmp::kAudio, 10, Bytes{0xAF, 0x00, 0x12, 0x10});
    source->media(1, rtmp::kAudio, 10, test::aac_frame(5));
    ASSERT_TRUE(viewer->gets(test::aac_frame(5)));
    const net::Json list = get("/api/v1/streams");
    EXPECT_EQ(list["total"], 1);
    ASSERT_EQ(list["streams"].size(), 1U);
    const net::Json stream = list["streams"][0];
    EXPECT_EQ(stream["name"], "a");
    EXPECT_EQ(stream["app"], "live");
    EXPECT_EQ(stream["url"], "/live/a");
    EXPECT_EQ(stream["players"], 1);
    EXPECT_EQ(stream["clients"], 2);
    EXPECT_EQ(stream["publish"]["active"], true);
    EXPECT_EQ(stream["video"]["codec"], "H264");
    EXPECT_EQ(stream["video"]["frames"], 1);
    EXPECT_EQ(stream["audio"]["sample_rate"], 44'100);
    EXPECT_EQ(stream["audio"]["channel"], 2);
    EXPECT_EQ(stream["audio"]["profile"], "LC");
    EXPECT_EQ(stream["viewers"], (net::Json{{"rtmp", 1},
                                            {"flv", 0},
                                            {"ws-flv", 0},
                                            {"relay", 0},
                                            {"hls", 0},
                                            {"dash", 0},
                                            {"ts", 0},
                                            {"ws-ts", 0},
                                            {"webrtc", 0},
                                            {"rtsp", 0},
                                            {"srt", 0},
                                            {"sip", 0},
                                            {"phone", 0},
                                            {"vod", 0},
                                            {"jpg", 0}}));
    EXPECT_EQ(stream["gop"]["key_frames"], 1);
    EXPECT_GE(stream["gop"]["last_key_frame_ms"].get<int>(), 0);
    EXPECT_EQ(stream["publish"]["ip"], "127.0.0.1");
    EXPECT_EQ(stream["publish"]["transport"], "rtmp");
    EXPECT_EQ(stream["audio"]["codec"], "AAC");
    EXPECT_GT(stream["recv_bytes"].get<uint64_t>(), 50U);
    EXPECT_GT(stream["send_bytes"].get<uint64_t>(), 50U);
    const net::Json client =
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
    const net::Json waiting = get("/api/v1/streams/" + id)["stream"];
    EXPECT_EQ(waiting["publish"]["active"], false);
    EXPECT_EQ(waiting["publish"]["cid"], "");
    EXPECT_EQ(waiting["live_ms"], 0);
}

TEST_F(HttpApiTest, ListsClientsInOrderOfArrival) {
    auto source = publisher();
    auto viewer = player();
    const net::Json list = get("/api/v1/clients");
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
            const net::Json page = get(fmt::format("{}?start={}&count=5", base, start));
            for (const net::Json& item : page[kind]) {
                ids.insert(item["id"]);
            }
        }
        EXPECT_EQ(ids.size(), 13U);
        EXPECT_TRUE(get(base + "?start=13")[kind].empty());
        EXPECT_TRUE(get(base + "?start=9007199254740991&count=1000")[kind].empty());
        for (const char* wrong : {"?start=-1", "?start=x", "?count=0", "?count=1001",
                                  "?count=", "?start=9007199254740992"}) {
            const net::TestAnswer answer = ask(base + wrong);
            EXPECT_EQ(answer.status, 400) << wrong;
            EXPECT_NE(net::Json::parse(answer.body).value("code", 0), 0) << answer.body;
        }
    }
}

TEST_F(HttpApiTest, WhatIsNotThereIsNotFoundAsJson) {
    for (const char* target :
         {"/api/v1/streams/st-000000000000", "/api/v1/clients/r1234567", "/api/v1/clientsr1234567",
          "/api/v1/nothing", "/nothing", "/api/v1/versions/1", "/metrics/x", "/api/v2",
          "/api/v1/vhosts/none"}) {
        const net::TestAnswer answer = ask(target);
        EXPECT_EQ(answer.status, 404) << target;
        EXPECT_TRUE(net::Json::parse(answer.body, nullptr, false).is_object()) << answer.body;
    }
    EXPECT_EQ(ask("/api/v1/clients/r1234567", "DELETE").status, 404);
    EXPECT_EQ(ask("/api/v1/streams/st-000000000000", "DELETE").status, 404);
    EXPECT_EQ(ask("/nothing", "DELETE").status, 404);
    EXPECT_EQ(ask("/api/v1/", "DELETE").status, 405);
    EXPECT_EQ(ask("/api/v1/versions", "DELETE").status, 405);
    const net::Json missing = net::Json::parse(ask("/api/v1/nothing").body);
    EXPECT_EQ(missing["code"], 404);
    EXPECT_THAT(missing["paths"], testing::Contains("/api/v1/streams"));
}

TEST_F(HttpApiTest, DeletingAClientKicksIt) {
    auto source = publisher();
    auto viewer = player();
    const net::Json list = get("/api/v1/clients");
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

TEST_F(HttpApiTest, DeletingByFilterKicksThoseThatFitAndNobodyElse) {
    auto a = publisher("a");
    auto b = publisher("b");
    auto viewer = player("a");
    for (const char* wrong : {"?role=nobody", "?transport=carrier", "?strem=a", "?stream=a&x=1"}) {
        EXPECT_EQ(ask(std::string("/api/v1/clients") + wrong, "DELETE").status, 400) << wrong;
    }
    EXPECT_EQ(clients_.size(), 3U);
    const net::Json none = net::Json::parse(ask("/api/v1/clients?stream=c", "DELETE").body);
    EXPECT_EQ(none["kicked"], 0);
    const net::Json one =
        net::Json::parse(ask("/api/v1/clients?stream=a&role=player", "DELETE").body);
    EXPECT_EQ(one["kicked"], 1);
    EXPECT_TRUE(viewer->reads_to_end());
    const net::Json both = net::Json::parse(ask("/api/v1/clients?app=live", "DELETE").body);
    EXPECT_EQ(both["kicked"], 2);
    EXPECT_TRUE(a->reads_to_end());
    EXPECT_TRUE(b->reads_to_end());
}

TEST_F(HttpApiTest, DeletingAStreamEndsItsPublisher) {
    auto source = publisher("a");
    auto other = publisher("b");
    auto viewer = player("a");
    const std::string id = get("/api/v1/streams?stream=a")["streams"][0]["id"];
    EXPECT_EQ(ask("/api/v1/streams/" + id + "?who=me", "DELETE").status, 400);
    const net::TestAnswer answer = ask("/api/v1/streams/" + id, "DELETE");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(net::Json::parse(answer.body)["kicked"], 1);
    EXPECT_TRUE(source->reads_to_end());
    ASSERT_TRUE(session::eventually([&] { return clients_.size() == 2; }));
    EXPECT_EQ(get("/api/v1/streams/" + id)["stream"]["publish"]["active"], false);
    EXPECT_EQ(ask("/api/v1/streams/" + id, "DELETE").status, 409) << "nobody publishes it";
    EXPECT_EQ(ask("/api/v1/streams/" + id + "?who=all", "DELETE").status, 200);
    EXPECT_TRUE(viewer->reads_to_end());
    ASSERT_TRUE(session::eventually([&] { return clients_.size() == 1; }));
    EXPECT_FALSE(other->ended);
}

TEST_F(HttpApiTest, FiltersLists) {
    auto a = publisher("a");
    auto b = publisher("b");
    auto viewer = player("a");
    const auto total = [&](const char* target) { return get(target)["total"].get<int>(); };
    EXPECT_EQ(total("/api/v1/streams?stream=a"), 1);
    EXPECT_EQ(total("/api/v1/streams?app=live"), 2);
    EXPECT_EQ(total("/api/v1/streams?app=other"), 0);
    EXPECT_EQ(total("/api/v1/streams?live=1"), 2);
    EXPECT_EQ(total("/api/v1/streams?live=0"), 0);
    EXPECT_EQ(total("/api/v1/clients?role=publisher"), 2);
    EXPECT_EQ(total("/api/v1/clients?role=player"), 1);
    EXPECT_EQ(total("/api/v1/clients?stream=a"), 2);
    EXPECT_EQ(total("/api/v1/clients?ip=127.0.0.1&transport=rtmp"), 3);
    EXPECT_EQ(total("/api/v1/clients?ip=192.0.2.1"), 0);
    EXPECT_EQ(total("/api/v1/clients?transport=webrtc"), 0);
    EXPECT_EQ(get("/api/v1/clients?role=publisher&start=1&count=1")["clients"].size(), 1U);
    for (const char* wrong :
         {"/api/v1/clients?role=x", "/api/v1/clients?transport=x", "/api/v1/streams?live=yes"}) {
        EXPECT_EQ(ask(wrong).status, 400) << wrong;
    }
}

TEST_F(HttpApiTest, TellsHowFarAPlayerIs) {
    auto source = publisher();
    auto viewer = player();
    health_.tick();
    const net::Json client = get("/api/v1/clients?role=player")["clients"][0];
    EXPECT_EQ(client["encrypted"], false);
    EXPECT_EQ(client["play"]["state"], "flowing");
    EXPECT_EQ(client["play"]["lag_ms"], 0);
    EXPECT_EQ(client["play"]["lag_bytes"], 0);
    EXPECT_GE(client["play"]["first_frame_ms"].get<int>(), 0);
    EXPECT_LT(client["play"]["first_frame_ms"].get<int>(), 5'000);
    EXPECT_GE(client["tcp"]["rtt_ms"].get<double>(), 0);
    EXPECT_TRUE(client["tcp"]["retransmits"].is_number());
    EXPECT_GT(client["kbps"]["send_1s"].get<int>(), 0);
    EXPECT_EQ(client["stream"], get("/api/v1/streams")["streams"][0]["id"]);
    const net::Json publishing = get("/api/v1/clients?role=publisher")["clients"][0];
    EXPECT_TRUE(publishing["play"].is_null());
    EXPECT_TRUE(publishing["tcp"].is_object());
}

TEST_F(HttpApiTest, ListsVhostsByIdAndName) {
    api_.set_vhosts([] {
        return std::vector<VhostEntry>{{std::string(stream::kDefaultVhost), true},
                                       {"other.example", false}};
    });
    auto source = publisher();
    const net::Json list = get("/api/v1/vhosts");
    EXPECT_EQ(list["total"], 2);
    EXPECT_EQ(list["vhosts"][0]["streams"], 1);
    EXPECT_EQ(list["vhosts"][0]["clients"], 1);
    EXPECT_EQ(list["vhosts"][1]["enabled"], false);
    EXPECT_EQ(list["vhosts"][1]["streams"], 0);
    const std::string id = list["vhosts"][1]["id"];
    EXPECT_EQ(get("/api/v1/vhosts/" + id)["vhost"]["name"], "other.example");
    EXPECT_EQ(get("/api/v1/vhosts/other.example")["vhost"]["id"], id);
    EXPECT_EQ(get("/api/v1/vhosts?start=1")["vhosts"].size(), 1U);
}

TEST_F(HttpApiTest, ListsWhatThereIs) {
    const net::Json root = get("/");
    EXPECT_TRUE(root["urls"].contains("/api/"));
    EXPECT_TRUE(root["urls"].contains("/metrics"));
    EXPECT_TRUE(get("/api")["urls"].contains("v1"));
    const net::Json urls = get("/api/v1")["urls"];
    for (const auto& [name, text] : urls.items()) {
        EXPECT_FALSE(text.get<std::string>().empty()) << name << " is not in the document";
        if (name != "openapi.json") {
            get("/api/v1/" + name);
        }
    }
    EXPECT_EQ(urls, get("/api/v1/")["urls"]);
}

// All of what the server routes on the port of its API.
struct EveryRoute {
    EveryRoute(net::Services& services, io::WorkerPool& workers)
        : api(services, who, protocols),
          memory(who, services, workers),
          leaks(services.clients, who),
          profiles(who, workers),
          cluster(alone, services.registry, services.clients),
          sources({services.registry, dialer, services.policy, {}, system_random(), {}}) {
        wire_protocols({*config::parse_config("", "test").config, services, who}, protocols);
        for (const auto& protocol : protocols.all()) {
            protocol->add_routes(open, router);
        }
        api.add_to(router);
        api.add_live_to(router);
        router.add_prefix("/console", {}, [](net::HttpExchange&) {});
        objects.add_to(router);
        memory.add_to(router);
        leaks.add_to(router);
        profiles.add_to(router);
        health.add_to(router);
        reload.add_to(router);
        sources_api.add_to(router);
        cluster_api.add_to(router);
        add_processes_to(router, who, nullptr, [] { return ProcessFigures(); });
        tls.add_to(router, who);
        guard.add_to(router, who);
    }

    net::ServerIdentity who{"vid-1234567", "89abcdef", MonoClock::now()};
    ProtocolSet protocols;
    HttpApi api;
    diagnosis::ObjectsApi objects{who};
    diagnosis::MemoryApi memory;
    diagnosis::LeakApi leaks;
    diagnosis::ProfileApi profiles;
    config::Config alone;
    ClusterService cluster;
    ClusterApi cluster_api{who, cluster};
    HealthApi health{
        who,
        {[](auto&) { return Health{}; }, [](const auto&) { return false; }, [] { return false; }}};
    Reloader reloader{{}, {}};
    ReloadApi reload{who, reloader};
    TlsService tls{nullptr};
    net::Limits limits;
    AccessControl access{limits};
    ApiGuard guard{alone, access, limits};
    net::HttpRouter open;
    io::Resolver resolver;
    net::HttpClient dialer{resolver};
    net::Sources sources;
    AddedSources added;
    SourcesApi sources_api{who, sources, added, [](auto) { return true; }};
    net::HttpRouter router;
};

// The document has every route of the router, and no other.
TEST_F(HttpApiTest, TheOpenApiDocumentIsThatOfTheRouter) {
    const net::Json document = net::Json::parse(openapi_document(), nullptr, false);
    ASSERT_TRUE(document.is_object());
    EXPECT_EQ(net::Json::parse(ask("/api/v1/openapi.json").body, nullptr, false), document);
    EXPECT_EQ(document["info"]["version"], kVersion);

    auto workers = io::WorkerPool::create(1, 8);
    ASSERT_TRUE(workers.ok());
    const auto parts = std::make_unique<EveryRoute>(services_, **workers);
    const net::HttpRouter& router = parts->router;
    const auto trimmed = [](std::string path) {
        if (path.size() > 1 && path.ends_with('/')) {
            path.pop_back();
        }
        return path;
    };
    std::set<std::string> documented;
    for (const auto& [path, item] : document["paths"].items()) {
        documented.insert(trimmed(path.substr(0, path.find("/{id}"))));
        http::Request request;
        request.path = std::regex_replace(path, std::regex("\\{id\\}"), "x");
        const net::HttpRoute* route = router.find(request);
        ASSERT_NE(route, nullptr) << path;
        for (const auto& [method, operation] : item.items()) {
            std::string name = method;
            std::ranges::transform(name, name.begin(), [](char c) {
                return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
            });
            if (const auto parsed = http::parse_method(name)) {
                EXPECT_NE(route->options.methods & http::method_bit(*parsed), 0U)
                    << method << " " << path;
            }
        }
    }
    std::set<std::string> routed{"/", "/api", "/api/v1"};
    router.for_each_prefix([&](std::string_view prefix, const net::HttpRouteOptions& options) {
        routed.insert(std::string(prefix));
        for (const http::Method method : {http::Method::kGet, http::Method::kPost,
                                          http::Method::kPatch, http::Method::kDelete}) {
            if (prefix == "/" || (options.methods & http::method_bit(method)) == 0) {
                continue;
            }
            std::string name(http::to_string(method));
            std::ranges::transform(name, name.begin(), [](char c) {
                return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            });
            bool found = false;
            for (const auto& [path, item] : document["paths"].items()) {
                found = found || (trimmed(path.substr(0, path.find("/{id}"))) == prefix &&
                                  item.contains(name));
            }
            EXPECT_TRUE(found) << http::to_string(method) << " " << prefix
                               << " is not in the document";
        }
    });
    EXPECT_EQ(documented, routed);
}

TEST_F(HttpApiTest, NamesOfPeersCannotBreakTheJson) {
    auto source = publisher("q\"\\\xff\xc3\xa4<");
    const net::Json stream = get("/api/v1/streams")["streams"][0];
    EXPECT_THAT(stream["name"].get<std::string>(), HasSubstr("q\"\\"));
    const net::Json live = net::Json::parse(ask("/live.json").body);
    ASSERT_EQ(live["streams"].size(), 1U);
    EXPECT_THAT(live["streams"][0]["url_flv"].get<std::string>(),
                HasSubstr("/live/q%22%5C%FF%C3%A4%3C.flv"));
}

TEST_F(HttpApiTest, TellsWhereThePublicServerIs) {
    api_.set_http_port([](bool tls) -> uint16_t { return tls ? 443 : 80; });
    const net::Json live = net::Json::parse(ask("/live.json").body);
    EXPECT_EQ(live["http_port"], 80);
    EXPECT_EQ(live["https_port"], 443);
    const net::Json data = get("/api/v1/summaries")["data"];
    EXPECT_EQ(data["http_port"], 80);
    EXPECT_EQ(data["https_port"], 443);
}

TEST_F(HttpApiTest, TheLiveListIsThatOfAllProcesses) {
    bool with_history = false;
    api_.set_live_elsewhere([&](bool history) {
        with_history = history;
        return std::vector<std::string>{
            "{\"list\":\"all\",\"health\":{\"players\":5,\"busy\":0.5},\"streams\":[\n"
            "{\"app\":\"live\",\"name\":\"b\",\"vhost\":\"__defaultVhost__\",\"players\":4},\n"
            "{\"app\":\"live\",\"name\":\"a\",\"vhost\":\"__defaultVhost__\",\"players\":2,\"live_"
            "ms\":0}\n"
            "]}\n",
            "no answer"};
    });
    auto source = publisher();
    auto viewer = player();
    const net::Json all = net::Json::parse(ask("/live.json").body);
    ASSERT_EQ(all["streams"].size(), 2U);
    EXPECT_EQ(all["streams"][0]["name"], "a");
    EXPECT_EQ(all["streams"][0]["players"], 2) << "1, and 2 there, where one of these is the relay";
    EXPECT_EQ(all["streams"][1]["name"], "b");
    EXPECT_EQ(all["health"]["busy"], 0.5);
    const net::Json own = net::Json::parse(ask("/live.json?process=0").body);
    ASSERT_EQ(own["streams"].size(), 1U);
    EXPECT_EQ(own["streams"][0]["players"], 1);
    EXPECT_FALSE(with_history);
    EXPECT_TRUE(net::Json::parse(ask("/live.json?history=1").body)["health"].contains("history"));
    EXPECT_TRUE(with_history);
}

TEST_F(HttpApiTest, TheLiveListTellsNothingAboutPeople) {
    auto source = publisher();
    auto viewer = player();
    auto waiting = peer();
    waiting->open();
    waiting->send(session::RtmpPeer::stream_command("play", 1, "later"));
    ASSERT_TRUE(session::eventually([&] { return registry_.size() == 2; }));
    const net::TestAnswer answer = ask("/live.json");
    const net::Json live = net::Json::parse(answer.body);
    ASSERT_EQ(live["streams"].size(), 1U) << "what somebody waits for is not live";
    EXPECT_EQ(live["rtmp_port"], 2935);
    EXPECT_FALSE(live.contains("http_port")) << "nobody has said";
    EXPECT_EQ(live["health"]["cpu"], 0.0) << "no tick yet";
    EXPECT_FALSE(live["health"].contains("history"));
    EXPECT_EQ(live["streams"][0]["players"], 1);
    EXPECT_EQ(live["streams"][0]["url_flv"], "/live/a.flv");
    EXPECT_THAT(answer.body, testing::Not(HasSubstr("127.0.0.1")));
}

// What pages of the public server get: as much as whoever asks may know.
class LiveViewTest : public HttpApiTest {
  protected:
    LiveViewTest() {
        api_.add_live_to(view_router_, [this](const net::HttpExchange&) { return view_; });
        view_http_ = net::HttpServer::create(view_router_, {});
        view_address_ = net::serve_on_loopback(*view_http_);
    }

    ~LiveViewTest() override {
        Error error = view_http_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    net::Json see(std::string_view target = "/live.json") { return see_at(view_address_, target); }

    static net::Json see_at(const io::SocketAddress& address,
                            std::string_view target = "/live.json") {
        const net::TestAnswer answer =
            net::TestClient(address).ask(fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", target));
        EXPECT_EQ(answer.status, 200);
        return net::Json::parse(answer.body);
    }

    static std::string names(const net::Json& live) {
        std::string text;
        for (const net::Json& stream : live["streams"]) {
            text +=
                stream["app"].get<std::string>() + "/" + stream["name"].get<std::string>() + " ";
        }
        return text;
    }

    LiveView view_;
    net::HttpRouter view_router_;
    std::unique_ptr<net::HttpServer> view_http_;
    io::SocketAddress view_address_;
};

TEST_F(LiveViewTest, NamesAllStreamsOrThoseThatPlayOpenlyOrNone) {
    auto open_one = publisher("a");
    auto another = publisher("b");
    auto secret = peer();
    secret->open("secret");
    ASSERT_TRUE(secret->publish("c?key=open-sesame"));
    ASSERT_TRUE(session::eventually([&] { return registry_.size() == 3; }));
    EXPECT_EQ(names(see()), "live/a live/b secret/c ");
    view_.list = config::StreamList::kOpen;
    EXPECT_EQ(names(see()), "live/a live/b ") << "at once, whatever others have seen before";
    EXPECT_EQ(see()["list"], "open");
    view_.list = config::StreamList::kNone;
    EXPECT_EQ(names(see()), "");
    EXPECT_EQ(net::Json::parse(ask("/live.json").body)["streams"].size(), 3U)
        << "the console's list";
}

TEST_F(LiveViewTest, WhatAHookServerHasToAllowIsNotOpen) {
    class AskingHooks final : public net::Hooks {
      public:
        bool wants(net::HookAction, const stream::StreamKey&) const override { return true; }

        bool asks(net::HookAction, const stream::StreamKey&) const override { return has_to_allow; }

        Result<net::HookTicket> ask(const net::Client&,
                                    const net::HookRequestView&,
                                    io::TcpStream*) override {
            return net::HookTicket();
        }

        bool has_to_allow = true;
    };

    AskingHooks hooks;
    const net::Services asking{registry_, fanout_, clients_, connections_, policy_, limits_, hooks};
    HttpApi api{asking, who_, protocols_};
    net::HttpRouter router;
    api.add_live_to(
        router, [](const net::HttpExchange&) { return LiveView{config::StreamList::kOpen, true}; });
    auto server = net::HttpServer::create(router, {});
    const io::SocketAddress address = net::serve_on_loopback(*server);
    auto source = publisher("a");
    EXPECT_EQ(names(see_at(address)), "");
    hooks.has_to_allow = false;  // it is told only
    EXPECT_EQ(names(see_at(address)), "live/a ");
    EXPECT_FALSE(server->stop(io::soon()));
}

TEST_F(LiveViewTest, KeepsTheServersHealthToItself) {
    health_.tick();
    EXPECT_TRUE(see("/live.json?history=1")["health"].contains("history"));
    view_.health = false;
    for (const char* target : {"/live.json", "/live.json?history=1"}) {
        EXPECT_TRUE(see(target)["health"].is_null()) << target;
    }
    view_.health = true;
    EXPECT_TRUE(see()["health"].contains("cpu"));
}

TEST_F(HttpApiTest, TheLiveListHasPlotsOfTheLastMinutes) {
    auto source = publisher();
    auto viewer = player();
    for (uint64_t i = 0; i < 3 * HealthMonitor::kTicksPerPoint; i++) {
        health_.tick();
    }
    const net::Json health = net::Json::parse(ask("/live.json?history=1").body)["health"];
    EXPECT_EQ(health["players"], 1);
    EXPECT_EQ(health["live"], 1);
    EXPECT_GT(health["memory_kib"].get<int>(), 1000);
    for (const auto& [name, list] : health["history"].items()) {
        EXPECT_EQ(list.size(), 3U) << name;
    }
    for (uint64_t i = 0; i < 2 * HealthMonitor::kPoints * HealthMonitor::kTicksPerPoint; i++) {
        health_.tick();
    }
    EXPECT_EQ(health_.history().size(), HealthMonitor::kPoints);
}

// Prometheus text format 0.0.4.
TEST_F(HttpApiTest, MetricsAreWellFormedAndNothingIsTwice) {
    auto source = publisher("a");
    auto odd = publisher("b\"\\\xc3\xa4{}");
    auto viewer = player();
    health_.tick();
    api_.add_metrics([](net::Exposition& text) {
        text.single("weir_of_a_part_total", "counter", "What a part of the server adds.", 7);
    });
    const net::TestAnswer answer = ask("/metrics");
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(std::string(answer.headers.get("Content-Type").value_or("")),
                testing::StartsWith("text/plain"));
    const std::regex help("# HELP ([a-z_]+) \\S.*");
    const std::regex type("# TYPE ([a-z_]+) (counter|gauge|histogram)");
    const std::regex label(R"re([a-z]+="([^"\\\n]|\\\\|\\"|\\n)*")re");
    const std::regex sample(R"re(([a-z_]+)(\{.*\})? (-?[0-9.]+(e[+-]?[0-9]+)?))re");
    const std::regex of_histogram("_(bucket|sum|count)$");
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
            if (types[current] == "histogram") {
                EXPECT_EQ(std::regex_replace(match[1].str(), of_histogram, ""), current) << line;
                EXPECT_TRUE(series.insert(match[1].str() + match[2].str()).second) << line;
                continue;
            }
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
    for (const std::string& name : helped) {
        EXPECT_TRUE(name.starts_with("weir_") || name.starts_with("process_")) << name;
        for (const char* unit : {"_ms", "_us", "_kbps", "_kib", "_percent", "_milliseconds"}) {
            EXPECT_FALSE(name.ends_with(unit)) << name << " is in no base unit";
        }
    }
    EXPECT_THAT(answer.body, HasSubstr("weir_of_a_part_total 7\n"));
    EXPECT_THAT(answer.body, HasSubstr("weir_sessions{role=\"player\",transport=\"rtmp\"} 1\n"));
    EXPECT_THAT(answer.body, HasSubstr("weir_player_lag_seconds_count 1\n"));
    EXPECT_THAT(
        answer.body,
        HasSubstr("weir_stream_players{vhost=\"__defaultVhost__\",app=\"live\",stream=\"a\"} 1\n"));
    EXPECT_THAT(
        answer.body,
        HasSubstr("weir_stream_live{vhost=\"__defaultVhost__\",app=\"live\",stream=\"a\"} 1\n"));
    EXPECT_THAT(answer.body, HasSubstr("weir_clients 3\n"));
}

TEST_F(HttpApiTest, MetricsOfManyStreamsAreBounded) {
    std::vector<std::unique_ptr<session::RtmpPeer>> sources;
    for (int i = 0; i < 5; i++) {
        sources.push_back(publisher(fmt::format("s{}", i)));
    }
    auto& waited_for = registry_.get_or_create({"v", "live", "any name"}, {}, MonoClock::now());
    const auto lines = [&](size_t most) {
        api_.set_stream_series([most] { return most; });
        const std::string text = ask("/metrics").body;
        EXPECT_THAT(text, HasSubstr("weir_streams 6\n"));
        EXPECT_THAT(text, HasSubstr("weir_streams_live 5\n"));
        EXPECT_THAT(text, HasSubstr(fmt::format("weir_streams_without_series {}\n",
                                                5 - std::min<size_t>(5, most))));
        EXPECT_THAT(text, testing::Not(HasSubstr("any name"))) << "nobody publishes it";
        size_t count = 0;
        for (size_t at = 0; (at = text.find("weir_stream_live{", at)) != std::string::npos; at++) {
            count++;
        }
        return count;
    };
    EXPECT_EQ(lines(200), 5U);
    EXPECT_EQ(lines(3), 3U);
    EXPECT_EQ(lines(0), 0U);
    registry_.release(waited_for);
}

TEST(ExpositionTest, LongLabelsAreCutAndStayDifferent) {
    const std::string a(1000, 'a');
    const std::string shown = net::label_value(a);
    EXPECT_LT(shown.size(), net::kMaxLabelBytes + 30);
    EXPECT_NE(shown, net::label_value(a + "b"));
    EXPECT_EQ(net::label_value("q\"\\\n"), "q\\\"\\\\%0A");
}

TEST(ExpositionTest, HistogramsAreCumulative) {
    net::Exposition text;
    text.histogram("h_seconds", "Help.", std::array<int64_t, 2>{50, 100}, 1e-3,
                   std::array<uint64_t, 3>{1, 2, 3}, 0.5);
    EXPECT_EQ(text.take(),
              "# HELP h_seconds Help.\n# TYPE h_seconds histogram\n"
              "h_seconds_bucket{le=\"0.05\"} 1\nh_seconds_bucket{le=\"0.1\"} 3\n"
              "h_seconds_bucket{le=\"+Inf\"} 6\nh_seconds_sum 0.5\nh_seconds_count 6\n");
}

}  // namespace
}  // namespace weir::app
