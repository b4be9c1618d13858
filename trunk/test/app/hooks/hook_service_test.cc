// The service against an HTTP server in the same process, whose behaviour a test sets.
#include "app/hooks/hook_service.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "io/deadline.h"
#include "net/client_table.h"
#include "net/http/server.h"

#include "test/net/http/test_client.h"

namespace weir::app {
namespace {

using net::HookAction;
using Actions = std::vector<std::string>;

class HookServiceTest : public testing::Test {
  protected:
    HookServiceTest() {
        net::HttpRouteOptions options;
        options.methods = http::method_bit(http::Method::kPost);
        router_.add_prefix("/", options, [this](net::HttpExchange& exchange) { serve(exchange); });
        server_ = net::HttpServer::create(router_, {});
        address_ = net::serve_on_loopback(*server_);
    }

    ~HookServiceTest() override {
        if (service_) {
            service_->stop(io::soon());
            EXPECT_EQ(service_->stats().asking, 0U);
            EXPECT_EQ(service_->stats().queued, 0U);
            service_.reset();
        }
        hang(false);
        EXPECT_FALSE(server_->stop(io::soon()));
        for (const char* name : {"hook_record", "hook_task", "hook_line"}) {
            EXPECT_EQ(find_object_class(name)->live(), 0U) << name;
        }
    }

    // http_hooks { } with every hook at this server, and `more`.
    void configure(std::string_view more = "", std::string_view hooks = kAll) {
        std::string text = "http_hooks { ";
        for (std::string_view hook : split(hooks, ' ')) {
            text += fmt::format("{} http://{}/hook; ", hook, address_.to_string());
        }
        config::ParseOutcome outcome =
            config::parse_config(text + std::string(more) + " }", "test.conf");
        ASSERT_TRUE(outcome.ok()) << outcome.errors.front().message;
        config_ = std::move(*outcome.config);
        if (!service_) {
            service_ = std::make_unique<HookService>(config_, identity_);
        }
    }

    std::unique_ptr<net::Client> client() {
        return std::make_unique<net::Client>(clients_, "rtmp", "192.0.2.1");
    }

    Result<net::HookTicket> ask(const net::Client& client,
                                HookAction action,
                                io::TcpStream* peer = nullptr) {
        net::HookRequestView what;
        what.action = action;
        what.vhost = stream::kDefaultVhost;
        what.app = "live";
        what.stream = "cam";
        what.param = "key=secret";
        return service_->ask(client, what, peer);
    }

    // What the server heard, in order.
    Actions heard() const {
        Actions actions;
        for (const net::Json& event : events_) {
            actions.push_back(event["action"]);
        }
        return actions;
    }

    bool hears(size_t count) {
        return io::eventually([&] { return events_.size() >= count; });
    }

    void hang(bool hangs) {
        hangs_ = hangs;
        changed_.notify_all();
    }

    static constexpr std::string_view kAll =
        "on_connect on_close on_publish on_unpublish on_play on_stop";

    config::Config config_;
    net::ServerIdentity identity_{"vid-1", "service-1", MonoClock::now()};
    net::ClientTable clients_;
    std::unique_ptr<HookService> service_;
    io::SocketAddress address_;
    std::vector<net::Json> events_;
    std::vector<http::Fields> fields_;
    int status_ = 200;
    std::string answer_ = "0";
    int fail_first_ = 0;  // so many answers are 500
    int answered_ = 0;

  private:
    void serve(net::HttpExchange& exchange) {
        events_.push_back(net::Json::parse(exchange.request().body));
        fields_.push_back(exchange.request().headers);
        while (hangs_ && !io::interrupted()) {
            (void)changed_.wait_until(io::Deadline::after(Millis(50))).code();
        }
        if (fail_first_ > 0) {
            fail_first_--;
            (void)exchange.respond(500, "text/plain", "");
            return;
        }
        (void)exchange.respond(status_, "application/json", answer_);
        answered_++;
    }

    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> server_;
    bool hangs_ = false;
    io::Signal changed_;
};

TEST_F(HookServiceTest, WantsNothingWhereNothingIsConfigured) {
    configure("", "on_unpublish on_play");
    EXPECT_FALSE(service_->wants(HookAction::kConnect, {"any", "live", ""}));
    EXPECT_TRUE(service_->wants(HookAction::kPublish, {"any", "live", "x"}));  // its end
    EXPECT_TRUE(service_->wants(HookAction::kPlay, {"any", "live", "x"}));
    configure("enabled off;");
    EXPECT_FALSE(service_->wants(HookAction::kPlay, {"any", "live", "x"}));
}

// What one application has to ask is not asked for the other.
TEST_F(HookServiceTest, AnApplicationHasServersOfItsOwn) {
    const std::string url = "http://" + address_.to_string() + "/hook";
    config::ParseOutcome outcome = config::parse_config(
        fmt::format("application vip {{ http_hooks {{ on_connect {0}; on_publish {0}; }} }}"
                    "application vip/quiet {{ http_hooks {{ enabled off; }} }}",
                    url),
        "t.conf");
    ASSERT_TRUE(outcome.ok());
    config_ = std::move(*outcome.config);
    service_ = std::make_unique<HookService>(config_, identity_);
    const auto wants = [&](const char* app) {
        return service_->wants(HookAction::kPublish, {"any", app, "x"});
    };
    EXPECT_TRUE(wants("vip"));
    EXPECT_TRUE(wants("vip/room"));
    EXPECT_FALSE(wants("vip/quiet"));
    EXPECT_FALSE(wants("live"));
    auto who = client();
    net::HookRequestView what;
    what.action = HookAction::kPublish;
    what.vhost = stream::kDefaultVhost;
    what.app = "live";
    what.stream = "cam";
    ASSERT_TRUE(service_->ask(*who, what, nullptr).ok());
    EXPECT_TRUE(events_.empty());
    what.app = "vip";
    ASSERT_TRUE(service_->ask(*who, what, nullptr).ok());
    ASSERT_TRUE(hears(1));
    EXPECT_EQ(events_[0]["app"], "vip");
    const auto scope = [&](const char* app) { return service_->connect_scope({"any", app, ""}); };
    EXPECT_EQ(scope("live"), "");
    EXPECT_EQ(scope("vip/quiet"), "");
    EXPECT_NE(scope("vip"), "");
    EXPECT_NE(scope("vip"), scope("vip/room")) << "its server may refuse one of the two";
}

TEST_F(HookServiceTest, AConnectionWithoutAnApplicationIsNotThatOfOne) {
    configure();
    const auto scope = [&](const char* vhost, const char* app) {
        return service_->connect_scope({vhost, app, ""});
    };
    EXPECT_NE(scope("any", ""), scope("any", "live"));
    EXPECT_EQ(scope("any", "live"), scope("other", "live")) << "both are the default vhost";
    EXPECT_NE(scope("any", "live"), scope("any", "room"));
}

TEST_F(HookServiceTest, AConnectionOfOneVhostIsNotThatOfAnotherWithTheSameServer) {
    const std::string hooks = "http_hooks { on_connect http://" + address_.to_string() + "/hook; }";
    config::ParseOutcome outcome = config::parse_config(
        fmt::format("vhost a.example {{ {0} }} vhost b.example {{ {0} }}", hooks), "t.conf");
    ASSERT_TRUE(outcome.ok());
    config_ = *outcome.config;
    service_ = std::make_unique<HookService>(config_, identity_);
    const auto scope = [&](const char* vhost) {
        return service_->connect_scope({vhost, "live", ""});
    };
    EXPECT_NE(scope("a.example"), "");
    EXPECT_EQ(scope("a.example"), scope("a.example"));
    EXPECT_NE(scope("a.example"), scope("b.example"));
}

TEST_F(HookServiceTest, AsksAndTellsInOrder) {
    configure();
    auto who = client();
    Result<net::HookTicket> connected = ask(*who, HookAction::kConnect);
    ASSERT_TRUE(connected.ok());
    who->connected_ticket = std::move(*connected);
    Result<net::HookTicket> published = ask(*who, HookAction::kPublish);
    ASSERT_TRUE(published.ok());
    who->turn_ticket = std::move(*published);
    who->received_bytes = 1234;
    who->tell_end(net::EndClass::kKicked, "kicked by the API");
    who.reset();
    ASSERT_TRUE(hears(4));
    EXPECT_EQ(heard(), (Actions{"on_connect", "on_publish", "on_unpublish", "on_close"}));
    EXPECT_EQ(events_[2]["bytes"], 1234);
    EXPECT_EQ(events_[2]["reason"], "kicked");
    EXPECT_EQ(events_[1]["param"], "?key=secret");
    for (const net::Json& event : events_) {
        EXPECT_EQ(event["client_id"], events_[0]["client_id"]);
        EXPECT_EQ(event["server_id"], "vid-1");
    }
    EXPECT_NE(events_[0]["event_id"], events_[1]["event_id"]);
}

TEST_F(HookServiceTest, ARefusalCarriesTheServersTextAndHasNoEnd) {
    configure();
    answer_ = "{\"code\":1,\"msg\":\"not today\"}";
    auto who = client();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    ASSERT_FALSE(ticket.ok());
    EXPECT_EQ(ticket.error().code(), ErrorCode::kDenied);
    EXPECT_EQ(ticket.error().message(), "not today");
    who.reset();
    answer_ = "0";
    auto other = client();
    ASSERT_TRUE(ask(*other, HookAction::kPlay).ok());  // and dropped: its end
    ASSERT_TRUE(hears(3));
    EXPECT_EQ(heard(), (Actions{"on_play", "on_play", "on_stop"}));
    EXPECT_EQ(service_->stats().of(HookAction::kPlay).refused, 1U);
    EXPECT_EQ(service_->stats().of(HookAction::kPlay).allowed, 1U);
}

TEST_F(HookServiceTest, OnlyTheEndMayBeConfigured) {
    configure("", "on_stop");
    auto who = client();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    ASSERT_TRUE(ticket.ok());
    ticket->end(*who, net::EndClass::kPeerClosed, "closed by the player");
    ASSERT_TRUE(hears(1));
    EXPECT_EQ(heard(), Actions{"on_stop"});
}

TEST_F(HookServiceTest, AServerThatHangsRefusesAfterTheTimeout) {
    configure("timeout 100ms;");
    hang(true);
    auto who = client();
    const MonoTime begun = MonoClock::now();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    ASSERT_FALSE(ticket.ok());
    EXPECT_EQ(ticket.error().code(), ErrorCode::kTimeout);
    EXPECT_NE(ticket.error().message().find("out of order"), std::string::npos);
    EXPECT_GE(MonoClock::now() - begun, Millis(100));
    EXPECT_LT(MonoClock::now() - begun, Seconds(5));
}

TEST_F(HookServiceTest, OrAllowsWhereThatIsConfigured) {
    configure("timeout 100ms; on_error allow; retry 0;");
    hang(true);
    auto who = client();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    ASSERT_TRUE(ticket.ok());
    hang(false);
    ticket->end(*who, net::EndClass::kPeerClosed, "closed by the player");
    ASSERT_TRUE(hears(2));
    EXPECT_EQ(heard(), (Actions{"on_play", "on_stop"}));
}

TEST_F(HookServiceTest, AServerThatIsGoneOrTalksNonsenseIsOutOfOrder) {
    configure("timeout 1s;");
    auto who = client();
    answer_ = "<html>";
    EXPECT_EQ(ask(*who, HookAction::kPlay).error().code(), ErrorCode::kUnavailable);
    status_ = 500;
    EXPECT_EQ(ask(*who, HookAction::kPlay).error().code(), ErrorCode::kUnavailable);
    auto nobody = io::TcpListener::listen(io::loopback());
    address_ = (*nobody)->local();
    (*nobody)->close();
    configure("timeout 1s;");
    EXPECT_EQ(ask(*who, HookAction::kPlay).error().code(), ErrorCode::kUnavailable);
    EXPECT_EQ(service_->stats().of(HookAction::kPlay).failed, 3U);
}

TEST_F(HookServiceTest, TellsAgainUntilItIsTaken) {
    configure();
    auto who = client();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    fail_first_ = 2;
    ticket->end(*who, net::EndClass::kPeerClosed, "closed by the player");
    ASSERT_TRUE(io::eventually([&] { return service_->stats().of(HookAction::kStop).told == 1; }));
    EXPECT_EQ(heard(), (Actions{"on_play", "on_stop", "on_stop", "on_stop"}));
    EXPECT_EQ(events_[1], events_[3]);  // with the same event_id
    EXPECT_EQ(service_->stats().of(HookAction::kStop).retried, 2U);
}

TEST_F(HookServiceTest, DoesNotTellAgainWhatAServerRejects) {
    configure();
    auto who = client();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    status_ = 404;
    ticket->end(*who, net::EndClass::kPeerClosed, "closed by the player");
    ASSERT_TRUE(
        io::eventually([&] { return service_->stats().of(HookAction::kStop).dropped == 1; }));
    EXPECT_EQ(heard(), (Actions{"on_play", "on_stop"}));
}

TEST_F(HookServiceTest, AClientThatHangsUpIsLetGoAndItsEndIsToldWhenItIsAllowedAfterAll) {
    configure();
    hang(true);
    io::LoopbackPair pair = io::loopback_pair();
    auto who = client();
    ErrorCode code = ErrorCode::kOk;
    io::Coroutine waits =
        io::go([&] { code = ask(*who, HookAction::kPublish, pair.server.get()).error().code(); });
    ASSERT_TRUE(hears(1));
    pair.client->close();
    ASSERT_TRUE(io::eventually([&] { return !waits.running(); }));
    waits.join();
    EXPECT_EQ(code, ErrorCode::kClosed);
    who.reset();
    hang(false);
    ASSERT_TRUE(hears(2));
    EXPECT_EQ(heard(), (Actions{"on_publish", "on_unpublish"}));
    EXPECT_EQ(events_[1]["reason"], "peer_closed");
}

TEST_F(HookServiceTest, AClientThatHangsUpAndIsRefusedHasNoEnd) {
    configure();
    hang(true);
    answer_ = "1";
    auto who = client();
    io::Coroutine waits = io::go([&] { EXPECT_FALSE(ask(*who, HookAction::kPublish).ok()); });
    ASSERT_TRUE(hears(1));
    waits.interrupt();
    waits.join();
    hang(false);
    ASSERT_TRUE(io::eventually([&] { return answered_ == 1; }));
    answer_ = "0";
    ASSERT_TRUE(ask(*who, HookAction::kPlay).ok());
    ASSERT_TRUE(hears(3));
    EXPECT_EQ(heard(), (Actions{"on_publish", "on_play", "on_stop"}));
}

TEST_F(HookServiceTest, SeveralServersAllHaveToAllow) {
    config_ = {};
    const std::string one = fmt::format("http://{}/one", address_.to_string());
    const std::string two = fmt::format("http://{}/two", address_.to_string());
    config::ParseOutcome outcome = config::parse_config(
        fmt::format("http_hooks {{ on_play {} {}; on_stop {}; on_stop {}; }}", one, two, one, two),
        "test.conf");
    ASSERT_TRUE(outcome.ok());
    config_ = std::move(*outcome.config);
    service_ = std::make_unique<HookService>(config_, identity_);
    auto who = client();
    ASSERT_TRUE(ask(*who, HookAction::kPlay).ok());
    ASSERT_TRUE(hears(4));
    EXPECT_EQ(heard(), (Actions{"on_play", "on_play", "on_stop", "on_stop"}));
    EXPECT_EQ(events_[0]["event_id"], events_[1]["event_id"]);
    answer_ = "1";
    EXPECT_FALSE(ask(*who, HookAction::kPlay).ok());
    EXPECT_EQ(events_.size(), 5U);  // the second was not asked
}

TEST_F(HookServiceTest, SignsWithTheSecret) {
    configure("secret \"a long secret\";");
    auto who = client();
    ASSERT_TRUE(ask(*who, HookAction::kConnect).ok());
    ASSERT_TRUE(hears(1));
    const std::string timestamp(fields_[0].get("X-Weir-Timestamp").value_or(""));
    EXPECT_NEAR(std::stod(timestamp), static_cast<double>(wall_time_ms()) / 1000, 10);
    EXPECT_EQ(fields_[0].get("X-Weir-Signature"),
              hook_signature("a long secret", timestamp, events_[0].dump()));
    EXPECT_EQ(fields_[0].get("X-Weir-Event"), events_[0]["event_id"].get<std::string>());
}

// One that is read from a file may change at any time.
TEST_F(HookServiceTest, SignsWithTheSecretThatWasReadLast) {
    configure("secret file:/nowhere/hooks;", "on_connect");
    std::string now = "what the file says";
    service_->set_secrets([&now](const config::VhostConfig& vhost) {
        EXPECT_TRUE(vhost.http_hooks.secret.is_file);
        return now;
    });
    auto who = client();
    for (const std::string secret : {"what the file says", "and later"}) {
        now = secret;
        fields_.clear();
        events_.clear();
        ASSERT_TRUE(ask(*who, HookAction::kConnect).ok());
        ASSERT_FALSE(fields_.empty());
        const std::string timestamp(fields_[0].get("X-Weir-Timestamp").value_or(""));
        EXPECT_EQ(fields_[0].get("X-Weir-Signature"),
                  hook_signature(secret, timestamp, events_[0].dump()));
    }
}

// Many clients come and go at once: each client's events are in order, none is missing or doubled.
TEST_F(HookServiceTest, KeepsTheOrderOfEachOfManyClients) {
    configure();
    io::TaskGroup group;
    for (int i = 0; i < 200; i++) {
        ASSERT_FALSE(group.spawn("client", io::StackSize::kNormal, [this, i] {
            auto who = client();
            who->connected_ticket = std::move(*ask(*who, HookAction::kConnect));
            for (int turn = 0; turn < 3; turn++) {
                who->turn_ticket =
                    std::move(*ask(*who, i % 2 == 0 ? HookAction::kPlay : HookAction::kPublish));
                io::yield();
                who->turn_ticket.end(*who, net::EndClass::kPeerClosed, "stopped by the client");
            }
        }));
    }
    ASSERT_FALSE(group.join_all(io::soon()));
    ASSERT_TRUE(hears(200 * 8));
    std::map<std::string, Actions> by_client;
    for (const net::Json& event : events_) {
        by_client[event["client_id"]].push_back(event["action"]);
    }
    EXPECT_EQ(by_client.size(), 200U);
    for (const auto& [id, actions] : by_client) {
        const bool plays = actions[1] == "on_play";
        Actions expected{"on_connect"};
        for (int turn = 0; turn < 3; turn++) {
            expected.insert(expected.end(),
                            {plays ? "on_play" : "on_publish", plays ? "on_stop" : "on_unpublish"});
        }
        expected.emplace_back("on_close");
        EXPECT_EQ(actions, expected);
    }
}

TEST_F(HookServiceTest, ThousandsThatWaitForAHangingServerEachHaveTheirTimeout) {
    configure("timeout 300ms;");
    hang(true);
    size_t refused = 0;
    io::TaskGroup group;
    for (int i = 0; i < 2000; i++) {
        ASSERT_FALSE(group.spawn("client", io::StackSize::kNormal, [&] {
            auto who = client();
            refused += ask(*who, HookAction::kPlay).error().code() == ErrorCode::kTimeout ? 1U : 0U;
        }));
    }
    ASSERT_FALSE(group.join_all(io::soon()));
    EXPECT_EQ(refused, 2000U);
    // As many as are asked at once, and some more in the moment when their time is over, for those
    // who came later; how many depends on how long it takes to begin them all.
    EXPECT_LE(events_.size(), 500U);
}

TEST_F(HookServiceTest, TheEndWaitsForWhatCanBeToldAndDropsTheRest) {
    configure();
    auto who = client();
    Result<net::HookTicket> one = ask(*who, HookAction::kPlay);
    one->end(*who, net::EndClass::kStopping, "server stopping");
    service_->stop(io::soon());
    EXPECT_EQ(heard(), (Actions{"on_play", "on_stop"}));
    service_.reset();

    configure();
    auto other = client();
    Result<net::HookTicket> two = ask(*other, HookAction::kPlay);
    hang(true);
    two->end(*other, net::EndClass::kStopping, "server stopping");
    const MonoTime begun = MonoClock::now();
    service_->stop(io::Deadline::after(Millis(100)));
    EXPECT_LT(MonoClock::now() - begun, Seconds(4)) << "less than the timeout of a hook";
    EXPECT_EQ(service_->stats().of(HookAction::kStop).dropped, 1U);
    EXPECT_EQ(service_->stats().queued, 0U);
}

TEST_F(HookServiceTest, AReloadHoldsForWhatHappensAfterIt) {
    configure();
    auto who = client();
    Result<net::HookTicket> ticket = ask(*who, HookAction::kPlay);
    configure("enabled off;");
    ticket->end(*who, net::EndClass::kPeerClosed, "closed by the player");
    Result<net::HookTicket> next = ask(*who, HookAction::kPlay);
    ASSERT_TRUE(next.ok());
    EXPECT_FALSE(*next);
    EXPECT_EQ(heard(), Actions{"on_play"});
}

}  // namespace
}  // namespace weir::app
