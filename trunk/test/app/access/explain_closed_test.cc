// Show: what a configuration of nginx-rtmp or SRS refused is refused by what --explain makes of it.
// The result is loaded as the server loads it and asked as sessions ask, or it does not load.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/access/config_policy.h"
#include "config/explain/explain.h"
#include "io/socket_address.h"

#include "test/app/access/test_config.h"

namespace weir::app {
namespace {

using config::Action;
using config::Config;
using config::ForeignServer;
using config::VhostConfig;
using testing::HasSubstr;

constexpr const char* kOwn = "127.0.0.1";
constexpr const char* kInside = "10.1.2.3";
constexpr const char* kOutside = "203.0.113.9";
constexpr const char* kOutside6 = "2001:db8::9";

struct Probe {
    Action action;
    const char* app;
    const char* address;
    const char* vhost = "";
};

constexpr Action kPublish = Action::kPublish;
constexpr Action kPlay = Action::kPlay;

struct Case {
    const char* name;
    ForeignServer server;
    const char* text;
    bool decides = false;            // the result has to be refused
    std::vector<Probe> closed = {};  // there, and so here
    std::vector<Probe> open = {};    // there and here: the result is no wall
    std::vector<Probe> asked = {};   // a hook server is asked before
};

class ExplainedServer {
  public:
    explicit ExplainedServer(Config config) : config_(std::move(config)) {
        access_.use(secrets_of(config_));
    }

    bool allows(const Probe& probe) {
        const io::SocketAddress peer = address_of(probe);
        const stream::StreamKey key = policy_.key_of(probe.vhost, probe.app, "room");
        const net::AccessRequest request{.key = key, .peer = peer};
        return probe.action == kPublish ? policy_.may_publish(request).ok()
                                        : policy_.may_play(request).ok();
    }

    bool asks(const Probe& probe) const {
        const VhostConfig* section = config_.find_settings(probe.vhost, probe.app);
        return section != nullptr && !section->http_hooks.allow_on_error &&
               section->http_hooks.has(probe.action == kPublish ? net::HookAction::kPublish
                                                                : net::HookAction::kPlay);
    }

    const Config& config() const { return config_; }

  private:
    static io::SocketAddress address_of(const Probe& probe) {
        const std::string address = probe.address;
        const bool v6 = address.find(':') != std::string::npos;
        return io::SocketAddress::parse((v6 ? "[" + address + "]" : address) + ":5").value();
    }

    Config config_;
    net::Limits limits_;
    AccessControl access_{limits_};
    ConfigPolicy policy_{config_, access_, limits_};
};

constexpr auto kNginx = ForeignServer::kNginxRtmp;
constexpr auto kSrs = ForeignServer::kSrs;

const Case kCases[] = {
    // ---- nginx-rtmp ----
    {.name = "a second application with rules and a hook of its own",
     .server = kNginx,
     .text = "rtmp { server { listen 1935;"
             "application live { live on; allow publish 10.0.0.0/8; deny publish all; }"
             "application vip { live on; allow play 10.1.0.0/16; deny play all;"
             " on_publish http://h/auth; } } }",
     .closed = {{kPublish, "live", kOutside},
                {kPlay, "vip", kOutside},
                {kPlay, "vip", kOwn},
                {kPlay, "vip/room", kOutside},
                {kPlay, "VIP", kOutside},
                {kPublish, "vip", kOutside}},
     .open = {{kPublish, "live", kInside}, {kPlay, "live", kOutside}, {kPlay, "vip", kInside}},
     .asked = {{kPublish, "vip", kInside}}},
    {.name = "applications that are not written",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; } } }",
     .closed = {{kPlay, "other", kOutside},
                {kPublish, "other", kOwn},
                {kPlay, "other", kOwn},
                {kPublish, "", kOwn},
                {kPlay, "LIVE", kOutside}},
     .open = {{kPlay, "live", kOutside}, {kPublish, "live", kOwn}}},
    {.name = "rules without publish or play are for both, and rules of two words",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; allow 10.0.0.0/8; deny all;"
             " } application b { live on; deny publish play all; } } }",
     .closed = {{kPlay, "live", kOutside},
                {kPublish, "live", kOutside},
                {kPlay, "live", kOutside6},
                {kPlay, "b", kInside},
                {kPublish, "b", kOwn}},
     .open = {{kPlay, "live", kInside}, {kPublish, "live", kInside}}},
    {.name = "rules around come behind those of the application, wherever they stand",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; allow play 10.1.0.0/16; }"
             " allow play 203.0.113.0/24; } deny play all; }",
     .closed = {{kPlay, "live", "198.51.100.1"}, {kPlay, "live", "10.2.0.1"}},
     .open = {{kPlay, "live", kInside}, {kPlay, "live", kOutside}}},
    {.name = "an address with bits behind its network",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; deny play 203.0.113.9/24; } "
             "} }",
     .closed = {{kPlay, "live", kOutside}, {kPlay, "live", "203.0.113.200"}},
     .open = {{kPlay, "live", kInside}}},
    {.name = "an address that cannot be read",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; deny play some.name; } } }",
     .decides = true},
    {.name = "without live nobody watches",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application in { record all; }"
             " application vod { play /var/flv; } application off { live off; } } }",
     .closed = {{kPlay, "in", kOwn}, {kPlay, "vod", kOutside}, {kPlay, "off", kOutside}}},
    {.name = "on_connect, on_play",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; on_connect http://h/c; on_play http://h/p;"
             " application live { live on; } application b { live on; on_play http://h/b; } } }",
     .open = {{kPlay, "live", kOutside}},
     .asked = {{kPlay, "live", kOutside}, {kPlay, "b", kOutside}}},
    {.name = "on_update can end a client",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; on_update http://h/u; } } }",
     .decides = true},
    {.name = "a file that is included",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; include deny.conf; } } }",
     .decides = true},
    {.name = "the whole of rtmp in another file",
     .server = kNginx,
     .text = "events { } include rtmp.d/*.conf;",
     .decides = true},
    {.name = "a directive that nobody here knows",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; secure_token x; } } }",
     .decides = true},
    {.name = "a block that nobody here knows",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; guard { } } } }",
     .decides = true},
    {.name = "two servers",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; } }"
             " server { listen 127.0.0.1:1936; application admin { live on; } } }",
     .decides = true},
    {.name = "an application twice",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application a { live on; deny play all; }"
             " application a { live on; } } }",
     .decides = true},
    {.name = "a socket of this machine",
     .server = kNginx,
     .text = "rtmp { server { listen unix:/run/rtmp; application live { live on; } } }",
     .decides = true},
    {.name = "a name to listen on",
     .server = kNginx,
     .text = "rtmp { server { listen media.example:1935; application live { live on; } } }",
     .decides = true},
    {.name = "nothing to listen on",
     .server = kNginx,
     .text = "rtmp { server { application live { live on; } } }",
     .decides = true},
    {.name = "two servers in two blocks rtmp",
     .server = kNginx,
     .text = "rtmp { server { listen 127.0.0.1:1935; application a { live on; } } }"
             "rtmp { server { listen 1936; application b { live on; } } }",
     .decides = true},
    {.name = "an application inside another one",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; application b { deny play "
             "all; } } } }",
     .decides = true},
    {.name = "a header of a proxy at one of two listeners of a port",
     .server = kNginx,
     .text =
         "rtmp { server { listen 1935 proxy_protocol; listen [::]:1935; application live { live "
         "on; } } }",
     .decides = true},
    {.name = "programs that are started for each publisher",
     .server = kNginx,
     .text =
         "rtmp { server { listen 1935; application live { live on; exec_publish /bin/check; } } "
         "}",
     .decides = true},
    {.name = "programs that are started for each player",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; exec_play /bin/check; } } }",
     .decides = true},
    {.name = "a vhost, which nginx has not",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; } } } vhost a { }",
     .decides = true},
    {.name = "an IPv6 address that is one of IPv4 here",
     .server = kNginx,
     .text = "rtmp { server { listen 1935; application live { live on; allow play ::ffff:10.0.0.1; "
             "deny play all; } } }",
     .decides = true},
    {.name = "names in quotes",
     .server = kNginx,
     .text = "\"rtmp\" { server { listen 1935; \"application\" \"live\" { \"live\" \"on\";"
             " 'deny' \"play\" \"all\"; } } }",
     .closed = {{kPlay, "live", kOwn}, {kPlay, "live", kOutside}}},
    {.name = "IPv6 only",
     .server = kNginx,
     .text = "rtmp { server { listen [::]:1935; application live { live on; } } }",
     .decides = true},

    // ---- SRS ----
    {.name = "deny lines go first",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { security { enabled on; allow publish all;"
             " allow play all; deny publish 203.0.113.9; deny play 10.0.0.0/8; } }",
     .closed = {{kPublish, "live", kOutside}, {kPlay, "live", kInside}},
     .open = {{kPublish, "live", kInside}, {kPlay, "live", kOutside}}},
    {.name = "an allow line for publishing closes playing",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { security { enabled on; allow publish 10.1.2.3; "
             "} }",
     .closed = {{kPublish, "live", kOutside},
                {kPlay, "live", kOutside},
                {kPlay, "live", kInside},
                {kPublish, "live", kOwn}},
     .open = {{kPublish, "live", kInside}}},
    {.name = "security without a line closes everything",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { security { enabled on; } }",
     .closed = {{kPublish, "live", kOwn}, {kPlay, "live", kOwn}, {kPlay, "live", kOutside}}},
    {.name = "rules that are off are no rules",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { security { enabled off; allow publish all;"
             " deny play 10.0.0.0/8; } }",
     .closed = {{kPublish, "live", kOutside}},
     .open = {{kPlay, "live", kInside}}},
    {.name = "rules without `enabled` are off",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { security { allow publish all; } }",
     .closed = {{kPublish, "live", kOutside}}},
    {.name = "a rule that cannot be read",
     .server = kSrs,
     .text = "listen 1935; vhost a { security { enabled on; deny play nobody; } }",
     .decides = true},
    {.name = "vhosts that are not written",
     .server = kSrs,
     .text = "listen 1935; vhost a.example { security { enabled on; allow play all; } }"
             " vhost off.example { enabled off; }",
     .closed = {{kPlay, "live", kOwn, "b.example"},
                {kPublish, "live", kOwn, ""},
                {kPlay, "live", kOutside, "off.example"}},
     .open = {{kPlay, "live", kOutside, "a.example"}}},
    {.name = "a vhost whose name cannot be",
     .server = kSrs,
     .text = "listen 1935; vhost a/b { security { enabled on; deny play all; } } vhost "
             "__defaultVhost__ { }",
     .decides = true},
    {.name = "a vhost twice",
     .server = kSrs,
     .text = "listen 1935; vhost a { security { enabled on; deny play all; } } vhost A { }",
     .decides = true},
    {.name = "refer",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { refer { enabled on; play a.example; } }",
     .decides = true},
    {.name = "refer as it was written long ago",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { refer_publish a.example; }",
     .decides = true},
    {.name = "refer that is off",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { refer { enabled off; play a.example; } }",
     .open = {{kPlay, "live", kOutside}}},
    {.name = "hooks",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { http_hooks { enabled on; on_connect http://h/c;"
             " on_publish http://h/p; on_play http://h/q http://h/r; } }",
     .open = {{kPlay, "live", kOutside}},
     .asked = {{kPlay, "live", kOutside}, {kPublish, "live", kOutside}}},
    {.name = "a hook whose address cannot be",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { http_hooks { enabled on; on_play ftp://h/; } }",
     .decides = true},
    {.name = "the login of the API, with a password that cannot be",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; auth { enabled on; username u; } }",
     .decides = true},
    {.name = "edges whose origin decides",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { cluster { mode remote; origin h:1935;"
             " token_traverse on; } }",
     .decides = true},
    {.name = "WebRTC in one vhost of two",
     .server = kSrs,
     .text = "listen 1935; rtc_server { enabled on; } vhost a { rtc { enabled on; } } vhost b { }",
     .decides = true},
    {.name = "a file that is included",
     .server = kSrs,
     .text = "listen 1935; include vhosts.conf;",
     .decides = true},
    {.name = "a directive that nobody here knows",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { guard on; }",
     .decides = true},
    {.name = "a port that cannot be",
     .server = kSrs,
     .text = "listen 99999; vhost __defaultVhost__ { }",
     .decides = true},
    {.name = "nothing to listen on",
     .server = kSrs,
     .text = "vhost __defaultVhost__ { }",
     .decides = true},
    {.name = "names in quotes",
     .server = kSrs,
     .text =
         "\"listen\" \"1935\"; \"vhost\" \"__defaultVhost__\" { \"security\" { \"enabled\" \"on\";"
         " \"deny\" \"play\" \"203.0.113.0/24\"; } }",
     .closed = {{kPlay, "live", kOutside}},
     .open = {{kPlay, "live", kInside}}},
    {.name = "an include in hooks that look off",
     .server = kSrs,
     .text = "listen 1935; vhost a { http_hooks { include hooks.conf; } }",
     .decides = true},
    {.name = "an include in rules that look off",
     .server = kSrs,
     .text = "listen 1935; vhost a { security { enabled off; include rules.conf; } }",
     .decides = true},
    {.name = "an include in refer that looks off",
     .server = kSrs,
     .text = "listen 1935; vhost a { refer { include refer.conf; } }",
     .decides = true},
    {.name = "an include in a login that looks off",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; auth { include login.conf; } } vhost a { }",
     .decides = true},
    {.name = "an include in a login",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; auth { enabled on; username u; password "
             "long-enough; include x; } } vhost a { }",
     .decides = true},
    {.name = "a vhost that is off, then on",
     .server = kSrs,
     .text = "listen 1935; vhost a { enabled off; enabled on; }",
     .decides = true},
    {.name = "listen twice",
     .server = kSrs,
     .text = "listen 127.0.0.1:1935; listen 1936; vhost a { }",
     .decides = true},
    {.name = "two blocks of the HTTP server",
     .server = kSrs,
     .text = "listen 1935; http_server { enabled off; } http_server { enabled on; } vhost a { "
             "http_remux { enabled on; } }",
     .decides = true},
    {.name = "two blocks of the API",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled off; } http_api { enabled on; } vhost a { }",
     .decides = true},
    {.name = "rules that are off, then on, are in a block that is off",
     .server = kSrs,
     .text = "listen 1935; vhost a { security { enabled on; enabled off; deny play all; } }",
     .decides = true},
    {.name = "two users of the API",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; auth { enabled on; username a; username b; "
             "password long-enough; } } vhost a { }",
     .decides = true},
    {.name = "what there may be several of",
     .server = kSrs,
     .text = "listen 1935; stream_caster { enabled off; } stream_caster { enabled off; } vhost a { "
             "security { enabled on; deny play 10.0.0.0/8; deny play 203.0.113.9; } } vhost b { }",
     .closed = {{kPlay, "live", kOutside, "a"}, {kPlay, "live", kInside, "a"}},
     .open = {{kPlay, "live", kOutside, "b"}}},
    {.name = "HTTP-FLV at a path of its own",
     .server = kSrs,
     .text = "listen 1935; http_server { enabled on; } vhost a { http_remux { enabled on; mount "
             "[vhost]/hidden/[app]/[stream].flv; } }",
     .decides = true},
    {.name = "HTTP-FLV at its usual path",
     .server = kSrs,
     .text = "listen 1935; http_server { enabled on; } vhost a { http_remux { enabled on; mount "
             "[vhost]/[app]/[stream].flv; } }",
     .open = {{kPlay, "live", kOutside, "a"}}},
    {.name = "WebRTC that gives nothing of RTMP",
     .server = kSrs,
     .text = "listen 1935; rtc_server { enabled on; } vhost a { rtc { enabled on; rtmp_to_rtc off; "
             "} }",
     .decides = true},
    {.name = "WebRTC that gives nothing to RTMP",
     .server = kSrs,
     .text = "listen 1935; rtc_server { enabled on; } vhost a { rtc { enabled on; rtc_to_rtmp off; "
             "} }",
     .decides = true},
    {.name = "a directive of play that nobody here knows",
     .server = kSrs,
     .text = "listen 1935; vhost a { play { auth on; } }",
     .decides = true},
    {.name = "a directive of publish that nobody here knows",
     .server = kSrs,
     .text = "listen 1935; vhost a { publish { auth on; } }",
     .decides = true},
    {.name = "a server that says where to forward, or refuses",
     .server = kSrs,
     .text = "listen 1935; vhost a { forward { enabled on; backend http://h/f; } }",
     .decides = true},
    {.name = "programs that are started for each publisher",
     .server = kSrs,
     .text = "listen 1935; vhost a { exec { enabled on; publish /bin/check; } }",
     .closed = {{kPublish, "live", kOutside, "a"}},
     .open = {{kPlay, "live", kOutside, "a"}}},
    {.name = "programs and a forward that are off",
     .server = kSrs,
     .text = "listen 1935; vhost a { exec { enabled off; publish /bin/check; } forward { backend "
             "http://h/f; } }",
     .open = {{kPlay, "live", kOutside, "a"}}},
    {.name = "an edge, which asks its origin once for a stream",
     .server = kSrs,
     .text = "listen 1935; vhost a { cluster { mode remote; origin h; } }",
     .closed = {{kPublish, "live", kOutside, "a"}},
     .open = {{kPlay, "live", kOutside, "a"}}},
    {.name = "an edge as it was written long ago",
     .server = kSrs,
     .text = "listen 1935; vhost a { mode remote; origin h; }",
     .closed = {{kPublish, "live", kOutside, "a"}},
     .open = {{kPlay, "live", kOutside, "a"}}},
    {.name = "an API for everybody",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; listen 0.0.0.0:1985; } vhost a { }",
     .decides = true},
    {.name = "an API for everybody by TLS",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; https { enabled on; listen 0.0.0.0:1990; key k; "
             "cert c; } } vhost a { }",
     .decides = true},
    {.name = "an API for everybody with a login, that does not reload",
     .server = kSrs,
     .text = "listen 1935; http_api { enabled on; listen 0.0.0.0:1985; raw_api { enabled off; } "
             "auth { enabled on; username a; password long-enough; } } vhost a { }",
     .decides = true},
    {.name = "a flag that only looks on",
     .server = kSrs,
     .text = "listen 1935; vhost a { security { enabled true; allow publish all; } }",
     .closed = {{kPublish, "live", kOutside, "a"}}},
    {.name = "a vhost that is neither on nor off",
     .server = kSrs,
     .text = "listen 1935; vhost a { enabled false; }",
     .closed = {{kPlay, "live", kOutside, "a"}}},
    {.name = "a block that nobody here knows",
     .server = kSrs,
     .text = "listen 1935; vhost __defaultVhost__ { guard { } }",
     .decides = true},
    {.name = "an IPv6 address that is one of IPv4 here",
     .server = kSrs,
     .text = "listen 1935; vhost a { security { enabled on; allow play ::ffff:10.0.0.1; } }",
     .decides = true},
    {.name = "a limit that cannot be",
     .server = kSrs,
     .text = "listen 1935; max_connections none; vhost __defaultVhost__ { }",
     .decides = true},
};

TEST(ExplainClosedTest, NothingThatWasClosedIsOpenAfterwards) {
    for (const Case& each : kCases) {
        SCOPED_TRACE(each.name);
        const config::Explained done = config::explain(each.text, "their.conf", each.server);
        ASSERT_TRUE(done.errors.empty()) << to_string(done.errors);
        const config::ParseOutcome outcome = config::parse_config(done.config, "t.conf");
        EXPECT_EQ(each.decides, !done.decisions.empty()) << done.text;
        EXPECT_EQ(each.decides, !outcome.ok()) << done.config << to_string(outcome.errors);
        if (!outcome.ok()) {
            EXPECT_THAT(to_string(outcome.errors), HasSubstr("something to decide"));
            EXPECT_TRUE(done.text.starts_with(done.losses.empty() ? "TO DECIDE: " : "LOST: "))
                << "first of all";
            EXPECT_THAT(done.text, HasSubstr("\n- " + done.decisions.front()));
            continue;
        }
        const auto result = std::make_unique<ExplainedServer>(*outcome.config);
        const auto shown = [&](const Probe& probe) {
            return fmt::format("{} {} from {} vhost '{}'\n{}", to_string(probe.action), probe.app,
                               probe.address, probe.vhost, done.config);
        };
        for (const Probe& probe : each.closed) {
            EXPECT_FALSE(result->allows(probe)) << shown(probe);
        }
        for (const Probe& probe : each.open) {
            EXPECT_TRUE(result->allows(probe)) << shown(probe);
        }
        for (const Probe& probe : each.asked) {
            EXPECT_TRUE(result->asks(probe)) << shown(probe);
        }
    }
}

// Other ways to the same streams, that were not there, are not opened either.
TEST(ExplainClosedTest, ServersThatWereOffStayOff) {
    const auto loaded = [](std::string_view text, ForeignServer server) {
        return config_of(config::explain(text, "f", server).config);
    };
    Config config =
        loaded("rtmp { server { listen 127.0.0.1:1935; application a { live on; } } }", kNginx);
    EXPECT_EQ(config.listen.at(0).address, "127.0.0.1:1935");
    EXPECT_FALSE(config.http_server.enabled);
    EXPECT_FALSE(config.rtc_server.enabled);
    config = loaded("listen 1935; vhost a { }", kSrs);
    EXPECT_FALSE(config.http_server.enabled);
    config = loaded(
        "listen 1935; http_server { enabled on; listen 8080; } "
        "rtc_server { enabled on; listen 8000; } vhost a { }",
        kSrs);
    EXPECT_FALSE(config.http_server.enabled) << "HTTP-FLV was off";
    EXPECT_FALSE(config.rtc_server.enabled);
    config = loaded(
        "listen 1935; http_server { enabled on; listen 8080; } rtc_server { enabled on;"
        " listen 8000; } vhost a { rtc { enabled on; } http_remux { enabled on; } }",
        kSrs);
    EXPECT_TRUE(config.http_server.enabled);
    EXPECT_TRUE(config.rtc_server.enabled);
    config = loaded(
        "listen 1935; http_api { enabled on; listen 1985; auth { enabled on; username u;"
        " password secret-word; } } vhost a { }",
        kSrs);
    EXPECT_TRUE(config.http_api.access.asks());
    EXPECT_TRUE(config.http_api.enabled);
    for (const char* api : {"", "http_api { }", "http_api { enabled off; }",
                            "http_api { enabled true; }", "http_api { listen 1985; }"}) {
        const std::string text = fmt::format("listen 1935; {} vhost a {{ }}", api);
        EXPECT_FALSE(loaded(text, kSrs).http_api.enabled) << api;
    }
    config = loaded("rtmp { server { listen 1935; application a { live on; } } }", kNginx);
    EXPECT_FALSE(config.http_api.enabled);
    config = loaded(
        "listen 1935; http_server { enabled true; } vhost a { http_remux { enabled on; } }", kSrs);
    EXPECT_FALSE(config.http_server.enabled) << "only the word on is on";
}

// There, a bare port is one of IPv4, and some things that are not written are less than here.
TEST(ExplainClosedTest, SrsListensForNobodyElse) {
    const Config config =
        config_of(config::explain(
                      "listen 1935 :1936; rtmps { enabled on; listen 1443; key k; cert c; }"
                      "http_api { enabled on; listen :1985; }"
                      "http_server { enabled on; listen 8080; https { enabled on; listen 8088; } }"
                      "rtc_server { enabled on; listen 8000; }"
                      "vhost a { rtc { enabled on; } http_remux { enabled on; } }",
                      "f", kSrs)
                      .config);
    const auto addresses = [](const auto& listeners) {
        std::vector<std::string> all;
        for (const auto& each : listeners) {
            all.push_back(each.address);
        }
        return all;
    };
    using testing::ElementsAre;
    EXPECT_THAT(addresses(config.listen),
                ElementsAre("0.0.0.0:1935", "0.0.0.0:1936", "0.0.0.0:1443"));
    EXPECT_THAT(addresses(config.http_server.listen), ElementsAre("0.0.0.0:8080", "0.0.0.0:8088"));
    EXPECT_THAT(addresses(config.http_api.listen), ElementsAre("127.0.0.1:1985"));
    EXPECT_THAT(addresses(config.rtc_server.listen), ElementsAre("0.0.0.0:8000"));
    EXPECT_EQ(config.max_connections, 1000U);
    EXPECT_EQ(config.http_server.stream_list, config::StreamList::kNone);
    const Config silent = config_of(
        config::explain("listen 1935 [::]:1935; http_server { enabled on; } rtc_server { enabled "
                        "on; } vhost a { rtc { enabled on; } http_remux { enabled on; } }",
                        "f", kSrs)
            .config);
    EXPECT_THAT(addresses(silent.listen), ElementsAre("[::]:1935"));
    EXPECT_THAT(addresses(silent.http_server.listen), ElementsAre("0.0.0.0:8080"));
    EXPECT_THAT(addresses(silent.rtc_server.listen), ElementsAre("0.0.0.0:8000"));
}

// Without --explain=srs: nginx has no vhost.
TEST(ExplainClosedTest, AFileWithVhostsIsOneOfSrs) {
    const config::Explained done =
        config::explain("rtmp { listen 1935; } vhost a { security { enabled on; deny play all; } }",
                        "f", std::nullopt);
    EXPECT_THAT(done.text, HasSubstr("f is a configuration of SRS."));
    EXPECT_FALSE(done.decisions.empty());
}

}  // namespace
}  // namespace weir::app
