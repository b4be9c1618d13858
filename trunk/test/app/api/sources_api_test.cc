// Sources by the API, with a protocol that never comes up.
#include "app/api/sources_api.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "io/resolver.h"
#include "net/http/client.h"
#include "net/http/server.h"

#include "test/net/http/test_client.h"
#include "test/session/world.h"

namespace weir::app {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kCamera =
    R"({"app": "live", "name": "cam", "url": "rtsp://admin:hush@cam.example/1?token=hush"})";

class Hanging final : public net::SourceProtocol {
  public:
    Error run(net::SourceRun& /*run*/) override {
        io::Signal never;
        return never.wait_until(io::soon());
    }
};

class SourcesApiTest : public session::World {
  protected:
    SourcesApiTest() {
        sources_.add(net::SourceRole::kPull, "rtsp", hanging_);
        net::SourceConfig config;
        config.named = [this] {
            std::vector<net::SourceSpec> all = configured_;
            for (const auto& [key, spec] : added_.all()) {
                all.push_back(spec);
            }
            return all;
        };
        EXPECT_FALSE(added_.load(""));
        EXPECT_FALSE(sources_.start(std::move(config)));
        api_.add_to(api_router_);
        api_http_ = net::HttpServer::create(api_router_, {});
        api_address_ = net::serve_on_loopback(*api_http_);
    }

    ~SourcesApiTest() override {
        Error error = api_http_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
        sources_.stop(io::soon());
    }

    net::TestAnswer ask(std::string_view method,
                        std::string_view path,
                        std::string_view body = "") {
        return net::TestClient(api_address_)
            .ask(fmt::format("{} {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", method,
                             path, body.size(), body));
    }

    std::string add() {
        const net::TestAnswer answer = ask("POST", "/api/v1/sources", kCamera);
        EXPECT_EQ(answer.status, 201) << answer.body;
        EXPECT_THAT(answer.body, Not(HasSubstr("hush")));
        return net::Json::parse(answer.body)["source"]["id"];
    }

    net::Json list() {
        const net::TestAnswer answer = ask("GET", "/api/v1/sources");
        EXPECT_THAT(answer.body, Not(HasSubstr("hush")));
        return net::Json::parse(answer.body)["sources"];
    }

    const net::ServerIdentity who_{"vid-1234567", "89abcdef", MonoClock::now()};
    io::Resolver resolver_;
    net::HttpClient dialer_{resolver_};
    Hanging hanging_;
    net::Sources sources_{{registry_, dialer_, policy_, {}, system_random(), {}}};
    AddedSources added_;
    std::vector<net::SourceSpec> configured_;
    SourcesApi api_{who_, sources_, added_,
                    [](std::string_view vhost) { return vhost == stream::kDefaultVhost; }};
    net::HttpRouter api_router_;
    std::unique_ptr<net::HttpServer> api_http_;
    io::SocketAddress api_address_;
};

TEST_F(SourcesApiTest, AddsShowsAndRemoves) {
    const std::string id = add();
    const net::Json all = list();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0]["id"], id);
    EXPECT_EQ(all[0]["added_by"], "api");
    EXPECT_EQ(all[0]["url"], "rtsp://cam.example/1?***");
    const std::string path = "/api/v1/sources/" + id;
    EXPECT_EQ(net::Json::parse(ask("GET", path).body)["source"]["name"], "cam");
    EXPECT_EQ(ask("DELETE", path).status, 200);
    EXPECT_TRUE(list().empty());
    EXPECT_EQ(ask("DELETE", path).status, 404);
    EXPECT_EQ(ask("GET", path).status, 404);
}

TEST_F(SourcesApiTest, AStreamHasOneSource) {
    const std::string id = add();
    const net::TestAnswer again = ask("POST", "/api/v1/sources", kCamera);
    EXPECT_EQ(again.status, 409);
    EXPECT_THAT(again.body, HasSubstr(id));
}

TEST_F(SourcesApiTest, AReloadLeavesThemAlone) {
    const std::string id = add();
    sources_.reconfigure();
    EXPECT_EQ(list()[0]["id"], id);
}

TEST_F(SourcesApiTest, TheConfigurationsGoFirstAndStay) {
    const std::string id = add();
    net::SourceSpec own = added_.all().begin()->second;
    own.by_api = false;
    own.on_demand = true;
    configured_ = {own};
    sources_.reconfigure();
    const net::Json all = list();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0]["added_by"], "configuration");
    const net::TestAnswer kept =
        ask("DELETE", fmt::format("/api/v1/sources/{}", all[0]["id"].get<std::string>()));
    EXPECT_EQ(kept.status, 409);
    configured_.clear();
    sources_.reconfigure();
    EXPECT_EQ(list()[0]["added_by"], "api") << "it comes back";
}

TEST_F(SourcesApiTest, RefusesWhatItDoesNotUnderstand) {
    for (const char* body :
         {"", "hush", R"({"app": "live", "name": "x", "url": "hush"})",
          R"({"vhost": "other", "app": "live", "name": "x", "url": "rtsp://h"})"}) {
        const net::TestAnswer answer = ask("POST", "/api/v1/sources", body);
        EXPECT_EQ(answer.status, 400) << body;
        EXPECT_THAT(answer.body, Not(HasSubstr("hush")));
    }
    EXPECT_EQ(ask("DELETE", "/api/v1/sources").status, 405);
    EXPECT_EQ(ask("POST", "/api/v1/sources/x", kCamera).status, 404);
    EXPECT_EQ(ask("PUT", "/api/v1/sources", kCamera).status, 405);
    EXPECT_TRUE(list().empty());
}

}  // namespace
}  // namespace weir::app
