#include "app/access/api_guard.h"

#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/hmac.h"
#include "net/http/server.h"

#include "test/app/access/test_config.h"
#include "test/net/http/test_client.h"

namespace weir::app {
namespace {

using http::Method;
using net::Refusal;
using testing::HasSubstr;
using testing::Not;

// A server with a guard, and routes that say which they are.
class Api {
  public:
    explicit Api(std::string_view http_api, std::string_view more = "")
        : config_(config_of(fmt::format("http_api {{ {} }} {}", http_api, more))) {
        access_.use(secrets_of(config_));
        net::HttpRouteOptions options;
        options.errors = http::ErrorFormat::kJson;
        options.methods |=
            http::method_bit(http::Method::kDelete) | http::method_bit(http::Method::kPost);
        add("/api/v1/clients", options);
        add("/metrics", options);
        options.access = net::HttpAccess::kOperate;
        add("/api/v1/recordings", options);
        options.access = net::HttpAccess::kAdmin;
        add("/api/v1/profile", options);
        options.access = net::HttpAccess::kOwnRules;
        add("/rtc/v1/whip", options);
        router_.add_prefix("/knows", options, [this](net::HttpExchange& exchange) {
            (void)exchange.respond(200, "text/plain", guard_.knows(exchange) ? "yes" : "no");
        });
        guard_.add_to(router_, net::ServerIdentity{});
        net::HttpServerOptions server;
        server.authorize = [this](net::HttpExchange& exchange, const net::HttpRoute* route) {
            return guard_.admit(exchange, route);
        };
        server_ = net::HttpServer::create(router_, std::move(server));
        address_ = net::serve_on_loopback(*server_);
    }

    ~Api() {
        Error error = server_->stop(io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;

    net::TestAnswer ask(std::string_view line,
                        std::string_view fields = "",
                        std::string_view host = "127.0.0.1") {
        return net::TestClient(address_).ask(fmt::format(
            "{} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n{}\r\n", line, host, fields));
    }

    int status(std::string_view line,
               std::string_view fields = "",
               std::string_view host = "127.0.0.1") {
        return ask(line, fields, host).status;
    }

    uint64_t refused(Refusal reason) const { return limits_.refused(reason); }

  private:
    void add(std::string path, const net::HttpRouteOptions& options) {
        router_.add_prefix(std::move(path), options, [](net::HttpExchange& exchange) {
            (void)exchange.respond(200, "text/plain", "done");
        });
    }

    config::Config config_;
    net::Limits limits_;
    AccessControl access_{limits_};
    ApiGuard guard_{config_, access_, limits_};
    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> server_;
    io::SocketAddress address_;
};

constexpr std::string_view kRead = "GET /api/v1/clients";
constexpr std::string_view kKick = "DELETE /api/v1/clients/x";

std::string bearer(std::string_view token) {
    return fmt::format("Authorization: Bearer {}\r\n", token);
}

std::string basic(std::string_view pair) {
    return fmt::format("Authorization: Basic {}\r\n", base64(as_bytes(pair)));
}

TEST(ApiGuardTest, WithoutLoginsWhoeverReachesItMayDoEverything) {
    Api api("");
    EXPECT_EQ(api.status(kRead), 200);
    EXPECT_EQ(api.status(kKick), 200);
    EXPECT_EQ(api.status("GET /api/v1/profile"), 200);
    EXPECT_EQ(api.status("GET /nothing"), 404);
    EXPECT_EQ(api.status("OPTIONS /api/v1/clients"), 204);
}

TEST(ApiGuardTest, OperateIsBetweenReadAndAdmin) {
    Api api("token read reader-1; token operate desk-1; token admin boss-1;");
    constexpr std::string_view kRecord = "POST /api/v1/recordings";
    EXPECT_EQ(api.status(kRecord, bearer("reader-1")), 403);
    EXPECT_EQ(api.status(kRecord, bearer("desk-1")), 200);
    EXPECT_EQ(api.status(kRecord, bearer("boss-1")), 200);
    EXPECT_EQ(api.status(kRead, bearer("desk-1")), 200);
    EXPECT_THAT(api.ask("GET /api/v1/profile", bearer("desk-1")).body,
                HasSubstr("this needs the role admin, and this login has the role operate"));
    EXPECT_EQ(api.status(kKick, bearer("desk-1")), 403) << "of a route that says nothing else";
}

TEST(ApiGuardTest, TellsWhoAsksAndWhatHeMayDo) {
    constexpr std::string_view kWho = "GET /api/v1/login";
    EXPECT_THAT(Api("").ask(kWho).body,
                HasSubstr(R"("data":{"needed":false,"user":"","role":"admin"})"));
    Api api("token read reader-1; user operate alice wonderland;");
    EXPECT_EQ(api.status(kWho), 401);
    EXPECT_THAT(api.ask(kWho, bearer("reader-1")).body,
                HasSubstr(R"({"needed":true,"user":"","role":"read"})"));
    EXPECT_THAT(api.ask(kWho, basic("alice:wonderland")).body,
                HasSubstr(R"({"needed":true,"user":"alice","role":"operate"})"));
}

TEST(ApiGuardTest, AChangeIsLoggedWithWhoMadeIt) {
    Api api("token admin boss-1; user admin alice wonderland;");
    static std::string logged;
    logged.clear();
    log::set_sink([](log::Level, std::string_view line) { logged += line; });
    EXPECT_EQ(api.status(kKick, basic("alice:wonderland")), 200);
    EXPECT_EQ(api.status(kKick, bearer("boss-1")), 200);
    EXPECT_EQ(api.status(kRead, bearer("boss-1")), 200);
    log::set_sink(nullptr);
    EXPECT_THAT(logged, HasSubstr("api change by=alice role=admin ip=127.0.0.1 "
                                  "method=DELETE path=/api/v1/clients/x"));
    EXPECT_THAT(logged, HasSubstr("by=a token role=admin"));
    EXPECT_THAT(logged, Not(HasSubstr("method=GET")));
}

TEST(ApiGuardTest, AsksForALoginAndTellsHow) {
    Api api("token read reader-1; user admin alice wonderland;");
    const net::TestAnswer answer = api.ask(kRead);
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.headers.count("WWW-Authenticate"), 2U);
    EXPECT_THAT(answer.body, HasSubstr("Authorization: Bearer TOKEN"));
    EXPECT_EQ(answer.headers.get("Content-Type"), "application/json");
    EXPECT_EQ(api.status("GET /nothing"), 401) << "nor does it tell what there is";
    EXPECT_EQ(api.status("OPTIONS /api/v1/clients"), 401);
    EXPECT_EQ(api.refused(Refusal::kApiNoLogin), 3U);
}

TEST(ApiGuardTest, KnowsRoles) {
    Api api(
        "token read reader-1; token admin admin-1; user admin alice wonderland; "
        "user read bob builder;");
    EXPECT_EQ(api.status(kRead, bearer("reader-1")), 200);
    EXPECT_EQ(api.status(kKick, bearer("reader-1")), 403);
    EXPECT_EQ(api.status("GET /api/v1/profile", bearer("reader-1")), 403);
    EXPECT_EQ(api.status("POST /metrics", bearer("reader-1")), 403);
    EXPECT_EQ(api.status(kKick, bearer("admin-1")), 200);
    EXPECT_EQ(api.status("GET /api/v1/profile", bearer("admin-1")), 200);
    EXPECT_EQ(api.status(kKick, basic("alice:wonderland")), 200);
    EXPECT_EQ(api.status(kRead, basic("bob:builder")), 200);
    EXPECT_EQ(api.status(kKick, basic("bob:builder")), 403);
    EXPECT_EQ(api.refused(Refusal::kApiRole), 4U);
    EXPECT_EQ(api.refused(Refusal::kApiWrongLogin), 0U);
}

TEST(ApiGuardTest, RefusesWrongLogins) {
    Api api("token admin admin-1; user admin alice wonderland;");
    for (const std::string& wrong :
         {bearer("admin-2"), bearer(""), bearer("wonderland"), basic("alice:admin-1"),
          basic(":admin-1"), basic("bob:wonderland"), std::string("Authorization: Basic ====\r\n"),
          std::string("Authorization: Digest x\r\n"), std::string("Authorization: x\r\n")}) {
        EXPECT_EQ(api.status(kRead, wrong), 401) << wrong;
    }
    EXPECT_EQ(api.status(std::string(kRead) + "?key=admin-1"), 401) << "no secret in an address";
}

TEST(ApiGuardTest, EndsGuessing) {
    Api api("token admin admin-1;");
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(api.status(kRead, bearer(fmt::format("guess-{}", i))), 401) << i;
    }
    const net::TestAnswer answer = api.ask(kRead, bearer("guess-10"));
    EXPECT_EQ(answer.status, 429);
    EXPECT_TRUE(answer.headers.has("Retry-After"));
    EXPECT_EQ(api.status(kRead, bearer("admin-1")), 429) << "else guessing would go on";
    EXPECT_EQ(api.refused(Refusal::kApiThrottled), 2U);
    EXPECT_EQ(api.refused(Refusal::kApiWrongLogin), 10U);
}

TEST(ApiGuardTest, AskingWithoutALoginIsNoGuess) {
    Api api("token admin admin-1;");
    for (int i = 0; i < 20; i++) {
        EXPECT_EQ(api.status(kRead), 401);
    }
    EXPECT_EQ(api.status(kRead, bearer("admin-1")), 200);
}

TEST(ApiGuardTest, MetricsMayBeOpen) {
    Api api("token admin admin-1; metrics open;");
    EXPECT_EQ(api.status("GET /metrics"), 200);
    EXPECT_EQ(api.status("POST /metrics"), 401);
    EXPECT_EQ(api.status("GET /metrics", "", "evil.example"), 403);
    EXPECT_EQ(api.status(kRead), 401);
}

TEST(ApiGuardTest, RoutesWithTheirOwnRulesPass) {
    Api api("token admin admin-1;");
    EXPECT_EQ(api.status("POST /rtc/v1/whip"), 200);
    EXPECT_EQ(api.status("POST /rtc/v1/whip", "Origin: https://a.example\r\n", "evil.example"),
              200);
}

TEST(ApiGuardTest, KnowsItsNames) {
    Api api("", "server_name media.example.org;");
    for (const char* host :
         {"127.0.0.1:1985", "[::1]", "localhost", "weir:1985", "media.example.org:1985"}) {
        EXPECT_EQ(api.status(kRead, "", host), 200) << host;
    }
    const net::TestAnswer answer = api.ask(kRead, "", "evil.example:1985");
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr("server_name"));
    EXPECT_EQ(api.refused(Refusal::kApiHost), 1U);
}

TEST(ApiGuardTest, WithALoginAnyNameWillDo) {
    Api api("token admin admin-1; user admin alice wonderland;");
    EXPECT_EQ(api.status(kKick, bearer("admin-1"), "api.example.org"), 200);
    EXPECT_EQ(api.status(kKick, basic("alice:wonderland"), "api.example.org"), 200);
}

TEST(ApiGuardTest, LetsNoPageOfAnotherSiteUseIt) {
    Api api("");
    EXPECT_EQ(api.status(kKick, "Origin: https://evil.example\r\n"), 403);
    EXPECT_EQ(api.status("GET /api/v1/profile", "Origin: https://evil.example\r\n"), 403);
    const net::TestAnswer shown = api.ask(kRead, "Origin: https://evil.example\r\n");
    EXPECT_EQ(shown.status, 200);
    EXPECT_FALSE(shown.headers.has("Access-Control-Allow-Origin")) << "so it cannot read this";
    EXPECT_EQ(api.status(kKick, "Origin: null\r\n"), 403);
    EXPECT_EQ(api.status(kKick, "Origin: http://127.0.0.1\r\n"), 200) << "its own page";
    EXPECT_EQ(api.status("GET /api/v1/profile", "Sec-Fetch-Site: cross-site\r\n"), 403);
    EXPECT_EQ(api.status(kRead, "Sec-Fetch-Site: cross-site\r\n"), 200) << "a link to it";
    EXPECT_EQ(api.refused(Refusal::kApiOrigin), 4U);
}

// A browser adds a password that it knows to whatever a page asks for.
TEST(ApiGuardTest, APasswordThatABrowserAddsIsNotThePages) {
    Api api("token admin admin-1; user admin alice wonderland;");
    EXPECT_EQ(api.status(kKick, basic("alice:wonderland") + "Origin: https://evil.example\r\n"),
              403);
    EXPECT_EQ(api.status(kKick, basic("alice:wonderland") + "Origin: http://127.0.0.1\r\n"), 200);
    EXPECT_EQ(api.status(kKick, bearer("admin-1") + "Origin: https://evil.example\r\n"), 200);
}

TEST(ApiGuardTest, AListedPageMayUseIt) {
    Api api("token admin admin-1; allow_origin https://dash.example.org;");
    const std::string page = "Origin: https://dash.example.org\r\n";
    const net::TestAnswer asked =
        api.ask("OPTIONS /api/v1/clients", page +
                                               "Access-Control-Request-Method: DELETE\r\n"
                                               "Access-Control-Request-Headers: authorization\r\n");
    EXPECT_EQ(asked.status, 204);
    EXPECT_EQ(asked.headers.get("Access-Control-Allow-Origin"), "https://dash.example.org");
    EXPECT_EQ(asked.headers.get("Access-Control-Allow-Headers"), "authorization");
    const net::TestAnswer answer = api.ask(kRead, page + bearer("admin-1"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.get("Access-Control-Allow-Origin"), "https://dash.example.org");
    const net::TestAnswer other =
        api.ask("OPTIONS /api/v1/clients",
                "Origin: https://evil.example\r\nAccess-Control-Request-Method: DELETE\r\n");
    EXPECT_EQ(other.status, 401);
    EXPECT_FALSE(other.headers.has("Access-Control-Allow-Origin"));
}

TEST(ApiGuardTest, LimitsTheRateOfRequests) {
    Api api("max_request_rate 2;");
    int refused = 0;
    for (int i = 0; i < 20; i++) {
        const net::TestAnswer answer = api.ask(kRead);
        if (answer.status == 429) {
            refused++;
            EXPECT_TRUE(answer.headers.has("Retry-After"));
            EXPECT_THAT(answer.body, HasSubstr("max_request_rate"));
        }
    }
    EXPECT_GE(refused, 10);
    EXPECT_LE(refused, 16) << "two seconds' worth at once";
    EXPECT_EQ(api.refused(Refusal::kApiRate), static_cast<uint64_t>(refused));
}

TEST(ApiGuardTest, OffersNoLoginBoxOfTheBrowserToAPageWithItsOwn) {
    Api api("user admin alice wonderland;");
    const auto offered = [](const net::TestAnswer& answer) {
        std::string all;
        for (const http::Field& field : answer.headers) {
            all += field.name == "WWW-Authenticate" ? field.value + "; " : "";
        }
        return all;
    };
    EXPECT_THAT(offered(api.ask("GET /api/v1/clients")), HasSubstr("Basic realm"));
    const net::TestAnswer page =
        api.ask("GET /api/v1/clients", "X-Requested-With: weir-console\r\n");
    EXPECT_EQ(page.status, 401);
    EXPECT_EQ(offered(page), "Bearer realm=\"weir\"; ");
}

TEST(ApiGuardTest, AsksForTheLoginThatThereIs) {
    const auto asked = [](std::string_view logins) {
        Api api(logins);
        const net::TestAnswer answer = api.ask(kRead);
        EXPECT_EQ(answer.status, 401);
        return std::pair(std::string(answer.body),
                         std::string(answer.headers.get("WWW-Authenticate").value_or("")));
    };
    const auto [users, basic] = asked("user admin alice wonderland;");
    EXPECT_THAT(users, HasSubstr("curl -u NAME:PASSWORD"));
    EXPECT_THAT(users, Not(HasSubstr("TOKEN")));
    EXPECT_THAT(basic, HasSubstr("Basic"));
    const auto [tokens, bearer] = asked("token read reader-1;");
    EXPECT_THAT(tokens, HasSubstr("Authorization: Bearer TOKEN"));
    EXPECT_THAT(tokens, Not(HasSubstr("PASSWORD")));
    EXPECT_EQ(bearer, "Bearer realm=\"weir\"");
    EXPECT_THAT(asked("token read reader-1; user admin alice wonderland;").first,
                HasSubstr("PASSWORD; } (Authorization: Basic; curl -u NAME:PASSWORD), or "
                          "Authorization: Bearer TOKEN"));
}

// For /live.json of the public server.
TEST(ApiGuardTest, KnowsWhoHasALogin) {
    {
        Api open("");
        EXPECT_EQ(open.ask("GET /knows").body, "no");
    }
    Api api("token read metrics-0123; user admin alice wonderland;");
    EXPECT_EQ(api.ask("GET /knows").body, "no");
    EXPECT_EQ(api.ask("GET /knows", "Authorization: Bearer metrics-0123\r\n").body, "yes");
    const std::string alice = base64(as_bytes("alice:wonderland"));
    EXPECT_EQ(api.ask("GET /knows", "Authorization: Basic " + alice + "\r\n").body, "yes");
    for (int i = 0; i < static_cast<int>(ApiGuard::kFailures.burst); i++) {
        EXPECT_EQ(api.ask("GET /knows", "Authorization: Bearer guess-0123\r\n").body, "no");
    }
    EXPECT_GE(api.refused(Refusal::kApiWrongLogin), 9U);
    EXPECT_EQ(api.ask("GET /knows", "Authorization: Bearer metrics-0123\r\n").body, "no")
        << "who guesses is not believed";
}

}  // namespace
}  // namespace weir::app
